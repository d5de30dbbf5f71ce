"""A process that is killed while outcomes come in: none that was acknowledged is lost, and none counts twice."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.flows.ledger.audit_ledger import audit_ledger
from tests.delivering import recount_rules
from tests.faults._children import chance, wait_until
from tests.flows._delivery import RULE, opened_delivery
from tests.flows._node import TENANT, opened
from tests.scale import scale

_ROOT = Path(__file__).resolve().parents[2]


def _report_until_killed(node: Path, journal: Path, sender: str, lines: int, pause: float) -> None:
    command = [sys.executable, "-m", "tests.faults._reporter", str(node), str(journal), sender]
    environment = {"PYTHONPATH": f"{_ROOT / 'src'}:{_ROOT}"}
    with subprocess.Popen(command, cwd=_ROOT, env=environment, stdin=subprocess.DEVNULL) as process:

        def has_begun() -> bool:
            assert process.poll() is None, "the reporter ended by itself"
            return journal.exists() and journal.read_bytes().count(b"\n") >= lines

        wait_until(has_begun, f"{lines} lines were written")
        time.sleep(pause)
        process.kill()
        assert process.wait(60) == -signal.SIGKILL


@pytest.mark.clause("pramana", "7.4.2")
def test_counters_equal_a_recount_after_any_kill(tmp_path: Path) -> None:
    """Every acknowledged signal is in the history once, and there is one root cause for one episode."""
    journal = tmp_path / "journal"
    with opened_delivery(tmp_path) as node:
        node.ready()
        sender = node.bell
    moments = chance(7)
    for _ in range(scale(2, 20)):
        begun = journal.read_bytes().count(b"\n") if journal.exists() else 0
        lines, pause = begun + moments.randint(30, 60), moments.uniform(0, 0.02)
        _report_until_killed(tmp_path / "node", journal, sender, lines, pause)
    told = dict(line.split(" ") for line in journal.read_text().splitlines())
    with opened(tmp_path / "node", writable=False) as tools:
        recount = recount_rules(tools, TENANT)
        assert recount.problems == ()
        history = tools.database.read(lambda unit: list(unit.delivery.rule_signals(TENANT, RULE)))
        assert len({one.signal_id for one in history}) == len(history) == recount.signals
        found = {one.signal_id: str(one.sequence_number) for one in history}
        assert told.items() <= found.items()
        [counted] = tools.database.read(lambda unit: unit.delivery.find_counters(TENANT, [RULE]))
        items = tools.database.read(lambda unit: unit.delivery.items(TENANT))
        assert [one.item_id for one in items] == [counted.item_id]
        asked = tools.database.read(lambda unit: unit.delivery.find_asked(TENANT, items[0].item_id))
        assert asked is not None
        report = audit_ledger(tools, TENANT, full=True)
        assert (report.holds, report.message) == (True, None)
