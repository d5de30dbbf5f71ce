"""Changes of tiers: by an authorised person, never one's own, and never without a trace (FRJ-015).

history + a person's order -> change_tier -> one more change -> tier_at
The kill switch is not a change: it leaves the issued tier alone and lowers what is active.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from assay.identity.authorise import has_role
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import Instant
from assay.registry.action import is_tier
from assay.registry.errors import DeniedError, RegistryError

_LONGEST_REASON = 500
_MAY_CHANGE = (BuiltInRole.ADMIN,)


class TierOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person wants: `subject` is a principal or an action of a service; a ticket may stand behind it."""

    subject: str
    to_tier: int
    reason: str
    ticket_id: TicketId | None = None

    def __post_init__(self) -> None:
        if not is_tier(self.to_tier):
            raise RegistryError.invalid_rule(
                f"to_tier: expected a whole number of 0 to 3, got `{str(self.to_tier)[:80]}`"
            )
        if not self.reason.strip() or len(self.reason) > _LONGEST_REASON:
            raise RegistryError.invalid_rule(
                f"reason: expected 1 to {_LONGEST_REASON} characters, got `{self.reason[:80]}`"
            )


class TierChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One change of one subject's tier. INVARIANT: versions of a subject count 1, 2, 3 … and are never edited."""

    subject: str
    version: int
    from_tier: int
    to_tier: int
    reason: str
    ticket_id: TicketId | None
    changed_by: PrincipalId
    changed_at: Instant


def change_tier(
    history: Sequence[TierChange],
    order: TierOrder,
    *,
    issued: int,
    by: Principal,
    at: Instant,
) -> TierChange:
    """The next change; refuses machines, the disabled, the unauthorised and whoever the change is about."""
    if not by.is_person() or not by.is_active(at):
        raise DeniedError.tier_change(f"expected an active person to change a tier, got {by.kind} `{by.id}`")
    if by.id == order.subject:
        raise DeniedError.tier_change(f"`{by.id}` asked to change their own tier")
    if not has_role(by, _MAY_CHANGE):
        raise DeniedError.tier_change(f"`{by.id}` holds none of the roles that may change a tier")
    own = _of(history, order.subject)
    if own and at < own[-1].changed_at:
        raise DeniedError.tier_change(f"expected a change after {own[-1].changed_at.isoformat()}, got {at.isoformat()}")
    return TierChange(
        subject=order.subject,
        version=len(own) + 1,
        from_tier=tier_at(own, order.subject, issued=issued, at=at),
        to_tier=order.to_tier,
        reason=order.reason,
        ticket_id=order.ticket_id,
        changed_by=by.id,
        changed_at=at,
    )


def tier_at(history: Iterable[TierChange], subject: str, *, issued: int, at: Instant) -> int:
    """The tier in force at that instant: that of the latest change until then, else as issued."""
    earlier = [change for change in _of(history, subject) if change.changed_at <= at]
    return earlier[-1].to_tier if earlier else issued


def _of(history: Iterable[TierChange], subject: str) -> list[TierChange]:
    return sorted((change for change in history if change.subject == subject), key=lambda change: change.version)
