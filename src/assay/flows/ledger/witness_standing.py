"""What the witnesses say of this node: how far each has cosigned, and which of them contradict it.

answer of a witness -> cosigned size | contradiction -> the node accepts no writes until the witness agrees again
"""

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from assay.flows.errors.ledger import LedgerFlowError
from assay.flows.ledger.check_entry import EntryFaultError
from assay.flows.tools import Tools
from assay.kernel.checkpoint import parse_checkpoint
from assay.kernel.cosignature import witness_key
from assay.kernel.errors import Error, LedgerError
from assay.kernel.ids import TenantId
from assay.kernel.ledger import Draft, Receipt
from assay.kernel.note import find_signature
from assay.ports.damage import DamagedRecordError, DamageLog
from assay.ports.database import Database, DatabaseFacts, Pending, Unit
from assay.ports.witness_standing import WitnessStanding

T = TypeVar("T")
# Codes of the drivers that say the same of the chain's end and of the tree.
_DAMAGE = frozenset({"ledger.damaged_head", "ledger.tile_missing"})
# How many checkpoints are looked through for the newest that a witness cosigned.
_LOOK_BACK = 100


class WitnessLag(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far a witness is behind a ledger; `cosigned_size` is None where it cosigned none of the newest checkpoints.

    `contradiction` is what the witness said last against this node's history.
    """

    witness: str
    cosigned_size: int | None
    entries_behind: int
    contradiction: str | None = None


def witness_lags(tools: Tools, tenant_id: TenantId) -> tuple[WitnessLag, ...]:
    """One line for each configured witness, by the newest checkpoints in the database."""
    if not tools.witnesses:
        return ()
    return tools.database.read(lambda unit: _lags(unit, tools, tenant_id))


def _lags(unit: Unit, tools: Tools, tenant_id: TenantId) -> tuple[WitnessLag, ...]:
    size = unit.ledger.head(tenant_id).sequence_number
    missing = {one.name: witness_key(one.name, one.public_key) for one in tools.witnesses}
    found: dict[str, int] = {}
    at_most: int | None = None
    for _ in range(_LOOK_BACK):
        kept = unit.ledger.find_checkpoint(tenant_id, at_most=at_most)
        if kept is None or not missing:
            break
        note = parse_checkpoint(kept.note.encode()).note
        for name in [name for name, key in missing.items() if find_signature(note, key) is not None]:
            found[name] = kept.size
            del missing[name]
        at_most = kept.size - 1
    contradictions = tools.standing.contradictions()
    return tuple(
        WitnessLag(
            witness=one.name,
            cosigned_size=found.get(one.name),
            entries_behind=size - found.get(one.name, 0),
            contradiction=contradictions.get(one.name),
        )
        for one in tools.witnesses
    )


class GuardedDatabase:
    """Implements `ports.database.Database`; while a witness contradicts the node, nothing is written.

    Damage that a unit of work meets is noted, so that `/readyz` says so.
    """

    def __init__(self, inner: Database, standing: WitnessStanding, damage: DamageLog) -> None:
        self.inner = inner
        self._standing = standing
        self._damage = damage

    def append(self, draft: Draft) -> Receipt:
        self._require_uncontradicted()
        return self.inner.append(draft)

    def submit(self, draft: Draft) -> Pending[Receipt]:
        self._require_uncontradicted()
        return self.inner.submit(draft)

    def write(self, work: Callable[[Unit], T]) -> T:
        self._require_uncontradicted()
        try:
            return self.inner.write(work)
        except (DamagedRecordError, LedgerError) as error:
            self._note(error)
            raise

    def read(self, work: Callable[[Unit], T]) -> T:
        try:
            return self.inner.read(work)
        except (DamagedRecordError, LedgerError) as error:
            self._note(error)
            raise

    def _note(self, error: Error) -> None:
        if isinstance(error, DamagedRecordError | EntryFaultError) or error.code in _DAMAGE:
            self._damage.add(error)

    def subscribe(self, notify: Callable[[TenantId, int], None]) -> Callable[[], None]:
        return self.inner.subscribe(notify)

    def scrub(self) -> bool:
        return self.inner.scrub()

    def facts(self) -> DatabaseFacts:
        return self.inner.facts()

    def close(self) -> None:
        self.inner.close()

    def _require_uncontradicted(self) -> None:
        for name, said in self._standing.contradictions().items():
            raise LedgerFlowError.witness_contradicted(
                f"the witness `{name}` contradicts this node: {said}; nothing is written until it agrees: restore the"
                " node from a backup that is as long as what the witness has seen, and keep this folder for inspection"
            )
