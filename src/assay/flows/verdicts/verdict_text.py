"""Verdict entries, read back from the proven text alone.

entry -> envelope, body; what is not exactly a verdict entry of ours is damaged
"""

from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from assay.flows.errors import NotFoundError
from assay.kernel.digest import Digest, digest_of
from assay.kernel.entry import Entry, parse_entry
from assay.kernel.errors import JsonError
from assay.kernel.ids import TenantId
from assay.kernel.read_back import read_back
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.verdicts.envelope import Envelope
from assay.verdicts.govern import Ruling
from assay.verdicts.predicate import Judgement
from assay.verdicts.rulings import Rulings
from assay.verdicts.slice import PlaceDoubt
from assay.verdicts.window_fact import WindowFact


class ReadBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`VerdictBody` as it is read back."""

    telemetry: dict[str, Any]
    subject: str
    is_mapped: bool
    ruling: Ruling
    judgements: tuple[Judgement, ...]
    window_facts: tuple[WindowFact, ...] = ()
    held_entry: str | None = None
    rulings: Rulings | UnsetType = UNSET
    doubt: PlaceDoubt | UnsetType = UNSET

    @property
    def judged_by(self) -> Rulings:
        """An entry that names no rulings was judged by the first."""
        return Rulings.FIRST if self.rulings is UNSET else self.rulings


class ReadEntry(Struct, frozen=True, kw_only=True):
    """A verdict entry with its parts parsed."""

    entry: Entry
    entry_hash: Digest
    envelope: Envelope
    body: ReadBody


def get_verdict_entry(unit: Unit, tenant_id: TenantId, sequence_number: int) -> ReadEntry:
    row = unit.ledger.find_entry(tenant_id, sequence_number)
    if row is None or row.llm_transcript is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no verdict in entry {sequence_number}")
    if digest_of(row.text) != row.entry_hash:
        raise DamagedRecordError(f"expected entry {sequence_number} to hash to {row.entry_hash}, got another text")
    return read_entry(row.text)


def read_entry(text: bytes) -> ReadEntry:
    """Strictly: what is not exactly a verdict entry of ours is damaged."""
    entry = parse_entry(text)
    try:
        envelope = read_back(entry.llm_transcript, Envelope)
        body = read_back(entry.body, ReadBody)
    except (JsonError, msgspec.MsgspecError) as error:
        raise DamagedRecordError(f"expected a verdict in entry {entry.sequence_number}: {error}") from error
    return ReadEntry(entry=entry, entry_hash=digest_of(text), envelope=envelope, body=body)
