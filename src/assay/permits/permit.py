"""A permit: one call of one tool with exactly these arguments, once, before it expires.

call (tool, arguments, audience) -> canonical text -> the bundle carries it -> approved -> Permit over its hashes
"""

import re
from base64 import b32encode
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NewType

import msgspec
from msgspec import Struct

from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest, digest_of, parse_digest
from assay.kernel.errors import CanonicalError
from assay.kernel.ids import PrincipalId, TenantId, parse_principal_id, parse_tenant_id
from assay.kernel.instant import Instant
from assay.permits.errors import PermitError

PermitId = NewType("PermitId", str)
PERMIT_ENTROPY_BYTES = 32
_ID = re.compile(r"pmt_[0-9a-z]{26}", re.ASCII)
_NONCE = re.compile(r"[0-9a-f]{32}", re.ASCII)
_HALF = PERMIT_ENTROPY_BYTES // 2
LONGEST_TOOL = 200
LONGEST_AUDIENCE = 500
LONGEST_CALL = 256 * 1024


class ToolCall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What would run. Its canonical JSON is the one tool argument of the bundle that asks for approval."""

    tool: str
    arguments: dict[str, Any]
    audience: str

    def __post_init__(self) -> None:
        _require_name(self.tool, LONGEST_TOOL, "a tool")
        _require_name(self.audience, LONGEST_AUDIENCE, "an audience")


class PermitState(StrEnum):
    """Where a permit is in its life; a claim that was never reported is `unknown` when its time is over."""

    ISSUED = "issued"
    EXPIRED = "expired"
    REVOKED = "revoked"
    CLAIMED = "claimed"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Effect(StrEnum):
    """What a tool reports after a claim. `failed` promises that nothing happened; otherwise it is `unknown`."""

    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Reconciled(StrEnum):
    """What a reviewer found out about an unknown effect."""

    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did_not_happen"


class Permit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The statement that is signed. Times are whole seconds, since both forms write them so.

    `mandate_id` names the standing approval that it was issued under, where it was not a person's answer.
    """

    permit_id: PermitId
    issuer: str
    tenant_id: TenantId
    agent: PrincipalId
    audience: str
    tool: str
    arguments_hash: Digest
    bundle_hash: Digest
    issued_at: Instant
    expires_at: Instant
    nonce: str
    mandate_id: str | None = None

    def __post_init__(self) -> None:
        _require_name(self.tool, LONGEST_TOOL, "a tool")
        _require_name(self.audience, LONGEST_AUDIENCE, "an audience")
        _require_name(self.issuer, LONGEST_AUDIENCE, "an issuer")
        parse_tenant_id(self.tenant_id)
        parse_principal_id(self.agent)
        parse_digest(self.arguments_hash)
        parse_digest(self.bundle_hash)
        parse_permit_id(self.permit_id)
        if _NONCE.fullmatch(self.nonce) is None:
            raise PermitError.form("expected a nonce of 32 lower-case hex digits")
        if self.issued_at.microsecond or self.expires_at.microsecond:
            raise PermitError.form("expected times in whole seconds")
        if not self.issued_at < self.expires_at:
            raise PermitError.form("expected `expires_at` after `issued_at`")


def parse_permit_id(text: str) -> PermitId:
    if _ID.fullmatch(text) is None:
        raise PermitError.form(f"expected a permit: `pmt_` and 26 of `0-9 a-z`, got `{text[:80]}`")
    return PermitId(text)


def permit_names(entropy: bytes) -> tuple[PermitId, str]:
    """The id and the nonce of a new permit from fresh random bytes."""
    if len(entropy) != PERMIT_ENTROPY_BYTES:
        raise PermitError.form(f"expected {PERMIT_ENTROPY_BYTES} random bytes, got {len(entropy)}")
    name = b32encode(entropy[:_HALF]).decode().lower().rstrip("=")
    return PermitId(f"pmt_{name}"), entropy[_HALF:].hex()


def whole_second(at: Instant) -> Instant:
    """The second that an instant is in."""
    return Instant(at.replace(microsecond=0))


def second_of(number: int) -> Instant:
    """A NumericDate (RFC 7519) as an instant."""
    try:
        return Instant(datetime.fromtimestamp(number, UTC))
    except (OverflowError, ValueError, OSError) as error:
        raise PermitError.form(f"expected a time in seconds since 1970, got `{number}`") from error


def render_call(call: ToolCall) -> str:
    """The canonical JSON of a call: what approvers are shown, gates read and the permit is bound to."""
    try:
        text = canonicalize(msgspec.to_builtins(call))
    except CanonicalError as error:
        raise PermitError.use(f"the arguments of `{call.tool}` have no canonical JSON: {error}") from error
    if len(text) > LONGEST_CALL:
        raise PermitError.use(
            f"expected a call of at most {LONGEST_CALL} bytes, got {len(text)}: pass large content by hash"
        )
    return text.decode()


def parse_call(text: str) -> ToolCall:
    """Read a call back from its canonical JSON; a text that is not canonical is refused."""
    try:
        call = msgspec.json.decode(text, type=ToolCall)
    except msgspec.MsgspecError as error:
        raise PermitError.use(f"expected `tool`, `arguments` and `audience`: {error}") from error
    if render_call(call) != text:
        raise PermitError.use("expected the call in canonical JSON")
    return call


def hash_arguments(arguments: Mapping[str, Any]) -> Digest:
    """The hash of canonical arguments (profile `ski-3.0`)."""
    try:
        return digest_of(canonicalize(dict(arguments)))
    except CanonicalError as error:
        raise PermitError.use(f"the arguments have no canonical JSON: {error}") from error


def verify_use(permit: Permit, call: ToolCall, *, at: Instant) -> None:
    """Raise unless the permit is for exactly this call, now. It does not say that nobody has claimed it before."""
    if permit.audience != call.audience:
        raise PermitError.use(f"the permit is for `{permit.audience}`, not for `{call.audience}`")
    if permit.tool != call.tool:
        raise PermitError.use(f"the permit is for the tool `{permit.tool}`, not for `{call.tool}`")
    found = hash_arguments(call.arguments)
    if permit.arguments_hash != found:
        raise PermitError.use(f"expected arguments of hash {permit.arguments_hash}, as approved, got {found}")
    if at >= permit.expires_at:
        raise PermitError.expired(
            f"`{permit.permit_id}` expired at {permit.expires_at:%Y-%m-%dT%H:%M:%SZ}: ask for another"
        )


def _require_name(text: str, longest: int, what: str) -> None:
    if not (1 <= len(text) <= longest and text.isprintable() and text == text.strip()):
        raise PermitError.form(f"expected {what} of 1 to {longest} printable characters, got `{text[:80]!r}`")
