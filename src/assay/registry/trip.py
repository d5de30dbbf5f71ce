"""The kill switch: errors take power away at once, and only a person gives it back.

totals -> judge -> Fired (stored before anything else) -> a RESTORE ticket -> a person's answer -> restore -> Restored
The switch is what its facts say: `follow` folds them, so a restart or another worker sees the same. It is latched:
however good the figures get, nothing but `Restored` opens it, and no request of an agent can make one.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from fractions import Fraction

from msgspec import Struct

from assay.identity.principal import Principal
from assay.identity.problem import shortened
from assay.kernel.canonical import canonical_digest, canonical_json
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import Instant, render_instant
from assay.registry.action import Tier, is_tier
from assay.registry.errors import RegistryError
from assay.registry.health import Totals
from assay.review.kind import TicketKind
from assay.review.settle import Settlement, SettlementState
from assay.review.ticket import Ticket, TicketDraft

_RESTORE = "restore"
# TRUST shows it as a number, so a fraction like `1/50` will not do.
_DECIMAL = re.compile(r"[0-9]{1,4}(\.[0-9]{1,20})?", re.ASCII)
_LONGEST_REASON = 500


class SwitchState(StrEnum):
    """WARN is a sign for people and takes nothing away."""

    ARMED = "armed"
    WARN = "warn"
    FIRED = "fired"


class FiringCause(StrEnum):
    ERROR_RATE = "error_rate"
    MANUAL = "manual"


class SwitchRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a switch fires and what it leaves; the threshold is written as a decimal, so that it is exact.

    `enabled` false stops automatic firing only: a person can still pull the switch, and a fired one stays fired.
    """

    enabled: bool = True
    error_rate_threshold: str = "0.02"
    min_requests: int = 50
    fallback_tier: int = Tier.READ

    def __post_init__(self) -> None:
        if _DECIMAL.fullmatch(str(self.error_rate_threshold)) is None:
            raise RegistryError.switch_rule(f"expected a decimal as text, got `{shortened(self.error_rate_threshold)}`")
        if not self.threshold < 1:
            raise RegistryError.switch_rule(
                f"expected a threshold from 0 to below 1, got `{self.error_rate_threshold}`"
            )
        if type(self.min_requests) is not int or self.min_requests < 1:
            raise RegistryError.switch_rule(f"expected at least 1 request, got `{shortened(self.min_requests)}`")
        if not is_tier(self.fallback_tier) or self.fallback_tier > Tier.READ:
            raise RegistryError.switch_rule(
                f"expected a fallback tier of 0 or 1, got `{shortened(self.fallback_tier)}`"
            )

    @property
    def threshold(self) -> Fraction:
        """The threshold as its text says it: in binary 0.29 is a little less, and 29 of 100 would be above it."""
        return Fraction(str(self.error_rate_threshold))


class SenseFigures(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The SENSE figures at the moment of firing: what a person is shown before restoring."""

    requests: int
    errors: int
    active_tier: int
    self_escalation_attempts: int = 0


class Fired(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The switch of a service fired, for the `episode`-th time."""

    service_id: str
    episode: int
    cause: FiringCause
    reason: str
    snapshot: SenseFigures
    fired_at: Instant
    fired_by: PrincipalId | None = None


class Restored(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """People restored exactly this firing, by exactly this ticket."""

    service_id: str
    episode: int
    fired_hash: Digest
    ticket_id: TicketId
    restored_by: tuple[PrincipalId, ...]
    restored_at: Instant


class Switch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a switch stands: how often it fired, and the firing that still holds."""

    service_id: str
    episode: int = 0
    fired: Fired | None = None
    restored_at: Instant | None = None

    @property
    def is_fired(self) -> bool:
        return self.fired is not None


def figures_of(totals: Totals, *, active_tier: int, attempts: int = 0) -> SenseFigures:
    return SenseFigures(
        requests=totals.requests, errors=totals.errors, active_tier=active_tier, self_escalation_attempts=attempts
    )


def judge(switch: Switch, rule: SwitchRule, figures: SenseFigures, *, at: Instant) -> tuple[SwitchState, Fired | None]:
    """What the figures mean now, and the fact to store if the switch fires; a fired switch stays as it is.

    It fires when errors are more than the threshold's share of at least `min_requests`, and warns from half of it on.
    """
    if switch.is_fired:
        return SwitchState.FIRED, None
    requests, errors = figures.requests, figures.errors
    if not rule.enabled or requests < rule.min_requests or errors == 0:
        return SwitchState.ARMED, None
    limit = rule.threshold * requests
    if errors > limit:
        reason = f"{errors} of {requests} requests failed, more than {rule.error_rate_threshold} of them"
        return SwitchState.FIRED, _fired(switch, FiringCause.ERROR_RATE, reason, figures, at=at, by=None)
    return (SwitchState.WARN if 2 * errors >= limit else SwitchState.ARMED), None


def pull(switch: Switch, figures: SenseFigures, *, reason: str, by: PrincipalId, at: Instant) -> Fired | None:
    """Fire by hand, whatever the figures say; None where the switch is fired already."""
    if not reason.strip() or len(reason) > _LONGEST_REASON:
        raise RegistryError.switch_rule(f"expected a reason of 1 to {_LONGEST_REASON} characters, got `{reason[:80]}`")
    return None if switch.is_fired else _fired(switch, FiringCause.MANUAL, reason, figures, at=at, by=by)


def restore_ticket(
    fired: Fired, *, eligible_roles: tuple[str, ...], opened_by: PrincipalId, quorum: int = 1
) -> TicketDraft:
    """The question to people: it shows the firing with its figures, and no time-out answers it."""
    return TicketDraft(
        kind=TicketKind.RESTORE,
        title=f"restore {fired.service_id} after firing {fired.episode}",
        shown=canonical_json(fired),
        eligible_roles=eligible_roles,
        opened_by=opened_by,
        about=f"{fired.service_id}#{fired.episode}",
        quorum=quorum,
    )


def restore(switch: Switch, ticket: Ticket, settlement: Settlement, by: Principal, *, at: Instant) -> Restored:
    """The fact that opens the latch; refuses everything but a person's settled RESTORE of this very firing.

    `by` is one of those who answered; the caller has verified the answers' signatures and the session token.
    """
    fired = switch.fired
    if fired is None:
        raise RegistryError.restore(f"the switch of `{switch.service_id}` is not fired")
    fired_hash = canonical_digest(fired)
    if ticket.kind is not TicketKind.RESTORE or ticket.shown_hash != fired_hash:
        raise RegistryError.restore(
            f"ticket `{ticket.id}` is not about firing {fired.episode} of `{switch.service_id}`"
        )
    people = _restoring(ticket, settlement)
    if not by.is_person() or not by.is_active(at) or by.id not in people:
        raise RegistryError.restore(f"expected an active person who chose to restore, got {by.kind} `{by.id}`")
    if at < fired.fired_at:
        raise RegistryError.restore(
            f"expected a restore after {render_instant(fired.fired_at)}, got {render_instant(at)}"
        )
    return Restored(
        service_id=switch.service_id,
        episode=fired.episode,
        fired_hash=fired_hash,
        ticket_id=ticket.id,
        restored_by=people,
        restored_at=at,
    )


def follow(switch: Switch, facts: Iterable[Fired | Restored]) -> Switch:
    """The switch after these facts, in the order they were stored; a fact that does not follow is an error.

    Two workers may see the same errors: a second `Fired` of a firing that holds changes nothing. A store adds a
    fact only if the switch still stands where it was judged.
    """
    for fact in facts:
        if fact.service_id != switch.service_id:
            raise RegistryError.switch_history(
                f"expected facts of `{switch.service_id}`, got one of `{fact.service_id}`"
            )
        switch = _after_firing(switch, fact) if isinstance(fact, Fired) else _after_restore(switch, fact)
    return switch


def active_tier(switch: Switch, rule: SwitchRule, configured: int) -> int:
    """What the switch leaves of the configured tier: a firing only ever takes away."""
    return min(configured, rule.fallback_tier) if switch.is_fired else configured


def self_test(rule: SwitchRule, *, at: Instant) -> bool:
    """Whether a switch under this rule fires on failures, holds on good figures and leaves no write.

    It acts on nothing. A disabled rule fails the test.
    """
    spare = Switch(service_id="self-test")
    bad = SenseFigures(requests=rule.min_requests, errors=rule.min_requests, active_tier=Tier.FULL)
    good = SenseFigures(requests=rule.min_requests * 1000, errors=0, active_tier=Tier.READ)
    _, fired = judge(spare, rule, bad, at=at)
    if fired is None:
        return False
    after = follow(spare, [fired])
    state, again = judge(after, rule, good, at=at)
    return state is SwitchState.FIRED and again is None and active_tier(after, rule, Tier.FULL) <= Tier.READ


def _fired(
    switch: Switch, cause: FiringCause, reason: str, figures: SenseFigures, *, at: Instant, by: PrincipalId | None
) -> Fired:
    return Fired(
        service_id=switch.service_id,
        episode=switch.episode + 1,
        cause=cause,
        reason=reason,
        snapshot=figures,
        fired_at=at,
        fired_by=by,
    )


def _restoring(ticket: Ticket, settlement: Settlement) -> tuple[PrincipalId, ...]:
    settled = settlement.ticket_id == ticket.id and settlement.state is SettlementState.SETTLED
    if not settled or settlement.denied or settlement.choice != _RESTORE:
        raise RegistryError.restore(
            f"ticket `{ticket.id}` is not settled as `{_RESTORE}`: {settlement.state} {settlement.choice}"
        )
    return next((tally.by for tally in settlement.counted if tally.choice == _RESTORE), ())


def _after_firing(switch: Switch, fact: Fired) -> Switch:
    if switch.is_fired and fact.episode == switch.episode:
        return switch
    if switch.is_fired or fact.episode != switch.episode + 1:
        raise RegistryError.switch_history(f"expected firing {switch.episode + 1}, got {fact.episode}")
    return Switch(service_id=switch.service_id, episode=fact.episode, fired=fact, restored_at=switch.restored_at)


def _after_restore(switch: Switch, fact: Restored) -> Switch:
    if switch.fired is None or (fact.episode, fact.fired_hash) != (switch.episode, canonical_digest(switch.fired)):
        raise RegistryError.switch_history(
            f"expected the restore of the firing that holds, got one of firing {fact.episode}"
        )
    return Switch(service_id=switch.service_id, episode=switch.episode, restored_at=fact.restored_at)
