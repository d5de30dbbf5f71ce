"""PROOF: which certified rules some code says it implements, by its `@rule:ID` annotations.

texts -> scan_text -> annotations;   annotations + rules -> prove -> ProofDocument
An annotation is a claim of whoever wrote the code; certification is a person's, and comes from the rule registry.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.instant import Instant
from assay.registry.code_comments import comment_lines
from assay.registry.documents import ProofDocument, ProofRow
from assay.registry.errors import RegistryError

DEFAULT_THRESHOLD = 90.0
# `@rule:ABC-12`; a dot or a colon inside belongs to the id, one at its end to the sentence. Between backticks the mark
# is spoken of, and not made.
_ANNOTATION = re.compile(r"(?<![\w@`])@rule:([A-Za-z0-9](?:[A-Za-z0-9._:-]{0,126}[A-Za-z0-9])?)")


class Annotation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where an annotation stands; lines count from 1."""

    rule_id: str
    path: str
    line: int


class RuleFact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the rule registry says of a rule in force; `capabilities` are the queries and actions it stands behind."""

    id: str
    certified: bool
    capabilities: tuple[str, ...] = ()


class ProofPoint(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One measurement of the history."""

    measured_at: Instant
    coverage_pct: float
    passing: bool
    proof_hash: Digest


def scan_text(path: str, text: str) -> tuple[Annotation, ...]:
    """Every annotation in the comments and docstrings of one source text, in order.

    Prose about a rule implements nothing: texts that are no code have none, nor have strings in code.
    """
    return tuple(
        Annotation(rule_id=match.group(1), path=path, line=number)
        for number, line in comment_lines(path, text)
        for match in _ANNOTATION.finditer(line)
    )


def scan_texts(texts: Mapping[str, str]) -> tuple[Annotation, ...]:
    """The annotations of many texts, by path."""
    return tuple(annotation for path in sorted(texts) for annotation in scan_text(path, texts[path]))


def prove(
    rules: Sequence[RuleFact],
    annotations: Iterable[Annotation],
    *,
    capabilities: Sequence[str] = (),
    threshold_pct: float = DEFAULT_THRESHOLD,
) -> ProofDocument:
    """Coverage is the share of certified rules with code, in per cent, rounded down to two places.

    Without a certified rule it is 0 and not passing: nothing certified is nothing proven. Annotations of rules that
    nobody knows are orphans, and count for nothing.
    """
    ids = [rule.id for rule in rules]
    if len(ids) != len(set(ids)):
        raise RegistryError.invalid_rule("expected each rule once")
    places: dict[str, list[str]] = {}
    for one in annotations:
        places.setdefault(one.rule_id, []).append(f"{one.path}:{one.line}")
    certified = [rule.id for rule in rules if rule.certified]
    with_code = [name for name in certified if name in places]
    coverage = 10_000 * len(with_code) // len(certified) / 100 if certified else 0.0
    served = {name for rule in rules if rule.certified for name in rule.capabilities}
    return ProofDocument(
        rules_total=len(rules),
        rules_certified=len(certified),
        rules_with_code=len(with_code),
        coverage_pct=coverage,
        passing=bool(certified) and coverage >= threshold_pct,
        threshold_pct=threshold_pct,
        matrix=tuple(
            ProofRow(rule_id=rule.id, certified=rule.certified, annotations=tuple(places.get(rule.id, ())))
            for rule in sorted(rules, key=lambda one: one.id)
        ),
        unimplemented_rules=tuple(sorted(set(certified) - places.keys())),
        orphan_annotations=tuple(sorted(places.keys() - set(ids))),
        capabilities_without_rules=tuple(name for name in capabilities if name not in served),
    )


def point_of(measured_at: Instant, proof_hash: Digest, document: ProofDocument) -> ProofPoint:
    """What the history shows of one measurement."""
    return ProofPoint(
        measured_at=measured_at,
        coverage_pct=document.coverage_pct,
        passing=document.passing,
        proof_hash=proof_hash,
    )
