"""Every operation as a method. Generated from the table by `make docs`; edit the table instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from assay.operations.given import drop_absent

if TYPE_CHECKING:
    from assay.claims.bundle import ClaimBundle, UncertaintyMethod
    from assay.claims.estimate.conform import RiskControl
    from assay.claims.estimate.entropy import Correction, Weighting
    from assay.claims.estimate.estimate import Estimate
    from assay.claims.estimate.stated import Isotonic, Platt, Temperature
    from assay.claims.oversight.reviewers import OversightRules
    from assay.claims.parse_bundle import Reading
    from assay.claims.passage import Selector
    from assay.delivery.federate import Agreement
    from assay.delivery.level import Level
    from assay.delivery.outcome import ReporterGrant, Signal
    from assay.delivery.plugin import Category
    from assay.delivery.query import QueryType
    from assay.delivery.rule import RuleRef
    from assay.delivery.state import PramanaState
    from assay.delivery.suggestion import HeldOut
    from assay.delivery.webhook import Webhook
    from assay.facts.claims import OutputLabelled, ThresholdsCertified
    from assay.flows.claims.backtest_claims import BacktestResult
    from assay.flows.claims.calibrate import (
        AnswerCase,
        Calibrated,
        CalibratorName,
        ConformalScore,
        ConformalSets,
        LabelledCase,
        LossCase,
        PlotName,
    )
    from assay.flows.claims.decide_claims import GatedClaims
    from assay.flows.claims.evidence import AttachedEvidence, EvidenceView, QuoteChecked
    from assay.flows.claims.oversight import LabelledOutputs, Oversight
    from assay.flows.claims.policies import ApproversView, GatePolicyView, PolicyCheck, PolicyRelease, TriedBundle
    from assay.flows.claims.sampling import SampleChecked, SampleStanding
    from assay.flows.claims.show_claims import ClaimsView, ListedClaims
    from assay.flows.delivery.answer_finding import Handled
    from assay.flows.delivery.answers import AnswerDetail, AnswerLine
    from assay.flows.delivery.count_outcome import Reported
    from assay.flows.delivery.deliver_answer import AnsweredQuestion
    from assay.flows.delivery.emit_event import Emitted
    from assay.flows.delivery.outcomes import OutcomeLine
    from assay.flows.delivery.peers import Forwarded
    from assay.flows.delivery.query_types import ShortAnswer
    from assay.flows.delivery.recount_rules import Recount
    from assay.flows.delivery.root_causes import ShownItem
    from assay.flows.delivery.rules import RuleAlert, RuleLine, ShownRuleRecord
    from assay.flows.delivery.service_state import ShownTrust
    from assay.flows.delivery.trace import ShownTrace
    from assay.flows.delivery.training import PairFormat, TrainingJobs, TrainingQueue
    from assay.flows.delivery.webhooks import AddedWebhook, Replayed, ShownWebhook
    from assay.flows.identity.api_keys import AddedSigningKey, IssuedKey, ListedApiKey
    from assay.flows.identity.principals import AmendedPrincipal, NameErasure, PasswordSet, PrincipalView
    from assay.flows.identity.sessions import LoggedIn, Who
    from assay.flows.ledger.activity import Activity, ActivityDays
    from assay.flows.ledger.audit_mark import AuditReport
    from assay.flows.ledger.entries import EntryItem, ErasedEntry
    from assay.flows.ledger.proofs import CheckpointItem, EntryProofForm, IndexItem, NewIndexes
    from assay.flows.ledger.report_page import ReportForm
    from assay.flows.model.activate_model import ActivationAsked
    from assay.flows.model.add_model import AddedModel
    from assay.flows.model.evaluate_model import EvaluatedModel
    from assay.flows.model.show_model import KnownModel, ListedModel
    from assay.flows.permits.gateway import GatewayRelease, GatewayTableView, ScreenedCall
    from assay.flows.permits.mandates import MandatePreview, MandateProposal, MandateView
    from assay.flows.permits.permits import PermitView, SignedPermit
    from assay.flows.registry.service_keys import KnownKey
    from assay.flows.registry.services import FoundServices, ServiceView
    from assay.flows.registry.switch import PeopleAsked, SwitchView
    from assay.flows.request import BulkLine
    from assay.flows.review.act_review import Acted, PreparedAct
    from assay.flows.review.answer_bulk import BulkReport, Pick
    from assay.flows.review.answer_desk import DeskAnswer, PreparedAnswer
    from assay.flows.review.keep_draft import KeptDraft
    from assay.flows.review.keep_view import Dropped, KeptView
    from assay.flows.review.settle_reviews import Sweep
    from assay.flows.review.show_queue import FoundTicket
    from assay.flows.review.show_ticket import DeskTicket, ReviewView, TicketItem
    from assay.flows.review.show_timeline import TimelineEntry
    from assay.flows.tenants import AnchorItem, TenantItem
    from assay.flows.trust.check_trust import TrustReport
    from assay.flows.trust.policies import PolicyItem
    from assay.flows.trust.record_signal import AdmittedAgents, LoggedItem, Signalled
    from assay.flows.trust.request_penalty import PenaltyTicket
    from assay.flows.trust.standings import AgentItem, EarnedCredits
    from assay.flows.truth.check_truth import StateFinding
    from assay.flows.truth.climb_ladder import ScoredStates
    from assay.flows.truth.compile_all import CompiledAll, CompiledState
    from assay.flows.truth.compile_truth import Aged
    from assay.flows.truth.contracts import ContractDetail, ContractItem
    from assay.flows.truth.fingerprints import Attached
    from assay.flows.truth.observe import ObservationItem, Observed
    from assay.flows.truth.states import StateItem, StateReplay, TruthMap
    from assay.flows.truth.votes import OpenQuestion, VoteReceipt, WindowReceipt
    from assay.flows.verdicts.attest_verdict import AttestedVerdict, PreparedToken
    from assay.flows.verdicts.change_graphs import GraphInReview, LoadedGraph, PreparedRelease, ReleasedGraph
    from assay.flows.verdicts.examine_sovereignty import MeasurementReport
    from assay.flows.verdicts.explain_verdict import ShownVerdict
    from assay.flows.verdicts.graph_impact import GraphImpact
    from assay.flows.verdicts.inspect_graphs import GraphEvent, GraphItem, KeptGraph
    from assay.flows.verdicts.read_verdicts import Decided, HeldVerdict, ListedVerdict, RuleVerdict
    from assay.flows.verdicts.runtime_v2 import V2Replay
    from assay.flows.verdicts.sovereignty import JudgeHealth
    from assay.identity.credential import ApiKeyRevocation
    from assay.identity.principal import Principal, PrincipalKind
    from assay.identity.risk import RiskTier
    from assay.identity.session import SessionRevocation
    from assay.identity.signing_key import SigningKeyEnd
    from assay.kernel.check_bundle import Finding
    from assay.kernel.cloudevent import CloudEvent
    from assay.kernel.ledger import Receipt
    from assay.kernel.transcript import Transcript
    from assay.operations.access import PermittedOperation, Why
    from assay.permits.gateway import ToolRow
    from assay.permits.mandate import ArgumentLimit, Budget
    from assay.permits.permit import Effect, PermitState
    from assay.ports.claims_store import ReleasedClaimsPolicy
    from assay.ports.delivery_store import ReportingSession
    from assay.ports.graph_store import GraphActivation, RecordedReview
    from assay.ports.permit_store import GatewayCall, UsedMandate
    from assay.ports.registry_store import RegisteredKey, RevokedKey
    from assay.ports.validator import EvidenceFact
    from assay.ports.webhook_store import Letter
    from assay.registry.discover import ServiceEntry
    from assay.registry.documents import ProofDocument
    from assay.registry.tier_change import TierChange
    from assay.registry.trip import Fired, Restored
    from assay.review.act import ActKind, Priority
    from assay.review.kind import TicketKind
    from assay.review.progress import Progress
    from assay.review.queue import QueuedTicket, QueueFilter, QueueState
    from assay.review.ticket import Ticket
    from assay.trust.counterfactual import Counterfactual
    from assay.truth._contract_subject import VoteType
    from assay.truth.form import ObservationForm
    from assay.truth.status import TruthStatus
    from assay.verdicts.agreement import Canary
    from assay.verdicts.cover import CoverageEntry
    from assay.verdicts.envelope import Verdict
    from assay.verdicts.graph.diff import GraphDiff
    from assay.verdicts.quote import WeightQuote
    from assay.verdicts.replay import Replay
    from assay.verdicts.window_fact import BufferState

Given: TypeAlias = Mapping[str, Any] | Struct | bytes | str


class Calls:
    """What a node can be asked; an embedded node and a client of a remote one have the same methods."""

    def _perform(self, operation: str, given: Mapping[str, Any]) -> Any:
        """Perform an operation by its name; each door has its own way."""
        raise NotImplementedError(operation)

    def _walk(self, operation: str, given: Mapping[str, Any]) -> Iterator[Any]:
        """Iterate over all items of a list, page by page."""
        raise NotImplementedError(operation)

    def _each(self, operation: str, records: Iterable[Given]) -> Iterator[BulkLine]:
        """Send records in batches; iterate over the result of each, in order."""
        raise NotImplementedError(operation)

    def _follow(self, operation: str, given: Mapping[str, Any]) -> Iterator[Any]:
        """Iterate over the items of a stream without end."""
        raise NotImplementedError(operation)

    def log_in(self, principal_id: str, *, password: str, lifetime_seconds: int = 900) -> LoggedIn:
        """Open a session for a person who knows the password, and show its token, once."""
        result: LoggedIn = self._perform(
            "session.start",
            drop_absent(principal_id=principal_id, password=password, lifetime_seconds=lifetime_seconds),
        )
        return result

    def log_out(self) -> SessionRevocation:
        """End the session of the caller, also for anybody else who holds its token."""
        result: SessionRevocation = self._perform("session.end", drop_absent())
        return result

    def whoami(self) -> Who:
        """Show the principal behind the credential, with what the credential itself is good for."""
        result: Who = self._perform("caller.show", drop_absent())
        return result

    def why(self, action: str, *, on: str | None = None, who: str | None = None) -> Why:
        """Show every requirement of an action: met or not, and what would change it."""
        result: Why = self._perform("access.explain", drop_absent(action=action, on=on, who=who))
        return result

    def principals(self, *, limit: int = 100) -> Iterator[Principal]:
        """List the principals of the tenant by id, each in the version in force."""
        return self._walk("principals.list", drop_absent(limit=limit))

    def principal(self, principal_id: str) -> PrincipalView:
        """Show a principal with every version and its keys, never their secrets; another's needs a role."""
        result: PrincipalView = self._perform("principal.show", drop_absent(principal_id=principal_id))
        return result

    def add_principal(
        self,
        principal_id: str,
        *,
        kind: PrincipalKind | str,
        name: str | UnsetType = UNSET,
        roles: Sequence[str] | UnsetType = UNSET,
        trust_mask: int | UnsetType = UNSET,
        action_tier: int | UnsetType = UNSET,
        risk_ceiling: RiskTier | str | UnsetType = UNSET,
        authenticity_level_floor: int | UnsetType = UNSET,
        public_key: str | UnsetType | None = UNSET,
        password: str | None = None,
    ) -> AmendedPrincipal:
        """Add a person, an agent or a service, allowed nothing but what is granted."""
        result: AmendedPrincipal = self._perform(
            "principal.add",
            drop_absent(
                principal_id=principal_id,
                kind=kind,
                name=name,
                roles=roles,
                trust_mask=trust_mask,
                action_tier=action_tier,
                risk_ceiling=risk_ceiling,
                authenticity_level_floor=authenticity_level_floor,
                public_key=public_key,
                password=password,
            ),
        )
        return result

    def amend_principal(
        self,
        principal_id: str,
        *,
        name: str | UnsetType = UNSET,
        roles: Sequence[str] | UnsetType = UNSET,
        trust_mask: int | UnsetType = UNSET,
        risk_ceiling: RiskTier | str | UnsetType = UNSET,
        authenticity_level_floor: int | UnsetType = UNSET,
        public_key: str | UnsetType | None = UNSET,
        disabled_at: UnsetType | None = UNSET,
    ) -> AmendedPrincipal:
        """Record the next version of a principal, upon whatever is in force when it commits."""
        result: AmendedPrincipal = self._perform(
            "principal.amend",
            drop_absent(
                principal_id=principal_id,
                name=name,
                roles=roles,
                trust_mask=trust_mask,
                risk_ceiling=risk_ceiling,
                authenticity_level_floor=authenticity_level_floor,
                public_key=public_key,
                disabled_at=disabled_at,
            ),
        )
        return result

    def disable_principal(self, principal_id: str) -> Principal:
        """Disable a principal: the next request with any of its keys or sessions is refused."""
        result: Principal = self._perform("principal.disable", drop_absent(principal_id=principal_id))
        return result

    def erase_principal(self, principal_id: str, *, reason: str) -> NameErasure:
        """Erase a principal's name, of every version; the id and what was done under it stay."""
        result: NameErasure = self._perform("principal.erase", drop_absent(principal_id=principal_id, reason=reason))
        return result

    def set_password(self, principal_id: str, *, password: str) -> PasswordSet:
        """Set a password: one's own, or as an administrator another person's; sessions opened before it end."""
        result: PasswordSet = self._perform(
            "principal.password", drop_absent(principal_id=principal_id, password=password)
        )
        return result

    def request_tier(self, principal_id: str, to_tier: int, *, reason: str) -> Ticket:
        """Ask for another tier of a principal: a ticket for an admin who is neither asker nor principal (FRJ-015)."""
        result: Ticket = self._perform(
            "tier.request", drop_absent(principal_id=principal_id, to_tier=to_tier, reason=reason)
        )
        return result

    def tier_changes(self, principal_id: str, *, limit: int = 100) -> Iterator[TierChange]:
        """List the changes of a principal's tier that people authorised, oldest first."""
        return self._walk("tiers.list", drop_absent(principal_id=principal_id, limit=limit))

    def keys(self, principal_id: str | None = None, *, limit: int = 100) -> Iterator[ListedApiKey]:
        """List API keys by prefix, the ended ones too; never a secret. Without a role that may look: one's own."""
        return self._walk("keys.list", drop_absent(principal_id=principal_id, limit=limit))

    def key(self, prefix: str) -> ListedApiKey:
        """Show one API key, without its secret."""
        result: ListedApiKey = self._perform("key.show", drop_absent(prefix=prefix))
        return result

    def issue_key(
        self, principal_id: str, *, scopes: Sequence[str] = ("*",), expires_at: str | None = None
    ) -> IssuedKey:
        """Issue an API key to a principal and show it, once; a disabled principal gets none."""
        result: IssuedKey = self._perform(
            "key.issue", drop_absent(principal_id=principal_id, scopes=scopes, expires_at=expires_at)
        )
        return result

    def rotate_key(self, prefix: str, *, overlap_seconds: int = 86400) -> IssuedKey:
        """Issue the successor of a key and show it, once; the old key ends after the overlap. An ended key has none."""
        result: IssuedKey = self._perform("key.rotate", drop_absent(prefix=prefix, overlap_seconds=overlap_seconds))
        return result

    def revoke_key(self, prefix: str, *, reason: str) -> ApiKeyRevocation:
        """Revoke an API key now; the next request with it is refused. A key in its overlap ends at once, too."""
        result: ApiKeyRevocation = self._perform("key.revoke", drop_absent(prefix=prefix, reason=reason))
        return result

    def add_public_key(
        self, principal_id: str, public_key: str, *, scopes: Sequence[str] = ("*",), expires_at: str | None = None
    ) -> AddedSigningKey:
        """Register the Ed25519 public key that a principal signs its requests with; one key serves one principal."""
        result: AddedSigningKey = self._perform(
            "public_key.add",
            drop_absent(principal_id=principal_id, public_key=public_key, scopes=scopes, expires_at=expires_at),
        )
        return result

    def end_public_key(self, key_id: str, *, reason: str) -> SigningKeyEnd:
        """End a public key now: nothing signed with it is accepted any more."""
        result: SigningKeyEnd = self._perform("public_key.end", drop_absent(key_id=key_id, reason=reason))
        return result

    def tickets(
        self, *, limit: int = 100, settled: bool = False, kind: TicketKind | str | None = None, about: str | None = None
    ) -> Iterator[TicketItem]:
        """List the tickets that concern the caller in the order of their opening, each with its settlement so far."""
        return self._walk("tickets.list", drop_absent(limit=limit, settled=settled, kind=kind, about=about))

    def queue(
        self,
        *,
        kind: TicketKind | str | None = None,
        about: str | None = None,
        priority: Priority | str | None = None,
        assignee: str | None = None,
        role: str | None = None,
        holder: str | None = None,
        due_before: str | None = None,
        state: QueueState | str = "open",
        text: str | None = None,
        view: str | None = None,
        mine: bool = False,
        limit: int = 100,
    ) -> Iterator[QueuedTicket]:
        """List the tickets that concern the caller, the most urgent first: by priority, then due date, then age."""
        return self._walk(
            "desk.queue",
            drop_absent(
                kind=kind,
                about=about,
                priority=priority,
                assignee=assignee,
                role=role,
                holder=holder,
                due_before=due_before,
                state=state,
                text=text,
                view=view,
                mine=mine,
                limit=limit,
            ),
        )

    def next_ticket(
        self,
        *,
        kind: TicketKind | str | None = None,
        about: str | None = None,
        priority: Priority | str | None = None,
        assignee: str | None = None,
        role: str | None = None,
        holder: str | None = None,
        due_before: str | None = None,
        state: QueueState | str = "open",
        text: str | None = None,
        view: str | None = None,
        after: str | None = None,
    ) -> FoundTicket:
        """Find the next ticket of the queue that the caller can answer now; after the last one, the first."""
        result: FoundTicket = self._perform(
            "desk.next",
            drop_absent(
                kind=kind,
                about=about,
                priority=priority,
                assignee=assignee,
                role=role,
                holder=holder,
                due_before=due_before,
                state=state,
                text=text,
                view=view,
                after=after,
            ),
        )
        return result

    def ticket(self, ticket_id: str) -> ReviewView:
        """Show a ticket with every answer, its signature verified; only answers that hold are counted."""
        result: ReviewView = self._perform("ticket.show", drop_absent(ticket_id=ticket_id))
        return result

    def desk_ticket(self, ticket_id: str) -> DeskTicket:
        """Show a ticket with assignment, claims, comments, answers, and the caller's own draft and held answer."""
        result: DeskTicket = self._perform("desk.ticket", drop_absent(ticket_id=ticket_id))
        return result

    def timeline(self, ticket_id: str) -> Iterator[TimelineEntry]:
        """List everything that happened to a ticket, each step with its ledger entry and the hash of that."""
        return self._walk("ticket.timeline", drop_absent(ticket_id=ticket_id))

    def progress(self, *, limit: int = 100) -> Iterator[Progress]:
        """List reviewers with their number of answers, median time, and how often their answer prevailed."""
        return self._walk("desk.progress", drop_absent(limit=limit))

    def open_ticket(
        self,
        title: str,
        shown: object,
        *,
        eligible_roles: Sequence[str],
        requested_by: str | None = None,
        about: str | None = None,
        quorum: int = 1,
        due_at: str | None = None,
    ) -> Ticket:
        """Open a ticket for an approval, as an operator in session; the person who opens it cannot answer it."""
        result: Ticket = self._perform(
            "ticket.open",
            drop_absent(
                title=title,
                shown=shown,
                eligible_roles=eligible_roles,
                requested_by=requested_by,
                about=about,
                quorum=quorum,
                due_at=due_at,
            ),
        )
        return result

    def answer_ticket(
        self,
        ticket_id: str,
        choice: str,
        *,
        seen: str,
        reason: str = "",
        body: Mapping[str, Any] | UnsetType = UNSET,
        signature: str | None = None,
        answered_at: str | None = None,
        if_match: str | None = None,
    ) -> DeskAnswer:
        """Answer a ticket as a person in their own session; `seen` binds the answer to what the ticket showed."""
        result: DeskAnswer = self._perform(
            "ticket.answer",
            drop_absent(
                ticket_id=ticket_id,
                choice=choice,
                seen=seen,
                reason=reason,
                body=body,
                signature=signature,
                answered_at=answered_at,
                if_match=if_match,
            ),
        )
        return result

    def prepare_answer(
        self, ticket_id: str, choice: str, *, seen: str, reason: str = "", body: Mapping[str, Any] | UnsetType = UNSET
    ) -> PreparedAnswer:
        """Return the message that a person with a key of their own signs to answer a ticket; nothing is recorded."""
        result: PreparedAnswer = self._perform(
            "ticket.answer.prepare",
            drop_absent(ticket_id=ticket_id, choice=choice, seen=seen, reason=reason, body=body),
        )
        return result

    def plan_answers(self, choice: str, *, filter: QueueFilter, reason: str = "") -> BulkReport:
        """Plan one answer to every ticket of a filter: what each shows, what the answer would do; record nothing."""
        result: BulkReport = self._perform("desk.bulk.plan", drop_absent(choice=choice, filter=filter, reason=reason))
        return result

    def answer_tickets(self, choice: str, *, picks: Sequence[Pick], reason: str = "") -> BulkReport:
        """Answer the tickets of a plan, each by itself and bound to what it showed; each refusal is reported."""
        result: BulkReport = self._perform("desk.bulk.answer", drop_absent(choice=choice, picks=picks, reason=reason))
        return result

    def settle_tickets(self) -> Sweep:
        """Settle every ticket that is due, as its kind says: an approval that nobody gave is denied."""
        result: Sweep = self._perform("tickets.settle", drop_absent())
        return result

    def claim_ticket(
        self,
        ticket_id: str,
        *,
        seen: str | None = None,
        signature: str | None = None,
        acted_at: str | None = None,
        seconds: int | None = None,
    ) -> Acted:
        """Claim a ticket for a while: others cannot answer it until then. Claiming again moves the end."""
        result: Acted = self._perform(
            "ticket.claim",
            drop_absent(ticket_id=ticket_id, seen=seen, signature=signature, acted_at=acted_at, seconds=seconds),
        )
        return result

    def release_ticket(
        self,
        ticket_id: str,
        *,
        seen: str | None = None,
        signature: str | None = None,
        acted_at: str | None = None,
        holder: str | None = None,
    ) -> Acted:
        """Release a claimed ticket before the claim ends; admins and operators may release another person's claim."""
        result: Acted = self._perform(
            "ticket.release",
            drop_absent(ticket_id=ticket_id, seen=seen, signature=signature, acted_at=acted_at, holder=holder),
        )
        return result

    def assign_ticket(
        self,
        ticket_id: str,
        *,
        seen: str | None = None,
        signature: str | None = None,
        acted_at: str | None = None,
        person: str | None = None,
        role: str | None = None,
    ) -> Acted:
        """Assign a ticket to a person or a role that may answer it; with neither, to nobody in particular."""
        result: Acted = self._perform(
            "ticket.assign",
            drop_absent(
                ticket_id=ticket_id, seen=seen, signature=signature, acted_at=acted_at, person=person, role=role
            ),
        )
        return result

    def prioritise_ticket(
        self,
        ticket_id: str,
        priority: Priority | str,
        *,
        seen: str | None = None,
        signature: str | None = None,
        acted_at: str | None = None,
    ) -> Acted:
        """Set the priority of a ticket."""
        result: Acted = self._perform(
            "ticket.prioritise",
            drop_absent(ticket_id=ticket_id, priority=priority, seen=seen, signature=signature, acted_at=acted_at),
        )
        return result

    def comment_ticket(
        self,
        ticket_id: str,
        text: str,
        *,
        seen: str | None = None,
        signature: str | None = None,
        acted_at: str | None = None,
        salt: str | None = None,
    ) -> Acted:
        """Comment on a ticket, signed; the words can be erased later, and the proof of the entry still holds."""
        result: Acted = self._perform(
            "ticket.comment",
            drop_absent(ticket_id=ticket_id, text=text, seen=seen, signature=signature, acted_at=acted_at, salt=salt),
        )
        return result

    def undo_answer(
        self,
        ticket_id: str,
        *,
        seen: str | None = None,
        signature: str | None = None,
        acted_at: str | None = None,
        reason: str = "",
    ) -> Acted:
        """Undo the caller's own answer before it takes effect; the ledger keeps the answer and the undoing."""
        result: Acted = self._perform(
            "ticket.undo",
            drop_absent(ticket_id=ticket_id, seen=seen, signature=signature, acted_at=acted_at, reason=reason),
        )
        return result

    def prepare_act(
        self,
        ticket_id: str,
        *,
        act: ActKind | str,
        seen: str | None = None,
        seconds: int | None = None,
        holder: str | None = None,
        person: str | None = None,
        role: str | None = None,
        priority: Priority | str | None = None,
        text: str | None = None,
        reason: str = "",
    ) -> PreparedAct:
        """Return the message that a person with a key of their own signs for an act; nothing is recorded."""
        result: PreparedAct = self._perform(
            "ticket.act.prepare",
            drop_absent(
                ticket_id=ticket_id,
                act=act,
                seen=seen,
                seconds=seconds,
                holder=holder,
                person=person,
                role=role,
                priority=priority,
                text=text,
                reason=reason,
            ),
        )
        return result

    def keep_draft(self, ticket_id: str, *, choice: str | None = None, reason: str = "", body: str = "") -> KeptDraft:
        """Save a draft of the caller's answer in place of the one before; nobody else sees it."""
        result: KeptDraft = self._perform(
            "draft.keep", drop_absent(ticket_id=ticket_id, choice=choice, reason=reason, body=body)
        )
        return result

    def drop_draft(self, ticket_id: str) -> Dropped:
        """Delete the caller's draft of an answer, whether or not there was one."""
        result: Dropped = self._perform("draft.drop", drop_absent(ticket_id=ticket_id))
        return result

    def views(self) -> Iterator[KeptView]:
        """List the caller's saved views, and those that others share."""
        return self._walk("views.list", drop_absent())

    def keep_view(self, name: str, *, filter: QueueFilter, shared: bool = False) -> KeptView:
        """Save a filter of the queue under a name, in place of the caller's view of that name."""
        result: KeptView = self._perform("view.keep", drop_absent(name=name, filter=filter, shared=shared))
        return result

    def drop_view(self, name: str) -> Dropped:
        """Delete a saved view of the caller's own."""
        result: Dropped = self._perform("view.drop", drop_absent(name=name))
        return result

    def answer_key(self, key: str) -> Handled:
        """Compile a key, and deliver its state as an answer: gated, marked, recorded."""
        result: Handled = self._perform("key.answer", drop_absent(key=key))
        return result

    def contracts(self, *, limit: int = 100) -> Iterator[ContractItem]:
        """List released contracts by claim type, without their texts."""
        return self._walk("contracts.list", drop_absent(limit=limit))

    def release_contract(self, document: str, *, schema_text: str | None = None) -> ContractItem:
        """Release a contract: from then on its body never changes."""
        result: ContractItem = self._perform(
            "contract.release", drop_absent(document=document, schema_text=schema_text)
        )
        return result

    def contract(self, claim_type: str) -> ContractDetail:
        """Show a released contract with its canonical text, which never changes."""
        result: ContractDetail = self._perform("contract.show", drop_absent(claim_type=claim_type))
        return result

    def contract_document(self, claim_type: str) -> bytes:
        """Return the canonical document of a released contract, exactly as it is hashed."""
        result: bytes = self._perform("contract.document", drop_absent(claim_type=claim_type))
        return result

    def contract_form(self, claim_type: str) -> ObservationForm:
        """Show what observers are asked for: members of the payload and their kinds, evidence, the kind of place."""
        result: ObservationForm = self._perform("contract.form", drop_absent(claim_type=claim_type))
        return result

    def observations(
        self, *, limit: int = 100, truthkey: str | None = None, reporter_id: str | None = None
    ) -> Iterator[ObservationItem]:
        """List observations in the order they were recorded; without a role that may see all of them, one's own."""
        return self._walk("observations.list", drop_absent(limit=limit, truthkey=truthkey, reporter_id=reporter_id))

    def observe(self, observation: Given) -> Observed:
        """Record an observation once: the same again returns the recorded one, another under its id is refused."""
        result: Observed = self._perform("observation.record", drop_absent(observation=observation))
        return result

    def observe_many(self, records: Iterable[Given]) -> Iterator[BulkLine]:
        """Record observations in lines; each line is recorded or refused by itself, in order."""
        return self._each("observations.record", records)

    def observation(self, observation_id: str) -> ObservationItem:
        """Show an observation by its id; another's only with a role that may see all of them."""
        result: ObservationItem = self._perform("observation.show", drop_absent(observation_id=observation_id))
        return result

    def attach_fingerprint(self, observation_hash: str, fingerprint: Given) -> Attached:
        """Record a fingerprint of evidence beside an observation; a second of the same method and piece is refused."""
        result: Attached = self._perform(
            "fingerprint.attach", drop_absent(observation_hash=observation_hash, fingerprint=fingerprint)
        )
        return result

    def states(
        self,
        *,
        limit: int = 100,
        claim_type: str | None = None,
        status: Sequence[TruthStatus | str] = (),
        at: str | None = None,
    ) -> Iterator[StateItem]:
        """List the latest state of each key, by key; or what was known at an instant."""
        return self._walk("states.list", drop_absent(limit=limit, claim_type=claim_type, status=status, at=at))

    def state(self, key: str, *, at: str | None = None) -> StateItem:
        """Show the latest state of a key, its confidence term by term, and what age has left of it."""
        result: StateItem = self._perform("state.show", drop_absent(key=key, at=at))
        return result

    def state_document(self, key: str, *, at: str | None = None) -> bytes:
        """Return the signed state alone, byte for byte as it was signed: what `assay truth verify` verifies."""
        result: bytes = self._perform("state.document", drop_absent(key=key, at=at))
        return result

    def versions(self, key: str, *, limit: int = 100, at: str | None = None) -> Iterator[StateItem]:
        """List every state of a key, the oldest first; none was ever edited."""
        return self._walk("state.versions", drop_absent(key=key, limit=limit, at=at))

    def compile_state(
        self,
        key: str,
        *,
        claim_type: str | None = None,
        force: bool = False,
        fresh_trust: bool = False,
        trust_through: int | None = None,
        signed_at: str | None = None,
        signed_at_reason: str | None = None,
    ) -> CompiledState:
        """Compile a key to a signed state; nothing is appended where nothing new is to be said."""
        result: CompiledState = self._perform(
            "state.compile",
            drop_absent(
                key=key,
                claim_type=claim_type,
                force=force,
                fresh_trust=fresh_trust,
                trust_through=trust_through,
                signed_at=signed_at,
                signed_at_reason=signed_at_reason,
            ),
        )
        return result

    def compile_states(
        self, *, keys: Sequence[str] = (), workers: int | None = None, dask: str | None = None
    ) -> CompiledAll:
        """Compile every key with records in no state yet, or these keys; all with the trust of one instant."""
        result: CompiledAll = self._perform("states.compile", drop_absent(keys=keys, workers=workers, dask=dask))
        return result

    def expire_states(self) -> Aged:
        """Compile every key that time has made due: past its validity, or past the end of its window."""
        result: Aged = self._perform("states.expire", drop_absent())
        return result

    def score_states(self, keys: Sequence[str] = (), *, facts: Sequence[EvidenceFact] = ()) -> ScoredStates:
        """Let machines judge every observation of these keys, rung by rung, as far as this node has engines."""
        result: ScoredStates = self._perform("states.score", drop_absent(keys=keys, facts=facts))
        return result

    def prove_state(self, key: str, *, version: int | None = None) -> bytes:
        """Prove a state: its entry, path and checkpoint, and every entry it was compiled from."""
        result: bytes = self._perform("state.prove", drop_absent(key=key, version=version))
        return result

    def replay_truth(self, key: str, *, version: int | None = None, skip_trust: bool = False) -> StateReplay:
        """Compile a state again from the ledger's entries alone, and compare every byte; then the tables."""
        result: StateReplay = self._perform(
            "state.replay", drop_absent(key=key, version=version, skip_trust=skip_trust)
        )
        return result

    def verify_state(self, state: Given) -> StateFinding:
        """Check whether a state is what this node signed and what its ledger holds; a no is an answer."""
        result: StateFinding = self._perform("state.verify", drop_absent(state=state))
        return result

    def map(
        self,
        *,
        claim_type: str | None = None,
        status: Sequence[TruthStatus | str] = (),
        at: str | None = None,
        bbox: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> TruthMap:
        """Map the latest state of each key as GeoJSON, by key: one feature for each, with the outline of its place."""
        result: TruthMap = self._perform(
            "states.map", drop_absent(claim_type=claim_type, status=status, at=at, bbox=bbox, after=after, limit=limit)
        )
        return result

    def question(self, key: str) -> OpenQuestion:
        """Show what people are asked about a key now, exactly as a vote must have seen it."""
        result: OpenQuestion = self._perform("question.show", drop_absent(key=key))
        return result

    def vote(
        self,
        truthkey: str,
        vote_type: VoteType | str,
        *,
        seen: str,
        reason: str = "",
        override_status: TruthStatus | str | None = None,
        signature: str | None = None,
        answered_at: str | None = None,
    ) -> VoteReceipt:
        """Vote on a key, as a person in their own session: an answer to its open validation ticket, counted at once."""
        result: VoteReceipt = self._perform(
            "vote.cast",
            drop_absent(
                truthkey=truthkey,
                vote_type=vote_type,
                seen=seen,
                reason=reason,
                override_status=override_status,
                signature=signature,
                answered_at=answered_at,
            ),
        )
        return result

    def prepare_vote(
        self,
        truthkey: str,
        vote_type: VoteType | str,
        *,
        seen: str,
        reason: str = "",
        override_status: TruthStatus | str | None = None,
    ) -> PreparedAnswer:
        """Return the message that a person with a key of their own signs to vote; nothing is recorded."""
        result: PreparedAnswer = self._perform(
            "vote.prepare",
            drop_absent(
                truthkey=truthkey, vote_type=vote_type, seen=seen, reason=reason, override_status=override_status
            ),
        )
        return result

    def change_window(
        self, truthkey: str, event: str, *, closes_at: str | None = None, closes_in: int | None = None, reason: str = ""
    ) -> WindowReceipt:
        """Open, extend, close or abort the window in which votes on a key count, and compile the key."""
        result: WindowReceipt = self._perform(
            "window.change",
            drop_absent(truthkey=truthkey, event=event, closes_at=closes_at, closes_in=closes_in, reason=reason),
        )
        return result

    def policies(self, *, limit: int = 100) -> Iterator[PolicyItem]:
        """List trust policies in the order of registration; the last one is in force, and reads the whole log."""
        return self._walk("policies.list", drop_absent(limit=limit))

    def register_policy(self, document: str, *, accept: Sequence[str] = ()) -> PolicyItem:
        """Bring a trust policy into force; to replace one takes a session. The latest policy reads the whole log."""
        result: PolicyItem = self._perform("policy.register", drop_absent(document=document, accept=accept))
        return result

    def policy(self, policy_id: str) -> PolicyItem:
        """Show a trust policy with everything that it inherits."""
        result: PolicyItem = self._perform("policy.show", drop_absent(policy_id=policy_id))
        return result

    def compare_policy(self, document: str, *, claim_type: str = "any.any.v1") -> Counterfactual:
        """Fold the log of signals under another policy too, and list whom it would change; nothing is registered."""
        result: Counterfactual = self._perform("policy.compare", drop_absent(document=document, claim_type=claim_type))
        return result

    def signals(self, *, limit: int = 100, agent_id: str | None = None) -> Iterator[LoggedItem]:
        """List the log of signals in its order; without a role that may see all of it, one's own."""
        return self._walk("signals.list", drop_absent(limit=limit, agent_id=agent_id))

    def signal(self, signal: Given) -> Signalled:
        """Log a signal by the caller, of a kind that the caller may log; what moves standings cannot be handed in."""
        result: Signalled = self._perform("signal.record", drop_absent(signal=signal))
        return result

    def agents(
        self, *, limit: int = 100, claim_type: str | None = None, policy_hash: str | None = None
    ) -> Iterator[AgentItem]:
        """List all known agents with their standings, by id, under the policy in force."""
        return self._walk("agents.list", drop_absent(limit=limit, claim_type=claim_type, policy_hash=policy_hash))

    def admit_agents(self, agents: Sequence[str]) -> AdmittedAgents:
        """Make agents known, at the policy's initial standing: an agent that is not known weighs nothing."""
        result: AdmittedAgents = self._perform("agents.admit", drop_absent(agents=agents))
        return result

    def agent(self, agent_id: str, *, claim_type: str | None = None) -> AgentItem:
        """Show the standing and trust of an agent, and who endorses it; another's only for roles that see all."""
        result: AgentItem = self._perform("agent.show", drop_absent(agent_id=agent_id, claim_type=claim_type))
        return result

    def grant_role(self, agent_id: str, role: str, *, until: str | None = None) -> Signalled:
        """Grant an agent a role of the policy: at least the role's class of standing."""
        result: Signalled = self._perform("agent.grant", drop_absent(agent_id=agent_id, role=role, until=until))
        return result

    def endorse_agent(self, agent_id: str, *, weight: float = 1.0) -> Signalled:
        """Endorse an agent: it changes the agent's network weight, never a standing."""
        result: Signalled = self._perform("agent.endorse", drop_absent(agent_id=agent_id, weight=weight))
        return result

    def dispute_state(self, key: str, *, state_hash: str, reason: str) -> Signalled:
        """Dispute the final state of a key: people are asked again, as its contract resolves disputes."""
        result: Signalled = self._perform("state.dispute", drop_absent(key=key, state_hash=state_hash, reason=reason))
        return result

    def request_penalty(self, agent_id: str, *, points: float, reason: str) -> PenaltyTicket:
        """Ask people to lower an agent's standing; neither the caller nor the agent decides."""
        result: PenaltyTicket = self._perform(
            "penalty.request", drop_absent(agent_id=agent_id, points=points, reason=reason)
        )
        return result

    def trust_snapshot(
        self,
        *,
        claim_type: str = "any.any.v1",
        agents: Sequence[str] = (),
        at: str | None = None,
        probe: str | None = None,
    ) -> bytes:
        """Return the frozen trust that a compilation would take now, or would have taken then; nothing is recorded."""
        result: bytes = self._perform(
            "trust.snapshot", drop_absent(claim_type=claim_type, agents=agents, at=at, probe=probe)
        )
        return result

    def credits(self, agents: Sequence[str] = (), *, limit: int = 100) -> Iterator[EarnedCredits]:
        """List what agents have earned by the credits of contracts, by the last final state of each key."""
        return self._walk("credits.list", drop_absent(agents=agents, limit=limit))

    def check_trust_log(self) -> TrustReport:
        """Check whether the log has the signals of the ledger, and outcomes and the mark follow from it."""
        result: TrustReport = self._perform("trust.check", drop_absent())
        return result

    def evaluate(self, record: Given) -> Decided:
        """Judge one telemetry record by every rule of the knowledge graph in use, and return all of its verdicts."""
        result: Decided = self._perform("telemetry.evaluate", drop_absent(record=record))
        return result

    def evaluate_many(self, records: Iterable[Given]) -> Iterator[BulkLine]:
        """Judge records in lines, each by every rule; those of one subject in their order."""
        return self._each("telemetry.evaluate_lines", records)

    def answer_record(self, record: Given) -> Handled:
        """Judge one telemetry record, and deliver its verdicts as an answer: gated, marked, recorded."""
        result: Handled = self._perform("telemetry.answer", drop_absent(record=record))
        return result

    def verdicts_of(self, telemetry_id: str) -> Decided:
        """Show every rule's verdict on a record; what settled a held verdict is shown in its place."""
        result: Decided = self._perform("verdicts.of", drop_absent(telemetry_id=telemetry_id))
        return result

    def explain_verdict(self, telemetry_id: str, *, rule_id: str | None = None) -> ShownVerdict:
        """Explain the verdicts on a record: obligations and clauses, model, verifier, governor, provenance."""
        result: ShownVerdict = self._perform(
            "verdicts.explain", drop_absent(telemetry_id=telemetry_id, rule_id=rule_id)
        )
        return result

    def prove_verdict(self, telemetry_id: str) -> bytes:
        """Make the files that prove the verdicts of a record offline: an array, one proof bundle for each rule."""
        result: bytes = self._perform("verdicts.prove", drop_absent(telemetry_id=telemetry_id))
        return result

    def verdicts(
        self,
        *,
        limit: int = 100,
        rule_id: str | None = None,
        subject: str | None = None,
        verdict: Verdict | str | None = None,
        from_at: str | None = None,
        to: str | None = None,
        standing: bool = False,
        offset: int = 0,
    ) -> Iterator[ListedVerdict]:
        """List verdicts with their envelopes, the newest first; a held one is listed without its verdict."""
        return self._walk(
            "verdicts.list",
            drop_absent(
                limit=limit,
                rule_id=rule_id,
                subject=subject,
                verdict=verdict,
                from_at=from_at,
                to=to,
                standing=standing,
                offset=offset,
            ),
        )

    def verdict(self, sequence: int) -> ListedVerdict:
        """Show the verdict in an entry of the ledger; it never changes."""
        result: ListedVerdict = self._perform("verdict.show", drop_absent(sequence=sequence))
        return result

    def held(self, *, limit: int = 100) -> Iterator[HeldVerdict]:
        """List verdicts that wait for a person, the oldest first, each with its ticket; an overdue one stays held."""
        return self._walk("verdicts.held", drop_absent(limit=limit))

    def attest(self, ticket_id: str, choice: str = "attest", *, seen: str, reason: str = "") -> AttestedVerdict:
        """Attest or decline the held verdict that a ticket asks about, as a person in their own session."""
        result: AttestedVerdict = self._perform(
            "verdict.attest", drop_absent(ticket_id=ticket_id, choice=choice, seen=seen, reason=reason)
        )
        return result

    def prepare_attestation(self, ticket_id: str, *, key_id: str) -> PreparedToken:
        """Return the token that a person signs with a key of their own to attest a held verdict."""
        result: PreparedToken = self._perform("verdict.attest.prepare", drop_absent(ticket_id=ticket_id, key_id=key_id))
        return result

    def ticket_verdict(self, ticket_id: str) -> RuleVerdict:
        """Show what the held verdict that a ticket asks about has become."""
        result: RuleVerdict = self._perform("ticket.verdict", drop_absent(ticket_id=ticket_id))
        return result

    def transcript(self, transcript_ref: str) -> Transcript:
        """Show what the model was asked and what it answered (SKI 7.4)."""
        result: Transcript = self._perform("transcript.show", drop_absent(transcript_ref=transcript_ref))
        return result

    def receipt(self, sequence: int) -> bytes:
        """Return the receipt of a verdict as a file for a third party: transcript, grammar, keys that lead to it."""
        result: bytes = self._perform("receipt.export", drop_absent(sequence=sequence))
        return result

    def replay(
        self,
        telemetry_id: str | None = None,
        *,
        limit: int = 100,
        entry: int | None = None,
        first: int = 1,
        last: int | None = None,
        without_model: bool = False,
    ) -> Iterator[Replay]:
        """Reach recorded verdicts again from what is stored (SKI 8), in the order of their entries."""
        return self._walk(
            "verdicts.replay",
            drop_absent(
                telemetry_id=telemetry_id, limit=limit, entry=entry, first=first, last=last, without_model=without_model
            ),
        )

    def replay_second_runtime(self, *, limit: int = 100, first: int = 1, last: int | None = None) -> Iterator[V2Replay]:
        """Judge the entries of runtime 2 again, by the graph that each names (SKI 11.4): no model, no steps."""
        return self._walk("verdicts.replay_v2", drop_absent(limit=limit, first=first, last=last))

    def telemetry_buffers(self, subject: str | None = None, *, limit: int = 100) -> Iterator[BufferState]:
        """List how many records of each subject are kept for rules that look back, and from when to when."""
        return self._walk("telemetry.buffers", drop_absent(subject=subject, limit=limit))

    def graphs(self, *, limit: int = 100) -> Iterator[GraphItem]:
        """List knowledge graphs in the order they were handed in, each content once."""
        return self._walk("graphs.list", drop_absent(limit=limit))

    def active_graph(self) -> GraphActivation:
        """Show the graph by which records are judged now; its document is found by its `document_hash`."""
        result: GraphActivation = self._perform("graph.active", drop_absent())
        return result

    def graph_history(self, *, limit: int = 100) -> Iterator[GraphEvent]:
        """List what happened to graphs in the ledger's order: handed in, reviewed, put into use, and what changed."""
        return self._walk("graphs.history", drop_absent(limit=limit))

    def graph_document(self, graph: str) -> bytes:
        """Return a graph byte for byte as it was handed in: the SHA-256 of the bytes is its `document_hash`."""
        result: bytes = self._perform("graph.document", drop_absent(graph=graph))
        return result

    def graph(self, graph: str) -> KeptGraph:
        """Show who handed in a version of a graph, who signed and reviewed it, and since when it is in use."""
        result: KeptGraph = self._perform("graph.show", drop_absent(graph=graph))
        return result

    def graph_diff(self, before: str, after: str) -> GraphDiff:
        """Compare two graphs that the node keeps, in words and field by field."""
        result: GraphDiff = self._perform("graph.diff", drop_absent(before=before, after=after))
        return result

    def graph_reviews(self, content_hash: str, *, limit: int = 100) -> Iterator[RecordedReview]:
        """List what people said of one content, the first first."""
        return self._walk("graph.reviews", drop_absent(content_hash=content_hash, limit=limit))

    def review_graph(self, document: Given) -> GraphInReview:
        """Put a knowledge graph to the reviewers; one with critical or high issues is refused at once."""
        result: GraphInReview = self._perform("graph.review", drop_absent(document=document))
        return result

    def release_graph(
        self, content_hash: str, *, public_key: str | None = None, signature: str | None = None
    ) -> ReleasedGraph:
        """Sign a graph whose content people accepted: with the node's review key, or with a key of one's own."""
        result: ReleasedGraph = self._perform(
            "graph.release", drop_absent(content_hash=content_hash, public_key=public_key, signature=signature)
        )
        return result

    def prepare_release(self, content_hash: str) -> PreparedRelease:
        """Return the message that an operator with a key of their own signs to release a graph; nothing is recorded."""
        result: PreparedRelease = self._perform("graph.release.prepare", drop_absent(content_hash=content_hash))
        return result

    def load_graph(self, document: Given, *, downgrade_reason: str | None = None) -> LoadedGraph:
        """Put a graph into use (SKI 3.5)."""
        result: LoadedGraph = self._perform(
            "graph.load", drop_absent(document=document, downgrade_reason=downgrade_reason)
        )
        return result

    def graph_impact(
        self, document: Given, *, first: int = 1, last: int | None = None, limit: int = 100
    ) -> GraphImpact:
        """Judge every recorded record again by a candidate graph, and count which verdicts would change."""
        result: GraphImpact = self._perform(
            "graph.impact", drop_absent(document=document, first=first, last=last, limit=limit)
        )
        return result

    def coverage(self, *, limit: int = 100, open: bool = False, subject: str | None = None) -> Iterator[CoverageEntry]:
        """List subjects that received NULL_UNMAPPED, by name; `mapped_by` is a later graph that covers the subject."""
        return self._walk("coverage.list", drop_absent(limit=limit, open=open, subject=subject))

    def agreement(self) -> Canary:
        """Show how often the verifier agreed with the model over the latest verdicts for which a model was asked."""
        result: Canary = self._perform("agreement.show", drop_absent())
        return result

    def health(self) -> JudgeHealth:
        """Show whether the node can judge records; open to everybody, so it says nothing of a tenant."""
        result: JudgeHealth = self._perform("judge.health", drop_absent())
        return result

    def sovereignty(self) -> bytes:
        """Show what evaluates here and whether it stays on the operator's ground, signed by the node's ledger key."""
        result: bytes = self._perform("sovereignty.show", drop_absent())
        return result

    def quote_weights(self, *, nonce: str) -> WeightQuote:
        """Have the TPM state under its own key which weights were measured; the nonce shows that the answer is new."""
        result: WeightQuote = self._perform("sovereignty.quote", drop_absent(nonce=nonce))
        return result

    def audit_measurements(self, *, attestation_key: str) -> MeasurementReport:
        """Follow every verdict of the ledger to the TPM's word about its weights."""
        result: MeasurementReport = self._perform("sovereignty.audit", drop_absent(attestation_key=attestation_key))
        return result

    def clear_egress(self, *, reason: str) -> Receipt:
        """Record that an operator looked into all attempts to leave the perimeter so far; strict evaluation goes on."""
        result: Receipt = self._perform("sovereignty.clear", drop_absent(reason=reason))
        return result

    def models(self, *, limit: int = 100) -> Iterator[ListedModel]:
        """List the weights that are known: the shipped ones first, then the others in the order they were added."""
        return self._walk("models.list", drop_absent(limit=limit))

    def model(self, weights: str = "active") -> KnownModel:
        """Show the card of a model: what it came from, what was measured of it, and when it was in use."""
        result: KnownModel = self._perform("model.show", drop_absent(weights=weights))
        return result

    def add_model(
        self, content: Given, *, version: str, name: str = "assay-judge", parent: str | None = None
    ) -> AddedModel:
        """Keep weights by their hash; nothing is put into use by it."""
        result: AddedModel = self._perform(
            "model.add", drop_absent(content=content, version=version, name=name, parent=parent)
        )
        return result

    def evaluate_model(self, cases: Given, *, weights: str | None = None, limit: int | None = None) -> EvaluatedModel:
        """Measure weights on cases, and record the figures: activation rests on them. Substituted bytes are refused."""
        result: EvaluatedModel = self._perform("model.evaluate", drop_absent(cases=cases, weights=weights, limit=limit))
        return result

    def activate_model(self, weights: str) -> ActivationAsked:
        """Ask for a model to judge from now on; a reviewer who is somebody else answers."""
        result: ActivationAsked = self._perform("model.activate", drop_absent(weights=weights))
        return result

    def claims(
        self,
        *,
        limit: int = 100,
        decision: str | None = None,
        agent: str | None = None,
        tier: RiskTier | str | None = None,
        bundle_id: str | None = None,
    ) -> Iterator[ListedClaims]:
        """List bundles with their decisions, the newest first; without a role that may see all, one's own."""
        return self._walk(
            "claims.list", drop_absent(limit=limit, decision=decision, agent=agent, tier=tier, bundle_id=bundle_id)
        )

    def claim(self, bundle_hash: str) -> ClaimsView:
        """Show a bundle with every decision about it: to its agent, and to those who may see the claims of others."""
        result: ClaimsView = self._perform("claims.show", drop_absent(bundle_hash=bundle_hash))
        return result

    def gate(
        self,
        bundle: Mapping[str, Any],
        *,
        thread: str | None = None,
        tool_arguments: Sequence[str] = (),
        questions: Mapping[str, Any] | UnsetType = UNSET,
        contents: Mapping[str, Any] | UnsetType = UNSET,
        reading: Reading | str = "legacy",
    ) -> GatedClaims:
        """Gate a bundle of the caller's own: evidence, uncertainty, security, adversarial, human approval."""
        result: GatedClaims = self._perform(
            "claims.gate",
            drop_absent(
                bundle=bundle,
                thread=thread,
                tool_arguments=tool_arguments,
                questions=questions,
                contents=contents,
                reading=reading,
            ),
        )
        return result

    def gate_bundles(self, records: Iterable[Given]) -> Iterator[BulkLine]:
        """Gate bundles in lines, in order; each line is decided and recorded, or refused, by itself."""
        return self._each("claims.gate.bulk", records)

    def resume_claim(
        self,
        bundle_hash: str,
        bundle: Mapping[str, Any] | None = None,
        *,
        thread: str | None = None,
        tool_arguments: Sequence[str] = (),
        questions: Mapping[str, Any] | UnsetType = UNSET,
        contents: Mapping[str, Any] | UnsetType = UNSET,
        reading: Reading | str = "legacy",
        if_match: str | None = None,
    ) -> GatedClaims:
        """Gate a bundle that waits again, with what people answered since; or put another one in its place."""
        result: GatedClaims = self._perform(
            "claims.resume",
            drop_absent(
                bundle_hash=bundle_hash,
                bundle=bundle,
                thread=thread,
                tool_arguments=tool_arguments,
                questions=questions,
                contents=contents,
                reading=reading,
                if_match=if_match,
            ),
        )
        return result

    def try_gates(
        self,
        bundle: Mapping[str, Any],
        *,
        policy: str | None = None,
        ceiling: RiskTier | str = "PRIVILEGE",
        tool_arguments: Sequence[str] = (),
        contents: Mapping[str, Any] | UnsetType = UNSET,
    ) -> TriedBundle:
        """Show what the gates would decide under the policy in force or another; nothing is recorded."""
        result: TriedBundle = self._perform(
            "claims.try",
            drop_absent(
                bundle=bundle, policy=policy, ceiling=ceiling, tool_arguments=tool_arguments, contents=contents
            ),
        )
        return result

    def state_claims(self, key: str) -> ClaimBundle:
        """Export the latest state of a key as a FACT with its evidence, as sure as it is now; made anew each time."""
        result: ClaimBundle = self._perform("state.claims", drop_absent(key=key))
        return result

    def verdict_claims(self, telemetry_id: str) -> ClaimBundle:
        """Export the verdicts of a record as INFERENCE that cites the clauses; one that is held is claimed as held."""
        result: ClaimBundle = self._perform("verdicts.claims", drop_absent(telemetry_id=telemetry_id))
        return result

    def attach_evidence(self, content: Given) -> AttachedEvidence:
        """Store content under its SHA-256, the `evidence_hash` of pointers; durable when it returns."""
        result: AttachedEvidence = self._perform("evidence.attach", drop_absent(content=content))
        return result

    def evidence(self, evidence_hash: str) -> EvidenceView:
        """Show who attached evidence and when; to its owner, and to those who may see the claims of others."""
        result: EvidenceView = self._perform("evidence.show", drop_absent(evidence_hash=evidence_hash))
        return result

    def evidence_content(self, evidence_hash: str) -> bytes:
        """Return the content of evidence, compared with its hash."""
        result: bytes = self._perform("evidence.content", drop_absent(evidence_hash=evidence_hash))
        return result

    def check_quote(
        self,
        statement: str,
        *,
        quote: str,
        content: bytes | None = None,
        evidence_hash: str | None = None,
        source: str = "the document",
        offset: int | UnsetType = UNSET,
        selector: Selector | UnsetType = UNSET,
    ) -> QuoteChecked:
        """Compare a quote and a claim with a source that is given, or with stored evidence."""
        result: QuoteChecked = self._perform(
            "quote.check",
            drop_absent(
                statement=statement,
                quote=quote,
                content=content,
                evidence_hash=evidence_hash,
                source=source,
                offset=offset,
                selector=selector,
            ),
        )
        return result

    def release_gate_policy(self, document: str) -> PolicyRelease:
        """Put a policy of the gates into force, in an operator's own session: it changes what every agent may do."""
        result: PolicyRelease = self._perform("gate_policy.release", drop_absent(document=document))
        return result

    def gate_policies(self, *, limit: int = 100) -> Iterator[ReleasedClaimsPolicy]:
        """List the released policies of the gates in the order of their release; the last one is in force."""
        return self._walk("gate_policies.list", drop_absent(limit=limit))

    def gate_policy(self, *, policy_hash: str | None = None) -> GatePolicyView:
        """Show a policy of the gates with every setting: the one in force, or another that was released."""
        result: GatePolicyView = self._perform("gate_policy.show", drop_absent(policy_hash=policy_hash))
        return result

    def check_gate_policy(self, document: str) -> PolicyCheck:
        """Check a policy of the gates without releasing it: what is wrong with it, and roles nobody holds."""
        result: PolicyCheck = self._perform("gate_policy.check", drop_absent(document=document))
        return result

    def approvers(self) -> ApproversView:
        """Show how many people could approve as each role that the policy in force asks for."""
        result: ApproversView = self._perform("approvers.show", drop_absent())
        return result

    def backtest(
        self,
        policy: str | None = None,
        *,
        since: str | None = None,
        labelled: Sequence[LabelledCase] = (),
        alphas: Sequence[float] = (0.01, 0.02, 0.05, 0.1, 0.2),
    ) -> BacktestResult:
        """Decide every recorded bundle again under another policy: newly published first, then the other changes."""
        result: BacktestResult = self._perform(
            "claims.backtest", drop_absent(policy=policy, since=since, labelled=labelled, alphas=alphas)
        )
        return result

    def estimate(
        self,
        question: str,
        *,
        method: UncertaintyMethod | str = "semantic_entropy",
        answers: int = 5,
        stop_after: int | None = None,
        weighting: Weighting | str = "counts",
        correction: Correction | str = "none",
        seed: int = 0,
        calibrator: Temperature | Platt | Isotonic | None = None,
    ) -> Estimate:
        """Ask the node's own model a question several times, and tell how uncertain it is; nothing is recorded."""
        result: Estimate = self._perform(
            "uncertainty.estimate",
            drop_absent(
                question=question,
                method=method,
                answers=answers,
                stop_after=stop_after,
                weighting=weighting,
                correction=correction,
                seed=seed,
                calibrator=calibrator,
            ),
        )
        return result

    def calibrate_policy(
        self,
        cases: Sequence[LabelledCase],
        *,
        alpha: float = 0.1,
        delta: float = 0.1,
        method: UncertaintyMethod | str = "semantic_entropy",
        calibrator: CalibratorName | str | None = None,
        base: str | None = None,
        version: str = "calibrated-1",
    ) -> Calibrated:
        """Fit a threshold to known cases, and draft a policy with it."""
        result: Calibrated = self._perform(
            "thresholds.calibrate",
            drop_absent(
                cases=cases, alpha=alpha, delta=delta, method=method, calibrator=calibrator, base=base, version=version
            ),
        )
        return result

    def plot_calibration(self, cases: Sequence[LabelledCase], *, kind: PlotName | str = "roc") -> bytes:
        """Draw known cases as SVG."""
        result: bytes = self._perform("calibration.plot", drop_absent(cases=cases, kind=kind))
        return result

    def calibrate_sets(
        self,
        cases: Sequence[AnswerCase],
        *,
        score: ConformalScore | str = "lac",
        alpha: float = 0.1,
        predict: Sequence[AnswerCase] = (),
    ) -> ConformalSets:
        """Calibrate sets of answers on known cases, with a promise in each group."""
        result: ConformalSets = self._perform(
            "sets.calibrate", drop_absent(cases=cases, score=score, alpha=alpha, predict=predict)
        )
        return result

    def calibrate_risk(self, cases: Sequence[LossCase], *, alpha: float = 0.1) -> RiskControl:
        """Choose the mildest setting whose expected loss stays within alpha, by conformal risk control."""
        result: RiskControl = self._perform("risk.control", drop_absent(cases=cases, alpha=alpha))
        return result

    def oversight(self, *, since: str | None = None, rules: OversightRules | UnsetType = UNSET) -> Oversight:
        """Measure how reviewers answer about claims, each figure with an interval."""
        result: Oversight = self._perform("oversight.measure", drop_absent(since=since, rules=rules))
        return result

    def plan_sample(
        self, *, rates: Mapping[str, Any] | UnsetType = UNSET, known_answers: float = 0.0
    ) -> SampleStanding:
        """Put a plan for blind review into force, in an operator's own session; the plan before it ends."""
        result: SampleStanding = self._perform("sample.plan", drop_absent(rates=rates, known_answers=known_answers))
        return result

    def sample_plan(self) -> SampleStanding:
        """Show the plan for blind review that is in force: its rates, and how many tickets it opened."""
        result: SampleStanding = self._perform("sample.show", drop_absent())
        return result

    def check_sample(self, plan_id: str) -> SampleChecked:
        """Draw the sample of an ended plan again with its revealed seed, and compare it with the tickets on record."""
        result: SampleChecked = self._perform("sample.check", drop_absent(plan_id=plan_id))
        return result

    def label_output(self, bundle_hash: str, label: str, *, reason: str) -> OutputLabelled:
        """Record whether a bundle is right, as somebody found out by other means; it then serves as a known answer."""
        result: OutputLabelled = self._perform(
            "output.label", drop_absent(bundle_hash=bundle_hash, label=label, reason=reason)
        )
        return result

    def labels(self, *, method: UncertaintyMethod | str = "semantic_entropy") -> LabelledOutputs:
        """List outputs whose answer is known as cases for `claims calibrate`: uncertainty, and whether it was wrong."""
        result: LabelledOutputs = self._perform("labels.list", drop_absent(method=method))
        return result

    def certify_thresholds(
        self,
        cases: Sequence[LabelledCase],
        *,
        alpha: float = 0.1,
        delta: float = 0.1,
        method: UncertaintyMethod | str = "semantic_entropy",
    ) -> ThresholdsCertified:
        """Record that the threshold in force holds on known cases; scores to come are compared with theirs."""
        result: ThresholdsCertified = self._perform(
            "thresholds.certify", drop_absent(cases=cases, alpha=alpha, delta=delta, method=method)
        )
        return result

    def issue_permit(self, bundle_hash: str, *, seconds: int = 300) -> SignedPermit:
        """Permit the action of a published bundle, once."""
        result: SignedPermit = self._perform("permit.issue", drop_absent(bundle_hash=bundle_hash, seconds=seconds))
        return result

    def claim_permit(
        self,
        permit_id: str,
        *,
        tool: str,
        audience: str,
        arguments: Mapping[str, Any],
        permit: str | None = None,
        report_seconds: int = 300,
    ) -> PermitView:
        """Claim a permit for exactly this call, before its effect."""
        result: PermitView = self._perform(
            "permit.claim",
            drop_absent(
                permit_id=permit_id,
                tool=tool,
                audience=audience,
                arguments=arguments,
                permit=permit,
                report_seconds=report_seconds,
            ),
        )
        return result

    def report_effect(
        self, permit_id: str, *, effect: Effect | str, result_hash: str | None = None, detail: str = ""
    ) -> PermitView:
        """Report what became of a claimed call; only its claimer may. The same report again changes nothing."""
        result: PermitView = self._perform(
            "permit.report", drop_absent(permit_id=permit_id, effect=effect, result_hash=result_hash, detail=detail)
        )
        return result

    def revoke_permit(self, permit_id: str, *, reason: str) -> PermitView:
        """Revoke a permit that nobody has claimed: its agent may, and every operator."""
        result: PermitView = self._perform("permit.revoke", drop_absent(permit_id=permit_id, reason=reason))
        return result

    def permit(self, permit_id: str) -> PermitView:
        """Show a permit and what became of it: one's own, or anybody's to those who may read records about others."""
        result: PermitView = self._perform("permit.show", drop_absent(permit_id=permit_id))
        return result

    def permits(
        self, *, limit: int = 100, agent: str | None = None, state: PermitState | str | None = None
    ) -> Iterator[PermitView]:
        """List permits, newest first."""
        return self._walk("permits.list", drop_absent(limit=limit, agent=agent, state=state))

    def preview_mandate(
        self,
        *,
        agent: str,
        tool: str,
        audience: str,
        tier: RiskTier | str,
        purpose: str,
        count: int,
        expires_at: str,
        starts_at: str | None = None,
        limits: Sequence[ArgumentLimit] = (),
        budget: Budget | None = None,
    ) -> MandatePreview:
        """Show what a mandate would have allowed in the last 30 days; nothing is recorded and nobody is asked."""
        result: MandatePreview = self._perform(
            "mandate.preview",
            drop_absent(
                agent=agent,
                tool=tool,
                audience=audience,
                tier=tier,
                purpose=purpose,
                count=count,
                expires_at=expires_at,
                starts_at=starts_at,
                limits=limits,
                budget=budget,
            ),
        )
        return result

    def propose_mandate(
        self,
        *,
        agent: str,
        tool: str,
        audience: str,
        tier: RiskTier | str,
        purpose: str,
        count: int,
        expires_at: str,
        starts_at: str | None = None,
        limits: Sequence[ArgumentLimit] = (),
        budget: Budget | None = None,
    ) -> MandateProposal:
        """Ask people to sign a standing approval: the agent for itself, operators and reviewers for any agent."""
        result: MandateProposal = self._perform(
            "mandate.propose",
            drop_absent(
                agent=agent,
                tool=tool,
                audience=audience,
                tier=tier,
                purpose=purpose,
                count=count,
                expires_at=expires_at,
                starts_at=starts_at,
                limits=limits,
                budget=budget,
            ),
        )
        return result

    def revoke_mandate(self, mandate_id: str, *, reason: str) -> MandateView:
        """Revoke a mandate at once: no call is covered after this, and permits that rest on it cannot be claimed."""
        result: MandateView = self._perform("mandate.revoke", drop_absent(mandate_id=mandate_id, reason=reason))
        return result

    def mandate(self, mandate_id: str) -> MandateView:
        """Show a mandate and how much of it is used: one's own, or any to those who may read records about others."""
        result: MandateView = self._perform("mandate.show", drop_absent(mandate_id=mandate_id))
        return result

    def mandates(self, *, limit: int = 100, agent: str | None = None) -> Iterator[MandateView]:
        """List signed mandates, newest first."""
        return self._walk("mandates.list", drop_absent(limit=limit, agent=agent))

    def mandate_uses(self, mandate_id: str, *, limit: int = 100) -> Iterator[UsedMandate]:
        """List the calls that a mandate covered, newest first."""
        return self._walk("mandate.uses", drop_absent(mandate_id=mandate_id, limit=limit))

    def release_gateway_table(self, *, rows: Sequence[ToolRow]) -> GatewayRelease:
        """Put a table of tools into force, in an operator's own session."""
        result: GatewayRelease = self._perform("gateway.release", drop_absent(rows=rows))
        return result

    def gateway_table(self) -> GatewayTableView:
        """Show the table of tools that is in force, with the definitions that were approved since."""
        result: GatewayTableView = self._perform("gateway.table", drop_absent())
        return result

    def approve_definition(self, *, tool: str, definition_hash: str, reason: str) -> GatewayTableView:
        """Let a tool of the table be called by another definition, in an operator's own session."""
        result: GatewayTableView = self._perform(
            "gateway.approve", drop_absent(tool=tool, definition_hash=definition_hash, reason=reason)
        )
        return result

    def record_gateway_call(
        self,
        *,
        tool: str,
        definition_hash: str,
        arguments_hash: str,
        result_hash: str,
        text: str = "",
        is_whole: bool = True,
        permit_id: str | None = None,
    ) -> ScreenedCall:
        """Record a call that went through a gateway, and have the guardians read its result before the agent does."""
        result: ScreenedCall = self._perform(
            "gateway.record",
            drop_absent(
                tool=tool,
                definition_hash=definition_hash,
                arguments_hash=arguments_hash,
                result_hash=result_hash,
                text=text,
                is_whole=is_whole,
                permit_id=permit_id,
            ),
        )
        return result

    def gateway_calls(self, *, limit: int = 100, agent: str | None = None) -> Iterator[GatewayCall]:
        """List calls that went through a gateway, newest first."""
        return self._walk("gateway.calls", drop_absent(limit=limit, agent=agent))

    def list_answers(self, *, limit: int = 100, asked_by: str | None = None) -> Iterator[AnswerLine]:
        """List answers, the newest first; without a role that may see all of them, one's own."""
        return self._walk("answers.list", drop_absent(limit=limit, asked_by=asked_by))

    def ask(
        self,
        query_type: str,
        question: object | UnsetType = UNSET,
        *,
        session_id: str | None = None,
        nonce: str | None = None,
    ) -> AnsweredQuestion:
        """Ask a question of a registered type. The answer is gated, marked and recorded before it is returned."""
        result: AnsweredQuestion = self._perform(
            "answer.ask", drop_absent(query_type=query_type, question=question, session_id=session_id, nonce=nonce)
        )
        return result

    def answer(self, answer_id: str) -> AnswerDetail:
        """Show how an answer was marked and on which rules; its output is for its asker alone."""
        result: AnswerDetail = self._perform("answer.show", drop_absent(answer_id=answer_id))
        return result

    def answer_claims(self, answer_id: str) -> ClaimBundle:
        """Export the claims that an answer was gated by, for its asker, unless it is withheld; made anew each time."""
        result: ClaimBundle = self._perform("answer.claims", drop_absent(answer_id=answer_id))
        return result

    def prove_answer(self, answer_id: str) -> bytes:
        """Prove an answer offline: its entry with the output, for its asker, unless it was withheld."""
        result: bytes = self._perform("answer.prove", drop_absent(answer_id=answer_id))
        return result

    def resume_answer(self, answer_id: str) -> AnsweredQuestion:
        """Ask again for one's own answer that the gates held back, with what people answered meanwhile."""
        result: AnsweredQuestion = self._perform("answer.resume", drop_absent(answer_id=answer_id))
        return result

    def trace(self, id: str) -> ShownTrace:
        """Show the complete history of an answer, bundle, record, ticket, permit or outcome, found by any id in it."""
        result: ShownTrace = self._perform("trace.show", drop_absent(id=id))
        return result

    def outcomes(self, *, limit: int = 100, answer_id: str | None = None) -> Iterator[OutcomeLine]:
        """List reported outcomes, the newest first."""
        return self._walk("outcomes.list", drop_absent(limit=limit, answer_id=answer_id))

    def outcome(self, signal: Given, *, whole: bool = False, idempotency_key: str | None = None) -> Reported:
        """Report what came of an answer to the rules that caused it; the same signal again counts once."""
        result: Reported = self._perform(
            "outcome.report", drop_absent(signal=signal, whole=whole, idempotency_key=idempotency_key)
        )
        return result

    def report_many(self, records: Iterable[Given]) -> Iterator[BulkLine]:
        """Report outcomes in lines, in one commit; each line is counted or refused by itself, in order."""
        return self._each("outcomes.report", records)

    def forward_outcome(self, signal: Given, *, idempotency_key: str | None = None) -> Forwarded:
        """Forward an outcome of a peer (PRAMANA 13.2); its rule ids are translated as agreed."""
        result: Forwarded = self._perform(
            "outcome.foreign", drop_absent(signal=signal, idempotency_key=idempotency_key)
        )
        return result

    def outcome_sessions(self, *, limit: int = 100) -> Iterator[ReportingSession]:
        """List sessions that reported outcomes, by name: `session:ID`, or `sender:ID` for a sender without sessions."""
        return self._walk("sessions.list", drop_absent(limit=limit))

    def session_outcomes(self, session: str, *, limit: int = 100) -> Iterator[Signal]:
        """List what one session reported, in order."""
        return self._walk("session.outcomes", drop_absent(session=session, limit=limit))

    def rules(self, *, limit: int = 100) -> Iterator[RuleLine]:
        """List rules by id, with their counters and whether a person certified the version in force."""
        return self._walk("rules.list", drop_absent(limit=limit))

    def rule(self, rule_id: str) -> ShownRuleRecord:
        """Show a rule: its text, versions, certifications, counters, and the counters by day."""
        result: ShownRuleRecord = self._perform("rule.show", drop_absent(rule_id=rule_id))
        return result

    def register_rule(
        self,
        rule_id: str,
        content: str,
        *,
        domains: Sequence[str] = (),
        capabilities: Sequence[str] = (),
        source: str = "text",
    ) -> RuleRef:
        """Record a text as the next version of a rule; the same text again adds nothing."""
        result: RuleRef = self._perform(
            "rule.register",
            drop_absent(rule_id=rule_id, content=content, domains=domains, capabilities=capabilities, source=source),
        )
        return result

    def ask_certification(self, rule_id: str) -> Ticket:
        """Ask people to certify the version of a rule in force; the same open question is returned again."""
        result: Ticket = self._perform("rule.certification.request", drop_absent(rule_id=rule_id))
        return result

    def certify_rule(self, rule_id: str, *, seen: str, reason: str = "") -> DeskAnswer:
        """Certify the version of a rule in force, as a person in their own session who saw it with this hash."""
        result: DeskAnswer = self._perform("rule.certify", drop_absent(rule_id=rule_id, seen=seen, reason=reason))
        return result

    def measure_proof(self, *, texts: Mapping[str, Any]) -> ProofDocument:
        """Measure which certified rules source files implement, and record it: the proof strand of this node."""
        result: ProofDocument = self._perform("rules.prove", drop_absent(texts=texts))
        return result

    def recount_rules(self) -> Recount:
        """Count every outcome again and compare with the counters."""
        result: Recount = self._perform("rules.recount", drop_absent())
        return result

    def alerts(self, *, limit: int = 100, min_total: int = 20, min_confidence: float = 0.8) -> Iterator[RuleAlert]:
        """List rules whose outcomes are bad over time, the least confidence first, also without an open root cause."""
        return self._walk("rules.alerts", drop_absent(limit=limit, min_total=min_total, min_confidence=min_confidence))

    def reporters(self, *, limit: int = 100) -> Iterator[ReporterGrant]:
        """List the principals that may report outcomes, with the rules that each may report about."""
        return self._walk("reporters.list", drop_absent(limit=limit))

    def grant_reporter(self, principal_id: str, rules: Sequence[str] = (), *, replace: bool = False) -> ReporterGrant:
        """Let a principal report outcomes of more rules (PRAMANA 14.2); by default nobody may report."""
        result: ReporterGrant = self._perform(
            "reporter.grant", drop_absent(principal_id=principal_id, rules=rules, replace=replace)
        )
        return result

    def queries(self, *, limit: int = 100) -> Iterator[QueryType]:
        """List query types in force by name: who answers, on which rules, and the expected level."""
        return self._walk("queries.list", drop_absent(limit=limit))

    def register_query(
        self,
        slug: str,
        *,
        description: str,
        domain: str,
        expected_level: Level | str = "PRAMANA-2",
        answerer: str | None = None,
        rules: Sequence[str] = (),
        risk_tier: RiskTier | str = "READ_ONLY",
    ) -> QueryType:
        """Record the next version of a query type; its rules must be in the rule registry."""
        result: QueryType = self._perform(
            "query.register",
            drop_absent(
                slug=slug,
                description=description,
                domain=domain,
                expected_level=expected_level,
                answerer=answerer,
                rules=rules,
                risk_tier=risk_tier,
            ),
        )
        return result

    def shortfalls(self, *, limit: int = 100, query_type: str | None = None) -> Iterator[ShortAnswer]:
        """List answers below the level that their query type should reach (PRAMANA 12.8), the oldest first."""
        return self._walk("shortfalls.list", drop_absent(limit=limit, query_type=query_type))

    def root_causes(self, *, limit: int = 100, open: bool = False) -> Iterator[ShownItem]:
        """List root causes, the newest first: what each shows people, its ticket, and what followed from it."""
        return self._walk("rootcauses.list", drop_absent(limit=limit, open=open))

    def root_cause(self, item_id: str) -> ShownItem:
        """Show a root cause as its ticket shows it, and what followed from it."""
        result: ShownItem = self._perform("rootcause.show", drop_absent(item_id=item_id))
        return result

    def conclude_root_cause(
        self,
        item_id: str,
        *,
        failure_category: Category | str,
        siddhanta: str,
        seen: str,
        corrected_rule: str | None = None,
        sub_category: str | None = None,
    ) -> ShownItem:
        """Conclude a root cause, as a person in their own session who saw its ticket with this hash."""
        result: ShownItem = self._perform(
            "rootcause.conclude",
            drop_absent(
                item_id=item_id,
                failure_category=failure_category,
                siddhanta=siddhanta,
                seen=seen,
                corrected_rule=corrected_rule,
                sub_category=sub_category,
            ),
        )
        return result

    def training_pairs(self, *, format: PairFormat | str = "json") -> bytes:
        """Export all training pairs in the order of their capture; outputs below the caller's floor are left out."""
        result: bytes = self._perform("pairs.export", drop_absent(format=format))
        return result

    def train_pairs(self, *, size: int | None = None) -> TrainingJobs:
        """Make a job of every whole batch of pairs that waits, and have the trainer take all jobs, if there is one."""
        result: TrainingJobs = self._perform("pairs.train", drop_absent(size=size))
        return result

    def training_queue(self) -> TrainingQueue:
        """Show how many training pairs wait, how many make a job, and how many jobs there were."""
        result: TrainingQueue = self._perform("pairs.queue", drop_absent())
        return result

    def measure_categories(self) -> HeldOut:
        """Measure the guesses of categories that root causes show: each pair is guessed from those before it."""
        result: HeldOut = self._perform("pairs.measure", drop_absent())
        return result

    def agree_with_peer(self, agreement: Given) -> Agreement:
        """Record what was agreed with another organisation, in place of what was agreed before."""
        result: Agreement = self._perform("peer.agree", drop_absent(agreement=agreement))
        return result

    def peers(self, *, limit: int = 100) -> Iterator[Agreement]:
        """List the agreements in force with other organisations, by their names."""
        return self._walk("peers.list", drop_absent(limit=limit))

    def peer(self, peer: str) -> Agreement:
        """Show the agreement in force with another organisation."""
        result: Agreement = self._perform("peer.show", drop_absent(peer=peer))
        return result

    def emit_event(self, event: Given) -> Emitted:
        """Emit a SENSE event (PRAMANA 7.3); its `service` must be the name of the caller's principal."""
        result: Emitted = self._perform("event.emit", drop_absent(event=event))
        return result

    def pramana_state(self, *, service: str | None = None) -> PramanaState:
        """Show STATE (PRAMANA 7.1): what this node can answer and which strands it checks; open to everybody."""
        result: PramanaState = self._perform("pramana.state", drop_absent(service=service))
        return result

    def pramana_trust(self, user_id: str) -> ShownTrust:
        """Show TRUST (PRAMANA 7.2) of one principal; a disabled one may do nothing."""
        result: ShownTrust = self._perform("pramana.trust", drop_absent(user_id=user_id))
        return result

    def webhooks(self, *, limit: int = 100) -> Iterator[ShownWebhook]:
        """List webhooks, the oldest first, each with its position in the events and how many were given up."""
        return self._walk("webhooks.list", drop_absent(limit=limit))

    def add_webhook(self, url: str, *, types: Sequence[str] = ()) -> AddedWebhook:
        """Post events to a URL from now on, signed; the result holds the key by which the receiver verifies them."""
        result: AddedWebhook = self._perform("webhook.add", drop_absent(url=url, types=types))
        return result

    def remove_webhook(self, webhook_id: str) -> Webhook:
        """Remove a webhook: nothing is posted there any more. What was posted stays in the ledger."""
        result: Webhook = self._perform("webhook.remove", drop_absent(webhook_id=webhook_id))
        return result

    def dead_events(self, webhook_id: str, *, limit: int = 100) -> Iterator[Letter]:
        """List the events that were given up, in order, each with the reason of the last attempt."""
        return self._walk("webhook.dead", drop_absent(webhook_id=webhook_id, limit=limit))

    def replay_webhook(self, webhook_id: str, *, after: int | None = None) -> Replayed:
        """Post again what was given up, or with `after` all events after a position; message ids stay the same."""
        result: Replayed = self._perform("webhook.replay", drop_absent(webhook_id=webhook_id, after=after))
        return result

    def services(
        self, *, limit: int = 100, domain: str | None = None, answers: str | None = None, does: str | None = None
    ) -> Iterator[ServiceEntry]:
        """List the services that were found to serve what they declare, by id."""
        return self._walk("services.list", drop_absent(limit=limit, domain=domain, answers=answers, does=does))

    def who_can(self, bits: Sequence[str], *, tier: int = 0) -> FoundServices:
        """Find the services that have all of these permission bits, at a tier that is active."""
        result: FoundServices = self._perform("services.who_can", drop_absent(bits=bits, tier=tier))
        return result

    def service(self, service_id: str) -> ServiceView:
        """Show a service and its instances: which are present, and until when they count as present."""
        result: ServiceView = self._perform("service.show", drop_absent(service_id=service_id))
        return result

    def service_keys(self, service_id: str, *, limit: int = 100) -> Iterator[KnownKey]:
        """List the keys that were made known for a service, the revoked ones too."""
        return self._walk("service_keys.list", drop_absent(service_id=service_id, limit=limit))

    def trust_service(self, service_id: str, *, public_key: str) -> RegisteredKey:
        """Make a key known for a service: from then on only what it signs is accepted in that name."""
        result: RegisteredKey = self._perform(
            "service_key.trust", drop_absent(service_id=service_id, public_key=public_key)
        )
        return result

    def revoke_service_key(self, service_id: str, key_id: str, *, reason: str) -> RevokedKey:
        """Revoke a key of a service for ever: nothing that it signs is accepted any more, and its leases end."""
        result: RevokedKey = self._perform(
            "service_key.revoke", drop_absent(service_id=service_id, key_id=key_id, reason=reason)
        )
        return result

    def switch(self, service_id: str) -> SwitchView:
        """Show the kill switch of a service: whether it is fired, and every firing and restore on record."""
        result: SwitchView = self._perform("switch.show", drop_absent(service_id=service_id))
        return result

    def report_firing(self, service_id: str, *, fired: Fired) -> PeopleAsked:
        """Report that one's own switch fired; people are asked to restore it. The same firing again changes nothing."""
        result: PeopleAsked = self._perform("switch.report", drop_absent(service_id=service_id, fired=fired))
        return result

    def restore_switch(self, service_id: str, *, fired: Fired | None = None) -> Restored:
        """Restore the fired switch of a service, as a person in a session; it is an answer to the ticket about it."""
        result: Restored = self._perform("switch.restore", drop_absent(service_id=service_id, fired=fired))
        return result

    def tenants(self, *, limit: int = 100) -> Iterator[TenantItem]:
        """List tenants with the size of each ledger: every tenant for the node's operator, else the caller's own."""
        return self._walk("tenants.list", drop_absent(limit=limit))

    def entries(
        self,
        *,
        limit: int = 100,
        kind: str | None = None,
        first: int = 1,
        last: int | None = None,
        order: str = "oldest",
    ) -> Iterator[EntryItem]:
        """List entries by number, all or those of one kind."""
        return self._walk("entries.list", drop_absent(limit=limit, kind=kind, first=first, last=last, order=order))

    def entry(self, sequence: int, *, disclose: bool = False) -> EntryItem:
        """Show one entry; its hash is the ETag, and it never changes."""
        result: EntryItem = self._perform("entry.show", drop_absent(sequence=sequence, disclose=disclose))
        return result

    def activity(self, *, limit: int = 100, group: str | None = None) -> Iterator[Activity]:
        """List the latest decisions of the node as sentences, the newest first."""
        return self._walk("activity.list", drop_absent(limit=limit, group=group))

    def count_activity(self, *, days: int = 14) -> ActivityDays:
        """Count the decisions of the last days by group: verdicts, truth, claims, answers, people and changes."""
        result: ActivityDays = self._perform("activity.days", drop_absent(days=days))
        return result

    def entry_text(self, sequence: int) -> bytes:
        """Return the text of one entry exactly as it was hashed: its SHA-256 is the entry's hash."""
        result: bytes = self._perform("entry.text", drop_absent(sequence=sequence))
        return result

    def append(self, note: Mapping[str, Any], *, personal: Sequence[str] = ()) -> Receipt:
        """Append a note to the caller's ledger; it is on disk when the receipt is returned."""
        result: Receipt = self._perform("note.append", drop_absent(note=note, personal=personal))
        return result

    def append_many(self, records: Iterable[Given]) -> Iterator[BulkLine]:
        """Append notes in lines; each is on disk or refused by itself, in order, and many share a commit."""
        return self._each("notes.append", records)

    def erase(self, sequence: int, *, reason: str, pointers: Sequence[str] = ()) -> ErasedEntry:
        """Erase the personal values of an entry, or the evidence it attached: all, or what is named."""
        result: ErasedEntry = self._perform(
            "entry.erase", drop_absent(sequence=sequence, reason=reason, pointers=pointers)
        )
        return result

    def checkpoints(self, *, limit: int = 100) -> Iterator[CheckpointItem]:
        """List signed checkpoints, the smallest first."""
        return self._walk("checkpoints.list", drop_absent(limit=limit))

    def checkpoint(self, size: str = "latest") -> CheckpointItem:
        """Show the checkpoint of a tree of that size, or the newest."""
        result: CheckpointItem = self._perform("checkpoint.show", drop_absent(size=size))
        return result

    def sign_checkpoint(self) -> CheckpointItem:
        """Sign a checkpoint of the whole ledger as it is now, and ask the witnesses to sign it."""
        result: CheckpointItem = self._perform("checkpoint.sign", drop_absent())
        return result

    def audit(self, *, full: bool = False, sample: int = 0) -> AuditReport:
        """Verify the tenant's ledger: every hash, link, column, tile, checkpoint, and the checkpoint kept outside."""
        result: AuditReport = self._perform("ledger.verify", drop_absent(full=full, sample=sample))
        return result

    def verify_proof(
        self,
        *,
        proof: str | None = None,
        proof_base64: str | None = None,
        entry: str | None = None,
        trust: Sequence[str] = (),
        origin: str | None = None,
    ) -> Finding:
        """Verify a proof of any form with nothing but keys to believe; every check says what it found."""
        result: Finding = self._perform(
            "proof.verify", drop_absent(proof=proof, proof_base64=proof_base64, entry=entry, trust=trust, origin=origin)
        )
        return result

    def report(
        self,
        from_at: str,
        *,
        to: str | None = None,
        rule: str | None = None,
        subject: str | None = None,
        every_kind: bool = False,
        format: ReportForm | str = "html",
    ) -> bytes:
        """Report what was decided in a period: on what, by whom, why, and the proof of each entry."""
        result: bytes = self._perform(
            "report.make",
            drop_absent(from_at=from_at, to=to, rule=rule, subject=subject, every_kind=every_kind, format=format),
        )
        return result

    def prove_entry(self, sequence: int, *, format: EntryProofForm | str = "bundle", disclose: bool = False) -> bytes:
        """Make the file that proves one entry offline to anybody who trusts this node's key."""
        result: bytes = self._perform("entry.prove", drop_absent(sequence=sequence, format=format, disclose=disclose))
        return result

    def search(self, term: Sequence[str], *, limit: int = 100) -> Iterator[EntryItem]:
        """Find the entries that have every term, the oldest first, indexed or not."""
        return self._walk("search.find", drop_absent(term=term, limit=limit))

    def prove_search(self, term: Sequence[str]) -> bytes:
        """Make the file that shows every entry that a search finds, and that none is missing."""
        result: bytes = self._perform("search.prove", drop_absent(term=term))
        return result

    def indexes(self, *, limit: int = 100) -> Iterator[IndexItem]:
        """List logged indexes in order: which entries each covers, and its root."""
        return self._walk("indexes.list", drop_absent(limit=limit))

    def seal_index(self) -> NewIndexes:
        """Index the entries that no index covers yet, and log the root of each index."""
        result: NewIndexes = self._perform("index.seal", drop_absent())
        return result

    def events(self, *, after: int | None = None, types: Sequence[str] = ()) -> Iterator[CloudEvent]:
        """Follow the tenant's events: at least once, in order, after a position or from now on."""
        return self._follow("events.follow", drop_absent(after=after, types=types))

    def anchors(self, *, limit: int = 100) -> Iterator[AnchorItem]:
        """List the keys of others that this node trusts for their documents; without any, nobody else is trusted."""
        return self._walk("anchors.list", drop_absent(limit=limit))

    def permitted_operations(self, *, limit: int = 100) -> Iterator[PermittedOperation]:
        """List the operations that the caller may perform now, by name."""
        return self._walk("operations.permitted", drop_absent(limit=limit))
