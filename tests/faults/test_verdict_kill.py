"""A judge that is killed between model and ledger leaves a recorded verdict or none, never half of one."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.verdicts.read_verdicts import show_verdict
from tests.faults._children import chance, wait_until
from tests.flows._node import TENANT
from tests.flows._verdicts import graph_document, opened_verdicts, rule
from tests.scale import scale

_ROOT = Path(__file__).resolve().parents[2]
_RULES = (rule("low", "low"), rule("medium", value=30), rule("high", "high", value=40))


def _judge_until_killed(
    node: Path, journal: Path, document: Path, credential: str, together: int, lines: int, pause: float
) -> None:
    given = (node, journal, document, credential, together)
    command = [sys.executable, "-m", "tests.faults._judge", *map(str, given)]
    environment = {"PYTHONPATH": f"{_ROOT / 'src'}:{_ROOT}"}
    with subprocess.Popen(command, cwd=_ROOT, env=environment, stdin=subprocess.DEVNULL) as process:

        def has_begun() -> bool:
            assert process.poll() is None, "the judge ended by itself"
            return journal.exists() and journal.read_bytes().count(b"\n") >= lines

        wait_until(has_begun, f"{lines} lines were written")
        time.sleep(pause)
        process.kill()
        assert process.wait(60) == -signal.SIGKILL


@pytest.mark.parametrize("together", [1, 16])
def test_a_killed_judge_leaves_whole_verdicts_or_none(tmp_path: Path, together: int) -> None:
    """What it said is on the ledger; of each record all rules are there or none, with transcripts and tickets.

    Also where records share a unit of work: none that was told is missing, and none is there in part.
    """
    document, journal = tmp_path / "graph.json", tmp_path / "journal"
    document.write_bytes(graph_document(*_RULES))
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(*_RULES)
        credential = desk.sensor
    moments = chance(7)
    for _ in range(scale(2, 20)):
        begun = journal.read_bytes().count(b"\n") if journal.exists() else 0
        lines, pause = begun + moments.randint(1, 20), moments.uniform(0, 0.01)
        _judge_until_killed(tmp_path / "node", journal, document, credential, together, lines, pause)
    told = [line.split(" ") for line in journal.read_text().splitlines() if line.startswith("told")]
    assert told
    with opened_verdicts(tmp_path, is_new=False) as desk:
        for _, name, hashes in told:
            decided = show_verdict(desk.tools, TENANT, name)
            assert ",".join(one.entry_hash for one in decided.verdicts) == hashes
        rows = desk.read(lambda unit: list(unit.verdicts.all(TENANT)))
        names = {row.telemetry_id for row in rows}
        assert all(desk.read(lambda unit, one=name: unit.telemetry.find_known(TENANT, one)) for name in names)  # type: ignore[misc]  # bound at once
        assert len(rows) == 3 * len(names)
        assert len(desk.read(lambda unit: unit.verdicts.held(TENANT, limit=100_000))) == len(names)
        report = audit_ledger(desk.tools, TENANT, full=True)
        assert (report.holds, report.message) == (True, None)
