"""The grammar: which answers a model can write about one slice, as canonical JSON Schema (SKI 2.1.3, 5.2).

checks + citable nodes + verdict choices -> JSON Schema -> `structured_grammar_hash`
Only the slice's own ids, versions, metrics, predicates and operands can be written, one assertion for each formalizable
obligation in its order, and only verdicts that the obligations' types leave open.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest, digest_of
from assay.verdicts.comparison import PlainOperand, is_number
from assay.verdicts.envelope import KgCitation, Verdict
from assay.verdicts.errors import GrammarSizeError
from assay.verdicts.graph.obligation_type import NUMERIC, WINDOWED, ObligationType
from assay.verdicts.predicate import Check, Doubt, Outcome, has_doubt
from assay.verdicts.telemetry import MAX_TEXT

MAX_GRAMMAR_BYTES = 256 * 1024
MAX_REASONING = 4096
_SCHEMA = "https://json-schema.org/draft/2020-12/schema"
_NUMERIC = {kind.value for kind in NUMERIC | WINDOWED} | {ObligationType.MUST_BE_WITHIN.value}
_ANY = ["boolean", "number", "string", "null"]


@dataclass(frozen=True, slots=True)
class Grammar:
    """`schema` has its keys in the order in which the model is to write them; the hash is of the canonical bytes."""

    schema: Mapping[str, object]
    canonical: bytes
    hash: Digest


def verdict_choices(checks: Sequence[Check], *, is_mapped: bool) -> tuple[Verdict, ...]:
    """The verdicts that types leave open: what is fixed by a type can then not be written otherwise."""
    if not is_mapped:
        return (Verdict.NULL_UNMAPPED,)
    if not checks:
        return (Verdict.CLEAR,)
    if has_doubt(checks, Doubt.DISCRETIONARY, Doubt.UNKNOWN_TYPE):
        return (Verdict.DISCRETIONARY,)
    open_to = {check.breached.outcome for check in checks if check.doubt is None}
    choices = [
        (Verdict.CLEAR, not has_doubt(checks, Doubt.NOT_FORMAL)),
        (Verdict.FLAG, Outcome.BREACHED in open_to),
        (Verdict.NULL_STALE, Outcome.STALE in open_to),
        (Verdict.DISCRETIONARY, True),
    ]
    return tuple(verdict for verdict, is_open in choices if is_open)


def build_grammar(checks: Sequence[Check], citable: Iterable[KgCitation], choices: Sequence[Verdict]) -> Grammar:
    """Refuses a slice whose grammar would be larger than any engine should be given."""
    schema = _envelope_schema([check for check in checks if check.doubt is None], list(citable), choices)
    content = canonicalize(schema)
    if len(content) > MAX_GRAMMAR_BYTES:
        raise GrammarSizeError(f"expected a grammar of at most {MAX_GRAMMAR_BYTES} bytes, got {len(content)}")
    return Grammar(schema=schema, canonical=content, hash=digest_of(content))


def _envelope_schema(
    checks: Sequence[Check], citable: Sequence[KgCitation], choices: Sequence[Verdict]
) -> dict[str, object]:
    properties: dict[str, object] = {
        "reasoning": {"type": "string", "maxLength": MAX_REASONING},
        "formalizable_assertions": assertion_list(checks),
        "kg_citations": _citations(citable),
        "verdict": {"enum": [choice.value for choice in choices]},
    }
    return {"$schema": _SCHEMA, **closed_object(properties)}


def closed_object(properties: dict[str, object]) -> dict[str, object]:
    """An object with exactly these properties, in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def assertion_list(checks: Sequence[Check]) -> dict[str, object]:
    """One assertion for each check, in their order."""
    bounds: dict[str, object] = {"type": "array", "minItems": len(checks), "maxItems": len(checks)}
    return bounds | ({"prefixItems": [_assertion(check) for check in checks]} if checks else {})


def _assertion(check: Check) -> dict[str, object]:
    fixed: dict[str, object] = {
        "predicate": {"const": check.predicate},
        "metric": {"const": check.metric},
        "value": {"const": _json(check.value)},
        "observed": _observed(check),
        "satisfied": {"type": "boolean"},
        "obligation_id": {"const": check.obligation_id},
    }
    if check.window_seconds is not None:
        fixed["window_seconds"] = {"const": check.window_seconds}
    return closed_object(fixed)


def _observed(check: Check) -> dict[str, object]:
    if check.plan is not None or check.predicate in _NUMERIC:
        return {"type": ["number", "null"]}
    kinds = sorted({_kind(part) for part in _parts(check.value)}) or _ANY[:-1]
    limit: dict[str, object] = {"maxLength": MAX_TEXT} if "string" in kinds else {}
    return {"type": [*kinds, "null"], **limit}


def _parts(value: PlainOperand) -> tuple[object, ...]:
    if isinstance(value, tuple):
        return value
    return () if value is None else (value,)


def _kind(value: object) -> str:
    if is_number(value):
        return "number"
    return "boolean" if isinstance(value, bool) else "string"


def _citations(citable: Sequence[KgCitation]) -> dict[str, object]:
    bounds: dict[str, object] = {"type": "array", "maxItems": len(citable), "uniqueItems": True}
    return bounds | ({"items": {"enum": [_citation(one) for one in citable]}} if citable else {})


def _citation(citation: KgCitation) -> dict[str, object]:
    return {"node_id": citation.node_id, "version": citation.version, "role": citation.role.value}


def _json(value: PlainOperand) -> object:
    return list(value) if isinstance(value, tuple) else value
