"""What is written to the ledger covers the envelope, the transcript and the verifier's result."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.kernel.canonical import canonicalize
from assay.kernel.ids import TenantId
from assay.kernel.json_text import CANONICAL_LIMITS, parse_json
from assay.kernel.ledger import MAX_ENTRY_BYTES, Draft, EntryKind, EntrySizeError, NulCharacterError
from assay.verdicts.docket import Docket, open_docket
from assay.verdicts.envelope import Envelope, Verdict, canonical_envelope, render_envelope
from assay.verdicts.govern import Ruling, govern
from assay.verdicts.graph.obligation import Obligation
from assay.verdicts.reason import RawReply, build_request
from assay.verdicts.record import draft_verdict, recorded_request, recorded_response, seal_envelope
from assay.verdicts.telemetry import Telemetry
from assay.verdicts.verify import Verification, verify
from assay.verdicts.window import window_facts
from tests.verdicts.judging import GRAPH, NOON, PROVENANCE, WEIGHTS, docket_of, honest, obligation, record, saying

TENANT = TenantId("acme")
LIMIT = obligation("ob-1", "must_not_exceed", "a", 5)
AVERAGE = obligation("ob-2", "must_average_within", "a", [0, 5], window=60)
TELEMETRY = record({"a": 6})


def written(
    docket: Docket, verdict: Verdict | None = None, telemetry: Telemetry = TELEMETRY
) -> tuple[Envelope, Ruling, Verification, Draft]:
    facts = window_facts(docket.plans, telemetry, [])
    answer = honest(docket, telemetry, facts)
    answer = answer if verdict is None else saying(answer, verdict)
    found = verify(docket, telemetry, facts, answer)
    ruling = govern(answer.verdict, found.result.status, docket.tier)
    envelope = seal_envelope(docket, answer, found, ruling, provenance=PROVENANCE, transcript_ref="sha256:t")
    draft = draft_verdict(TENANT, docket, telemetry, envelope, ruling, found, facts=facts, at=NOON)
    return envelope, ruling, found, draft


@pytest.mark.clause("ski", "4.2")
@pytest.mark.clause("ski", "5.5")
@pytest.mark.clause("ski", "7.1")
def test_an_entry_has_every_column_and_the_whole_envelope() -> None:
    envelope, _, found, draft = written(docket_of(LIMIT, AVERAGE))
    columns = draft.verdict
    assert columns is not None
    assert (columns.telemetry_id, columns.telemetry_hash) == ("t-1", TELEMETRY.telemetry_hash)
    assert (columns.verdict, columns.rule_id) == ("FLAG", "rule-1")
    assert (columns.kg_version_hash, columns.model_weight_hash) == (GRAPH, WEIGHTS)
    recorded: dict[str, Any] = json.loads(bytes(columns.llm_transcript))
    assert recorded == json.loads(canonicalize(render_envelope(envelope)))
    assert recorded.keys() >= {
        "verdict",
        "reasoning",
        "kg_citations",
        "formalizable_assertions",
        "verifier_result",
        "model_provenance",
        "transcript_ref",
    }
    assert json.loads(bytes(columns.verifier_result))["status"] == found.result.status
    body = json.loads(draft.body)
    assert body["telemetry"] == TELEMETRY.document
    assert [fact["obligation_id"] for fact in body["window_facts"]] == ["ob-2"]
    assert draft.kind is EntryKind.VERDICT


_TEXTS = st.text(max_size=8).filter(lambda text: "\0" not in text) | st.sampled_from(
    ['"telemetry":null', "\\", "e\u0301", "\n", "\U0001f600"]
)


@pytest.mark.clause("ski", "7.3")
@given(_TEXTS, st.sampled_from([6, 6.5, 1e16, 7.0]), st.sampled_from([(LIMIT,), (LIMIT, AVERAGE)]))
def test_a_body_is_canonical_and_holds_the_record_as_it_was_hashed(
    text: str, number: float, demands: tuple[Obligation, ...]
) -> None:
    """Whether it is written in one go or the long way, with windows or without."""
    telemetry = record({"a": number, "note": text})
    _, _, _, draft = written(docket_of(*demands), telemetry=telemetry)
    assert draft.body == canonicalize(parse_json(draft.body, limits=CANONICAL_LIMITS))
    assert b'"telemetry":' + telemetry.canonical in draft.body


@pytest.mark.clause("ski", "4.4")
def test_no_assertions_are_an_empty_list() -> None:
    envelope, *_ = written(docket_of())
    assert b'"formalizable_assertions":[]' in canonical_envelope(envelope)
    assert envelope.notes == ("slice.empty: the subject is known, and no obligation applies to this record",)


@pytest.mark.clause("ski", "4.3")
def test_every_judged_obligation_is_cited_even_if_the_model_forgot() -> None:
    docket = docket_of(LIMIT)
    answer = replace(honest(docket, TELEMETRY), kg_citations=())
    found = verify(docket, TELEMETRY, {}, answer)
    ruling = govern(answer.verdict, found.result.status, docket.tier)
    envelope = seal_envelope(docket, answer, found, ruling, provenance=PROVENANCE, transcript_ref="t")
    assert [one.node_id for one in envelope.kg_citations] == ["ob-1"]
    assert envelope.notes == ("citation.added: `ob-1`",)


@pytest.mark.clause("ski", "5.4")
def test_a_verdict_that_was_not_honoured_says_what_the_model_said() -> None:
    envelope, *_ = written(docket_of(LIMIT), Verdict.CLEAR)
    assert envelope.verdict is Verdict.DISCRETIONARY
    assert envelope.notes[0].startswith("verdict.governed: the model said CLEAR; ")


@pytest.mark.clause("ski", "5.4")
def test_a_held_verdict_is_recorded_as_held() -> None:
    docket = docket_of(LIMIT, tier="high")
    envelope, *_, draft = written(docket)
    assert draft.kind is EntryKind.VERDICT_HELD
    assert envelope.verdict is Verdict.FLAG
    assert draft.verdict is not None
    assert draft.verdict.verdict == "DISCRETIONARY"


def test_an_entry_that_no_database_could_keep_is_refused() -> None:
    docket = docket_of(LIMIT)
    envelope, ruling, found, _ = written(docket)
    for reasoning, error in (("\0", NulCharacterError), ("x" * MAX_ENTRY_BYTES, EntrySizeError)):
        with pytest.raises(error):
            draft_verdict(
                TENANT, docket, TELEMETRY, replace(envelope, reasoning=reasoning), ruling, found, facts={}, at=NOON
            )
    # The text of an escape is not the character.
    quoted = replace(envelope, reasoning="\\u0000")
    assert draft_verdict(TENANT, docket, TELEMETRY, quoted, ruling, found, facts={}, at=NOON).body


def test_an_unmapped_subject_is_recorded_like_any_other() -> None:
    envelope, _, _, draft = written(open_docket(None, is_mapped=False))
    assert (envelope.verdict, json.loads(draft.body)["is_mapped"]) == (Verdict.NULL_UNMAPPED, False)


def test_a_transcript_keeps_question_and_answer_whatever_is_in_them() -> None:
    docket = docket_of(LIMIT)
    request = recorded_request(build_request(docket, TELEMETRY, {}, seed=7))
    assert request["decoding"] == {"seed": 7, "temperature": 0, "top_p": 1, "top_k": 1, "max_tokens": 2048}
    reply = RawReply(
        text="\ud800 \0",
        backend_name="b",
        model_weight_hash=WEIGHTS,
        started_at=NOON,
        completed_at=NOON,
        token_ids=(1, 2),
        logprobs=(-0.5,),
    )
    response = recorded_response(reply)
    assert response["text"] == "\\ud800 \0"
    assert (response["token_ids"], response["logprobs"]) == ([1, 2], [-0.5])
    assert canonicalize(request)
    assert canonicalize(response)
