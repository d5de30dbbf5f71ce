"""API keys and public keys of principals: issue, rotate, revoke, list; each secret is shown once and stored nowhere.

caller (an admin, confirmed in the commit) -> record + ledger entry in one commit -> the key's text, once
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from assay.facts.identity import credential_revoked
from assay.flows.errors import NotFoundError
from assay.flows.errors.identity import IdentityFlowError
from assay.flows.identity.authenticate import confirm
from assay.flows.identity.duties import AddSigner, IssueSecret, amend_power, amend_power_in, require_live
from assay.flows.known import get_api_key, get_principal
from assay.flows.request import (
    Done,
    Moment,
    Option,
    Page,
    Paged,
    PrincipalName,
    Reason,
    Request,
    cut_named,
    parse_moment,
    parse_or_not_found,
)
from assay.flows.tools import Tools
from assay.identity.authorise import has_role, require_active, require_role
from assay.identity.caller import Caller
from assay.identity.credential import (
    API_KEY_ENTROPY_BYTES,
    EVERY_SCOPE,
    ApiKeyPrefix,
    ApiKeyRecord,
    ApiKeyRevocation,
    issue_api_key,
    parse_api_key_prefix,
    revoke_api_key,
    rotate_api_key,
)
from assay.identity.principal import BuiltInRole, Principal
from assay.identity.signing_key import SigningKeyEnd, SigningKeyRecord, end_signing_key, register_signing_key
from assay.kernel.ids import PrincipalId, TicketId, parse_key_id, parse_principal_id
from assay.kernel.instant import Instant, render_instant
from assay.kernel.key import parse_public_key
from assay.ports.database import Unit

MAY_LOOK = (BuiltInRole.ADMIN, BuiltInRole.AUDITOR, BuiltInRole.OPERATOR)
_YEAR = 366 * 24 * 3600
_Prefix = Annotated[str, Meta(description="The public half of an API key.")]
_Scopes = Annotated[
    tuple[str, ...],
    Meta(
        min_length=1, max_length=64, description="What the key may be used for; `*` is all that its principal may do."
    ),
    Option(flag="--scope"),
]
_Expiry = Annotated[
    Moment | None,
    Meta(description="When the key ends; without it, never."),
    Option(flag="--expires-in", form="until"),
]


class ListKeys(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    principal_id: Annotated[
        PrincipalName | None,
        Meta(description="Only the keys of this principal."),
        Option(form="argument", metavar="[ID]"),
    ] = None


class ShowKey(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    prefix: _Prefix


class IssueKey(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    principal_id: Annotated[
        PrincipalName,
        Meta(description="The principal that the key authenticates."),
        Option(form="argument", metavar="ID"),
    ]
    scopes: _Scopes = (EVERY_SCOPE,)
    expires_at: _Expiry = None


class RotateKey(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    prefix: _Prefix
    overlap_seconds: Annotated[
        int,
        Meta(ge=0, le=_YEAR, description="How long the old key works beside the new one."),
        Option(flag="--overlap", form="span"),
    ] = 24 * 3600


class RevokeKey(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    prefix: _Prefix
    reason: Reason


class AddPublicKey(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    principal_id: Annotated[
        PrincipalName, Meta(description="The principal that signs its requests."), Option(metavar="ID")
    ]
    public_key: Annotated[
        str,
        Meta(
            max_length=4096,
            description="The Ed25519 public key as PEM, hex or base64; the private key stays with its owner.",
        ),
        Option(form="argument", metavar="KEY"),
    ]
    scopes: _Scopes = (EVERY_SCOPE,)
    expires_at: _Expiry = None


class EndPublicKey(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    key_id: Annotated[str, Meta(description="`sha256:` and the hash of the public key.")]
    reason: Reason


class ApiKeyView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An API key without its secret; `live` says whether a request with it is accepted now."""

    prefix: ApiKeyPrefix
    scopes: tuple[str, ...]
    issued_at: Instant
    expires_at: Instant | None
    revoked_at: Instant | None
    live: bool


class ListedApiKey(ApiKeyView, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An API key with the principal that it belongs to."""

    principal_id: PrincipalId


class AddedSigningKey(SigningKeyRecord, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The key as it is registered; with `waiting`, it is when the ticket of that id is approved."""

    waiting: TicketId | None = None


class IssuedKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new key. `api_key` is shown in this answer only, and null where the same request is sent again.

    With `waiting`, the key is good for nothing until the ticket of that id is approved.
    """

    api_key: str | None
    prefix: ApiKeyPrefix
    principal_id: PrincipalId
    scopes: tuple[str, ...]
    issued_at: Instant
    expires_at: Instant | None
    waiting: TicketId | None = None


def keys(tools: Tools, caller: Caller, request: ListKeys) -> Page[ListedApiKey]:
    """List API keys by prefix, the ended ones too; never a secret. Without a role that may look: one's own."""
    of = _whose(caller, request.principal_id)
    found = tools.database.read(lambda unit: _listed(unit, caller, of))
    return cut_named("keys", found, request.cursor, request.limit, lambda key: key.prefix)


def key(tools: Tools, caller: Caller, request: ShowKey) -> ListedApiKey:
    """Show one API key, without its secret."""
    of = _whose(caller, None)
    for found in tools.database.read(lambda unit: _listed(unit, caller, of)):
        if found.prefix == request.prefix:
            return found
    raise NotFoundError(f"there is no API key `{request.prefix[:80]}` that `{caller.principal.id}` may look at")


def issue_key(tools: Tools, caller: Caller, request: IssueKey) -> Done[IssuedKey]:
    """Issue an API key to a principal and show it, once; a disabled principal gets none.

    A key for another principal waits for a second administrator's approval (`waiting`), and is good for nothing until
    then.
    """
    entropy = tools.entropy.token(API_KEY_ENTROPY_BYTES)
    principal_id, expires_at = parse_principal_id(request.principal_id), parse_moment(request.expires_at)
    principal = tools.database.read(lambda unit: get_principal(unit, caller.tenant_id, principal_id))
    require_active(principal, caller.at)
    text, record = issue_api_key(principal, entropy=entropy, scopes=request.scopes, at=caller.at, expires_at=expires_at)
    done = amend_power(tools, caller, IssueSecret(key=record, by=caller.principal.id))
    return _shown_once(text, record, done.waiting)


def rotate_key(tools: Tools, caller: Caller, request: RotateKey) -> Done[IssuedKey]:
    """Issue the successor of a key and show it, once; the old key ends after the overlap. An ended key has none.

    The successor of another principal's key waits for a second administrator's approval, as a new key does.
    """
    entropy, overlap = tools.entropy.token(API_KEY_ENTROPY_BYTES), timedelta(seconds=request.overlap_seconds)
    prefix, by = parse_or_not_found(parse_api_key_prefix, request.prefix, "API key"), caller.principal.id

    def work(unit: Unit) -> tuple[str, ApiKeyRecord, TicketId | None]:
        old = get_api_key(unit, caller.tenant_id, prefix)
        require_live(unit, old, caller.at)
        principal = get_principal(unit, caller.tenant_id, old.principal_id)
        require_active(principal, caller.at)
        text, record, end = rotate_api_key(old, principal, entropy=entropy, at=caller.at, overlap=overlap, by=by)
        wanted = IssueSecret(key=record, by=by, ends=end, overlap_seconds=request.overlap_seconds)
        return text, record, amend_power_in(unit, tools, caller, wanted).waiting

    return _shown_once(*tools.database.write(work))


def revoke_key(tools: Tools, caller: Caller, request: RevokeKey) -> ApiKeyRevocation:
    """Revoke an API key now; the next request with it is refused. A key in its overlap ends at once, too."""
    prefix = parse_or_not_found(parse_api_key_prefix, request.prefix, "API key")

    def work(unit: Unit) -> ApiKeyRevocation:
        admin = confirm(unit, caller).principal
        record = get_api_key(unit, caller.tenant_id, prefix)
        require_live(unit, record, caller.at)
        revocation = revoke_api_key(record, at=caller.at, by=admin.id, reason=request.reason)
        unit.record(credential_revoked(record.principal_id, revocation, at=caller.at))
        return revocation

    return tools.database.write(work)


def add_public_key(tools: Tools, caller: Caller, request: AddPublicKey) -> AddedSigningKey:
    """Register the Ed25519 public key that a principal signs its requests with; one key serves one principal.

    A key of another principal waits for a second administrator's approval (`waiting`).
    """
    principal_id, raw = parse_principal_id(request.principal_id), parse_public_key(request.public_key)
    expires_at = parse_moment(request.expires_at)

    def work(unit: Unit) -> AddedSigningKey:
        principal = get_principal(unit, caller.tenant_id, principal_id)
        require_active(principal, caller.at)
        record = register_signing_key(
            principal, raw, scopes=request.scopes, at=caller.at, by=caller.principal.id, expires_at=expires_at
        )
        if unit.access.find_signing_key(record.key_id) is not None:
            raise IdentityFlowError.credential_exists(
                f"`{record.key_id}` is registered already; make a key of its own for each"
            )
        done = amend_power_in(unit, tools, caller, AddSigner(key=record))
        return AddedSigningKey(**asdict(record if done.waiting is not None else done.made), waiting=done.waiting)

    return tools.database.write(work)


def end_public_key(tools: Tools, caller: Caller, request: EndPublicKey) -> SigningKeyEnd:
    """End a public key now: nothing signed with it is accepted any more."""
    key_id = parse_or_not_found(parse_key_id, request.key_id, "signing key")

    def work(unit: Unit) -> SigningKeyEnd:
        admin = confirm(unit, caller).principal
        record = unit.access.find_signing_key(key_id)
        if record is None or record.tenant_id != caller.tenant_id:
            raise NotFoundError(f"tenant `{caller.tenant_id}` has no signing key `{key_id}`")
        for before in unit.identity.ends(caller.tenant_id, [key_id], SigningKeyEnd):
            raise IdentityFlowError.credential_ended(
                f"signing key `{key_id}` ended at {render_instant(before.ended_at)}"
            )
        end = end_signing_key(record, at=caller.at, by=admin.id, reason=request.reason)
        unit.record(credential_revoked(record.principal_id, end, at=caller.at))
        return end

    return tools.database.write(work)


def view_key(
    key: ApiKeyRecord, principal: Principal, revocations: Iterable[ApiKeyRevocation], at: Instant
) -> ApiKeyView:
    revoked_at = min((fact.revoked_at for fact in revocations), default=None)
    ends = [end for end in (key.expires_at, revoked_at) if end is not None]
    return ApiKeyView(
        prefix=key.prefix,
        scopes=key.scopes,
        issued_at=key.issued_at,
        expires_at=key.expires_at,
        revoked_at=revoked_at,
        live=principal.is_active(at) and key.issued_at <= at and all(at < end for end in ends),
    )


def _listed(unit: Unit, caller: Caller, of: PrincipalId | None) -> list[ListedApiKey]:
    """Every key of the tenant, or of one principal, by prefix; a few queries whatever their number."""
    tenant_id = caller.tenant_id
    found = unit.identity.principals(tenant_id) if of is None else [unit.identity.find_principal(tenant_id, of)]
    known = {one.id: one for one in found if one is not None}
    records = unit.identity.api_keys_of(tenant_id, known)
    revocations: dict[str, list[ApiKeyRevocation]] = {}
    for fact in unit.identity.ends(tenant_id, [record.prefix for record in records], ApiKeyRevocation):
        revocations.setdefault(fact.prefix, []).append(fact)
    listed = [
        ListedApiKey(
            principal_id=record.principal_id,
            **asdict(view_key(record, known[record.principal_id], revocations.get(record.prefix, ()), caller.at)),
        )
        for record in records
    ]
    return sorted(listed, key=lambda one: one.prefix)


def _whose(caller: Caller, asked: str | None) -> PrincipalId | None:
    """None is everybody's; another's keys need a role that may look."""
    of = None if asked is None else parse_principal_id(asked)
    if has_role(caller.principal, MAY_LOOK) or of == caller.principal.id:
        return of
    if of is not None:
        require_role(caller.principal, MAY_LOOK)
    return caller.principal.id


def _shown_once(text: str, record: ApiKeyRecord, waiting: TicketId | None) -> Done[IssuedKey]:
    issued = IssuedKey(
        api_key=text,
        prefix=record.prefix,
        principal_id=record.principal_id,
        scopes=record.scopes,
        issued_at=record.issued_at,
        expires_at=record.expires_at,
        waiting=waiting,
    )
    return Done(value=issued, kept=replace(issued, api_key=None))
