"""A guarded function: approved before it runs, run once with what was approved, also when processes are killed."""

import asyncio
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

import assay
from assay.surfaces.guard import GuardError
from tests.postgres_cluster import PostgresCluster
from tests.scale import LONG
from tests.surfaces.guarded_house import House, open_house
from tests.waiting import until

_STEPS = [
    f"{name}:{moment}"
    for name in ("claims", "gate", "issue_permit", "claim_permit", "effect", "report_effect")
    for moment in ("before", "after")
]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with open_house(tmp_path_factory.mktemp("guard")) as opened:
        yield opened


def test_a_call_that_the_gates_let_through_runs_once_in_a_run(house: House) -> None:
    calls: list[int] = []
    guard = house.guard("once")

    @guard.tool(tier="MODIFY", says="count {number}")
    def count(number: int) -> int:
        calls.append(number)
        return number * 2

    assert count(21) == 42
    with pytest.raises(assay.NotRun) as caught:
        count(number=21)
    assert caught.value.reason == "permit.used"
    assert count(22) == 44
    assert calls == [21, 22]
    (last, first) = list(house.client.permits(agent="ai:clerk"))[:2]
    assert (last.state, last.permit.tool, first.state) == ("done", "count", "done")
    assert last.result_hash is not None


def test_a_call_that_needs_people_waits_and_goes_on_after_their_approval(house: House) -> None:
    calls: list[str] = []
    guard = house.guard("approval", audience="service:records")

    @guard.tool(tier="DELETE", says="delete {name}", if_wrong="the record is gone")
    def delete(name: str) -> str:
        calls.append(name)
        return "deleted"

    with pytest.raises(assay.Waiting) as waiting:
        delete("guests")
    with pytest.raises(assay.Waiting) as again:
        delete("guests")
    assert again.value.tickets == waiting.value.tickets
    assert calls == []
    (ticket,) = waiting.value.tickets
    house.approve(ticket)
    with pytest.raises(assay.Waiting):
        delete("rooms")
    assert (delete("guests"), calls) == ("deleted", ["guests"])
    with pytest.raises(assay.NotRun):
        delete("guests")


def test_a_rejected_call_is_refused_for_good(house: House) -> None:
    guard = house.guard("rejected")

    @guard.tool(tier="DELETE")
    def delete(name: str) -> None:
        pytest.fail(f"ran {name}")

    with pytest.raises(assay.Waiting) as waiting:
        delete("all")
    house.approve(waiting.value.tickets[0], "reject")
    with pytest.raises(assay.Refused):
        delete("all")


def test_waiting_inside_the_call(house: House) -> None:
    guard = house.guard("inside", wait=60.0)

    @guard.tool(tier="DELETE")
    def delete(name: str) -> str:
        return name

    def waiting() -> list[str]:
        return [one["id"] for one in house.tickets() if one["kind"] == "approval" and "slowly" in one["shown"]]

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(delete, "slowly")
        until(lambda: bool(waiting()), seconds=30, what="a ticket")
        house.approve(waiting()[0])
        assert running.result(60) == "slowly"


def test_a_tool_that_fails_may_have_happened_unless_it_says_otherwise(house: House) -> None:
    guard = house.guard("failing")
    failures: list[Exception] = [assay.NothingHappened("refused at the door"), OSError("connection lost")]

    @guard.tool(tier="MODIFY")
    def send(to: str) -> str:
        if failures:
            raise failures.pop(0)
        return to

    with pytest.raises(assay.NothingHappened):
        send("bank")
    with pytest.raises(OSError, match="connection lost"):
        send("bank")
    with pytest.raises(assay.NotRun) as caught:
        send("bank")
    assert caught.value.reason == "permit.effect_unknown"
    (unknown,) = [one for one in house.client.permits(state="unknown") if one.permit.tool == "send"]
    assert "connection lost" in unknown.detail
    (ticket,) = [one["id"] for one in house.tickets() if one["about"] == unknown.permit.permit_id]
    house.approve(ticket, "did_not_happen")
    assert send("bank") == "bank"


def test_coroutines_are_guarded_by_an_async_client(house: House) -> None:
    async def work() -> None:
        async with assay.AsyncClient(house.served.url, key=house.key) as client:
            guard = assay.guard(client, agent="ai:clerk", run="async")

            @guard.tool(tier="MODIFY")
            async def double(number: int) -> int:
                return number * 2

            assert await double(4) == 8
            with pytest.raises(assay.NotRun):
                await double(4)

    asyncio.run(work())


def test_a_tool_without_a_tier_or_with_arguments_that_are_no_json_does_not_run(house: House) -> None:
    guard = house.guard("forms", tiers={"known": "READ_ONLY"})
    with pytest.raises(GuardError):
        guard.tool()(lambda: None)

    @guard.tool(name="known")
    def known(value: object) -> object:
        return value

    assert known("x") == "x"
    with pytest.raises((assay.Error, TypeError)):
        known(object())


@pytest.mark.parametrize("at", _STEPS)
def test_a_killed_call_has_its_effect_at_most_once_and_unknown_ones_reach_people(
    house: House, tmp_path: Path, at: str
) -> None:
    """SIGKILL at every step; another process makes the same call of the same run."""
    _kill_and_go_on(house, tmp_path, at)


@pytest.fixture(scope="module")
def house_on_postgres(tmp_path_factory: pytest.TempPathFactory, postgres_cluster: PostgresCluster) -> Iterator[House]:
    with open_house(tmp_path_factory.mktemp("guard_postgres"), cluster=postgres_cluster) as opened:
        yield opened


@pytest.mark.parametrize("at", _STEPS if LONG else _STEPS[1::2])
def test_a_killed_call_on_postgresql_has_its_effect_at_most_once(
    house_on_postgres: House, tmp_path: Path, at: str
) -> None:
    """After every step in the short form, and before them in the long one."""
    _kill_and_go_on(house_on_postgres, tmp_path, at)


def _kill_and_go_on(house: House, tmp_path: Path, at: str) -> None:
    file = tmp_path / "effects"
    run = f"killed {at}"
    house.child(run, file, at)
    ended = house.child(run, file)
    lines = file.read_text().splitlines() if file.exists() else []
    if at in ("claim_permit:after", "effect:before", "effect:after", "report_effect:before"):
        # The claim is durable and nobody knows what came after it.
        assert ended.startswith("not_run")
        assert len(lines) <= 1
        newest = next(iter(house.client.permits(agent="ai:clerk", limit=1))).permit.permit_id
        until(lambda: newest in [one["about"] for one in house.tickets()], seconds=30, what="a ticket about the effect")
    else:
        assert lines == ["one line"]
        assert ended == ("not_run permit.used" if at == "report_effect:after" else "done 8")
    assert house.child(run, file).startswith("not_run")


def test_a_deleted_row_does_not_make_the_guard_send_the_call_again(house: House) -> None:
    """The list by id compares its rows with the ledger's own index: a missing row is damage, not absence."""
    guard = house.guard("deleted")

    @guard.tool(tier="DELETE")
    def delete(name: str) -> None:
        pytest.fail(f"ran {name}")

    with pytest.raises(assay.Waiting) as waiting:
        delete("row")
    before = len(list(house.client.claims()))
    with closing(sqlite3.connect(house.home / "assay.db", isolation_level=None)) as file:
        (trigger,) = file.execute("SELECT sql FROM sqlite_master WHERE name = 'claims_bundle_no_delete'").fetchone()
        file.execute("DROP TRIGGER claims_bundle_no_delete")
        file.execute("DELETE FROM claims_bundle WHERE bundle_hash = ?", (waiting.value.bundle_hash,))
        file.execute(trigger)
    with pytest.raises(assay.Error) as caught:
        delete("row")
    assert not isinstance(caught.value, assay.Waiting)
    assert len(list(house.client.claims())) == before - 1
