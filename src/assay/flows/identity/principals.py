"""People, agents and services: add, amend, disable, name, give a password.

caller (an admin, confirmed in the commit) -> next version + ledger entry in one commit
"""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict

from assay.facts.identity import NAME_POINTER
from assay.flows.errors.identity import IdentityFlowError
from assay.flows.errors.ledger import LedgerFlowError
from assay.flows.identity.api_keys import MAY_LOOK, ApiKeyView, view_key
from assay.flows.identity.authenticate import confirm
from assay.flows.identity.common_passwords import find_weakness
from assay.flows.identity.duties import AddPerson, Amend, SetSecret, amend_power, amend_power_in, record_version
from assay.flows.known import get_principal
from assay.flows.ledger.erase_record import erase_entry_in
from assay.flows.request import (
    FieldProblem,
    FieldsError,
    Option,
    Page,
    Paged,
    PrincipalName,
    Reason,
    Request,
    cut,
    read_text,
)
from assay.flows.tools import Tools
from assay.identity.authorise import require_role
from assay.identity.caller import Caller
from assay.identity.credential import ApiKeyRevocation
from assay.identity.credential import set_password as password_record
from assay.identity.mask import MASK_MAX
from assay.identity.principal import BuiltInRole, Principal, PrincipalChange, PrincipalKind
from assay.identity.principal import add_principal as first_version
from assay.identity.principal import amend_principal as next_version
from assay.identity.problem import NAME_FORM
from assay.identity.risk import RiskTier
from assay.identity.signing_key import SigningKeyEnd, SigningKeyRecord, check_signing_key
from assay.kernel.commitment import MIN_SALT_SIZE
from assay.kernel.ids import KeyId, PrincipalId, TenantId, TicketId, parse_principal_id
from assay.kernel.instant import Instant
from assay.kernel.key import parse_public_key
from assay.ports.database import Unit
from assay.ports.password import SALT_BYTES
from assay.registry.errors import DeniedError

SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 1024
_NOTHING = FieldProblem(field="", message="expected at least one field to change, got none", pointer="")

_Id = Annotated[PrincipalName, Meta(description="`prefix:name`, such as user:amira, ai:planner or service:billing.")]
_PathId = Annotated[PrincipalName, Meta(description="The principal."), Option(metavar="ID")]
_Name = Annotated[
    str | UnsetType,
    Meta(
        extra_json_schema={"minLength": 1, "maxLength": 200},
        description="What people call it; the ledger has only a salted commitment of it.",
    ),
]
_Roles = Annotated[
    Annotated[tuple[str, ...], Meta(max_length=64)] | UnsetType,
    Meta(description="A role; repeat it for several."),
    Option(flag="--role", clear="--no-roles"),
]
_Mask = Annotated[
    int | UnsetType,
    Meta(extra_json_schema={"minimum": 0, "maximum": MASK_MAX}, description="32 permission bits, as 5 or 0x5."),
    Option(form="number"),
]
_Tier = Annotated[
    int | UnsetType,
    Meta(extra_json_schema={"minimum": 0, "maximum": 3}, description="The highest action tier, 0 to 3."),
]
_Risk = Annotated[RiskTier | UnsetType, Meta(description="The highest risk tier of its claims.")]
_Floor = Annotated[
    int | UnsetType,
    Meta(extra_json_schema={"minimum": 0, "maximum": 3}, description="The lowest authenticity level it is shown."),
    Option(flag="--level-floor"),
]
_PublicKey = Annotated[
    str | UnsetType | None,
    Meta(description="A reviewer's Ed25519 key as PEM, hex or base64; `none` ends it."),
    Option(metavar="KEY"),
]
_Password = Annotated[
    str | None,
    Meta(description="A person's password, read from standard input."),
    Option(form="new_secret"),
]


class ListPrincipals(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class ShowPrincipal(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    principal_id: _PathId


class AddPrincipal(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out is not granted; a name that is left out is the id."""

    principal_id: Annotated[_Id, Option(form="argument", metavar="ID")]
    kind: Annotated[PrincipalKind, Meta(description="A person, an agent or a service.")]
    name: _Name = UNSET
    roles: _Roles = UNSET
    trust_mask: _Mask = UNSET
    action_tier: _Tier = UNSET
    risk_ceiling: _Risk = UNSET
    authenticity_level_floor: _Floor = UNSET
    public_key: _PublicKey = UNSET
    password: _Password = None


class AmendPrincipal(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A field left out stays as it is. Roles are set anew; a null `disabled_at` enables the principal again."""

    principal_id: _PathId
    name: _Name = UNSET
    roles: _Roles = UNSET
    trust_mask: _Mask = UNSET
    risk_ceiling: _Risk = UNSET
    authenticity_level_floor: _Floor = UNSET
    public_key: _PublicKey = UNSET
    disabled_at: Annotated[
        UnsetType | None, Meta(description="Null enables the principal again."), Option(clear="--enable", hidden=True)
    ] = UNSET


class DisablePrincipal(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    principal_id: _PathId


class ErasePrincipal(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    principal_id: _PathId
    reason: Reason


class SetPassword(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    principal_id: _PathId
    password: Annotated[str, Meta(description="The new password, read from standard input."), Option(form="new_secret")]


class SigningKeyView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A public key that requests are signed with; `live` says whether a request signed with it is accepted now."""

    key_id: KeyId
    scopes: tuple[str, ...]
    added_at: Instant
    expires_at: Instant | None
    ended_at: Instant | None
    live: bool


class PrincipalView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The version in force, every version before it, oldest first, and the keys."""

    principal: Principal
    active: bool
    has_password: bool
    api_keys: tuple[ApiKeyView, ...]
    signing_keys: tuple[SigningKeyView, ...]
    history: tuple[Principal, ...]


class AmendedPrincipal(Principal, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The version that was recorded; with `waiting`, the version that the ticket of that id asks for."""

    waiting: TicketId | None = None


class PasswordSet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose password was set, when and by whom; with `waiting`, it is set when the ticket of that id is approved."""

    principal_id: PrincipalId
    set_at: Instant
    set_by: PrincipalId
    waiting: TicketId | None = None


class NameErasure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The entries whose names are gone; `scrubbed` says whether the bytes have left the database's files yet."""

    principal_id: PrincipalId
    sequence_numbers: tuple[int, ...]
    scrubbed: bool


def principals(tools: Tools, caller: Caller, request: ListPrincipals) -> Page[Principal]:
    """List the principals of the tenant by id, each in the version in force."""
    after = read_text("principals", request.cursor)
    found = tools.database.read(
        lambda unit: unit.identity.principals(caller.tenant_id, after=after, limit=request.limit + 1)
    )
    return cut("principals", found, request.limit, lambda one: one.id)


def principal(tools: Tools, caller: Caller, request: ShowPrincipal) -> PrincipalView:
    """Show a principal with every version and its keys, never their secrets; another's needs a role."""
    principal_id = parse_principal_id(request.principal_id)
    if principal_id != caller.principal.id:
        require_role(caller.principal, MAY_LOOK)
    return tools.database.read(lambda unit: view_principal(unit, caller.tenant_id, principal_id, at=caller.at))


def add_principal(tools: Tools, caller: Caller, request: AddPrincipal) -> AmendedPrincipal:
    """Add a person, an agent or a service, allowed nothing but what is granted.

    A person may get a password at once; otherwise a key, a password or an identity provider authenticates it later.
    Where there is a second administrator, power and a password wait for that administrator's approval (`waiting`).
    """
    granted = msgspec.structs.replace(_change(tools, request), name=UNSET)
    added = first_version(
        id=parse_principal_id(request.principal_id),
        tenant_id=caller.tenant_id,
        kind=request.kind,
        name=request.principal_id if request.name is UNSET else request.name,
        at=caller.at,
        by=caller.principal.id,
        change=granted,
    )
    password = None
    if request.password is not None:
        # Hashed before the commit, since it is slow.
        encoded = encode_password(tools, request.password, request.principal_id)
        password = password_record(added, encoded, at=caller.at, by=caller.principal.id)
    done = amend_power(tools, caller, AddPerson(version=added, salt=new_salt(tools), password=password))
    return _amended(added if done.waiting is not None else done.made, done.waiting)


def amend_principal(tools: Tools, caller: Caller, request: AmendPrincipal) -> AmendedPrincipal:
    """Record the next version of a principal, upon whatever is in force when it commits.

    Nobody widens their own power. More power for another waits for a second administrator's approval (`waiting`); less
    power takes effect at once. A tier is changed by `request_tier`, which puts it to a second person.
    """
    change = _change(tools, request)
    if change == PrincipalChange():
        raise FieldsError([_NOTHING])
    return amend(tools, caller, parse_principal_id(request.principal_id), change)


def amend(tools: Tools, caller: Caller, principal_id: PrincipalId, change: PrincipalChange) -> AmendedPrincipal:
    """Apply a change in a commit of its own; nobody amends their own tier (FRJ-015)."""
    by = caller.principal.id
    if by == principal_id and change.action_tier is not UNSET:
        raise DeniedError.tier_change(f"`{by}` asked to change their own tier")
    wanted = Amend(tenant_id=caller.tenant_id, principal_id=principal_id, by=by, change=change, salt=new_salt(tools))

    def work(unit: Unit) -> AmendedPrincipal:
        done = amend_power_in(unit, tools, caller, wanted)
        if done.waiting is None:
            return _amended(done.made, None)
        known = get_principal(unit, caller.tenant_id, principal_id)
        return _amended(next_version(known, change, at=caller.at, by=by), done.waiting)

    return tools.database.write(work)


def disable_principal(tools: Tools, caller: Caller, request: DisablePrincipal) -> Principal:
    """Disable a principal: the next request with any of its keys or sessions is refused."""
    principal_id = parse_principal_id(request.principal_id)

    def work(unit: Unit) -> Principal:
        by = confirm(unit, caller).principal.id
        known = get_principal(unit, caller.tenant_id, principal_id)
        if not known.is_active(caller.at):
            # A later `disabled_at` would say that the principal was allowed something in between.
            return known
        following = next_version(known, PrincipalChange(disabled_at=caller.at), at=caller.at, by=by)
        record_version(unit, following, bytes.fromhex(new_salt(tools)))
        return following

    return tools.database.write(work)


def erase_principal(tools: Tools, caller: Caller, request: ErasePrincipal) -> NameErasure:
    """Erase a principal's name, of every version; the id and what was done under it stay.

    Erasure entries record who did it and why. Copies in backups and exports are not reached.
    """
    principal_id, tenant_id = parse_principal_id(request.principal_id), caller.tenant_id

    def work(unit: Unit) -> tuple[int, ...]:
        by = confirm(unit, caller).principal.id
        get_principal(unit, tenant_id, principal_id)
        numbers = unit.identity.named_in(tenant_id, principal_id)
        if not numbers:
            raise LedgerFlowError.nothing_to_erase(f"principal `{principal_id}` of `{tenant_id}` has no name")
        for number in numbers:
            erase_entry_in(unit, tenant_id, number, (NAME_POINTER,), by=by, reason=request.reason, at=caller.at)
        return numbers

    numbers = tools.database.write(work)
    return NameErasure(principal_id=principal_id, sequence_numbers=numbers, scrubbed=tools.database.scrub())


def set_password(tools: Tools, caller: Caller, request: SetPassword) -> PasswordSet:
    """Set a password: one's own, or as an administrator another person's; sessions opened before it end.

    The ledger records that it was set, nothing else. Another person's waits for a second administrator's approval
    (`waiting`). Who sets it knows it: until the person sets one of their own, they approve nothing that its maker
    asked for.
    """
    principal_id = parse_principal_id(request.principal_id)
    if principal_id != caller.principal.id:
        require_role(caller.principal, [BuiltInRole.ADMIN])
    known = tools.database.read(lambda unit: get_principal(unit, caller.tenant_id, principal_id))
    # Hashed before the commit, since it is slow.
    encoded = encode_password(tools, request.password, principal_id)
    record = password_record(known, encoded, at=caller.at, by=caller.principal.id)
    done = amend_power(tools, caller, SetSecret(password=record))
    return PasswordSet(
        principal_id=record.principal_id, set_at=record.set_at, set_by=record.set_by, waiting=done.waiting
    )


def view_principal(unit: Unit, tenant_id: TenantId, principal_id: PrincipalId, *, at: Instant) -> PrincipalView:
    known = get_principal(unit, tenant_id, principal_id)
    keys = unit.identity.api_keys_of(tenant_id, [principal_id])
    ends = unit.identity.ends(tenant_id, [key.prefix for key in keys], ApiKeyRevocation)
    signing_keys = unit.access.signing_keys(tenant_id, principal_id)
    signing_ends = unit.identity.ends(tenant_id, [key.key_id for key in signing_keys], SigningKeyEnd)
    return PrincipalView(
        principal=known,
        active=known.is_active(at),
        has_password=unit.identity.find_password(tenant_id, principal_id) is not None,
        api_keys=tuple(view_key(key, known, [end for end in ends if end.prefix == key.prefix], at) for key in keys),
        signing_keys=tuple(_signing_view(key, signing_ends, known, at) for key in signing_keys),
        history=unit.identity.principal_history(tenant_id, principal_id),
    )


def new_salt(tools: Tools) -> str:
    """A salt for the name in an entry about a principal, as hex."""
    return tools.entropy.token(MIN_SALT_SIZE).hex()


def _amended(version: Principal, waiting: TicketId | None) -> AmendedPrincipal:
    return AmendedPrincipal(**asdict(version), waiting=waiting)


def encode_password(tools: Tools, password: str, principal_id: str) -> str:
    """Hash a new password; `identity.password_form` where it is too short, too long, easily guessed, or not text."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise IdentityFlowError.password_form(
            f"expected a password of {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters, got {len(password)}"
        )
    try:
        password.encode()
    except UnicodeEncodeError:
        # Not chained: the cause would carry the password into a traceback.
        raise IdentityFlowError.password_form("expected a password in UTF-8, got something else") from None
    weakness = find_weakness(password, principal_id)
    if weakness is not None:
        raise IdentityFlowError.password_form(weakness)
    return tools.passwords.encode(password, salt=tools.entropy.token(SALT_BYTES))


def _change(tools: Tools, wanted: AddPrincipal | AmendPrincipal) -> PrincipalChange:
    """The fields that a request has in common with a change; unknown roles are refused."""
    known = set(wanted.__struct_fields__) & set(PrincipalChange.__struct_fields__)
    given = {name: getattr(wanted, name) for name in sorted(known)}
    if wanted.roles is not UNSET:
        _require_known(tools, wanted.roles)
    if isinstance(wanted.public_key, str):
        given["public_key"] = parse_public_key(wanted.public_key).hex()
    return PrincipalChange(**given)


def _require_known(tools: Tools, roles: tuple[str, ...]) -> None:
    """A mistyped role would open nothing and look as if it did."""
    known = {str(role) for role in BuiltInRole} | set(tools.roles)
    # What is no name at all is reported with the other fields of the principal.
    unknown = sorted(role for role in set(roles) - known if NAME_FORM.fullmatch(role))
    if unknown:
        raise IdentityFlowError.unknown_role(
            f"expected roles of {', '.join(sorted(known))}, got `{', '.join(unknown)[:80]}`; "
            "add roles of your own to `identity.roles` in assay.toml"
        )


def _signing_view(
    key: SigningKeyRecord, ends: tuple[SigningKeyEnd, ...], known: Principal, at: Instant
) -> SigningKeyView:
    return SigningKeyView(
        key_id=key.key_id,
        scopes=key.scopes,
        added_at=key.added_at,
        expires_at=key.expires_at,
        ended_at=min((end.ended_at for end in ends if end.key_id == key.key_id), default=None),
        live=check_signing_key(key, known, at=at, ends=ends).accepted,
    )
