"""May this caller do this: every requirement by itself, met or not, and what would change it.

needs + standing + time -> requirements -> the first one unmet is the refusal

INVARIANT: the door and the answer to "why can I not?" both read this list; there is no second rule.
"""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from assay.identity.authorise import has_role
from assay.identity.credential import covers
from assay.identity.principal import Principal
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant


class RequirementName(StrEnum):
    """What can be required. The first six belong to the door of the node, the others to what is behind it."""

    TENANT = "tenant"
    ACTIVE = "active"
    SCOPE = "scope"
    ROLE = "role"
    TIER = "tier"
    SESSION = "session"
    DECLARED = "declared"
    RESTRICTED = "restricted"
    MASK = "mask"
    ACTION_TIER = "action_tier"
    RISK_CEILING = "risk_ceiling"
    LEVEL_FLOOR = "level_floor"


class Requirement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`code` is the error code of the refusal; None where an unmet requirement withholds an output and refuses nothing.

    `remedy` says what would meet an unmet requirement; None where it is met.
    """

    name: RequirementName
    met: bool
    reason: str
    code: str | None
    remedy: str | None = None


class Needs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What something asks for; None asks for nothing in particular."""

    scope: str | None
    roles: tuple[str, ...] | None
    tier: int
    # A person wants it now: a key, which a script may hold, does not show that.
    session: bool = False


class Standing(Struct, frozen=True, kw_only=True):
    """Who asks, with what credential, and what the node's own switch leaves to machines now."""

    principal: Principal
    scopes: tuple[str, ...]
    active_tier: int
    has_session: bool


def check_access(needs: Needs, standing: Standing, *, tenant_id: TenantId, at: Instant) -> tuple[Requirement, ...]:
    """All requirements, in the order in which a refusal names the first unmet one."""
    return (
        _tenant(standing.principal, tenant_id),
        _active(standing.principal, at),
        _scope(needs, standing),
        _role(needs, standing.principal),
        _tier(needs, standing),
        _session(needs, standing),
    )


def find_unmet(requirements: Sequence[Requirement]) -> Requirement | None:
    return next((one for one in requirements if not one.met), None)


def _tenant(principal: Principal, tenant_id: TenantId) -> Requirement:
    met = principal.tenant_id == tenant_id
    return Requirement(
        name=RequirementName.TENANT,
        met=met,
        code="identity.other_tenant",
        # The other tenant's name is not told: nothing of it exists for this principal.
        reason=f"`{principal.id}` is of tenant `{principal.tenant_id}`" + ("" if met else ", not of the one asked for"),
        remedy=None if met else "nothing: a principal acts in its own tenant alone",
    )


def _active(principal: Principal, at: Instant) -> Requirement:
    met = principal.is_active(at)
    return Requirement(
        name=RequirementName.ACTIVE,
        met=met,
        code="identity.disabled",
        reason=f"`{principal.id}` is {'active' if met else 'disabled'}",
        remedy=None if met else "an admin enables the principal again",
    )


def _scope(needs: Needs, standing: Standing) -> Requirement:
    met = needs.scope is None or covers(standing.scopes, needs.scope)
    got = ", ".join(standing.scopes)
    return Requirement(
        name=RequirementName.SCOPE,
        met=met,
        code="identity.scope",
        reason=_wanted("a credential with scope", needs.scope, got),
        remedy=None if met else f"a credential that was issued with scope `{needs.scope}`",
    )


def _role(needs: Needs, principal: Principal) -> Requirement:
    wanted = None if needs.roles is None else sorted(needs.roles)
    met = wanted is None or has_role(principal, wanted)
    held = ", ".join(principal.roles) or "no role"
    names = None if wanted is None else ", ".join(wanted)
    return Requirement(
        name=RequirementName.ROLE,
        met=met,
        code="identity.role",
        reason=f"`{principal.id}` holds `{held}`, expected " + ("none" if names is None else f"one of `{names}`"),
        remedy=None if met else f"an admin grants one of `{names}`",
    )


def _tier(needs: Needs, standing: Standing) -> Requirement:
    """A fired switch limits machines to its tier, and never people: they are the ones who set things right again."""
    met = needs.tier <= standing.active_tier or standing.principal.is_person()
    return Requirement(
        name=RequirementName.TIER,
        met=met,
        code="registry.tier_closed",
        reason=f"the node's switch leaves machines tier {standing.active_tier}, this needs tier {needs.tier}",
        remedy=None if met else "a person with a session restores the node's switch",
    )


def _session(needs: Needs, standing: Standing) -> Requirement:
    met = standing.has_session or not needs.session
    expected = "expected a session of" if needs.session else "no session is asked for of"
    remedy = "the person logs in" if standing.principal.is_person() else "nothing: a machine is never given a session"
    return Requirement(
        name=RequirementName.SESSION,
        met=met,
        code="identity.session_required",
        reason=f"{expected} `{standing.principal.id}`" + ("" if met else ", got another credential"),
        remedy=None if met else remedy,
    )


def _wanted(what: str, wanted: str | None, got: str) -> str:
    return f"expected {what} `{wanted}`, got `{got}`" if wanted is not None else f"no {what} is asked for"
