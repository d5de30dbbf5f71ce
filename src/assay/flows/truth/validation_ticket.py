"""A claim is put to people: the ticket about a key, as long as its window is open and the claim the same.

state + shown text -> ticket -> concluded, withdrawn or asked anew as later states say
"""

from collections.abc import Iterable, Sequence
from itertools import islice

from assay.flows.review.open_review import draft_ticket, open_review_in
from assay.flows.review.settle_review import record_settlement
from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole
from assay.kernel.canonical import Profile, canonical_json
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant, render_instant
from assay.ports.database import Unit
from assay.review.kind import OnExpiry, TicketKind
from assay.review.settle import conclude, withdraw
from assay.review.ticket import Ticket, TicketDraft
from assay.truth.observation import Observation
from assay.truth.snapshot import TrustSnapshot
from assay.truth.state import TruthState, shown_hash
from assay.truth.status import FINAL_STATUSES, TruthStatus
from assay.truth.window import Window

# Who asks where no person opened the window.
TRUTH_SERVICE = PrincipalId("service:truth")
_LONGEST_TITLE = 300
_CHOICES = {TruthStatus.VERIFIED_TRUE: "ratify", TruthStatus.VERIFIED_FALSE: "reject"}


def draft_validation(
    tools: Tools, tenant_id: TenantId, state: TruthState, shown: str, window: Window, *, opened_by: str, at: Instant
) -> Ticket:
    """Open as long as the room says: votes after the window are recorded and do not count."""
    is_person = opened_by.startswith("user:")
    asker = PrincipalId(opened_by) if is_person else TRUTH_SERVICE
    draft = TicketDraft(
        kind=TicketKind.VALIDATION,
        title=f"validate {state.truthkey}"[:_LONGEST_TITLE],
        shown=shown,
        eligible_roles=(BuiltInRole.REVIEWER,),
        opened_by=asker,
        requested_by=asker if is_person else None,
        about=state.truthkey,
        due_at=window.end,
        on_expiry=OnExpiry.STAY_OPEN,
    )
    return draft_ticket(tools, tenant_id, draft, at=at)


def find_validation_ticket(unit: Unit, tenant_id: TenantId, truthkey: str) -> Ticket | None:
    """The open one about this key; there is at most one."""
    found = unit.review.open_tickets_about(tenant_id, TicketKind.VALIDATION, truthkey)
    return found[-1] if found else None


def open_validations(unit: Unit, tenant_id: TenantId, keys: Iterable[str]) -> dict[str, Ticket]:
    """What people are asked about these keys now, by key; no other ticket is read."""
    return unit.review.open_tickets_on(tenant_id, TicketKind.VALIDATION, keys)


def tend_ticket(
    unit: Unit,
    state: TruthState,
    *,
    asked: Ticket | None,
    wanted: Ticket | None,
    round_opened_at: Instant | None,
    at: Instant,
) -> None:
    """After a state: conclude the question whose window is over, withdraw one about another claim, ask the new one.

    A question stays open as long as its window, whatever the first answers decide: others may still contradict them.
    """
    is_of_round = asked is not None and round_opened_at is not None and asked.opened_at >= round_opened_at
    if asked is not None and wanted is not None and is_of_round and _is_same(asked, wanted):
        return
    if asked is not None:
        _end(unit, asked, state, at, is_asked_anew=wanted is not None)
    if wanted is not None:
        open_review_in(unit, wanted)


def _is_same(asked: Ticket, wanted: Ticket) -> bool:
    return claim_hash_in(asked.shown) == claim_hash_in(wanted.shown)


def _end(unit: Unit, ticket: Ticket, state: TruthState, at: Instant, *, is_asked_anew: bool) -> None:
    answers = unit.review.answers(ticket.tenant_id, ticket.id)
    if state.status in FINAL_STATUSES and not is_asked_anew:
        reason = f"{state.status} by {state.verification_basis}"
        done = conclude(ticket, answers, choice=_CHOICES.get(state.status), reason=reason, at=at)
    else:
        changed = claim_hash_in(ticket.shown) != shown_hash(state)
        reason = (
            "the claim changed"
            if changed
            else "the next round has begun"
            if is_asked_anew
            else "the window is not open any more"
        )
        done = withdraw(ticket, answers, reason=reason, at=at)
    record_settlement(unit, ticket, done, at=at)


_MOST_OBSERVATIONS = 200
# Of the claim, and of the observations: a vote's entry holds the text, quotes escaped, and may have one MiB.
_MOST_BYTES = 192 * 1024
_KEY_LINE = "truth key: "
_HASH_LINE = "claim hash: "


def render_claim(state: TruthState, observations: Iterable[Observation], snapshot: TrustSnapshot) -> str:
    """What a voter reads, the same for the same state; what does not fit is counted, and the hash covers all of it."""
    heard = frozenset(state.observation_ids)
    said = sorted((one for one in observations if one.observation_id in heard), key=_order)
    claim = [f"  {name}: {canonical_json(value, Profile.KAORI)}" for name, value in sorted(state.claim.items())]
    lines = [
        f"{_KEY_LINE}{state.truthkey}",
        f"claim type: {state.claim_type}",
        "claim:",
        *_fitting(claim, len(claim)),
        f"status: {state.status}",
        f"confidence: {state.confidence} (machines: {state.ai_confidence})",
        f"flags: {', '.join(state.transparency_flags) or 'none'}",
        f"observations: {len(said)}",
        *_fitting((_said(one, snapshot) for one in islice(said, _MOST_OBSERVATIONS)), len(said)),
        f"compiled at: {render_instant(state.compile_inputs.compile_time)}",
        f"{_HASH_LINE}{shown_hash(state)}",
    ]
    return "\n".join(lines)


def claim_hash_in(text: str) -> str:
    """The hash in the last line, which a vote is bound to; whoever hashes the text has covered that line."""
    return text.rpartition(_HASH_LINE)[2]


def truthkey_in(text: str) -> str:
    return text.partition("\n")[0].removeprefix(_KEY_LINE)


def _fitting(lines: Iterable[str], total: int) -> Sequence[str]:
    """The lines that there is room for, each whole, and how many of the total are not among them."""
    kept: list[str] = []
    room = _MOST_BYTES
    for line in lines:
        size = len(line.encode()) + 1
        if size <= room:
            kept.append(line)
            room -= size
    return kept if len(kept) == total else [*kept, f"  and {total - len(kept)} more"]


def _order(observation: Observation) -> tuple[Instant, str]:
    return observation.reported_at, observation.observation_id


def _said(observation: Observation, snapshot: TrustSnapshot) -> str:
    trust = snapshot.find(observation.reporter_id)
    standing = "unknown" if trust is None else f"{trust.standing}, trust {trust.trust_score}"
    evidence = ", ".join(sorted({ref.sha256 for ref in observation.evidence_refs})) or "none"
    payload = canonical_json(observation.payload, Profile.KAORI)
    when = render_instant(observation.reported_at)
    return f"  {when} {observation.reporter_id} ({standing}): {payload} evidence: {evidence}"
