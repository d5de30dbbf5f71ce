"""What a node's examination finds, and what it advises."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from assay.adapters.keyfile import create_key_file
from assay.flows.ledger.examine_node import Examined, State, examine_node
from assay.flows.ledger.rotate_key import rotate_key
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.tools import Tools
from assay.kernel.instant import Instant
from assay.kernel.key import KeyPurpose
from assay.kernel.ledger import EntryKind, draft_entry
from assay.ports.database import Database, DatabaseFacts
from tests.flows._node import TENANT, append_notes, new_node, opened


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return new_node(tmp_path)


def _found(tools: Tools, after: timedelta = timedelta(0)) -> dict[str, Examined]:
    return {one.name: one for one in examine_node(tools, at=Instant(tools.clock.now() + after))}


def test_an_old_checkpoint_is_a_warning_only_when_entries_came_after_it(home: Path) -> None:
    with opened(home) as tools:
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
        assert _found(tools, timedelta(days=9))["checkpoint of default"].state is State.OK
        append_notes(tools, 1)
        assert _found(tools)["checkpoint of default"].state is State.OK
        late = _found(tools, timedelta(days=2))["checkpoint of default"]
    assert late.state is State.WARNING
    assert late.advice == "sign one with `assay ledger checkpoint`"


def test_a_clock_that_went_back_is_reported_with_the_entry(home: Path) -> None:
    """Within what the node allows for, order of commits and of clocks may differ; beyond it the clock was set back."""
    with opened(home) as tools:
        now = tools.clock.now()

        def note(back: timedelta) -> int:
            draft = draft_entry(TENANT, EntryKind.NOTE, {"n": 1}, at=Instant(now - back))
            return tools.database.append(draft).sequence_number

        note(timedelta(0))
        note(timedelta(minutes=4))
        assert _found(tools)["dates of default"].state is State.OK
        number = note(timedelta(minutes=6))
        found = _found(tools)["dates of default"]
        assert (found.state, f"the first is {number}" in found.message) == (State.WARNING, True)


def test_an_entry_from_the_future_is_a_warning_about_the_clock(home: Path) -> None:
    with opened(home) as tools:
        assert _found(tools)["clock against default"].state is State.OK
        assert _found(tools, -timedelta(hours=1))["clock against default"].state is State.WARNING


def test_a_key_near_its_end_is_a_warning_and_after_it_a_failure(home: Path, tmp_path: Path) -> None:
    with opened(home) as tools:
        new = create_key_file(tmp_path / "new.key")
        rotate_key(
            tools,
            TENANT,
            old=tools.review_signer,
            new=new,
            purpose=KeyPurpose.REVIEW,
            overlap=timedelta(days=10),
            at=tools.clock.now(),
        )
        assert _found(tools)["review key"].state is State.WARNING
        assert _found(tools, timedelta(days=11))["review key"].state is State.FAILED
        assert _found(replace(tools, review_signer=new))["review key"].state is State.OK


def test_a_founder_that_does_not_lead_to_the_own_keys_fails(home: Path, tmp_path: Path) -> None:
    other = create_key_file(tmp_path / "other.key")
    with opened(home) as tools:
        lost = replace(tools, founder=other.key_id)
        assert _found(lost)["keys"].state is State.FAILED


class _WithFacts:
    """A database that is as it is, but tells other settings."""

    def __init__(self, database: Database, facts: DatabaseFacts) -> None:
        self._facts = facts
        self.read = database.read

    def facts(self) -> DatabaseFacts:
        return self._facts


@pytest.mark.parametrize(
    ("engine", "settings", "advice"),
    [
        ("sqlite", {"journal_mode": "delete", "synchronous": "FULL"}, "set journal_mode=wal"),
        ("sqlite", {"journal_mode": "wal", "synchronous": "OFF"}, "set synchronous=FULL"),
        (
            "postgresql",
            {"fsync": "off", "full_page_writes": "on", "synchronous_commit": "off"},
            "set fsync=on, synchronous_commit=on",
        ),
    ],
)
def test_a_database_that_does_not_keep_what_it_acknowledges_fails(
    engine: str, settings: dict[str, str], advice: str, home: Path
) -> None:
    with opened(home) as tools:
        facts = msgspec.structs.replace(tools.database.facts(), engine=engine, settings=settings)
        weak = replace(tools, database=_WithFacts(tools.database, facts))  # type: ignore[arg-type]  # it only reads
        found = _found(weak)["durability"]
    assert (found.state, found.advice) == (State.FAILED, advice)
