"""An answer as it is kept: what was asked and said, what it rests on, and how it was marked.

The ledger holds the hash of the whole row, which a salt keeps from confirming a guess of what was withheld.
"""

from typing import Any

import msgspec
from msgspec import Struct

from assay.delivery.annotate import Annotation
from assay.delivery.answerer import Question
from assay.delivery.query import Shortfall
from assay.delivery.strand import StrandReport
from assay.delivery.twowrong import Step
from assay.flows.delivery.delivery_entry import read_text
from assay.flows.errors import NotFoundError
from assay.kernel.digest import Digest, digest_of
from assay.kernel.entry import Entry, parse_entry
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit


class AnswerRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`annotation` is the one before any floor; `withheld` says whether this reader got the output.

    `salt` is in the row alone.
    """

    question: Question
    answerer: str
    output: Any
    annotation: Annotation
    strands: StrandReport
    steps: tuple[Step, ...]
    claims: tuple[Any, ...]
    shortfall: Shortfall | None
    withheld: bool
    salt: str


class _Bound(Struct, frozen=True, kw_only=True):
    """The part of an `answer.delivered` entry that says which row it is about."""

    record_hash: Digest


def find_record(unit: Unit, tenant_id: TenantId, answer_id: str) -> AnswerRecord | None:
    row = unit.delivery.find_answer(tenant_id, answer_id)
    return None if row is None else read_text(row.text, AnswerRecord)


def get_proven(unit: Unit, tenant_id: TenantId, answer_id: str) -> AnswerRecord:
    """An answer as its entry binds it: what is given out again is what was answered, whoever can write to the rows."""
    row = unit.delivery.find_answer(tenant_id, answer_id)
    if row is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no answer `{answer_id[:80]}`")
    stored = unit.ledger.find_entry(tenant_id, row.sequence_number)
    entry = None if stored is None or digest_of(stored.text) != stored.entry_hash else parse_entry(stored.text)
    if entry is None or entry.kind is not EntryKind.ANSWER_DELIVERED or _bound(entry) != digest_of(row.text.encode()):
        raise DamagedRecordError(f"expected the row of `{answer_id[:80]}` that entry {row.sequence_number} binds")
    return read_text(row.text, AnswerRecord)


def _bound(entry: Entry) -> Digest:
    return msgspec.json.decode(entry.body, type=_Bound).record_hash
