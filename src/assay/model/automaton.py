"""The automaton: what a grammar and a prompt leave open, and the JSON that follows from what was chosen.

JSON Schema of the answer + prompt -> compile_plan -> Plan; Plan + findings + closing -> render_answer -> JSON text
Everything but the model's choices is in the grammar or the record: ids, metrics, operands, versions, and the values
that can have been observed. What the grammar does not allow cannot be written.
"""

import re
from collections.abc import Mapping, Sequence
from json import dumps, loads
from typing import Any

from msgspec import Struct

from assay.model.errors import GrammarFormError
from assay.model.form import form_of
from assay.model.program import Closing, Finding
from assay.model.tell import Named, tell_line
from assay.model.tokenizer import Line, read_case
from assay.model.vocabulary import ROLES, VERDICTS

_RECORD = re.compile(
    r"\n<record>\n([^\n]*)\n</record>\n(?:windows\n((?:\{[^\n]*\n)*))?(?:converted\n((?:\{[^\n]*\n)*))?case\n"
)
_OBLIGATION = re.compile(r"^o(\d+) (\{[^\n]*\})$", re.MULTILINE)
_FENCE = "\n<record>\n"
_LONGEST_NAME = 80
_CITATION = ("node_id", "version", "role")
_WORD = 8


class Assertion(Struct, frozen=True, kw_only=True):
    """One assertion: its keys in order with the JSON of those that are fixed, and that of the value in the record."""

    line: int
    keys: tuple[str, ...]
    fixed: Mapping[str, str]
    value: str | None
    observing: tuple[str, ...]


class Citation(Struct, frozen=True, kw_only=True):
    """A node that can be cited, as the JSON of its citation; `line` is set for an obligation."""

    role: str
    text: str
    line: int | None


class Plan(Struct, frozen=True, kw_only=True):
    """All that can be written about one case; `roles` are those of nodes other than obligations.

    `names` are what sentences call each line; None where the reasoning is in symbols, as it was in the first form.
    """

    lines: tuple[Line, ...]
    assertions: tuple[Assertion, ...]
    citations: tuple[Citation, ...]
    roles: tuple[str, ...]
    verdicts: tuple[str, ...]
    max_reasoning: int
    names: tuple[Named, ...] | None = None

    def observing(self, line: int) -> tuple[str, ...] | None:
        return next((one.observing for one in self.assertions if one.line == line), None)


class _Number(str):
    """A number as it is written, so that it is written the same again."""

    __slots__ = ()


def compile_plan(prompt: str, grammar: bytes) -> Plan:
    """Refuses a grammar that is not about the case at the end of the prompt."""
    lines = read_case(prompt)
    try:
        schema = loads(grammar)
        properties = schema["properties"]
        citations = _citations(properties["kg_citations"].get("items", {}).get("enum", []), len(lines))
        assertions = _assertions(properties["formalizable_assertions"], lines, prompt)
        return Plan(
            lines=lines,
            assertions=assertions,
            citations=citations,
            roles=tuple(role for role in ROLES if any(one.role == role and one.line is None for one in citations)),
            verdicts=_verdicts(properties["verdict"]["enum"]),
            max_reasoning=int(properties["reasoning"]["maxLength"]),
            names=_names(prompt, citations, assertions, len(lines)) if form_of(prompt).is_readable else None,
        )
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise GrammarFormError(f"expected the grammar of a verdict on this case, got {type(error).__name__}") from error


def render_answer(plan: Plan, findings: Sequence[Finding], closing: Closing) -> str:
    """The answer as one JSON object, its keys in the order of the grammar."""
    reasoning = dumps(_reasoning(plan, findings, closing))
    assertions = ",".join(_assertion(one, findings[one.line]) for one in plan.assertions)
    roles = dict(zip(plan.roles, closing.cited_roles, strict=True))
    cited = ",".join(
        one.text for one in plan.citations if (roles[one.role] if one.line is None else closing.cited[one.line])
    )
    return (
        f'{{"reasoning":{reasoning},"formalizable_assertions":[{assertions}],'
        f'"kg_citations":[{cited}],"verdict":"{closing.verdict}"}}'
    )


def notation_of(plan: Plan, findings: Sequence[Finding], closing: Closing) -> str | None:
    """The reasoning in symbols, for the transcript; None where the answer itself has it so."""
    return None if plan.names is None else _compact(findings, closing, plan.max_reasoning)


def _verdicts(choices: Sequence[str]) -> tuple[str, ...]:
    if not choices or not set(choices) <= set(VERDICTS):
        raise ValueError(choices)
    return tuple(choices)


def _citations(listed: Sequence[Mapping[str, str]], lines: int) -> tuple[Citation, ...]:
    citations, line = [], 0
    for one in listed:
        text = "{" + ",".join(f'"{key}":{_json(one[key])}' for key in _CITATION) + "}"
        is_obligation = one["role"] == ROLES[0]
        citations.append(Citation(role=one["role"], text=text, line=line if is_obligation else None))
        line += is_obligation
    # One line more than obligations: some may apply that are not shown, and only a person can say.
    if lines - line not in (0, 1) or any(one.role not in ROLES for one in citations):
        raise ValueError(listed)
    return tuple(citations)


def _assertions(schema: Mapping[str, Any], lines: Sequence[Line], prompt: str) -> tuple[Assertion, ...]:
    items = schema.get("prefixItems", [])
    formal = [number for number, line in enumerate(lines) if line.symbols[-1] != "~" or line.starts[-1] == "x"]
    formal = [number for number in formal if lines[number].symbols[0] != "unknown"]
    if len(items) != len(formal):
        raise ValueError(items)
    readings, shown = _record(prompt) if items else ({}, {})
    return tuple(
        _open(item, number, lines[number], readings, shown) for item, number in zip(items, formal, strict=True)
    )


def _open(
    item: Mapping[str, Any], number: int, line: Line, readings: Mapping[str, Any], shown: Mapping[str, Any]
) -> Assertion:
    properties = item["properties"]
    fixed = {key: _json(part["const"]) for key, part in properties.items() if "const" in part}
    if properties["predicate"]["const"] != line.symbols[0]:
        raise ValueError(line)
    obligation, metric = properties["obligation_id"]["const"], properties["metric"]["const"]
    is_windowed = line.symbols[1] == "w"
    value = shown.get(obligation) if is_windowed or obligation in shown else _find(readings, metric)
    is_allowed = value is not None and _kind(value) in properties["observed"]["type"]
    return Assertion(
        line=number,
        keys=tuple(item["required"]),
        fixed=fixed,
        value=_json(value) if is_allowed else None,
        observing=("value", "null") if is_allowed else ("null",),
    )


def _record(prompt: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The record's values by dotted path, and what windows and conversions of units came to by obligation."""
    match = _RECORD.search(prompt)
    if match is None:
        raise ValueError(prompt[:_WORD])
    record = _exact(match.group(1))
    facts = [_exact(line) for group in (2, 3) for line in (match.group(group) or "").splitlines()]
    return _leaves(record["measurement"], ""), {fact["obligation_id"]: fact.get("shown") for fact in facts}


def _exact(text: str) -> Any:  # noqa: ANN401  any JSON value
    return loads(text, parse_float=_Number, parse_int=_Number)


def _leaves(value: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, part in value.items():
        if not isinstance(part, dict):
            found[prefix + name] = part
        elif "value" in part and part.keys() <= {"value", "unit"} and not isinstance(part["value"], dict):
            found[prefix + name] = part["value"]
        else:
            found |= _leaves(part, f"{prefix}{name}.")
    return found


def _find(readings: Mapping[str, Any], metric: str) -> Any:  # noqa: ANN401  any scalar
    value = readings.get(metric)
    return readings.get(metric.removesuffix(".value")) if value is None else value


def _kind(value: object) -> str:
    if isinstance(value, _Number):
        return "number"
    return "boolean" if isinstance(value, bool) else "string"


def _json(value: object) -> str:
    return str(value) if isinstance(value, _Number) else dumps(value, separators=(",", ":"))


def _assertion(one: Assertion, finding: Finding) -> str:
    observed = one.value if finding.observed == "value" and one.value is not None else "null"
    written = {**one.fixed, "observed": observed, "satisfied": finding.satisfied or "false"}
    return "{" + ",".join(f'"{key}":{written[key]}' for key in one.keys) + "}"


def _names(
    prompt: str, citations: Sequence[Citation], assertions: Sequence[Assertion], lines: int
) -> tuple[Named, ...]:
    """Each obligation's id, the unit that its numbers are in, and its observed value."""
    nodes = {int(match.group(1)): loads(match.group(2)) for match in _OBLIGATION.finditer(prompt.partition(_FENCE)[0])}
    ages = {fact["obligation_id"] for fact in map(loads, _facts(prompt)) if fact["kind"] == "age"}
    values = {one.line: one.value for one in assertions}
    told = []
    for line, one in enumerate(one for one in citations if one.line is not None):
        name = loads(one.text)["node_id"]
        unit = "s" if name in ages else nodes.get(line, {}).get("unit") or ""
        told.append(Named(name=_plain(name), unit=_plain(unit), value=values.get(line)))
    # A line without a node stands for obligations that may apply: the record's jurisdiction is in doubt.
    return (*told, *[Named(name="jurisdiction", unit="", value=None)] * (lines - len(told)))


def _facts(prompt: str) -> list[str]:
    match = _RECORD.search(prompt)
    return [] if match is None else (match.group(2) or "").splitlines()


def _plain(text: str) -> str:
    return dumps(text)[1:-1][:_LONGEST_NAME]


def _reasoning(plan: Plan, findings: Sequence[Finding], closing: Closing) -> str:
    """Every word that was decided; where that is more than the grammar has room for, the conclusions alone."""
    if plan.names is None:
        return _compact(findings, closing, plan.max_reasoning)
    end = f"So {closing.reasoned}."
    told = [tell_line(*parts) for parts in zip(plan.lines, findings, plan.names, strict=True)]
    text = "; ".join(told)
    text = f"{text}. {end}" if told else end
    if len(text) <= plan.max_reasoning:
        return text
    return _compact(findings, closing, plan.max_reasoning)


def _compact(findings: Sequence[Finding], closing: Closing, longest: int) -> str:
    """The tokens themselves, as words: what the reasoning was in version 0.1.0, and a transcript still has."""
    if not findings:
        return f"so {closing.reasoned}"
    told = [f"o{number} {_told(finding)}" for number, finding in enumerate(findings)]
    text = ". ".join((*told, f"so {closing.reasoned}"))
    if len(text) <= longest:
        return text
    short = [f"o{number} {finding.outcome}" for number, finding in enumerate(findings)]
    return ". ".join((*short, f"so {closing.reasoned}"))[:longest]


def _told(finding: Finding) -> str:
    steps = "; ".join(" ".join(words) for words in finding.comparisons)
    return f"{steps}, {finding.exempting}: {finding.outcome}"
