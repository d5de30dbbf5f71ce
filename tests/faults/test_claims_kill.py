"""A process that is killed while people approve: what was acknowledged is never lost, and nothing is made up."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from assay.claims.bundle import Decision
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.kernel.digest import Digest
from tests.faults._children import chance, wait_until
from tests.flows._claims import opened_claims
from tests.flows._node import TENANT
from tests.scale import scale

_ROOT = Path(__file__).resolve().parents[2]


def _approve_until_killed(node: Path, journal: Path, agent: str, session: str, lines: int, pause: float) -> None:
    command = [sys.executable, "-m", "tests.faults._approver", str(node), str(journal), agent, session]
    environment = {"PYTHONPATH": f"{_ROOT / 'src'}:{_ROOT}"}
    with subprocess.Popen(command, cwd=_ROOT, env=environment, stdin=subprocess.DEVNULL) as process:

        def has_begun() -> bool:
            assert process.poll() is None, "the approver ended by itself"
            return journal.exists() and journal.read_bytes().count(b"\n") >= lines

        wait_until(has_begun, f"{lines} lines were written")
        time.sleep(pause)
        process.kill()
        assert process.wait(60) == -signal.SIGKILL


def test_an_acknowledged_approval_is_never_lost(tmp_path: Path) -> None:
    """What was told is recorded; what was cut off waits, and goes on with the approval it has or asks for one."""
    journal = tmp_path / "journal"
    with opened_claims(tmp_path) as desk:
        agent, session = desk.agent, desk.session("user:otto")
    moments = chance(11)
    for _ in range(scale(3, 20)):
        begun = journal.read_bytes().count(b"\n") if journal.exists() else 0
        lines, pause = begun + moments.randint(1, 8), moments.uniform(0, 0.02)
        _approve_until_killed(tmp_path / "node", journal, agent, session, lines, pause)
    said = [line.split(" ") for line in journal.read_text().splitlines()]
    waiting = {one[1] for one in said if one[0] == "waits"}
    told = {one[1]: one[2:] for one in said if one[0] == "told"}
    assert told
    with opened_claims(tmp_path) as desk:
        report = audit_ledger(desk.tools, TENANT, full=True)
        assert (report.holds, report.message) == (True, None)
        hashes = desk.read(lambda unit: {row.entry_hash for row in unit.ledger.entries(TENANT)})
        for name, (entry_hash, decision) in told.items():
            assert entry_hash in hashes
            (latest,) = desk.read(lambda unit, one=name: unit.claims.latest_decisions(TENANT, [Digest(one)]))  # type: ignore[misc]  # bound at once
            assert latest.decision == decision == Decision.PUBLISH
        for name in waiting - told.keys():
            again = desk.resume(Digest(name), at=desk.tools.clock.now())
            answers = desk.read(lambda unit: unit.review.tickets(TENANT))
            mine = [one for one in answers if one.about == f"bundle:{name}"]
            given = [desk.read(lambda unit, one=one: unit.review.answers(TENANT, one.id)) for one in mine]  # type: ignore[misc]  # bound at once
            assert (again.decision is Decision.PUBLISH) is any(given)
