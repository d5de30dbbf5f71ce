"""Transcripts of a real node, and verdicts that rest on them."""

from msgspec import Raw

from assay.flows.tools import Tools
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest
from assay.kernel.ledger import Draft, EntryKind, VerdictColumns, draft_entry
from assay.kernel.transcript import Transcript, draft_to_sign, seal_transcript
from tests.flows._node import TENANT

__all__ = ["add_transcript", "verdict_on"]

_ANY = Digest("sha256:" + "5a" * 32)


def add_transcript(tools: Tools, question: str = "is it hot?") -> Transcript:
    """Signed with the node's own key and kept."""
    at, signer = tools.clock.now(), tools.transcript_signer
    draft, message = draft_to_sign(
        {"prompt": question},
        {"text": "no"},
        signing_key_id=signer.key_id,
        backend_name="scripted",
        backend_metadata={},
        started_at=at,
        completed_at=at,
    )
    transcript = seal_transcript(draft, signer.sign(message))
    tools.database.write(lambda unit: unit.transcripts.add(TENANT, transcript))
    return transcript


def verdict_on(tools: Tools, transcript_ref: str) -> Draft:
    verdict = VerdictColumns(
        telemetry_id="t-1",
        telemetry_hash=_ANY,
        verdict="FLAG",
        rule_id="r-1",
        kg_version_hash=_ANY,
        model_weight_hash=_ANY,
        llm_transcript=Raw(canonicalize({"transcript_ref": transcript_ref})),
        verifier_result=Raw(b'{"agreed":true}'),
    )
    return draft_entry(TENANT, EntryKind.VERDICT, {"n": 1}, at=tools.clock.now(), verdict=verdict)
