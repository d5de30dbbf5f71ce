"""Comments on tickets as they are shown: each verified, with words that can be erased and a proof that cannot."""

import json
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from assay.facts.review import TEXT_POINTER
from assay.flows.review.check_answer import key_of
from assay.kernel.commitment import commit
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.kernel.key import KeyRing
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.desk_store import StoredAct
from assay.review.act import Act, ActKind, Comment, parse_act_body, verify_act
from assay.review.ticket import Ticket


class ShownComment(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`text` is None once it was erased; `verified` says that the signature holds, and that these are the words."""

    by: PrincipalId
    commented_at: Instant
    text: str | None
    verified: bool
    sequence_number: int


def load_comments(unit: Unit, ticket: Ticket, acts: Sequence[StoredAct], ring: KeyRing) -> tuple[ShownComment, ...]:
    """Every comment in order, each verified by the key that had to sign it."""
    return tuple(_shown(unit, ticket, row, ring) for row in acts if row.kind is ActKind.COMMENT)


def parse_act(row: StoredAct) -> Act:
    try:
        return msgspec.json.decode(row.text, type=Act)
    except msgspec.MsgspecError as error:
        raise DamagedRecordError(f"the act of entry {row.sequence_number} cannot be read: {error}") from error


def _shown(unit: Unit, ticket: Ticket, row: StoredAct, ring: KeyRing) -> ShownComment:
    act = parse_act(row)
    text, is_said = _words(unit, ticket, row.sequence_number, act)
    return ShownComment(
        by=act.by,
        commented_at=act.acted_at,
        text=text,
        verified=is_said and _holds(unit, ticket, act, ring),
        sequence_number=row.sequence_number,
    )


def _words(unit: Unit, ticket: Ticket, sequence_number: int, act: Act) -> tuple[str | None, bool]:
    """The words, and whether they are those that were signed; erased words contradict nothing."""
    kept = [one for one in unit.ledger.disclosures(ticket.tenant_id, sequence_number) if one.pointer == TEXT_POINTER]
    if not kept:
        return None, True
    text, body = str(json.loads(bytes(kept[0].value))), parse_act_body(act)
    return text, isinstance(body, Comment) and body.text_commitment == commit(text, bytes.fromhex(kept[0].salt))


def _holds(unit: Unit, ticket: Ticket, act: Act, ring: KeyRing) -> bool:
    try:
        verify_act(act, ticket, key_of(unit, act, ring, act.acted_at))
    except Error:
        return False
    return True
