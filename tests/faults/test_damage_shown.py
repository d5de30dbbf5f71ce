"""Somebody changes an entry or a row in the database: every door says which, what still holds, and what to do."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.flows.ledger.check_entry import NEXT_STEPS, EntryFaultError
from assay.flows.ledger.entries import ShowEntry, entry
from assay.flows.ledger.search_entries import search_entries
from assay.identity.caller import local_caller
from assay.surfaces.http import health
from assay.surfaces.http.cookies import SESSION_COOKIE
from assay.surfaces.http.serve import sample_rows
from tests.faults._nodes import Place, PostgresPlace, SqlitePlace
from tests.flows._node import TENANT
from tests.postgres_cluster import PostgresCluster
from tests.surfaces.cli.running import ask
from tests.surfaces.http.v1._whole import Whole, opened_whole


@dataclass
class _Damaged:
    """A node with a checkpoint over all entries but the last three, of which the second was changed."""

    whole: Whole
    place: Place
    bad: int
    good: int

    @property
    def folder(self) -> Path:
        return self.whole.folder / "node"

    def change(self, old: str, new: str) -> None:
        changed = f"CAST(replace(CAST(text AS text), '{old}', '{new}') AS blob)"
        if isinstance(self.place, PostgresPlace):
            changed = f"convert_to(replace(convert_from(text, 'UTF8'), '{old}', '{new}'), 'UTF8')"
        self.place.tamper(self.folder, f"UPDATE ledger SET text = {changed} WHERE sequence_number = {self.bad}")

    def mend(self) -> None:
        self.change('"number":8', '"number":1')


@pytest.fixture(params=["sqlite", "postgres"])
def damaged(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Damaged]:
    monkeypatch.setattr(health, "_FRESH_SECONDS", -1.0)
    place: Place = SqlitePlace(tmp_path)
    database = None
    if request.param == "postgres":
        cluster: PostgresCluster = request.getfixturevalue("postgres_cluster")
        name = cluster.create_database()
        provision(cluster.dsn(name), at=SystemClock().now())
        database, place = cluster.dsn(name, "assay_app"), PostgresPlace(tmp_path, cluster)
    with opened_whole(tmp_path, database=database) as whole:
        good = whole.entries()
        for number in range(3):
            assert whole.post("/api/v1/entries", {"note": {"number": number}}).is_success
        assert whole.client.get("/readyz").status_code == 200
        found = _Damaged(whole, place, good + 2, good)
        found.change('"number":1', '"number":8')
        yield found


def test_an_entry_is_hashed_again_when_it_is_shown(damaged: _Damaged) -> None:
    """A changed text is not given out: not alone, in a list, in a search or as it was hashed."""
    whole, bad = damaged.whole, damaged.bad
    for path in (f"/api/v1/entries/{bad}", "/api/v1/entries?limit=500", f"/api/v1/entries/{bad}/text"):
        answer = whole.get(path)
        assert answer.status_code == 503, answer.text
        problem = answer.json()
        assert (problem["code"], "retry-after" in answer.headers) == ("ledger.fault", False)
        assert "ledger.entry_hash" in problem["detail"]
        assert problem["damage"]["first_bad_entry"] == bad
        assert problem["damage"]["last_good_checkpoint"] == damaged.good
        assert problem["damage"]["next_steps"] == list(NEXT_STEPS)
    assert whole.get(f"/api/v1/entries/{bad + 1}").is_success
    with pytest.raises(EntryFaultError):
        search_entries(whole.tools, TENANT, ["kind=note"])
    with pytest.raises(EntryFaultError):
        entry(whole.tools, local_caller(TENANT, at=whole.clock.now()), ShowEntry(sequence=bad))


def test_the_report_that_a_problem_names_says_the_same(damaged: _Damaged) -> None:
    """It is a file to keep: first bad entry, last good checkpoint, next steps."""
    link = damaged.whole.get(f"/api/v1/entries/{damaged.bad}").json()["damage"]["report"]
    report = damaged.whole.get(link).json()
    assert (report["holds"], report["first_bad_entry"], report["code"]) == (False, damaged.bad, "ledger.entry_hash")
    assert report["last_good_checkpoint"] == damaged.good
    assert report["next_steps"] == list(NEXT_STEPS)


def test_the_console_shows_a_banner_and_offers_the_report(damaged: _Damaged) -> None:
    """A person who opens the entry, or a page of the ledger that has it, reads what to do next."""
    client = damaged.whole.client
    client.cookies.set(SESSION_COOKIE, damaged.whole.desk.session("user:omar"))
    for path in (f"/console/ledger/{damaged.bad}", "/console/ledger"):
        page = client.get(path)
        assert page.status_code == 503
        assert "A stored record was changed" in page.text
        assert f"<dd>{damaged.bad}</dd>" in page.text
        assert f"over {damaged.good} entries" in page.text
        assert "assay ledger verify --full" in page.text
        assert 'href="/console/ledger/verification"' in page.text
    report = client.get("/console/ledger/verification")
    assert "attachment" in report.headers["content-disposition"]
    assert report.json()["first_bad_entry"] == damaged.bad


def test_the_command_line_says_which_entry_and_what_to_do(damaged: _Damaged) -> None:
    """It refuses as untrusted input; the words are those of every door."""
    shown = ask("ledger", "show", str(damaged.bad), "--home", damaged.folder)
    assert shown.code == 3
    told = shown.err
    assert f"entry {damaged.bad}" in told
    assert f"the checkpoint over {damaged.good} entries still holds" in told
    assert NEXT_STEPS[1] in told


def test_a_node_that_met_damage_is_not_ready_until_everything_was_verified(damaged: _Damaged) -> None:
    """Reading the entry is enough; so is the sample that a server takes by itself."""
    whole = damaged.whole
    whole.get(f"/api/v1/entries/{damaged.bad}")
    unready = _readyz(whole)
    assert (unready["status"], unready["code"]) == (503, "http.not_ready")
    assert {"field": "damage", "message": "ledger.entry_hash"} in unready["errors"]
    damaged.mend()
    assert _readyz(whole)["status"] == 503
    assert whole.get("/api/v1/ledger/verification?full=true").json()["holds"] is True
    assert _readyz(whole)["status"] == "ok"


def _readyz(whole: Whole) -> Any:  # noqa: ANN401  whatever JSON it is
    return whole.client.get("/readyz").json()


def test_a_servers_own_sample_finds_a_changed_row(damaged: _Damaged) -> None:
    """Nobody asked for it: the round compares rows of every table, and `/readyz` says what it found."""
    whole = damaged.whole
    damaged.place.tamper(damaged.folder, "UPDATE reporter_grant SET made_by = 'user:mallory'")
    for _ in range(20):
        sample_rows(whole.client.app.state.desk)
    assert _readyz(whole)["status"] == 503
