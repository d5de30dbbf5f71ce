"""The node's key facts against the ledger: the table is quick to read, the ledger is what is proven."""

import msgspec

from assay.flows.ledger.check_entry import EntryFaultError
from assay.kernel.entry import parse_entry
from assay.kernel.errors import Error
from assay.kernel.key import Endorsement
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.key_store import RecordedKeyFact


def verify_key_facts(unit: Unit) -> None:
    """Raise unless every key fact is, word for word, the entry it names; whether that entry holds is the audit's."""
    for recorded in unit.keys.recorded():
        if not _is_in_ledger(unit, recorded):
            where = f"entry {recorded.sequence_number} of `{recorded.tenant_id}`"
            raise EntryFaultError(
                "ledger.key_fact", f"a fact about a key of the node is not what {where} records", None
            )


def _is_in_ledger(unit: Unit, recorded: RecordedKeyFact) -> bool:
    fact = recorded.fact
    kind = EntryKind.KEY_ADDED if isinstance(fact, Endorsement) else EntryKind.KEY_RETIRED
    row = unit.ledger.find_entry(recorded.tenant_id, recorded.sequence_number)
    if row is None:
        return False
    try:
        entry = parse_entry(row.text)
        return entry.kind is kind and msgspec.json.decode(entry.body, type=type(fact)) == fact
    except (Error, msgspec.MsgspecError):
        return False
