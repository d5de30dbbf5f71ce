"""SKI 9.3 as a whole: one node, the real judge, a TPM, a person; and each proof checked by what an outsider has."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.reasoning.judge import JudgeReasoner, shipped_weights
from assay.adapters.reasoning.judge_here import JudgeHere
from assay.adapters.tpm import TpmMeasuredBoot
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.verdicts.read_verdicts import show_verdict
from assay.flows.verdicts.receipts import export_receipt
from assay.flows.verdicts.replay_verdict import replay_verdicts
from assay.flows.verdicts.verify_receipt import check_receipt
from assay.kernel.key import TrustAnchors
from assay.kernel.ledger import EntryKind
from assay.ports.model import ModelUnavailableError
from assay.ports.reasoner import ReasonerIdentity
from assay.verdicts.envelope import Verdict
from assay.verdicts.govern import verify_attestation
from assay.verdicts.reason import RawReply, ReasonRequest
from assay.verdicts.replay import summarise_replays
from tests.contract._kit import refused
from tests.flows._node import TENANT
from tests.flows._verdicts import VerdictDesk, opened_verdicts, rule
from tests.software_tpm import running_tpm
from tests.verdict_calls import audit_measurements


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VerdictDesk]:
    """Strict, without the fast path: what Level 3 takes, and a rule of each risk."""
    with running_tpm(tmp_path / "tpm") as tcti, opened_verdicts(tmp_path) as opened:
        opened.judge_by(rule("low", "low"), rule("medium", "medium"), rule("high", "high"))
        opened.settings(weights=(shipped_weights().expected,), is_backend_tagged=False, fast_path_n=0)
        judge = JudgeReasoner(JudgeHere(shipped_weights()), SystemClock())
        opened.use(reasoner=judge, boot=TpmMeasuredBoot(tcti, register=12))
        yield opened


@pytest.mark.clause("ski", "9.3")
def test_every_verdict_has_its_receipt_its_measurement_and_where_it_must_its_attestation(desk: VerdictDesk) -> None:
    (ticket,) = (one.ticket_id for one in desk.decide({"so2": 40}).verdicts if one.verdict is None)
    desk.attest(ticket)
    decided = show_verdict(desk.tools, TENANT, "t-1")
    assert [one.verdict for one in decided.verdicts] == [Verdict.FLAG] * 3
    founder = TrustAnchors(key_ids=frozenset({desk.tools.founder}))
    reviewer = desk.tools.review_signer.public_key
    judge = desk.tools.reasoner
    assert reviewer is not None
    assert isinstance(judge, JudgeReasoner)
    for one in decided.verdicts:
        finding = check_receipt(export_receipt(desk.tools, TENANT, one.sequence_number), judge, founder)
        assert (finding.result, finding.is_trusted) == ("EXACT", True)
        assert one.envelope is not None
        assert (one.envelope.human_attestation is not None) is (one.tier == "high")
        if one.envelope.human_attestation is not None:
            verify_attestation(one.envelope.human_attestation, one.envelope, reviewer, at=desk.at(minutes=11))
    (body,) = desk.entries(EntryKind.WEIGHTS_MEASURED)
    key = body["quote"]["attestation_key"].encode()
    assert audit_measurements(desk.tools, TENANT, attestation_key=key).holds
    assert summarise_replays(replay_verdicts(desk.tools, TENANT)).is_clean
    assert audit_ledger(desk.tools, TENANT, full=True).holds


class _Away:
    """The judge, which does not answer."""

    def identify(self) -> ReasonerIdentity:
        return JudgeReasoner(JudgeHere(shipped_weights()), SystemClock()).identify()

    def complete(self, _request: ReasonRequest) -> RawReply:
        raise ModelUnavailableError("expected a model, got none")


@pytest.mark.clause("ski", "7.5")
@pytest.mark.clause("ski", "9.3")
def test_at_level_three_there_is_no_verdict_without_a_receipt(tmp_path: Path) -> None:
    """Not where no model answered, nor from a backend that cannot be read again; and nothing is recorded of it."""
    with opened_verdicts(tmp_path) as opened:
        opened.judge_by(rule("low", "low"))
        opened.settings(requires_receipt=True, fast_path_n=0)
        with refused("receipt.none"):
            opened.decide({"so2": 1})
        opened.settings(weights=(shipped_weights().expected,), is_backend_tagged=False)
        opened.use(reasoner=_Away())
        with refused("model.unavailable"):
            opened.decide({"so2": 1})
        with refused("flow.not_found"):
            show_verdict(opened.tools, TENANT, "t-1")
        opened.use(reasoner=JudgeReasoner(JudgeHere(shipped_weights()), SystemClock()))
        assert opened.decide({"so2": 1}).is_new
