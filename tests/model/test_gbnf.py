"""The grammar in GBNF allows what the judge writes, and nothing that the schema does not."""

import json
import re

import pytest

from assay.model.errors import GrammarFormError
from assay.model.gbnf import render_gbnf
from assay.model.judge import judge
from assay.verdicts.docket import open_docket
from tests.model.networks import asked, small_engine
from tests.model.test_automaton import DOCKET, RECORD, chance

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
            return re.escape(part[1:-1].replace('\\"', '"').replace("\\\\", "\\"))
        return part if part[0] in "[{" else f"(?:{told(rules[part])})"

    return re.compile(told(rules["root"]))


@pytest.mark.parametrize("seed", range(6))
def test_whatever_the_automaton_can_write_is_allowed(seed: int) -> None:
    prompt, grammar = asked(DOCKET, RECORD)
    answer = judge(small_engine(), prompt, grammar, pick=chance(seed)).text
    allowed = pattern(render_gbnf(grammar))
    assert allowed.fullmatch(answer)
    for wrong in (
        answer[:-1],
        answer.replace("ob-1", "ob-9"),
        answer.replace('"value":50', '"value":51'),
        answer.replace('"verdict":"', '"verdict":"X'),
        json.dumps(json.loads(answer)),
    ):
        assert not allowed.fullmatch(wrong)


def test_a_case_without_obligations_has_its_grammar_too() -> None:
    prompt, grammar = asked(open_docket(None, is_mapped=False), RECORD)
    assert pattern(render_gbnf(grammar)).fullmatch(judge(small_engine(), prompt, grammar).text)


@pytest.mark.parametrize("grammar", [b"{}", b"[", b"[]", b'{"properties":{}}'])
def test_what_is_no_grammar_of_a_verdict_is_refused(grammar: bytes) -> None:
    with pytest.raises(GrammarFormError):
        render_gbnf(grammar)
