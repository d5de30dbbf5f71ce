"""What the ledger holds about oversight: plans, samples, labels, certificates and alarms.

Entries alone; no table follows from them, so there is no row that could say otherwise.
"""

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from assay.facts.claims import OutputLabelled
from assay.kernel.digest import Digest
from assay.kernel.entry import parse_entry
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit

_Body = TypeVar("_Body", bound=Struct)


def find_newest(unit: Unit, tenant_id: TenantId, kind: EntryKind, form: type[_Body]) -> tuple[int, _Body] | None:
    """The newest entry of a kind: its number and body."""
    rows = unit.ledger.select(tenant_id, kind=kind.value, newest=True, limit=1)
    return (rows[0].sequence_number, _body(rows[0].text, form)) if rows else None


def bodies(
    unit: Unit, tenant_id: TenantId, kind: EntryKind, form: type[_Body], *, first: int = 1, last: int | None = None
) -> Iterator[tuple[int, _Body]]:
    """The entries of a kind in order: number and body."""
    for row in unit.ledger.entries(tenant_id, first=first, last=last, kinds=(kind,)):
        yield row.sequence_number, _body(row.text, form)


def _body(text: bytes, form: type[_Body]) -> _Body:
    entry = parse_entry(text)
    try:
        return msgspec.json.decode(entry.body, type=form)
    except msgspec.MsgspecError as error:
        told = f"expected a `{entry.kind}` in entry {entry.sequence_number}, got: {error}"
        raise DamagedRecordError(told) from error


class Label(NamedTuple):
    is_right: bool
    labelled_by: str
    sequence_number: int


def load_labels(unit: Unit, tenant_id: TenantId) -> dict[Digest, Label]:
    """What people know about bundles; of several labels the last one counts."""
    return {
        body.bundle_hash: Label(body.is_right, body.labelled_by, number)
        for number, body in bodies(unit, tenant_id, EntryKind.CLAIMS_LABELLED, OutputLabelled)
    }
