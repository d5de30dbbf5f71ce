"""What follows from a recorded answer without a model (SKI 8.1, step 5): verifier, governor, and the envelope's words.

answer + scene -> verify_again, verify_fast_again -> the verifier's result
answer + entry -> check_ruling, check_wording -> what does not follow, in words, or None
"""

from assay.flows.verdicts.replay_answer import claimed_count, fast_again
from assay.flows.verdicts.replay_scene import Scene
from assay.flows.verdicts.stored_verdict import StoredVerdict
from assay.kernel.ledger import EntryKind
from assay.verdicts.envelope import VerifierResult, VerifierStatus
from assay.verdicts.fastpath import Stability, may_skip_model, pattern_of
from assay.verdicts.govern import govern, settle_held
from assay.verdicts.reason import Interpretation
from assay.verdicts.record import seal_envelope
from assay.verdicts.verify import Verification, judge_all, verify

# A result that no verifier gives, so that it equals none that was recorded.
_NOBODY = VerifierResult(status=VerifierStatus.UNVERIFIABLE, checked_assertions=-1)


def verify_again(stored: StoredVerdict, scene: Scene, said: Interpretation | None) -> VerifierResult | None:
    """The verifier on the recorded assertions, which must be those of the recorded answer."""
    if said is None:
        return None
    if said.answer.formalizable_assertions != stored.envelope.formalizable_assertions:
        return _NOBODY
    return verify(scene.docket, scene.telemetry, scene.facts, said.answer, error=said.error, notice=said.notice).result


def verify_fast_again(stored: StoredVerdict, scene: Scene, stability: Stability | None) -> VerifierResult:
    """The verifier alone once more, where the ledger's earlier verdicts were as stable as the entry says."""
    judgements = judge_all(scene.docket, scene.telemetry, scene.facts)
    claimed, recorded = claimed_count(stored), stored.envelope
    pattern = pattern_of(scene.docket, judgements, recorded.model_provenance)
    is_stable = stability is not None and stability.pattern == pattern and 1 <= claimed <= stability.count
    if not is_stable or not may_skip_model(scene.docket, judgements, stability, stable=claimed):
        return _NOBODY
    again = fast_again(stored, scene, judgements)
    is_same = again.answer.formalizable_assertions == recorded.formalizable_assertions
    return again.verification.result if is_same and judgements == stored.body.judgements else _NOBODY


def check_ruling(stored: StoredVerdict, scene: Scene, said: Interpretation | None) -> str | None:
    """The governor follows from tier and verifier: a verdict that does not follow is a divergence."""
    if said is None:
        return None
    envelope, recorded = stored.envelope, stored.body.ruling
    ruling = govern(said.answer.verdict, envelope.verifier_result.status, scene.docket.tier)
    if stored.row.kind == EntryKind.VERDICT_FINAL:
        is_attested = envelope.human_attestation is not None
        ruling = settle_held(ruling, envelope.verifier_result.status, is_attested=is_attested)
    if ruling == recorded and stored.row.verdict == ruling.verdict:
        return None
    return f"governor: expected {ruling.verdict}, got {recorded.verdict}"


def check_wording(stored: StoredVerdict, scene: Scene, said: Interpretation | None) -> str | None:
    """The envelope's own words and citations: those of the answer, and no others."""
    if said is None:
        return None
    envelope, body = stored.envelope, stored.body
    verification = Verification(result=envelope.verifier_result, judgements=body.judgements, expected=envelope.verdict)
    sealed = seal_envelope(
        scene.docket,
        said.answer,
        verification,
        body.ruling,
        provenance=envelope.model_provenance,
        transcript_ref=envelope.transcript_ref,
    )
    if (sealed.reasoning, sealed.kg_citations) == (envelope.reasoning, envelope.kg_citations):
        return None
    return "envelope: its reasoning or its citations are not those of the answer"
