"""The model call: greedy, seeded, bound to a grammar; a reply is read strictly, or it is DISCRETIONARY."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import encode

from assay.verdicts._problem import InputProblemCode
from assay.verdicts.envelope import ModelAnswer, Verdict
from assay.verdicts.reason import (
    Decoding,
    RawReply,
    Reasoner,
    ReasonRequest,
    build_request,
    interpret_reply,
    provenance_of,
)
from assay.verdicts.reply import parse_reply
from tests.verdicts.judging import GRAPH, NOON, WEIGHTS, docket_of, honest, obligation, record

DOCKET = docket_of(obligation("ob-1", "must_be_one_of", "a", ["é", "b"]))
TELEMETRY = record({"a": "é"})
HONEST = honest(DOCKET, TELEMETRY)
GOOD: dict[str, Any] = json.loads(encode(HONEST))


class Scripted:
    """Says what it was told to say."""

    def __init__(self, text: str, *, is_complete: bool = True) -> None:
        self.text, self.is_complete = text, is_complete

    def complete(self, request: ReasonRequest) -> RawReply:
        assert request.decoding.seed == 7
        return RawReply(
            text=self.text,
            backend_name="scripted",
            model_weight_hash=WEIGHTS,
            started_at=NOON,
            completed_at=NOON,
            is_complete=self.is_complete,
        )


def asked(reasoner: Reasoner) -> RawReply:
    return reasoner.complete(build_request(DOCKET, TELEMETRY, {}, seed=7))


@pytest.mark.clause("ski", "2.1.3")
def test_decoding_is_greedy_seeded_and_grammar_bound() -> None:
    request = build_request(DOCKET, TELEMETRY, {}, seed=7)
    decoding = request.decoding
    assert (decoding.temperature, decoding.top_p, decoding.top_k, decoding.seed) == (0, 1, 1, 7)
    assert bytes(request.grammar) == DOCKET.grammar.canonical
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"seed": 7, "temperature": 0.7}, Decoding)


@pytest.mark.clause("ski", "4.6")
def test_provenance_names_weights_graph_prompt_seed_and_grammar() -> None:
    request = build_request(DOCKET, TELEMETRY, {}, seed=7)
    provenance = provenance_of(request, model_weight_hash=WEIGHTS, kg_version_hash=GRAPH)
    assert provenance.prompt_template_id == "ski.v3.evaluate.2"
    assert provenance.prompt_template_hash == request.prompt_hash
    assert provenance.structured_grammar_hash == DOCKET.grammar.hash
    assert (provenance.model_weight_hash, provenance.kg_version_hash) == (WEIGHTS, GRAPH)
    assert provenance.decoder_seed == 7


@pytest.mark.parametrize(
    "text", [encode(HONEST).decode(), json.dumps(GOOD), json.dumps(GOOD, indent=2, ensure_ascii=True)]
)
def test_a_reply_is_the_same_however_it_is_spaced_and_escaped(text: str) -> None:
    read = interpret_reply(asked(Scripted(text)), DOCKET)
    assert (read.answer, read.error) == (HONEST, None)


@pytest.mark.clause("ski", "5.2")
@pytest.mark.parametrize("reasoner", [Scripted("no"), Scripted(encode(HONEST).decode(), is_complete=False)])
def test_a_reply_that_cannot_be_read_is_discretionary_and_says_why(reasoner: Scripted) -> None:
    read = interpret_reply(asked(reasoner), DOCKET)
    assert read.answer.verdict is Verdict.DISCRETIONARY
    assert read.error is not None
    assert read.error.startswith(("reply.unparsed: ", "reply.unfinished: "))


def spoilt(path: str, value: object) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(encode(HONEST))
    inner: Any = document
    *way, last = path.split(".")
    for part in way:
        inner = inner[int(part)] if isinstance(inner, list) else inner[part]
    inner[last] = value
    return document


@pytest.mark.clause("ski", "4.2")
@pytest.mark.parametrize(
    ("document", "path", "code"),
    [
        ([], "", "type"),
        (spoilt("reasoning", 1), "reasoning", "type"),
        (spoilt("reasoning", "x" * 5000), "reasoning", "text"),
        (spoilt("formalizable_assertions", None), "formalizable_assertions", "type"),
        (spoilt("formalizable_assertions", [1]), "formalizable_assertions[0]", "type"),
        (spoilt("formalizable_assertions.0.satisfied", "yes"), "formalizable_assertions[0].satisfied", "type"),
        (spoilt("formalizable_assertions.0.value", [[1]]), "formalizable_assertions[0].value", "type"),
        (spoilt("formalizable_assertions.0.observed", [1]), "formalizable_assertions[0].observed", "type"),
        (spoilt("formalizable_assertions.0.observed", "\0"), "formalizable_assertions[0].observed", "text"),
        (spoilt("formalizable_assertions.0.metric", 1), "formalizable_assertions[0].metric", "type"),
        (spoilt("formalizable_assertions.0.window_seconds", "1"), "formalizable_assertions[0].window_seconds", "type"),
        (spoilt("formalizable_assertions.0.window_seconds", True), "formalizable_assertions[0].window_seconds", "type"),
        (spoilt("formalizable_assertions.0.mood", 1), "formalizable_assertions[0].mood", "unknown_field"),
        (spoilt("kg_citations.0.role", "friend"), "kg_citations[0].role", "choice"),
        (spoilt("kg_citations.0.role", 1), "kg_citations[0].role", "type"),
        (spoilt("verdict", "MAYBE"), "verdict", "choice"),
    ],
)
def test_each_problem_has_a_place_and_a_code(document: object, path: str, code: str) -> None:
    problems = parse_reply(json.dumps(document), DOCKET.choices).problems
    assert (path, InputProblemCode(code)) in {(problem.path, problem.code) for problem in problems}


@pytest.mark.clause("ski", "4.4")
def test_all_problems_are_told_at_once() -> None:
    problems = parse_reply('{"reasoning": 1, "verdict": "MAYBE", "more": 2}', DOCKET.choices).problems
    assert {problem.path for problem in problems} == {
        "reasoning",
        "formalizable_assertions",
        "kg_citations",
        "more",
        "verdict",
    }


@given(
    st.text() | st.binary().map(lambda raw: raw.decode("utf-16", "surrogatepass") if len(raw) % 2 == 0 else "\ud800")
)
def test_no_text_crashes_the_reader(text: str) -> None:
    reply = parse_reply(text, DOCKET.choices)
    assert (reply.answer is None) == bool(reply.problems)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=4), lambda inner: st.lists(inner, max_size=3)
    ),
    st.sampled_from(list(GOOD)),
)
def test_no_value_in_a_field_crashes_the_reader(value: object, field: str) -> None:
    reply = parse_reply(json.dumps({**GOOD, field: value}), DOCKET.choices)
    assert isinstance(reply.answer, ModelAnswer) or reply.problems


_LARGE = st.integers(2**53 - 2, 2**63) | st.sampled_from([2**53, 10**16, 10**20, 10**21])
_PLACES = ("observed", "value", "window_seconds")


@given(
    _LARGE.flatmap(lambda number: st.sampled_from([number, -number, [number], [1.5, number]])), st.sampled_from(_PLACES)
)
def test_a_reply_is_read_alike_however_it_is_laid_out(number: object, place: str) -> None:
    """A compact reply is read in one go, one with a blank before it step by step: integers are where these differ."""
    [assertion] = GOOD["formalizable_assertions"]
    plain = assertion | {"value": ["a", "b"], "observed": "b", place: number}
    text = json.dumps({**GOOD, "formalizable_assertions": [plain]}, separators=(",", ":"))
    assert parse_reply(text, DOCKET.choices) == parse_reply(f" {text}", DOCKET.choices)


def test_texts_are_read_in_nfc() -> None:
    text = json.dumps(GOOD, ensure_ascii=False).replace("é", "e\u0301")
    assert parse_reply(text, DOCKET.choices).answer == HONEST
