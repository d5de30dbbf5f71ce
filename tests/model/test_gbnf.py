"""The grammar in GBNF allows what a portable schema allows, in the order of its keys, and nothing else."""

import json
import re
from typing import Any

import pytest

from assay.adapters.reasoning.general import in_order
from assay.kernel.json_text import parse_json
from assay.model.errors import GrammarFormError
from assay.model.gbnf import render_gbnf, require_portable
from assay.verdicts.docket import open_docket
from assay.verdicts.general import GENERAL_TEMPLATE_ID
from assay.verdicts.reason import build_request
from tests.model.test_automaton import DOCKET, RECORD
from tests.verdicts.judging import honest

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|[a-z][a-z0-9-]*|[|()*?+]|\{\d+,\d+\}| ')


def pattern(grammar: str) -> re.Pattern[str]:
    """The same as a regular expression: no rule of ours refers back to itself."""
    rules = dict(line.split(" ::= ", 1) for line in grammar.splitlines())

    def told(body: str) -> str:
        parts = TOKEN.findall(body)
        assert "".join(parts) == body
        return "".join(part if part in "|()*?+" else piece(part) for part in parts if part != " ")

    def piece(part: str) -> str:
        if part.startswith('"'):
            return f"(?:{re.escape(part[1:-1].replace(chr(92) + chr(34), chr(34)).replace(chr(92) * 2, chr(92)))})"
        return part if part[0] in "[{" else f"(?:{told(rules[part])})"

    return re.compile(told(rules["root"]))


def _schema() -> dict[str, Any]:
    request = build_request(DOCKET, RECORD, {}, seed=0, template_id=GENERAL_TEMPLATE_ID)
    found: dict[str, Any] = in_order(parse_json(bytes(request.grammar)))
    return found


def _reply() -> dict[str, Any]:
    answer = json.loads(json.dumps(honest(DOCKET, RECORD), default=_plain))
    answer["kg_citations"] = answer["kg_citations"][:6]
    return {key: answer[key] for key in _schema()["required"]}


def _plain(value: Any) -> Any:  # noqa: ANN401 - a struct
    names = [name for name in value.__struct_fields__ if type(getattr(value, name)).__name__ != "UnsetType"]
    return {name: getattr(value, name) for name in names}


@pytest.mark.clause("ski", "2.1.3")
def test_a_right_reply_is_allowed_and_every_other_is_not() -> None:
    allowed = pattern(render_gbnf(_schema()))
    reply = _reply()
    close = json.dumps(reply, separators=(",", ":"))
    assert allowed.fullmatch(close)
    assert allowed.fullmatch(close.replace('"verdict":', ' "verdict": '))
    turned = {key: reply[key] for key in reversed(reply)}
    for wrong in (
        close[:-1],
        f"Sure: {close}",
        f"```json\n{close}\n```",
        close.replace("ob-1", "ob-9"),
        close.replace('"verdict":"', '"verdict":"X'),
        json.dumps(turned, separators=(",", ":")),
        json.dumps(reply | {"reasoning": "x" * 401}),
        json.dumps(reply | {"formalizable_assertions": reply["formalizable_assertions"][1:]}),
        json.dumps(reply | {"more": 1}),
    ):
        assert not allowed.fullmatch(wrong)


def test_a_case_without_obligations_has_its_grammar_too() -> None:
    docket = open_docket(None, is_mapped=False)
    request = build_request(docket, RECORD, {}, seed=0, template_id=GENERAL_TEMPLATE_ID)
    allowed = pattern(render_gbnf(in_order(parse_json(bytes(request.grammar)))))
    assert allowed.fullmatch(
        '{"formalizable_assertions":[],"kg_citations":[],"verdict":"NULL_UNMAPPED","reasoning":"no subject"}'
    )


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"const": {"a": [1, "\\"]}}, '{"a":[1,"\\\\"]}', '{"a":[1,""]}'),
        ({"enum": [0, 0.25, None]}, "0.25", "0.2"),
        ({"type": ["number", "null"]}, "-1.5e-3", "01"),
        ({"type": "boolean"}, "true", '"true"'),
        ({"type": "string", "maxLength": 3}, '"a\\n\\u00e9"', '"abcd"'),
        ({"type": "array", "items": {"const": 1}, "minItems": 1, "maxItems": 3}, "[1, 1,1]", "[]"),
        ({"type": "array", "items": {"const": 1}, "maxItems": 2}, "[]", "[1,1,1]"),
        ({"type": "array", "maxItems": 0}, "[]", "[1]"),
        ({"anyOf": [{"const": 1}, {"const": "b"}]}, '"b"', '"c"'),
    ],
)
def test_each_keyword_means_what_it_means_in_the_schema(schema: dict[str, Any], right: str, wrong: str) -> None:
    allowed = pattern(render_gbnf(schema))
    assert allowed.fullmatch(right)
    assert not allowed.fullmatch(wrong)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "integer"},
        {"type": "string"},
        {"type": "string", "maxLength": -1},
        {"type": "array", "items": {"const": 1}},
        {"type": "array", "items": {"const": 1}, "maxItems": 1, "uniqueItems": True},
        {"type": "array", "prefixItems": [{"const": 1}], "maxItems": 3},
        {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
        {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"], "additionalProperties": True},
        {"enum": []},
        {"anyOf": [5]},
    ],
)
def test_what_is_not_portable_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(GrammarFormError):
        require_portable(schema)
