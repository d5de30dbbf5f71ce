"""An act at the desk that is no answer: signed by a person, bound to what the ticket shows, and in the ledger.

wish -> body (canonical JSON text) -> signed act -> entry
A comment's own words are not in it: it holds their salted commitment, so that they can be erased and it still holds.
"""

from enum import StrEnum
from typing import TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest
from assay.kernel.ids import KeyId, PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.key import key_id_of
from assay.kernel.signature import SignedKind, parse_signature_hex, signing_message, verify_ed25519
from assay.review.answer import SignedWith
from assay.review.errors import ReviewError
from assay.review.ticket import Ticket


class ActKind(StrEnum):
    """Closed and growing; a retired kind is never reused."""

    CLAIM = "claim"
    RELEASE = "release"
    ASSIGN = "assign"
    PRIORITISE = "prioritise"
    COMMENT = "comment"
    UNDO = "undo"


class Priority(StrEnum):
    """How soon people should look; from last to first."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"

    @property
    def rank(self) -> int:
        """0 is looked at first."""
        return len(Priority) - 1 - tuple(Priority).index(self)


class Claim(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """This person works on the ticket until then; a second claim moves the end."""

    until: Instant


class Release(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The lease of `holder` ends now."""

    holder: PrincipalId


class Assign(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ticket is for this person, or for this role, or for nobody in particular."""

    person: PrincipalId | None = None
    role: str | None = None


class Prioritise(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    priority: Priority


class Comment(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`text_commitment` is the salted commitment of the words."""

    text_commitment: Digest


class Undo(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The held answer with this hash does not take effect."""

    answer_hash: Digest
    reason: str


ActBody: TypeAlias = Claim | Release | Assign | Prioritise | Comment | Undo

_BODIES: dict[ActKind, type[ActBody]] = {
    ActKind.CLAIM: Claim,
    ActKind.RELEASE: Release,
    ActKind.ASSIGN: Assign,
    ActKind.PRIORITISE: Prioritise,
    ActKind.COMMENT: Comment,
    ActKind.UNDO: Undo,
}


class UnsignedAct(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything the signature covers, the key's own name included."""

    ticket_id: TicketId
    tenant_id: TenantId
    kind: ActKind
    body: str
    seen_hash: Digest
    by: PrincipalId
    acted_at: Instant
    signed_with: SignedWith
    signing_key_id: KeyId


class Act(UnsignedAct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signed act; `signature` is 64 bytes of Ed25519 as lower-case hex."""

    signature: str


def kind_of(body: ActBody) -> ActKind:
    return next(kind for kind, shape in _BODIES.items() if type(body) is shape)


def render_act_body(body: ActBody) -> str:
    return canonicalize(body).decode()


def parse_act_body(act: UnsignedAct) -> ActBody:
    """What the act says; refused where its kind has no such body."""
    try:
        return msgspec.json.decode(act.body, type=_BODIES[act.kind])
    except msgspec.MsgspecError as error:
        raise ReviewError.body(f"expected the body of a `{act.kind}`, got: {error}") from error


def act_message(unsigned: UnsignedAct) -> bytes:
    """The bytes to sign; a sealed act gives the same ones."""
    fields = {name: getattr(unsigned, name) for name in UnsignedAct.__struct_fields__}
    return signing_message(SignedKind.ACT, canonicalize(fields))


def seal_act(unsigned: UnsignedAct, signature: bytes) -> Act:
    """Put the signature on; the caller then verifies it, since a signer may be a foreign machine."""
    return Act(**asdict(unsigned), signature=signature.hex())


def verify_act(act: Act, ticket: Ticket, public_key: bytes) -> None:
    """Raise unless the act is bound to this ticket and what it shows, and signed by this key.

    The caller still checks that the key is the one it should be.
    """
    if (act.tenant_id, act.ticket_id, act.seen_hash) != (ticket.tenant_id, ticket.id, ticket.shown_hash):
        raise ReviewError.wrong_ticket(f"the {act.kind} by `{act.by}` is not bound to `{ticket.id}` and what it shows")
    if key_id_of(public_key) != act.signing_key_id:
        raise ReviewError.reviewer_key(f"expected key {act.signing_key_id}, got {key_id_of(public_key)}")
    verify_ed25519(public_key, act_message(act), parse_signature_hex(act.signature))
