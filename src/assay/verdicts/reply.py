"""A model's reply: text that is the model's part of the envelope, or everything that is wrong with it (SKI 5.2).

text -> strict JSON with exact numbers -> the fields of SKI 4.2 to 4.4 -> ModelAnswer | problems
Nothing is repaired. A verdict that the types of the slice leave no room for cannot be written under the grammar, so a
reply with one is no reply.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import MsgspecError, Struct, UnsetType, convert, json

from assay.kernel.canonical import MAX_SAFE_INTEGER
from assay.kernel.errors import JsonError
from assay.kernel.json_text import JsonValue, Limits, parse_json
from assay.verdicts._problem import InputProblem, InputProblemCode
from assay.verdicts._tell import Teller, teller_of
from assay.verdicts.comparison import PlainOperand, nfc
from assay.verdicts.envelope import CitationRole, FormalizableAssertion, ModelAnswer, Verdict
from assay.verdicts.grammar import MAX_REASONING
from assay.verdicts.rulings import CURRENT, Rulings

MAX_REPLY_BYTES = 256 * 1024
# More assertions or citations than any grammar has room for.
MAX_ITEMS = 1024
_LIMITS = Limits(max_bytes=MAX_REPLY_BYTES, max_depth=8, exact_numbers=True)
_DECODER = json.Decoder(ModelAnswer)
_ENCODER = json.Encoder()
# The kinds that can hold an integer; most values are of another.
_WHOLE = frozenset({int, tuple})
_ROLES = frozenset(role.value for role in CitationRole)
_ANSWER = ("reasoning", "formalizable_assertions", "kg_citations", "verdict")
_ASSERTION = ("predicate", "metric", "value", "observed", "satisfied", "obligation_id")
_CITATION = ("node_id", "version", "role")


class Reply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """What a reply came to; `answer` is None exactly where there are problems."""

    answer: ModelAnswer | None
    problems: tuple[InputProblem, ...] = ()


def parse_reply(text: str, choices: Sequence[Verdict], *, rulings: Rulings = CURRENT) -> Reply:
    """Total: any text is an answer or a list of problems."""
    answer = _read_quickly(text)
    if answer is not None and answer.verdict in choices:
        return Reply(answer=answer)
    try:
        value = parse_json(text, limits=_LIMITS)
    except JsonError as error:
        return Reply(answer=None, problems=(_problem("", InputProblemCode.FORM, f"{error.code}: {error}"),))
    problems = _problems(value, choices, teller_of(rulings))
    if problems:
        return Reply(answer=None, problems=tuple(problems))
    return Reply(answer=convert(_normal(value), ModelAnswer))


def _read_quickly(text: str) -> ModelAnswer | None:
    """The answer, if writing it again gives the same text: then no key was twice there and no number was changed."""
    if not text.isascii() or len(text) > MAX_REPLY_BYTES or "\\u" in text:
        return None
    content = text.encode()
    try:
        answer = _DECODER.decode(content)
    except MsgspecError:
        return None
    assertions = answer.formalizable_assertions
    if len(assertions) > MAX_ITEMS or len(answer.kg_citations) > MAX_ITEMS or len(answer.reasoning) > MAX_REASONING:
        return None
    if _has_large_integer(assertions):
        return None
    return answer if _ENCODER.encode(answer) == content else None


def _has_large_integer(assertions: Sequence[FormalizableAssertion]) -> bool:
    for one in assertions:
        for value in (one.observed, one.value, one.window_seconds):
            if type(value) in _WHOLE and _is_large(value):
                return True
    return False


def _is_large(value: PlainOperand | UnsetType) -> bool:
    """Whether it is, or has, an integer that binary64 may not keep: what becomes of it is for the strict reader."""
    if type(value) is tuple:
        return any(_is_large(part) for part in value)
    return type(value) is int and not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER


def _normal(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return nfc(value)
    if isinstance(value, list):
        return [_normal(part) for part in value]
    return {name: _normal(part) for name, part in value.items()} if isinstance(value, dict) else value


class _Problems(list[InputProblem]):
    """Problems found so far, and how to tell of the next one."""

    def __init__(self, tell: Teller) -> None:
        super().__init__()
        self.tell = tell


def _problems(value: JsonValue, choices: Sequence[Verdict], tell: Teller) -> list[InputProblem]:
    """Every one of them, in the order of the fields."""
    problems = _Problems(tell)
    fields = _members(value, "", _ANSWER, (), problems)
    _require_text(fields, "reasoning", "", problems, limit=MAX_REASONING)
    for place, one in enumerate(_items(fields, "formalizable_assertions", problems)):
        _assertion_problems(one, f"formalizable_assertions[{place}]", problems)
    for place, one in enumerate(_items(fields, "kg_citations", problems)):
        _citation_problems(one, f"kg_citations[{place}]", problems)
    open_choices = ", ".join(choices)
    if "verdict" in fields and fields["verdict"] not in choices:
        got = tell.json(fields["verdict"])
        problems.append(_problem("verdict", InputProblemCode.CHOICE, f"expected one of {open_choices}, got `{got}`"))
    return problems


def _assertion_problems(value: JsonValue, path: str, problems: _Problems) -> None:
    fields = _members(value, path, _ASSERTION, ("window_seconds",), problems)
    for name in ("predicate", "metric", "obligation_id"):
        _require_text(fields, name, f"{path}.", problems)
    for name, is_list_allowed in (("value", True), ("observed", False)):
        _require_scalars(fields, name, path, problems, is_list_allowed=is_list_allowed)
    if "satisfied" in fields and not isinstance(fields["satisfied"], bool):
        problems.append(_type_problem(problems.tell, f"{path}.satisfied", "true or false", fields["satisfied"]))
    window = fields.get("window_seconds", 0)
    if isinstance(window, bool) or not isinstance(window, int | float):
        problems.append(_type_problem(problems.tell, f"{path}.window_seconds", "a number", window))


def _citation_problems(value: JsonValue, path: str, problems: _Problems) -> None:
    fields = _members(value, path, _CITATION, (), problems)
    for name in _CITATION:
        _require_text(fields, name, f"{path}.", problems)
    role = fields.get("role")
    if isinstance(role, str) and role not in _ROLES:
        expected = ", ".join(sorted(_ROLES))
        problems.append(_problem(f"{path}.role", InputProblemCode.CHOICE, f"expected one of {expected}"))


def _members(
    value: JsonValue, path: str, required: Sequence[str], optional: Sequence[str], problems: _Problems
) -> Mapping[str, JsonValue]:
    if not isinstance(value, dict):
        problems.append(_type_problem(problems.tell, path, "an object", value))
        return {}
    dot = f"{path}." if path else ""
    absent = [name for name in required if name not in value]
    problems.extend(
        _problem(dot + name, InputProblemCode.REQUIRED, f"expected `{name}`, got nothing") for name in absent
    )
    for name in sorted(value.keys() - {*required, *optional}):
        shown = problems.tell.text(name)[:80]
        problems.append(_problem(dot + shown, InputProblemCode.UNKNOWN_FIELD, f"expected one of {', '.join(required)}"))
    return value


def _items(fields: Mapping[str, JsonValue], name: str, problems: _Problems) -> list[Any]:
    value = fields.get(name, [])
    if isinstance(value, list) and len(value) > MAX_ITEMS:
        problems.append(_problem(name, InputProblemCode.SIZE, f"expected at most {MAX_ITEMS}, got {len(value)}"))
        return []
    if isinstance(value, list):
        return value
    problems.append(_type_problem(problems.tell, name, "a list", value))
    return []


def _require_text(
    fields: Mapping[str, JsonValue], name: str, prefix: str, problems: _Problems, limit: int = MAX_REPLY_BYTES
) -> None:
    if name not in fields:
        return
    value = fields[name]
    if not isinstance(value, str):
        problems.append(_type_problem(problems.tell, prefix + name, "a text", value))
    elif len(value) > limit or "\0" in value:
        message = f"expected at most {limit} characters and no U+0000, got {len(value)}"
        problems.append(_problem(prefix + name, InputProblemCode.TEXT, message))


def _require_scalars(
    fields: Mapping[str, JsonValue], name: str, path: str, problems: _Problems, *, is_list_allowed: bool
) -> None:
    value = fields.get(name)
    parts = value if is_list_allowed and isinstance(value, list) else [value]
    if any(isinstance(part, list | dict) for part in parts):
        problems.append(_type_problem(problems.tell, f"{path}.{name}", "a scalar", value))
    if any(isinstance(part, str) and "\0" in part for part in parts):
        problems.append(_problem(f"{path}.{name}", InputProblemCode.TEXT, "expected no U+0000"))


def _type_problem(tell: Teller, path: str, expected: str, value: object) -> InputProblem:
    got = tell.kind(value)
    return _problem(path, InputProblemCode.TYPE, f"expected {expected}, got {got}")


def _problem(path: str, code: InputProblemCode, message: str) -> InputProblem:
    return InputProblem(path=path, code=code, message=message)
