"""How much memory an audit takes does not depend on how long the ledger is."""

import subprocess
import sys
from pathlib import Path

from assay.kernel.ledger import EntryKind, draft_entry
from tests.flows._node import TENANT, new_node, opened
from tests.scale import scale

SIZE = scale(50_000, 1_000_000)
BATCH = 1000
# A million entries are allowed 300; the whole process, interpreter and database included, stays at a third of that
# for any number of them. Holding the entries of the short run alone would take it beyond.
LIMIT_MB = 100
# In a process of its own, since what is measured is the highest size it ever had. Not `ru_maxrss`: that begins with
# the size of the process that started this one.
AUDIT = """
import sys
from pathlib import Path
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.kernel.ids import parse_tenant_id
from assay.wiring import open_node

with open_node(Path(sys.argv[1]), writable=False) as (tools, _):
    report = audit_ledger(tools, parse_tenant_id(sys.argv[2]), full=True)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(report.holds, report.entries_checked, status["VmHWM"].split()[0])
"""


def test_an_audit_holds_a_chunk_at_a_time_however_long_the_ledger_is(tmp_path: Path) -> None:
    home = new_node(tmp_path)
    with opened(home) as tools:
        at = tools.clock.now()
        for first in range(0, SIZE, BATCH):
            drafts = [
                draft_entry(TENANT, EntryKind.NOTE, {"n": n, "text": "x" * 200}, at=at)
                for n in range(first, first + BATCH)
            ]
            for pending in [tools.database.submit(draft) for draft in drafts]:
                pending.result()
        size = tools.database.read(lambda unit: unit.ledger.head(TENANT).sequence_number)
    command = [sys.executable, "-c", AUDIT, str(home), TENANT]
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    holds, checked, kilobytes = told.stdout.split()
    assert (holds, int(checked)) == ("True", size)
    assert int(kilobytes) / 1024 < LIMIT_MB
