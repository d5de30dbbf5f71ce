"""Whether two principals are two people: who gave each of them a role or a credential, and since when they hold it.

person + ticket -> the role counts for it -> nobody who asked gave it, or knows the person's password -> may answer
"""

from collections.abc import Iterable
from datetime import datetime

from msgspec import UNSET, Struct, UnsetType

from assay.identity.credential import ApiKeyRevocation
from assay.identity.power import REVIEW_KEY, held_since, is_administrator, role_granted, solo_granters
from assay.identity.principal import LOCAL_OPERATOR, BuiltInRole, Granted, Principal
from assay.identity.signing_key import SigningKeyEnd
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant, render_instant
from assay.ports.database import Unit
from assay.review.errors import ReviewError
from assay.review.ticket import Ticket


class SoloGrant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A power of somebody who may answer a ticket, or asked for it, that one person granted alone."""

    principal_id: PrincipalId
    powers: tuple[str, ...]
    granted_by: PrincipalId


def require_independent(unit: Unit, ticket: Ticket, person: Principal, at: Instant) -> None:
    """Raise unless the person's role counts for this ticket and the person does not stand for one of its askers.

    A role counts for no ticket that was opened before it was granted. An answer does not count where the role, or the
    password behind it, was given by somebody who asked for the ticket, or who made a credential of the one who asked.
    """
    history = unit.identity.principal_history(ticket.tenant_id, person.id)
    roles = [role for role in ticket.eligible_roles if role in person.roles]
    counting = [role for role in roles if _counts(history, role, ticket)]
    if not counting:
        since = min(found for role in roles if (found := held_since(history, role)) is not None)
        raise ReviewError.role_granted_later(
            f"expected a role that `{person.id}` held when `{ticket.id}` was opened at"
            f" {render_instant(ticket.opened_at)}, got `{', '.join(roles)}` since {render_instant(since)}:"
            " somebody who held it then answers, or the question is asked again"
        )
    shared = _hands(unit, ticket, at) & stands_for(unit, person, counting)
    if shared:
        name = min(shared)
        raise ReviewError.not_independent(
            f"expected somebody whom `{name}` gave neither a role alone nor a password, got `{person.id}`:"
            f" `{name}` asked for `{ticket.id}` or made a key of the one who asked; another person answers, or the"
            f" operator of the node's folder vouches with `assay principal amend {person.id} --role …` and"
            f" `assay principal password {person.id}`"
        )


def role_counts(unit: Unit, ticket: Ticket, person: Principal) -> bool:
    """Whether one of the roles that a ticket asks for was the person's when the ticket was opened."""
    history = unit.identity.principal_history(ticket.tenant_id, person.id)
    return any(_counts(history, role, ticket) for role in ticket.eligible_roles)


def _counts(history: tuple[Principal, ...], role: str, ticket: Ticket) -> bool:
    since: datetime | None = held_since(history, role)
    return since is not None and since <= ticket.opened_at


def stands_for(unit: Unit, person: Principal, roles: Iterable[str]) -> frozenset[PrincipalId]:
    """The person, and everybody who could act through this account: by a role granted alone, or a known password."""
    history = unit.identity.principal_history(person.tenant_id, person.id)
    found = {person.id, *solo_granters(history, roles), *_password_maker(unit, person)}
    if person.public_key is not None:
        made = (one.granted for one in reversed(history))
        key = next((one for one in made if one is not UNSET and REVIEW_KEY in one.powers), None)
        found |= _maker(key, None, person.id)
    return frozenset(found)


def _hands(unit: Unit, ticket: Ticket, at: Instant) -> frozenset[PrincipalId]:
    """Those who asked for a ticket, and those who made a live credential of theirs."""
    parties = [one for one in (ticket.opened_by, ticket.requested_by) if one is not None]
    return frozenset(parties).union(*(_makers_of(unit, ticket.tenant_id, one, at) for one in parties))


def _makers_of(unit: Unit, tenant_id: TenantId, principal_id: PrincipalId, at: Instant) -> set[PrincipalId]:
    known = unit.identity.find_principal(tenant_id, principal_id)
    if known is None:
        return set()
    found = set(_password_maker(unit, known))
    keys = unit.identity.api_keys_of(tenant_id, [principal_id])
    revoked = unit.identity.ends(tenant_id, [key.prefix for key in keys], ApiKeyRevocation)
    for key in keys:
        ends = [one.revoked_at for one in revoked if one.prefix == key.prefix]
        if all(at < end for end in ends) and (key.expires_at is None or at < key.expires_at):
            found |= _maker(key.granted, None, principal_id)
    signers = unit.access.signing_keys(tenant_id, principal_id)
    ended = {one.key_id for one in unit.identity.ends(tenant_id, [one.key_id for one in signers], SigningKeyEnd)}
    for signing in signers:
        if signing.key_id not in ended:
            found |= _maker(signing.granted, signing.added_by, principal_id)
    return found


def _password_maker(unit: Unit, person: Principal) -> set[PrincipalId]:
    password = unit.identity.find_password(person.tenant_id, person.id)
    return set() if password is None else _maker(password.granted, password.set_by, person.id)


def _maker(granted: Granted | UnsetType | None, by: PrincipalId | None, of: PrincipalId) -> set[PrincipalId]:
    """Who made a credential, where that is neither its owner nor the operator of the folder."""
    name = by if granted is UNSET or granted is None else granted.asked_by
    return set() if name in (None, of, LOCAL_OPERATOR) else {name}


def other_administrators(unit: Unit, asker: Principal, at: Instant) -> tuple[Principal, ...]:
    """The administrators who could approve what this one asks for: other people, not made by the same one alone."""
    roles = (str(BuiltInRole.ADMIN),)
    own = stands_for(unit, asker, roles)
    found = unit.identity.principals_with(asker.tenant_id, roles)
    return tuple(
        one
        for one in found
        if one.id != asker.id and is_administrator(one, at) and not own & stands_for(unit, one, roles)
    )


def solo_grants(unit: Unit, ticket: Ticket) -> tuple[SoloGrant, ...]:
    """The powers that one person granted alone to those who may answer a ticket, or who asked for it."""
    tenant_id = ticket.tenant_id
    holders = unit.identity.principals_with(tenant_id, ticket.eligible_roles)
    named = {one.id: one for one in holders if set(one.roles) & set(ticket.eligible_roles)}
    asker = None if ticket.requested_by is None else unit.identity.find_principal(tenant_id, ticket.requested_by)
    found: list[SoloGrant] = []
    for one in named.values():
        history = unit.identity.principal_history(tenant_id, one.id)
        held = [role for role in ticket.eligible_roles if role in one.roles]
        found += _solo(one, [granted for role in held if (granted := role_granted(history, role)) is not None])
    if asker is not None and asker.id not in named:
        versions = unit.identity.principal_history(tenant_id, asker.id)
        found += _solo(asker, [one.granted for one in versions if one.granted is not UNSET])
    return tuple(found)


def _solo(principal: Principal, grants: Iterable[Granted]) -> list[SoloGrant]:
    by_granter: dict[PrincipalId, set[str]] = {}
    for one in grants:
        if one.solo:
            by_granter.setdefault(one.asked_by, set()).update(one.powers)
    return [
        SoloGrant(principal_id=principal.id, powers=tuple(sorted(powers)), granted_by=by)
        for by, powers in sorted(by_granter.items())
    ]
