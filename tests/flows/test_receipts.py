"""Receipts (SKI 7.5): one for every verdict of the judge, and no lie about a token, a score or the weights passes."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from assay.adapters.clock import SystemClock
from assay.adapters.reasoning.judge import JudgeReasoner, JudgeWeights, shipped_weights
from assay.adapters.reasoning.judge_here import JudgeHere
from assay.flows.ledger.check_proof import check_proof
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.verdicts.receipts import export_receipt, prove_entry
from assay.flows.verdicts.verify_receipt import ReceiptFinding, ReceiptOutcome, check_receipt
from assay.kernel.bundle import Bundle, render_bundle
from assay.kernel.canonical import canonicalize
from assay.kernel.check_bundle import Check
from assay.kernel.digest import digest_of
from assay.kernel.json_text import parse_json
from assay.kernel.key import TrustAnchors
from assay.model.commit import parse_scores, render_scores, root_of
from assay.ports.model import ModelUnavailableError
from assay.ports.reasoner import ReasonerIdentity, ScoringReasoner
from assay.ports.signer import Signer
from assay.verdicts.errors import NoReceiptError
from assay.verdicts.reason import RawReply, ReasonRequest
from assay.verdicts.receipt import ReceiptFile, parse_receipt, render_receipt
from tests.contract._kit import refused
from tests.flows._node import TENANT
from tests.flows._receipts import Change, forge, relabel
from tests.flows._verdicts import GRAPH_KEY, VerdictDesk, opened_verdicts, rule
from tests.model.networks import untrained

Parts = dict[str, Any]


@cache
def _judge() -> JudgeReasoner:
    return JudgeReasoner(JudgeHere(shipped_weights()), SystemClock())


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VerdictDesk]:
    """A node with one verdict of the judge on each of two rules, the second one held."""
    with opened_verdicts(tmp_path_factory.mktemp("receipts")) as opened:
        opened.judge_by(rule("so2"), rule("nox", "high", metric="nox"))
        opened.settings(weights=(shipped_weights().expected,), is_backend_tagged=False)
        opened.use(reasoner=_judge())
        opened.decide({"so2": 36.5, "nox": 2})
        yield opened


@pytest.fixture(scope="module")
def receipt(desk: VerdictDesk) -> ReceiptFile:
    return export_receipt(desk.tools, TENANT, _entry(desk, "so2"))


def _entry(desk: VerdictDesk, rule_id: str) -> int:
    rows = desk.tools.database.read(lambda unit: unit.verdicts.of_telemetry(TENANT, "t-1"))
    return max(row.sequence_number for row in rows if row.rule_id == rule_id)


def _founder(desk: VerdictDesk) -> TrustAnchors:
    return TrustAnchors(key_ids=frozenset({desk.tools.founder}))


def _check(desk: VerdictDesk, receipt: ReceiptFile, scorer: Any = None) -> ReceiptFinding:  # noqa: ANN401 - a reasoner
    return check_receipt(receipt, scorer or _judge(), _founder(desk))


def _failed(finding: ReceiptFinding) -> list[str]:
    return [check.step for check in finding.checks if check.outcome is ReceiptOutcome.FAILED]


@pytest.mark.clause("ski", "7.5")
@pytest.mark.clause("ski", "9.3")
def test_the_receipt_of_a_verdict_is_exact_also_after_a_journey_through_a_file(
    desk: VerdictDesk, receipt: ReceiptFile
) -> None:
    finding = _check(desk, parse_receipt(render_receipt(receipt)))
    assert (finding.result, finding.is_trusted, _failed(finding)) == ("EXACT", True, [])
    assert (finding.model_weight_hash, finding.tolerance) == (shipped_weights().expected, 0)
    assert finding.tokens > 10
    assert all(check.outcome is ReceiptOutcome.OK for check in finding.checks)


@pytest.mark.clause("ski", "9.3")
def test_a_held_verdict_has_its_receipt_as_soon_as_it_is_settled(desk: VerdictDesk, tmp_path: Path) -> None:
    """Before that it would tell what the model said."""
    with opened_verdicts(tmp_path) as opened:
        opened.judge_by(rule("nox", "high", metric="nox"))
        opened.settings(weights=(shipped_weights().expected,), is_backend_tagged=False)
        opened.use(reasoner=_judge())
        held = opened.decide({"nox": 2})
        with refused("receipt.none"):
            export_receipt(opened.tools, TENANT, _entry(opened, "nox"))
        opened.attest(held.verdicts[0].ticket_id)
        settled = export_receipt(opened.tools, TENANT, _entry(opened, "nox"))
        assert _check(opened, settled).result == "EXACT"
        # Another node's receipt fits together just as well, but nobody here trusts its key.
        assert (_check(desk, settled).result, _check(desk, settled).is_trusted) == ("EXACT", False)


def _a_token(position: int) -> Change:
    def change(_asked: Parts, answered: Parts, _metadata: Parts) -> None:
        answered["token_ids"][position] += 1

    return change


def _a_score(position: int, place: int) -> Change:
    def change(_asked: Parts, _answered: Parts, metadata: Parts) -> None:
        top = [list(scores) for scores in parse_scores(metadata["receipt"]["scores"])]
        token, score = top[position][place]
        top[position][place] = (token, score - 1)
        metadata["receipt"]["scores"] = render_scores([tuple(scores) for scores in top])

    return change


def _bound_again(change: Change) -> Change:
    """A node that lies thoroughly: the root is that of the lie."""

    def changed(asked: Parts, answered: Parts, metadata: Parts) -> None:
        change(asked, answered, metadata)
        top = parse_scores(metadata["receipt"]["scores"])
        metadata["receipt"]["root"] = root_of(answered["token_ids"], top)

    return changed


def _with_verdict(receipt: ReceiptFile) -> ReceiptFile:
    """A node that lies in the ledger too: its entry rests on the transcript as it is now."""
    entry, transcript = msgspec.json.decode(receipt.entry), receipt.transcript
    asked = msgspec.json.decode(transcript.request_canonical)
    entry["llm_transcript"]["transcript_ref"] = transcript.transcript_id
    weights = msgspec.json.decode(bytes(transcript.backend_metadata))["model_weight_hash"]
    entry["model_weight_hash"] = weights
    entry["llm_transcript"]["model_provenance"] |= {
        "model_weight_hash": weights,
        "prompt_template_hash": digest_of(asked["prompt"].encode()),
    }
    return replace(receipt, entry=canonicalize(entry).decode())


def _places(receipt: ReceiptFile) -> Sequence[tuple[int, int]]:
    metadata = msgspec.json.decode(bytes(receipt.transcript.backend_metadata))
    top = parse_scores(metadata["receipt"]["scores"])
    return [(position, place) for position, scores in enumerate(top) for place in range(len(scores))]


@pytest.mark.clause("ski", "7.5")
def test_no_token_can_be_changed(desk: VerdictDesk, receipt: ReceiptFile) -> None:
    """Not by others, nor by the node itself: the root contradicts it, and where that is changed too, the weights."""
    signer = desk.tools.transcript_signer
    for position in sorted({position for position, _ in _places(receipt)}):
        change = _a_token(position)
        assert _check(desk, relabel(receipt, change)).result == "REFUSED"
        lied = _check(desk, forge(receipt, signer, change))
        assert (lied.result, _failed(lied)) == ("REFUSED", ["4 commitments"])
        bound = _check(desk, _with_verdict(forge(receipt, signer, _bound_again(change))))
        assert (bound.result, _failed(bound)) == ("REPLAY_DIVERGENCE", ["6 read again"])


@pytest.mark.clause("ski", "7.5")
def test_no_score_can_be_changed(desk: VerdictDesk, receipt: ReceiptFile) -> None:
    signer = desk.tools.transcript_signer
    for number, (position, place) in enumerate(_places(receipt)):
        change = _a_score(position, place)
        bound = _check(desk, _with_verdict(forge(receipt, signer, _bound_again(change))))
        assert (bound.result, _failed(bound)) == ("REPLAY_DIVERGENCE", ["6 read again"])
        assert bound.checks[-2].detail.startswith(f"token {position}: ")
        if number % 8 == 0:
            assert _check(desk, relabel(receipt, change)).result == "REFUSED"
            assert _failed(_check(desk, forge(receipt, signer, change))) == ["4 commitments"]


def _root(_asked: Parts, _answered: Parts, metadata: Parts) -> None:
    metadata["receipt"]["root"] = digest_of(b"another")


def _text(_asked: Parts, answered: Parts, _metadata: Parts) -> None:
    answered["text"] = answered["text"].replace("FLAG", "CLEAR")


def _cut(_asked: Parts, answered: Parts, _metadata: Parts) -> None:
    answered["is_complete"] = False


def _chance(_asked: Parts, answered: Parts, _metadata: Parts) -> None:
    answered["logprobs"][0] -= 0.5


def _prompt(asked: Parts, _answered: Parts, _metadata: Parts) -> None:
    asked["prompt"] = asked["prompt"].replace("36.5", "33.5").replace("33 56", "33 53")


def _heat(asked: Parts, _answered: Parts, _metadata: Parts) -> None:
    asked["decoding"]["temperature"] = 1


def _loose(_asked: Parts, _answered: Parts, metadata: Parts) -> None:
    metadata["receipt"]["scheme"] = "trust-me"


def _scores(_asked: Parts, _answered: Parts, metadata: Parts) -> None:
    metadata["receipt"]["scores"] += ";"


def _weights(_asked: Parts, _answered: Parts, metadata: Parts) -> None:
    metadata["model_weight_hash"] = digest_of(b"a better model")


@pytest.mark.clause("ski", "7.5")
@pytest.mark.parametrize(
    ("change", "result", "step"),
    [
        (_root, "REFUSED", "4 commitments"),
        (_scores, "REFUSED", "4 commitments"),
        (_text, "REPLAY_DIVERGENCE", "6 read again"),
        (_cut, "REPLAY_DIVERGENCE", "6 read again"),
        (_chance, "REPLAY_DIVERGENCE", "6 read again"),
        (_prompt, "REPLAY_DIVERGENCE", "6 read again"),
        (_heat, "REFUSED", "3 question"),
        (_loose, "REFUSED", "3 question"),
        (_weights, "REFUSED", "5 weights"),
    ],
)
def test_nothing_else_that_was_recorded_can_be_changed(
    desk: VerdictDesk, receipt: ReceiptFile, change: Change, result: str, step: str
) -> None:
    outside = _check(desk, relabel(receipt, change))
    assert (outside.result, _failed(outside)) == ("REFUSED", ["1 signature"])
    inside = _check(desk, _with_verdict(forge(receipt, desk.tools.transcript_signer, change)))
    assert (inside.result, _failed(inside)[0]) == (result, step)


def test_a_signature_a_grammar_and_a_key_of_others_are_refused(desk: VerdictDesk, receipt: ReceiptFile) -> None:
    turned = bytes.fromhex(receipt.transcript.signature_hex)
    forged = replace(receipt.transcript, signature_hex=bytes([turned[0] ^ 1, *turned[1:]]).hex())
    assert _failed(_check(desk, replace(receipt, transcript=forged))) == ["1 signature"]
    assert _failed(_check(desk, replace(receipt, grammar=receipt.grammar + " "))) == ["3 question"]
    # A key that nobody vouches for, and none of whose records is in the file.
    stranger: Signer = GRAPH_KEY
    signed = _check(desk, forge(receipt, stranger, lambda *_parts: None))
    assert (signed.result, signed.is_trusted) == ("REFUSED", False)
    unknown = check_receipt(receipt, _judge(), TrustAnchors())
    assert (unknown.result, unknown.is_trusted, _failed(unknown)) == ("EXACT", False, ["2 signer"])


@pytest.mark.clause("ski", "7.5")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("transcript_ref", digest_of(b"another transcript")),
        ("model_weight_hash", digest_of(b"other weights")),
        ("prompt_template_hash", digest_of(b"another prompt")),
        ("prompt_template_id", "ski.v3.evaluate.0"),
        ("structured_grammar_hash", digest_of(b"another grammar")),
        ("decoder_seed", 1),
    ],
)
def test_a_receipt_is_for_its_own_verdict_alone(
    desk: VerdictDesk, receipt: ReceiptFile, name: str, value: object
) -> None:
    """Whatever the weights wrote: it says nothing about a verdict that rests on something else."""
    entry = msgspec.json.decode(receipt.entry)
    envelope = entry["llm_transcript"]
    (envelope if name == "transcript_ref" else envelope["model_provenance"])[name] = value
    finding = _check(desk, replace(receipt, entry=canonicalize(entry).decode()))
    assert (finding.result, _failed(finding), finding.checks[-1].code) == ("REFUSED", ["7 verdict"], "receipt.verdict")
    assert _check(desk, replace(receipt, entry="{}")).result == "REFUSED"


@pytest.mark.clause("ski", "7.5")
def test_other_weights_are_told_apart_whatever_they_would_write(
    desk: VerdictDesk, receipt: ReceiptFile, tmp_path: Path
) -> None:
    """Under their own name they are others; under a false name, which only a liar gives them, the scores are."""
    file = tmp_path / "other.bin"
    file.write_bytes(untrained())
    other = JudgeReasoner(JudgeHere(JudgeWeights(file=file, expected=digest_of(file.read_bytes()))), SystemClock())
    assert _failed(_check(desk, receipt, other)) == ["5 weights"]
    expected = other.identify().model_weight_hash

    def rename(_asked: Parts, _answered: Parts, metadata: Parts) -> None:
        metadata["model_weight_hash"] = expected

    lied = _check(desk, _with_verdict(forge(receipt, desk.tools.transcript_signer, rename)), other)
    assert (lied.result, _failed(lied)) == ("REPLAY_DIVERGENCE", ["6 read again"])


class _Shaky:
    """A judge whose scores come out a little differently each time it is run, as on other hardware."""

    def __init__(self, by: int) -> None:
        self._by = by

    def identify(self) -> ReasonerIdentity:
        return replace(_judge().identify(), is_exact=False, score_tolerance=3)

    def complete(self, request: ReasonRequest) -> RawReply:
        return _judge().complete(request)

    def score(self, request: ReasonRequest, token_ids: Sequence[int]) -> RawReply:
        reply = _judge().score(request, token_ids)
        moved = tuple(tuple((token, score + self._by) for token, score in top) for top in reply.top_scores or ())
        return replace(reply, top_scores=moved)


@pytest.mark.clause("ski", "8.2")
def test_a_model_that_is_not_exact_has_a_tolerance_and_no_more(desk: VerdictDesk) -> None:
    exact = desk.tools
    desk.use(reasoner=_Shaky(0))
    desk.decide({"so2": 1, "nox": 1}, name="t-shaky")
    rows = desk.tools.database.read(lambda unit: unit.verdicts.of_telemetry(TENANT, "t-shaky"))
    bound = export_receipt(desk.tools, TENANT, next(row.sequence_number for row in rows if row.rule_id == "so2"))
    desk.use(reasoner=exact.reasoner)
    assert _check(desk, bound).result == "EXACT"
    assert _check(desk, bound, _Shaky(3)).result == "WITHIN_TOLERANCE"
    assert _check(desk, bound, _Shaky(4)).result == "REPLAY_DIVERGENCE"


def test_a_backend_that_cannot_read_again_offers_no_receipt(desk: VerdictDesk) -> None:
    reasoner, settings = desk.tools.reasoner, desk.tools.ski
    assert desk.model is not None
    desk.settings(weights=(digest_of(b"weights of the tests"),), is_backend_tagged=True)
    desk.thinks(desk.model)
    decided = desk.decide({"so2": 1, "nox": 1}, name="t-scripted")
    desk.use(reasoner=reasoner, ski=settings)
    number = next(one.sequence_number for one in decided.verdicts if one.rule_id == "so2")
    with refused("receipt.none"):
        export_receipt(desk.tools, TENANT, number)
    with refused("flow.not_found"):
        export_receipt(desk.tools, TENANT, 1)


def test_where_no_model_answered_there_is_nothing_to_vouch_for(tmp_path: Path) -> None:
    """The fast path asks none; a case that is too large, or a model that is away, has no answer."""
    with opened_verdicts(tmp_path) as opened:
        opened.judge_by(rule("so2", "low"))
        opened.settings(weights=(shipped_weights().expected,), is_backend_tagged=False, fast_path_n=1)
        opened.use(reasoner=_judge())
        found = [opened.decide({"so2": 1}, name=f"t-{number}").verdicts[0].sequence_number for number in range(2)]
        assert _check(opened, export_receipt(opened.tools, TENANT, found[0])).result == "EXACT"
        with pytest.raises(NoReceiptError, match="fast path"):
            export_receipt(opened.tools, TENANT, found[1])
        opened.settings(fast_path_n=0)
        opened.use(reasoner=_Absent())
        away = opened.decide({"so2": 1}, name="t-away").verdicts[0].sequence_number
        with pytest.raises(NoReceiptError, match="no model answered"):
            export_receipt(opened.tools, TENANT, away)


class _Absent:
    def identify(self) -> ReasonerIdentity:
        return _judge().identify()

    def complete(self, _request: ReasonRequest) -> RawReply:
        raise ModelUnavailableError("expected a model, got none")


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b'{"format":"assay-inference-receipt/2"}', b'{"a":1,"a":2}'])
def test_what_is_no_receipt_is_refused(text: bytes, receipt: ReceiptFile) -> None:
    with refused("receipt.form"):
        parse_receipt(text)
    with refused("receipt.form"):
        parse_receipt(render_receipt(receipt).replace(b'"format"', b'"formed"'))


def _edited(receipt: ReceiptFile, *edits: tuple[str, str]) -> ReceiptFile:
    entry = receipt.entry
    for old, new in edits:
        assert old in entry, old
        entry = entry.replace(old, new)
    return replace(receipt, entry=canonicalize(parse_json(entry)).decode())


_FLAG_TO_CLEAR = ('"verdict":"FLAG"', '"verdict":"CLEAR"')
_JUDGED_CLEAR = ('"outcome":"breached","truth":false', '"outcome":"satisfied","truth":true')
_SAID_CLEAR = ('"model_verdict":"FLAG"', '"model_verdict":"CLEAR"')
_UNDER_THE_LIMIT = ("36.5", "6.5")


@pytest.mark.clause("ski", "7.5")
@pytest.mark.parametrize(
    "edits",
    [
        [_FLAG_TO_CLEAR],
        [_FLAG_TO_CLEAR, _SAID_CLEAR],
        [_FLAG_TO_CLEAR, _SAID_CLEAR, _JUDGED_CLEAR, ('"satisfied":false', '"satisfied":true'), _UNDER_THE_LIMIT],
        [_UNDER_THE_LIMIT],
        [('"subject":"stack"', '"subject":"chimney"')],
        [('"telemetry_id":"t-1"', '"telemetry_id":"t-2"')],
        [_JUDGED_CLEAR],
        [('"status":"AGREED"', '"status":"UNVERIFIABLE"')],
        [('"tier":"medium"', '"tier":"low"')],
        [('"rule_id":"so2"', '"rule_id":"nox"')],
        [('"role":"obligation"', '"role":"definition_resolved"')],
        [('"reasoning":"', '"reasoning":"not ')],
        [('"is_mapped":true', '"is_mapped":false')],
        [('"verdict_path":null', '"verdict_path":"fast"')],
    ],
)
def test_an_entry_that_does_not_follow_from_its_transcript_is_refused(
    desk: VerdictDesk, receipt: ReceiptFile, edits: list[tuple[str, str]]
) -> None:
    """Whoever writes another record, answer, finding or verdict into the entry has nothing to show for it."""
    finding = _check(desk, _edited(receipt, *edits))
    assert (finding.result, _failed(finding), finding.checks[-1].code) == ("REFUSED", ["7 verdict"], "receipt.verdict")


@pytest.mark.clause("ski", "7.5")
def test_the_entry_of_another_record_does_not_pass_with_this_transcript(
    desk: VerdictDesk, receipt: ReceiptFile
) -> None:
    other = desk.decide({"so2": 3, "nox": 2}, name="t-other").verdicts
    number = next(one.sequence_number for one in other if one.rule_id == "so2")
    swapped = replace(receipt, entry=export_receipt(desk.tools, TENANT, number).entry)
    assert (_check(desk, swapped).result, _failed(_check(desk, swapped))) == ("REFUSED", ["7 verdict"])


@pytest.fixture(scope="module")
def proof(desk: VerdictDesk) -> Bundle:
    sign_checkpoint(desk.tools, TENANT, at=desk.tools.clock.now())
    return prove_entry(desk.tools, TENANT, _entry(desk, "so2"))


def _verified(desk: VerdictDesk, proof: Bundle, scorer: ScoringReasoner | None = None) -> tuple[bool, Check]:
    finding = check_proof(render_bundle(proof), _founder(desk), find_scorer=lambda _: scorer)
    return finding.holds, finding.checks[-1]


def _carrying(proof: Bundle, content: bytes) -> Bundle:
    return replace(proof, attachments=(replace(proof.attachments[0], sha256=digest_of(content), content=content),))


@pytest.mark.clause("ski", "7.5")
def test_the_proof_of_a_verdict_carries_its_receipt_and_verify_reads_it_again(desk: VerdictDesk, proof: Bundle) -> None:
    """One file for entry, place in the ledger and inference; without the weights the last is said to be unchecked."""
    assert [one.kind for one in proof.attachments] == ["assay-receipt"]
    holds, check = _verified(desk, proof, _judge())
    assert (holds, check.name, check.outcome) == (True, "inference", "ok")
    assert check.message.startswith("EXACT: ")
    holds, check = _verified(desk, proof)
    assert (holds, check.outcome, check.code) == (True, "not_checked", None)
    held = prove_entry(desk.tools, TENANT, _entry(desk, "nox"))
    assert held.attachments == ()


@pytest.mark.clause("ski", "7.5")
def test_a_proof_with_a_forged_receipt_does_not_hold(desk: VerdictDesk, proof: Bundle, receipt: ReceiptFile) -> None:
    """Whether the token was changed, the entry is another, or it is no receipt at all; the hashes fit each time."""
    changed = relabel(receipt, _a_token(3))
    lying = forge(receipt, desk.tools.transcript_signer, _a_token(3))
    other = replace(receipt, entry=receipt.entry.replace("so2", "nox"))
    for forged, code in ((changed, None), (lying, "receipt.root"), (other, "proof.attachment")):
        holds, check = _verified(desk, _carrying(proof, render_receipt(forged)), _judge())
        assert (holds, check.outcome) == (False, "failed")
        assert code in (None, check.code), check
    holds, check = _verified(desk, _carrying(proof, b"{}"), _judge())
    assert (holds, check.code) == (False, "receipt.form")
