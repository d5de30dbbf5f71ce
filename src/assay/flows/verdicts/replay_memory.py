"""What the entries before a verdict left to remember: windows and the fast path must follow from the ledger itself.

entries up to a number -> LedgerMemory, read once as long as replays go forward -> the facts that windows came to
"""

from assay.flows.tools import Tools
from assay.flows.verdicts.ledger_memory import LedgerMemory
from assay.flows.verdicts.replay_scene import Scene
from assay.flows.verdicts.stored_verdict import StoredVerdict
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from assay.verdicts.window import facts_at
from assay.verdicts.window_fact import buffer_record


class ReplayMemory:
    """The memory of one tenant's chain, wherever in it a replay is."""

    def __init__(self, tools: Tools, tenant_id: TenantId) -> None:
        self._tools = tools
        self._tenant_id = tenant_id
        self._memory = LedgerMemory()

    def before(self, number: int) -> LedgerMemory | None:
        """The memory as it was when this entry was written; None where the entries before it cannot be read."""
        if self._memory.taken >= number:
            self._memory = LedgerMemory()
        first = self._memory.taken + 1

        def read(unit: Unit) -> None:
            for row in unit.ledger.entries(self._tenant_id, first=first, last=number - 1):
                self._memory.take(row)

        try:
            self._tools.database.read(read)
        except Error:
            self._memory = LedgerMemory()
            return None
        return self._memory

    def check_windows(self, stored: StoredVerdict, scene: Scene) -> str | None:
        """Windows are what the ledger's own earlier records come to, whatever a buffer was made to say."""
        if not scene.docket.plans:
            return None
        number = self._judged_at(stored)
        memory = None if number is None else self.before(number)
        if memory is None:
            return "windows: the entries before it cannot be read"
        subject, now = stored.body.subject, buffer_record(scene.telemetry)
        earlier, dropped = memory.earlier(subject), memory.dropped.get(subject)
        for is_cautious in (False, True):  # entries from before a certain breach settled a doubt are as they were
            facts = facts_at(scene.docket.plans, now, earlier, dropped_until=dropped, is_cautious=is_cautious)
            if facts == scene.facts:
                return None
        return "windows: the facts are not those of the records in the ledger"

    def _judged_at(self, stored: StoredVerdict) -> int | None:
        """The entry at which windows were looked at: for what settles a held verdict, that of the held one."""
        number, held_hash = stored.row.sequence_number, stored.body.held_entry
        if held_hash is None:
            return number

        def look(unit: Unit) -> int | None:
            row = unit.verdicts.find(self._tenant_id, number)
            held = None if row is None else unit.ledger.find_entry(self._tenant_id, row.held_entry or 0)
            return held.sequence_number if held is not None and held.entry_hash == held_hash else None

        return self._tools.database.read(look)
