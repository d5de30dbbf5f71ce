"""Claims: entries about policies of the gates, bundles, decisions and evidence, and the rows that follow from them.

bundle -> `claims.received` -> decisions, each with a bundle for every gate that was asked -> `claims.decided`
"""

from collections.abc import Callable, Iterator, MutableMapping
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from assay.claims.approve import Approval
from assay.claims.bundle import ClaimBundle, UncertaintyMethod, bundle_hash, render_bundle
from assay.claims.decide import Outcome
from assay.claims.estimate.estimate import Estimate
from assay.claims.gate import GateAnswer, Resumption
from assay.claims.guardian import ThreatReport
from assay.claims.oversight.sample import SamplePlan
from assay.claims.passage import Passage
from assay.claims.problem import ClaimProblem
from assay.claims.risk import highest_tier
from assay.facts.kinds import Content, Fact, Projected, Table
from assay.facts.ledger import Erasure
from assay.identity.risk import RiskTier
from assay.kernel.canonical import canonical_json, canonicalize
from assay.kernel.digest import Digest
from assay.kernel.entry import Entry
from assay.kernel.ids import KeyId, PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.json_text import JsonValue
from assay.kernel.ledger import Draft, EntryKind, Event, draft_entry
from assay.ports.claims_store import (
    CONTENT_POINTER,
    EvidenceContent,
    EvidenceFact,
    ReceivedBundle,
    RecordedDecision,
    ReleasedClaimsPolicy,
    TakenTurn,
)

CLAIMS_SERVICE = PrincipalId("service:claims")
# An entry stays small enough to be read back everywhere; what is left out is counted.
_MOST_FINDINGS = 50
_MOST_PROBLEMS = 100


class BundleContext(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came with a bundle and is not part of it: arguments for tools, and what this node computed itself.

    `questions` are what its model was asked for each of the `estimates`, by the policy's template or by the agent.
    `estimate_problem` says why an uncertainty that was asked for could not be computed; the gate defers then.
    `asked_by` is who asked the node for the output that the bundle claims, where it is one of the node's own, and
    `answer_id` the answer that waits for the bundle.
    `passages` are what the pointers of each claim quote. `edited_by` is the reviewer who changed the bundle that this
    one takes the place of.
    """

    tool_arguments: tuple[str, ...] = ()
    estimates: dict[str, Estimate] = {}
    questions: dict[str, str] = {}
    estimate_problem: str | None = None
    asked_by: PrincipalId | UnsetType = UNSET
    answer_id: str | UnsetType = UNSET
    passages: dict[str, tuple[Passage, ...]] | UnsetType = UNSET
    edited_by: PrincipalId | UnsetType = UNSET


class BundleReceived(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `claims.received` entry: the bundle as it came, before any gate was asked."""

    bundle_hash: Digest
    bundle: dict[str, Any] | ClaimBundle
    submitted_by: PrincipalId
    thread: str | None
    resumes: Digest | None
    context: BundleContext
    # Of a bundle with tool arguments: by it the ledger's own index finds the bundle of a call again.
    bundle_id: str | UnsetType = UNSET


class AskedTicket(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question that a decision put to people: for approval as `role`, or for a deferral, which has none."""

    ticket_id: TicketId
    role: str | None = None


class Turn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bundle took its turn in the rate of its agent: the agent's first, second, third …"""

    of: PrincipalId
    position: int


class DecisionFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a decision rested on besides bundle, policy and what came with the bundle; nothing said is none.

    `held` and `erased` are hashes of evidence, `threat` the worst report of the guardians, where they were asked.
    `mandate` is the standing approval that covered the call.
    """

    rules: int
    risk_ceiling: RiskTier | None
    recent_bundles: int | UnsetType = UNSET
    held: tuple[str, ...] | UnsetType = UNSET
    erased: tuple[str, ...] | UnsetType = UNSET
    session: tuple[RiskTier, ...] | UnsetType = UNSET
    approvers: dict[str, int] | UnsetType = UNSET
    approvals: tuple[Approval, ...] | UnsetType = UNSET
    approvals_due_at: Instant | UnsetType = UNSET
    resumptions: tuple[Resumption, ...] | UnsetType = UNSET
    threat: ThreatReport | UnsetType = UNSET
    mandate: str | UnsetType = UNSET


class ClaimsDecided(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `claims.decided` entry: the outcome, and each gate's own decision as a bundle with one claim.

    `position` counts the decisions about one bundle; `tickets` are those that this decision opened, `approvals` the
    answers that it used up. `left_out` is how many findings there were beyond those that are kept. `turn` is there
    where the bundle took its turn with this decision. `facts` is what it can be decided again by; releases before
    it had none.
    """

    bundle_hash: Digest
    position: int
    outcome: Outcome
    left_out: int
    gates: tuple[Any, ...]
    tickets: tuple[AskedTicket, ...] = ()
    approvals: tuple[str, ...] = ()
    turn: Turn | UnsetType = UNSET
    facts: DecisionFacts | UnsetType = UNSET


class ClaimsRefused(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `claims.refused` entry: what came was no bundle, or not its sender's."""

    document_hash: Digest
    submitted_by: PrincipalId
    code: str
    reason: str
    problems: tuple[ClaimProblem, ...] = ()


class EvidenceAttached(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `claims.evidence` entry; the content is beside the ledger, under its hash."""

    sha256: str
    size: int
    attached_by: PrincipalId


class GatePolicyReleased(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `claims.policy` entry: the whole document, and whose signature it bears."""

    policy_id: str
    version: str
    policy_hash: Digest
    document: str
    key_id: KeyId
    signature: str
    released_by: PrincipalId


class SamplePlanned(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `claims.sample_plan` entry: the plan in force, signed. `revealed` is the seed of the one before."""

    plan: SamplePlan
    key_id: KeyId
    signature: str
    planned_by: PrincipalId
    revealed: str | UnsetType = UNSET


class SampledTicket(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    bundle_hash: Digest
    ticket_id: TicketId


class OutputsSampled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `claims.sampled` entry: the tickets for what was published in the entries `first` to `last`.

    Tickets with a known answer are among them; which ones, only the seed tells.
    """

    plan_id: str
    first: int
    last: int
    tickets: tuple[SampledTicket, ...]


class OutputLabelled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `claims.labelled` entry: a person knows whether the bundle is right."""

    bundle_hash: Digest
    is_right: bool
    reason: str
    labelled_by: PrincipalId


class ThresholdsCertified(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `claims.certified` entry: cases that the threshold in force was shown to hold on.

    `scores` are those of the cases, or every n-th of them where there are many.
    """

    policy_hash: Digest
    method: UncertaintyMethod
    defer_above: float
    explain_above: float
    alpha: float
    delta: float
    cases: int
    scores: tuple[float, ...]
    certified_by: PrincipalId


class ScoresShifted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `claims.shifted` entry: scores stopped to be exchangeable with those of the certificate.

    `certificate` is the entry of that; `restored` the policy that was put in force for it, where it is another.
    """

    certificate: int
    scores: int
    wealth: float
    ticket_id: TicketId
    restored: Digest | UnsetType = UNSET


def received_row(
    bundle: ClaimBundle,
    context: BundleContext,
    *,
    submitted_by: PrincipalId,
    thread: str | None,
    resumes: Digest | None,
    at: Instant,
) -> ReceivedBundle:
    """Without its entry's number, which it gets in the commit."""
    return ReceivedBundle(
        bundle_hash=bundle_hash(bundle),
        bundle_id=bundle.id,
        submitted_by=submitted_by,
        tier=str(highest_tier(bundle)),
        thread=thread,
        resumes=resumes,
        text=render_bundle(bundle).decode(),
        context=canonical_json(context),
        received_at=at,
        sequence_number=0,
    )


def received_entry(
    tenant_id: TenantId, row: ReceivedBundle, bundle: ClaimBundle | None = None, context: BundleContext | None = None
) -> Draft:
    """The entry of a row; `bundle` and `context` are what its texts were rendered from, where they are at hand."""
    context = msgspec.json.decode(row.context, type=BundleContext) if context is None else context
    body = BundleReceived(
        bundle_hash=row.bundle_hash,
        bundle_id=row.bundle_id if context.tool_arguments else UNSET,
        bundle=msgspec.json.decode(row.text) if bundle is None else bundle,
        submitted_by=row.submitted_by,
        thread=row.thread,
        resumes=row.resumes,
        context=context,
    )
    news: dict[str, JsonValue] = {"bundle_hash": row.bundle_hash, "bundle_id": row.bundle_id, "tier": row.tier}
    return _entry(tenant_id, EntryKind.CLAIMS_RECEIVED, body, row.bundle_hash, news, at=row.received_at)


def decision_entry(tenant_id: TenantId, body: ClaimsDecided) -> Draft:
    outcome = body.outcome
    news: dict[str, JsonValue] = {
        "bundle_hash": body.bundle_hash,
        "position": body.position,
        "decision": outcome.decision.value,
        "required_approvals": list(outcome.required_approvals),
    }
    return _entry(tenant_id, EntryKind.CLAIMS_DECIDED, body, body.bundle_hash, news, at=outcome.decided_at)


def refused_entry(tenant_id: TenantId, body: ClaimsRefused, *, at: Instant) -> Draft:
    kept = replace(body, problems=body.problems[:_MOST_PROBLEMS])
    news: dict[str, JsonValue] = {"document_hash": body.document_hash, "code": body.code}
    return _entry(tenant_id, EntryKind.CLAIMS_REFUSED, kept, body.document_hash, news, at=at)


def evidence_entry(tenant_id: TenantId, hashed: str, size: int, *, by: PrincipalId, at: Instant) -> Draft:
    body = EvidenceAttached(sha256=hashed, size=size, attached_by=by)
    news: dict[str, JsonValue] = {"sha256": hashed, "size": size}
    return _entry(tenant_id, EntryKind.CLAIMS_EVIDENCE, body, hashed, news, at=at)


def policy_entry(tenant_id: TenantId, policy: ReleasedClaimsPolicy) -> Draft:
    body = GatePolicyReleased(
        policy_id=policy.policy_id,
        version=policy.version,
        policy_hash=policy.policy_hash,
        document=policy.document,
        key_id=policy.key_id,
        signature=policy.signature,
        released_by=policy.released_by,
    )
    news: dict[str, JsonValue] = {"policy_id": policy.policy_id, "version": policy.version}
    return _entry(tenant_id, EntryKind.CLAIMS_POLICY, body, policy.policy_id, news, at=policy.released_at)


def oversight_entry(
    tenant_id: TenantId,
    body: SamplePlanned | OutputsSampled | OutputLabelled | ThresholdsCertified | ScoresShifted,
    *,
    at: Instant,
) -> Draft:
    """The entry of each step of oversight; the ledger alone holds them, and no table."""
    kind, subject = _OVERSIGHT[type(body)](body)
    return _entry(tenant_id, kind, body, subject, {"about": subject}, at=at)


_OVERSIGHT: dict[type, Callable[[Any], tuple[EntryKind, str]]] = {
    SamplePlanned: lambda body: (EntryKind.CLAIMS_SAMPLE_PLAN, body.plan.id),
    OutputsSampled: lambda body: (EntryKind.CLAIMS_SAMPLED, body.plan_id),
    OutputLabelled: lambda body: (EntryKind.CLAIMS_LABELLED, body.bundle_hash),
    ThresholdsCertified: lambda body: (EntryKind.CLAIMS_CERTIFIED, body.policy_hash),
    ScoresShifted: lambda body: (EntryKind.CLAIMS_SHIFTED, body.ticket_id),
}


def bounded_outcome(outcome: Outcome) -> tuple[Outcome, int]:
    """The outcome with as many findings as are kept, and how many are left out; decision and reason are whole."""
    kept = replace(
        outcome,
        findings=outcome.findings[:_MOST_FINDINGS],
        answers=tuple(_bounded_answer(answer) for answer in outcome.answers),
    )
    return kept, max(len(outcome.findings) - _MOST_FINDINGS, 0)


def _bounded_answer(answer: GateAnswer) -> GateAnswer:
    return replace(answer, findings=answer.findings[:_MOST_FINDINGS])


def _entry(
    tenant_id: TenantId, kind: EntryKind, body: Struct, subject: str, news: dict[str, JsonValue], *, at: Instant
) -> Draft:
    event = Event(type=kind.value, subject=subject, body=Raw(canonicalize(news)))
    return draft_entry(tenant_id, kind, body, at=at, events=(event,))


class _Received(Struct, frozen=True, kw_only=True):
    """A `claims.received` body for its row: bundle and context as they are in the entry."""

    bundle_hash: Digest
    bundle: Raw
    submitted_by: PrincipalId
    thread: str | None
    resumes: Digest | None
    context: Raw


class _DecidedOutcome(Struct, frozen=True, kw_only=True):
    decision: str
    reason: str
    policy_hash: Digest


class _Decided(Struct, frozen=True, kw_only=True):
    """The part of a `claims.decided` body that its rows follow from; the whole body is the row's text."""

    bundle_hash: Digest
    position: int
    outcome: _DecidedOutcome
    turn: Turn | UnsetType = UNSET


def _policy_rows(entry: Entry, body: GatePolicyReleased) -> Iterator[ReleasedClaimsPolicy]:
    yield ReleasedClaimsPolicy(
        policy_hash=body.policy_hash,
        policy_id=body.policy_id,
        version=body.version,
        document=body.document,
        key_id=body.key_id,
        signature=body.signature,
        released_at=entry.timestamp,
        released_by=body.released_by,
        sequence_number=entry.sequence_number,
    )


def _bundle_rows(entry: Entry, body: _Received) -> Iterator[ReceivedBundle]:
    bundle = msgspec.json.decode(body.bundle, type=ClaimBundle)
    yield ReceivedBundle(
        bundle_hash=body.bundle_hash,
        bundle_id=bundle.id,
        submitted_by=body.submitted_by,
        tier=str(highest_tier(bundle)),
        thread=body.thread,
        resumes=body.resumes,
        text=bytes(body.bundle).decode(),
        context=bytes(body.context).decode(),
        received_at=entry.timestamp,
        sequence_number=entry.sequence_number,
    )


def _decision_rows(entry: Entry, body: _Decided) -> Iterator[RecordedDecision | TakenTurn]:
    yield RecordedDecision(
        bundle_hash=body.bundle_hash,
        position=body.position,
        decision=body.outcome.decision,
        reason=body.outcome.reason,
        policy_hash=body.outcome.policy_hash,
        text=bytes(entry.body).decode(),
        decided_at=entry.timestamp,
        sequence_number=entry.sequence_number,
    )
    if body.turn is not UNSET:
        yield TakenTurn(
            bundle_hash=body.bundle_hash,
            submitted_by=body.turn.of,
            position=body.turn.position,
            taken_at=entry.timestamp,
            sequence_number=entry.sequence_number,
        )


def _fold_contents(rows: MutableMapping[Any, Any], entry: Entry) -> None:
    """Content is there from the entry that attached it until one that erased it."""
    if entry.kind is EntryKind.CLAIMS_EVIDENCE:
        attached = msgspec.json.decode(entry.body, type=EvidenceAttached)
        rows[entry.sequence_number] = EvidenceContent(sha256=attached.sha256, content=attached.sha256.encode())
    else:
        erasure = msgspec.json.decode(entry.body, type=Erasure)
        if CONTENT_POINTER in erasure.pointers:
            rows.pop(erasure.sequence_number, None)


def _sealed_content(row: EvidenceContent) -> EvidenceContent:
    return replace(row, content=sha256(row.content).hexdigest().encode())


def _evidence_rows(entry: Entry, body: EvidenceAttached) -> Iterator[EvidenceFact]:
    yield EvidenceFact(
        sha256=body.sha256,
        size=body.size,
        attached_by=body.attached_by,
        attached_at=entry.timestamp,
        sequence_number=entry.sequence_number,
    )


FACTS: tuple[Fact, ...] = (
    Fact(EntryKind.CLAIMS_POLICY, GatePolicyReleased, _policy_rows, into=(ReleasedClaimsPolicy,)),
    Fact(EntryKind.CLAIMS_RECEIVED, _Received, _bundle_rows, into=(ReceivedBundle,)),
    Fact(EntryKind.CLAIMS_DECIDED, _Decided, _decision_rows, into=(RecordedDecision, TakenTurn)),
    Fact(EntryKind.CLAIMS_EVIDENCE, EvidenceAttached, _evidence_rows, into=(EvidenceFact,)),
)
TABLES = (
    Table(
        "claims_policy",
        Projected(ReleasedClaimsPolicy),
        keys=("policy_hash", "policy_id", "version"),
        taken="version `{version}` of the policy `{policy_id}`",
    ),
    Table(
        "claims_bundle",
        Projected(ReceivedBundle),
        keys=("bundle_hash", "submitted_by", "thread", "resumes"),
        taken="the bundle {bundle_hash}",
    ),
    Table(
        "claims_decision",
        Projected(RecordedDecision),
        keys=("bundle_hash",),
        taken="decision {position} about the bundle {bundle_hash}",
    ),
    Table(
        "claims_turn",
        Projected(TakenTurn),
        keys=("bundle_hash", "submitted_by"),
        taken="the turn of the bundle {bundle_hash}",
    ),
    Table("claims_evidence", Projected(EvidenceFact), keys=("sha256",), taken="the evidence {sha256}"),
    Table(
        "claims_evidence_content",
        Content(
            "`sha256` in the entry that attached it",
            row=EvidenceContent,
            fold=_fold_contents,
            folds=(EntryKind.CLAIMS_EVIDENCE, EntryKind.ERASURE),
            seal=_sealed_content,
        ),
    ),
)
