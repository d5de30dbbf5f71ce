"""A principal: a person, an agent or a service in one tenant, and what that principal may reach for."""

import re
from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, replace

from assay.identity.errors import InvalidPrincipalError
from assay.identity.mask import is_mask
from assay.identity.problem import Problem, names_problems, parse_problems, shortened, when
from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId, TenantId, TicketId, parse_principal_id, parse_tenant_id
from assay.kernel.instant import Instant
from assay.kernel.signature import load_public_key

# Whoever can open the node's folder for writing holds its keys; no check of ours could hold such a person back, so
# what they do without a credential is recorded under this one name.
LOCAL_OPERATOR = PrincipalId("operator:local")
_HIGHEST_TIER = 3
_HIGHEST_LEVEL = 3
_LONGEST_NAME = 200
_PUBLIC_KEY = re.compile(r"[0-9a-f]{64}", re.ASCII)


class PrincipalKind(StrEnum):
    """Only a person ever holds a session or answers a ticket."""

    PERSON = "person"
    AGENT = "agent"
    SERVICE = "service"


class BuiltInRole(StrEnum):
    """The roles our own surfaces ask for; role names are open, but any other name opens no door of ours.

    No role implies another: an admin who shall also review holds both.
    """

    ADMIN = "admin"  # adds and amends principals, issues and revokes their keys
    OPERATOR = "operator"  # runs the node: checkpoints, keys, backups, erasure
    AUDITOR = "auditor"  # reads everything of the tenant, writes nothing
    REVIEWER = "reviewer"  # answers tickets that ask for no narrower role
    OPS_TEAM = "ops_team"  # approves claims of tier DELETE
    SECURITY_TEAM = "security_team"  # approves claims of tier PRIVILEGE
    RELAY = "relay"  # submits what others observed, in their name; the entry says who did


class Granted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who gave a power: the administrator who asked, and those who approved on the review desk.

    `solo` says that nobody approved: the only administrator of a node, or the operator of its folder, acted alone.
    `powers` are named as the table of powers names them (`role:ops_team`, `risk_ceiling:DELETE`, `password`).
    """

    powers: tuple[str, ...]
    asked_by: PrincipalId
    approved_by: tuple[PrincipalId, ...] = ()
    ticket_id: TicketId | None = None
    solo: bool


class Principal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One version of a principal, well formed or refused with every problem named.

    `granted` is there on a version that widened the principal's power; versions before 0.2 never have it.

    INVARIANT: versions of one (tenant_id, id) count 1, 2, 3 …; stores only ever add one, the highest is in force, and
    id, tenant_id, kind and created_at are the same in all. The defaults allow nothing.
    """

    id: PrincipalId
    tenant_id: TenantId
    kind: PrincipalKind
    # None: the name was erased, or is not shown here; a principal is known by its id.
    name: str | None
    roles: tuple[str, ...] = ()
    trust_mask: int = 0
    action_tier: int = 0
    risk_ceiling: RiskTier = RiskTier.READ_ONLY
    authenticity_level_floor: int = 0
    public_key: str | None = None
    created_at: Instant
    disabled_at: Instant | None = None
    version: int = 1
    recorded_at: Instant
    recorded_by: PrincipalId
    granted: Granted | UnsetType = UNSET

    def __post_init__(self) -> None:
        problems = _problems(self)
        if problems:
            raise InvalidPrincipalError(problems)

    def is_person(self) -> bool:
        return self.kind is PrincipalKind.PERSON

    def is_active(self, at: Instant) -> bool:
        return self.disabled_at is None or at < self.disabled_at


class PrincipalChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the next version says differently; a field left out stays as it is."""

    name: str | UnsetType = UNSET
    roles: tuple[str, ...] | UnsetType = UNSET
    trust_mask: int | UnsetType = UNSET
    action_tier: int | UnsetType = UNSET
    risk_ceiling: RiskTier | UnsetType = UNSET
    authenticity_level_floor: int | UnsetType = UNSET
    public_key: str | UnsetType | None = UNSET
    disabled_at: Instant | UnsetType | None = UNSET


def add_principal(
    *,
    id: PrincipalId,  # noqa: A002  the field's own name
    tenant_id: TenantId,
    kind: PrincipalKind,
    name: str,
    at: Instant,
    by: PrincipalId,
    change: PrincipalChange | None = None,
) -> Principal:
    """Version 1: allowed nothing, but for what `change` grants; roles may be given in any order."""
    granted = _changes(change or PrincipalChange())
    fields: dict[str, object] = {"id": id, "tenant_id": tenant_id, "kind": kind, "name": name, **granted}
    return Principal(**fields, created_at=at, recorded_at=at, recorded_by=by)  # type: ignore[arg-type]  # checked on creation


def amend_principal(latest: Principal, change: PrincipalChange, *, at: Instant, by: PrincipalId) -> Principal:
    """The next version; the store adds it only if `latest` still is the latest."""
    if at < latest.recorded_at:
        raise InvalidPrincipalError(
            when(True, "recorded_at", f"expected {latest.recorded_at.isoformat()} or later, got {at.isoformat()}")
        )
    changes = _changes(change)
    return replace(latest, **changes, version=latest.version + 1, recorded_at=at, recorded_by=by, granted=UNSET)


def principal_body(principal: Principal) -> dict[str, object]:
    """The fields of a version as its ledger entry has them; what a version does not say is left out."""
    return {name: value for name, value in asdict(principal).items() if value is not UNSET}


def _changes(change: PrincipalChange) -> dict[str, object]:
    fields = {name: getattr(change, name) for name in change.__struct_fields__}
    given = {name: value for name, value in fields.items() if value is not UNSET}
    if isinstance(given.get("roles"), tuple):
        given["roles"] = tuple(sorted(set(given["roles"])))
    if given.get("risk_ceiling") in set(RiskTier):
        # By its name, as every other surface has it; another word is told with all other problems.
        given["risk_ceiling"] = RiskTier(given["risk_ceiling"])
    return given


def _problems(principal: Principal) -> tuple[Problem, ...]:
    return (
        parse_problems("id", parse_principal_id, principal.id)
        + parse_problems("tenant_id", parse_tenant_id, principal.tenant_id)
        + parse_problems("recorded_by", parse_principal_id, principal.recorded_by)
        + when(not isinstance(principal.kind, PrincipalKind), "kind", "expected person, agent or service")
        + when(not isinstance(principal.risk_ceiling, RiskTier), "risk_ceiling", _tiers(principal.risk_ceiling))
        + _name_problems(principal.name)
        + names_problems("roles", principal.roles)
        + _permission_problems(principal)
        + _key_problems(principal.public_key)
        + _version_problems(principal)
    )


def _tiers(got: object) -> str:
    return f"expected one of {', '.join(RiskTier)}, got `{shortened(got)}`"


def _name_problems(name: str | None) -> tuple[Problem, ...]:
    if name is None:
        return ()
    wrong = name != name.strip() or not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable()
    return when(wrong, "name", f"expected 1 to {_LONGEST_NAME} printable characters, got `{name[:80]!r}`")


def _permission_problems(principal: Principal) -> tuple[Problem, ...]:
    mask, tier, level = principal.trust_mask, principal.action_tier, principal.authenticity_level_floor
    return (
        when(not is_mask(mask), "trust_mask", f"expected 0 to 2^32-1, got `{shortened(mask)}`")
        + when(
            not _is_count(tier, _HIGHEST_TIER), "action_tier", f"expected 0 to {_HIGHEST_TIER}, got `{shortened(tier)}`"
        )
        + when(
            not _is_count(level, _HIGHEST_LEVEL),
            "authenticity_level_floor",
            f"expected 0 to {_HIGHEST_LEVEL}, got `{shortened(level)}`",
        )
    )


def _key_problems(public_key: str | None) -> tuple[Problem, ...]:
    if public_key is None:
        return ()
    if _PUBLIC_KEY.fullmatch(public_key) is None:
        return when(True, "public_key", f"expected 64 lower-case hex digits, got `{public_key[:80]}`")
    return parse_problems("public_key", lambda text: load_public_key(bytes.fromhex(text)), public_key)


def _version_problems(principal: Principal) -> tuple[Problem, ...]:
    recorded, created, disabled = principal.recorded_at, principal.created_at, principal.disabled_at
    return (
        when(not _is_count(principal.version, None) or principal.version < 1, "version", "expected 1 or more")
        + when(recorded < created, "recorded_at", "expected created_at or later")
        + when(disabled is not None and disabled < created, "disabled_at", "expected created_at or later")
    )


def _is_count(value: object, highest: int | None) -> bool:
    return type(value) is int and value >= 0 and (highest is None or value <= highest)
