"""The agents of `examples/agents`: they pause where people must approve, and go on after a restart."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from assay.claims.bundle import Decision
from assay.identity.principal import PrincipalKind
from assay.identity.risk import RiskTier
from tests.flows._claims import opened_claims

_ROOT = Path(__file__).resolve().parents[2]
_CLEANER = _ROOT / "examples" / "agents" / "cleaner.py"


def _load() -> ModuleType:
    found = importlib.util.spec_from_file_location("cleaner", _CLEANER)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def _run(folder: Path, key: str, thread: str) -> tuple[int, dict[str, Any]]:
    """In a process of its own: whatever it knew is gone but for the checkpoint and the node."""
    environment = {**os.environ, "PYTHONPATH": str(_ROOT / "src"), "ASSAY_CREDENTIAL": key}
    command = [sys.executable, str(_CLEANER), str(folder / "node"), str(folder / "records"), thread]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    records = tmp_path / "records"
    records.mkdir()
    for name in ("a.old", "b.old", "c.new"):
        (records / name).write_text("x")
    return tmp_path


def _left(folder: Path) -> list[str]:
    return sorted(file.name for file in (folder / "records").iterdir())


@pytest.mark.clause("claimbundle", "risk-tiers")
def test_the_cleaner_waits_for_the_ops_team_and_goes_on_in_another_process(folder: Path) -> None:
    """ESCALATE interrupts the run; after approval the next run acts, and one after that does not act again."""
    with opened_claims(folder) as desk:
        key = desk.join("ai:cleaner", kind=PrincipalKind.AGENT, risk_ceiling=RiskTier.DELETE)
    code, waiting = _run(folder, key, "t-1")
    assert (code, waiting["decision"], _left(folder)) == (1, "ESCALATE", ["a.old", "b.old", "c.new"])
    # What comes later was not approved.
    (folder / "records" / "d.old").write_text("x")
    with opened_claims(folder) as desk:
        ticket = desk.find(waiting["tickets"][0])
        assert "Delete 2 records: a.old, b.old" in ticket.shown
        approved = desk.decide(ticket, "user:otto", at=desk.tools.clock.now()).gated
        assert approved is not None
        assert approved.decision is Decision.PUBLISH
    assert _run(folder, key, "t-1") == (0, {"decision": "PUBLISH", "deleted": ["a.old", "b.old"]})
    assert _left(folder) == ["c.new", "d.old"]
    (folder / "records" / "a.old").write_text("made anew")
    assert _run(folder, key, "t-1")[0] == 0
    assert _left(folder) == ["a.old", "c.new", "d.old"]


def test_the_cleaner_gives_up_when_people_say_no(folder: Path) -> None:
    cleaner = _load()
    with opened_claims(folder) as desk:
        key = desk.join("ai:cleaner", kind=PrincipalKind.AGENT, risk_ceiling=RiskTier.DELETE)
        machine = cleaner.make_cleaner(desk.tools, folder / "records", key)
        with pytest.raises(cleaner.Interrupt) as waiting:
            machine.run("t-2", {"thread": "t-2"})
        ticket = desk.find(waiting.value.value["tickets"][0])
        desk.decide(ticket, "user:oda", "reject", at=desk.tools.clock.now())
        again = cleaner.make_cleaner(desk.tools, folder / "records", key).run("t-2")
    assert (again["decision"], again["deleted"]) == ("REFUSE", [])
    assert _left(folder) == ["a.old", "b.old", "c.new"]
