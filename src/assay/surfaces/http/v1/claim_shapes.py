"""Claims on the wire, for `/claims` and for `/api/v1/claims`: what is sent, what comes back, and how either is read."""

from typing import Any

import msgspec
from msgspec import Struct

from assay.claims.bundle import ClaimBundle
from assay.claims.decide import Outcome
from assay.claims.parse_bundle import Reading
from assay.flows.claims.claims_entry import AskedTicket, ClaimsDecided
from assay.flows.claims.decide_claims import GatedClaims
from assay.flows.claims.gate_claims import Submission
from assay.flows.claims.show_claims import ListedClaims
from assay.kernel.digest import Digest
from assay.kernel.instant import Instant
from assay.kernel.json_text import parse_json

BUNDLE_EXAMPLE: dict[str, Any] = {
    "bundle": {
        "id": "5b0d0c1e-6d5c-4a3e-9b57-1f6f0c1d0002",
        "timestamp": "2026-01-07T12:00:00Z",
        "origin_agent": "ai:planner",
        "claims": [
            {
                "id": "c-1",
                "statement": "The river is 30 m deep.",
                "claim_type": "FACT",
                "evidence_pointers": [
                    {
                        "source": "https://data.example.org/rivers.csv",
                        "source_confidence": 0.9,
                        "evidence_hash": "ab" * 32,
                        "retrieved_at": "2026-01-07T11:00:00Z",
                    }
                ],
                "uncertainty": {"method": "semantic_entropy", "value": 0.1, "gate_recommendation": "EXECUTE"},
                "risk_tier": "READ_ONLY",
                "if_wrong_cost": "a boat runs aground",
            }
        ],
    },
    "thread": "survey-7",
}


class GateBundle(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bundle as in ClaimBundle 2.0, and what comes with it.

    `thread` is the session it belongs to, `tool_arguments` what tools are to be called with, `questions` by claim id
    what this node's own model is asked; `reading` `strict` takes no short hashes.
    """

    bundle: dict[str, Any]
    thread: str | None = None
    tool_arguments: tuple[str, ...] = ()
    questions: dict[str, str] = {}
    reading: Reading = Reading.LEGACY


class ResumeBundle(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Without a bundle the same one is gated again; with one, that takes its place."""

    bundle: dict[str, Any] | None = None
    thread: str | None = None
    tool_arguments: tuple[str, ...] = ()
    questions: dict[str, str] = {}
    reading: Reading = Reading.LEGACY


class GatedBundle(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds and is on record. `tickets` are what people have to answer; `is_new`: this call recorded it.

    Act on a PUBLISH once for each `bundle_hash`: after an approval it is the approver's call that recorded it.
    """

    bundle_hash: Digest
    decision: str
    bundle: ClaimBundle
    outcome: Outcome
    position: int
    sequence_number: int
    tickets: tuple[AskedTicket, ...]
    is_new: bool


class ClaimView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bundle as it stands, and every decision about it in order."""

    gated: GatedBundle
    decisions: tuple[ClaimsDecided, ...]
    submitted_by: str
    received_at: Instant
    resumes: Digest | None
    successor: Digest | None


class ClaimPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[ListedClaims, ...]
    next: str | None


def gated_answer(done: GatedClaims) -> GatedBundle:
    return GatedBundle(**msgspec.structs.asdict(done), decision=done.decision.value)


def bundle_in(received: bytes) -> dict[str, Any]:
    """Read again with plain numbers: that is what a bundle's hash is over. The body was found to be sound before."""
    document = parse_json(received)
    found = document.get("bundle") if isinstance(document, dict) else None
    return found if isinstance(found, dict) else {}


def submission_of(wanted: GateBundle | ResumeBundle) -> Submission:
    return Submission(thread=wanted.thread, tool_arguments=wanted.tool_arguments, questions=wanted.questions)
