"""Every operation through each of its doors, on both databases: the same result, the same entries; once under a key."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.kernel.instant import Instant, render_instant
from assay.operations.kinds import Change
from assay.operations.table import TABLE
from assay.surfaces import sample
from tests.flows._people import quick_passwords
from tests.operations.chapters import everything_else
from tests.operations.playing import NOT_AGAIN, Played, Step, opened_play
from tests.postgres_cluster import PostgresCluster
from tests.scale import LONG

_END = Instant(SystemClock().now() + timedelta(minutes=30))
_FRACTION = render_instant(_END).partition(".")[2]
# The client asks as the command line does over the socket, and both as HTTP does: all of them in the long form.
_DOORS = ("node", "http", "client", "tool", "cli") if LONG else ("node", "http", "tool")
# Refused in the play; each succeeds in tests of its own room: an attempt to leave the perimeter, an evaluation of every
# sealed case, an answer that waits, a peer's key, a reviewer's key, a TPM, a general model.
_REFUSED = {
    "sovereignty.clear",
    "sovereignty.quote",
    "model.activate",
    "answer.resume",
    "outcome.foreign",
    "ticket.answer.prepare",
    "ticket.act.prepare",
    "vote.prepare",
    "verdict.attest.prepare",
    "uncertainty.estimate",
    "answer.claims",
    "answer.prove",
    "session.outcomes",
}
# A route of a specification alone, and a stream without an end.
_NOT_PLAYED = {"tile.show", "events.follow"}
# A report is a page with figures of the machine; an audit says how long it took.
# The place of a term in an index follows from hashes.
_BY_TIME = {"search.prove", "report.make", "ledger.verify", "judge.health"}
_TOKENS = re.compile(
    r"wh[a-z]+_[\w+/=]{12,}"
    r"|[a-z]{2,4}_[0-9a-z]{12,}(?:\.[\w-]{20,})?|[0-9a-f]{128}|[0-9a-f]{64}|[0-9a-f]{32}|port-[0-9a-f]{12}"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[A-Za-z0-9+/_-]{42,}={0,2}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,6}Z"
)


@pytest.fixture(scope="module", autouse=True)
def _passwords_are_quick() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.wiring.Argon2Passwords", quick_passwords)
        yield


def _database(kind: str, cluster: PostgresCluster) -> str | None:
    if kind == "sqlite":
        return None
    name = cluster.create_database()
    provision(cluster.dsn(name), at=SystemClock().now())
    return cluster.dsn(name, user="assay_app")


def _play(folder: Path, doors: tuple[str, ...], database: str | None, *, again: bool = False) -> Played:
    with opened_play(folder, doors, database=database, again=again, end=_END) as play:
        for chapter in sample.CHAPTERS:
            chapter(play)
        everything_else(play)
    return play


def _plain(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Without what is drawn at random: ids, keys, hashes and signatures over them, and times of a real clock.

    Lists that are sorted by such names are sorted anew. A judge that reads a hash scores its tokens differently.
    """
    if isinstance(value, dict):
        return _plain([[name, "<>" if name == "scores" else one] for name, one in value.items()])
    if isinstance(value, list):
        return sorted((_plain(one) for one in value), key=lambda one: json.dumps(one, sort_keys=True))
    if not isinstance(value, str):
        return value
    with suppress(ValueError):
        if value.startswith(("{", "[")):
            return _plain(json.loads(value))
    return _TOKENS.sub(lambda found: found.group() if found.group().endswith(_FRACTION) else "<>", value)


def _line(step: Step) -> list[Any]:
    code = "http.fields" if step.code == "mcp.arguments" else step.code
    answer = "<>" if step.name in _BY_TIME else _plain(step.answer)
    return [step.who, step.name, code, answer, [_plain(one) for one in step.entries]]


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_doors_give_the_same_results_and_write_the_same_entries(
    tmp_path: Path, postgres_cluster: PostgresCluster, database: str
) -> None:
    plays = {door: _play(tmp_path / door, (door,), _database(database, postgres_cluster)) for door in _DOORS}
    first, *others = plays.items()
    expected = _lines(first[1])
    for door, play in others:
        found = _lines(play)
        for number, (ours, theirs) in enumerate(zip(expected, found, strict=True)):
            assert theirs == ours, (door, number, play.steps[number].name)


def _lines(play: Played) -> list[str]:
    return [json.dumps(_line(step), sort_keys=True, indent=1) for step in play.steps]


def test_every_operation_is_played(tmp_path: Path) -> None:
    play = _play(tmp_path / "node", ("node",), None)
    done = {step.name for step in play.steps if step.code is None}
    assert {operation.name for operation in TABLE} - done == _REFUSED | _NOT_PLAYED
    assert {step.name for step in play.steps} >= _REFUSED


@pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.skipif(not LONG, reason="long"))]
)
def test_a_change_that_comes_again_through_another_door_is_applied_once(
    tmp_path: Path, postgres_cluster: PostgresCluster, database: str
) -> None:
    doors = ("http", "client", "cli", "tool", "node")
    play = _play(tmp_path / "node", doors, _database(database, postgres_cluster), again=True)
    repeated = {name for name, _, _ in play.repeated}
    assert {one.name for one in TABLE if isinstance(one, Change)} - repeated == (_REFUSED & _CHANGES) | NOT_AGAIN
    assert {door for _, *pair in play.repeated for door in pair} == set(doors)


_CHANGES = {one.name for one in TABLE if isinstance(one, Change)}
