"""A client holds the registry's index: it answers by itself, follows changes, and says when it knows too little."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn

import assay
from assay.registry.announce import AnnounceEvent
from assay.registry.discover import build_index
from assay.registry.fleet import FleetChange, FleetSnapshot
from assay.surfaces.forja.errors import ForjaError, UnreachableError
from assay.surfaces.forja.fleet_shelf import FleetShelf
from assay.surfaces.forja.own import open_own
from assay.surfaces.forja.registry_app import RegistryApp
from tests.flows._people import TENANT
from tests.flows.test_registry_watch import Reached, announce
from tests.raising import raises
from tests.surfaces.forja._served import free_port, wait_for
from tests.surfaces.forja._service import opened_house

_NAME = "portwatch-backend"
_FLEET = "/api/v2/forja/fleet"


class Town:
    """A registry on loopback, and the one service that it looks at when it is told to."""

    def __init__(self, reached: Reached, port: int) -> None:
        self.reached = reached
        self.url = f"http://127.0.0.1:{port}"
        tools = reached.house.desk.tools
        self.registry = RegistryApp(tools=tools, tenant_id=TENANT, own=open_own(tools, TENANT, port=port))
        config = uvicorn.Config(self.registry, host="127.0.0.1", port=port, lifespan="off", log_config=None)
        self.server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self.server.run)
        self._sequence = 1

    def start(self) -> None:
        self._thread.start()
        wait_for(lambda: self.server.started, "the registry never started")

    def stop(self) -> None:
        self.registry.shelf.close()
        self.server.should_exit = True
        self._thread.join(30)

    def look(self) -> None:
        self.registry.watch(self.reached)

    def say(self, event: AnnounceEvent) -> None:
        self._sequence += 1
        announce(self.reached.house, event, self._sequence, self.reached.house.agent.service.clock.now())


@contextmanager
def _opened(folder: Path) -> Iterator[Town]:
    with opened_house(folder, "plain") as house:
        announce(house, AnnounceEvent.ANNOUNCE, 1, house.desk.at(seconds=0))
        town = Town(Reached(house), free_port())
        town.start()
        yield town
        town.stop()


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    with _opened(tmp_path) as opened:
        yield opened


@pytest.mark.clause("forja", "discovery")
def test_questions_are_answered_from_the_snapshot_without_asking_again(town: Town) -> None:
    town.look()
    with assay.Fleet(town.url, max_age=600) as fleet:
        assert fleet.who_can("ALERT_ACK,WRITE", tier=2) == (_NAME,)
        town.stop()
        assert fleet.who_can(["BOOK"]) == ()
        assert fleet.who_answers("berth.availability", domain="maritime-port") == (_NAME,)
        assert fleet.who_does("BERTH_ASSIGN", domain="bank") == ()
        told = fleet.explain(_NAME, "BOOK", tier=1)
        assert (told.can, told.missing) == (False, ("BOOK",))


@pytest.mark.clause("forja", "discovery")
def test_a_snapshot_that_still_stands_is_not_sent_again(town: Town) -> None:
    town.look()
    first = httpx.get(town.url + _FLEET)
    again = httpx.get(town.url + _FLEET, headers={"if-none-match": first.headers["etag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
    with assay.Fleet(town.url, max_age=0) as fleet:
        assert fleet.refresh() is True
        assert fleet.refresh() is False
        before = fleet.revision
        town.reached.is_away = True
        town.look()
        assert fleet.who_can("ALERT_ACK") == ()
        assert fleet.revision != before
        assert fleet.network().services == 0


def test_looking_again_at_a_service_that_is_as_it_was_changes_nothing(town: Town) -> None:
    town.look()
    revision, head = town.registry.shelf.current()[0], town.reached.house.desk.head()
    town.look()
    assert (town.registry.shelf.refresh()[0], town.reached.house.desk.head()) == (revision, head)


@pytest.mark.clause("forja", "discovery")
def test_a_watcher_hears_of_every_change_and_its_snapshot_follows(town: Town) -> None:
    """Listed, fallen to reading by its switch, gone: each as it happens."""
    fleet, heard = assay.Fleet(town.url, max_age=600), list[FleetChange]()
    thread = threading.Thread(target=lambda: heard.extend(fleet.watch()))
    thread.start()
    wait_for(lambda: fleet.revision == 0, "the stream never began")
    town.look()
    wait_for(lambda: fleet.who_can("ALERT_ACK", tier=2) == (_NAME,), "never listed")
    town.reached.house.fail(60)
    town.look()
    wait_for(lambda: fleet.who_can("ALERT_ACK", tier=2) == (), "still at tier 2")
    assert fleet.who_can("ALERT_ACK", tier=1) == (_NAME,)
    town.say(AnnounceEvent.OFFLINE)
    town.look()
    wait_for(lambda: fleet.who_can("ALERT_ACK") == (), "still listed")
    fleet.close()
    town.registry.shelf.close()
    thread.join(30)
    assert not thread.is_alive()


def test_whoever_was_cut_off_names_its_place_and_misses_nothing(town: Town) -> None:
    town.look()
    shelf = town.registry.shelf
    place = shelf.current()[0]
    town.reached.is_away = True
    town.look()
    with httpx.stream("GET", f"{town.url}{_FLEET}/watch", headers={"last-event-id": shelf.place(place)}) as answer:
        lines = answer.iter_lines()
        event = [next(lines) for _ in range(3)]
    assert event[:2] == ["event: change", f"id: {shelf.place(place + 1)}"]
    assert event[2] == f'data: {{"since":{place},"revision":{place + 1},"put":[],"drop":["{_NAME}"]}}'


def test_a_place_that_nobody_remembers_is_answered_with_the_whole(town: Town) -> None:
    town.look()
    boot = town.registry.shelf.boot
    for place in (f"999-{boot}", "x", "1", f"-{boot}", f"{'9' * 40}-{boot}", "1-00000000"):
        with httpx.stream("GET", f"{town.url}{_FLEET}/watch", headers={"last-event-id": place}) as answer:
            assert next(answer.iter_lines()) == "event: snapshot"


def test_an_old_snapshot_serves_for_a_while_and_then_no_more(town: Town) -> None:
    """A switch may have fired since: what is too old to act on is no answer."""
    town.look()
    with (
        assay.Fleet(town.url, max_age=0, max_stale=600) as patient,
        assay.Fleet(town.url, max_age=0, max_stale=0) as strict,
    ):
        assert patient.who_can("ALERT_ACK") == strict.who_can("ALERT_ACK") == (_NAME,)
        town.stop()
        assert patient.who_can("ALERT_ACK") == (_NAME,)
        with pytest.raises(UnreachableError):
            strict.who_can("ALERT_ACK")
        with pytest.raises(UnreachableError):
            patient.refresh()


def test_what_is_no_registry_is_found_out() -> None:
    for answer in (httpx.Response(200, text="hello"), httpx.Response(404), httpx.Response(200, json={"revision": "x"})):
        transport = httpx.MockTransport(lambda _, answer=answer: answer)
        fleet = assay.Fleet("http://elsewhere", client=httpx.Client(transport=transport))
        with raises(ForjaError.strange_answer):
            fleet.who_can("READ")
        with raises(ForjaError.strange_answer):
            next(fleet.watch())


@pytest.mark.clause("forja", "discovery")
def test_the_same_on_an_event_loop(town: Town) -> None:
    async def follow() -> tuple[tuple[str, ...], FleetChange, tuple[str, ...]]:
        async with assay.AsyncFleet(town.url) as fleet:
            first = await fleet.who_can("ALERT_ACK", tier=2)
            assert await fleet.who_answers("berth.availability") == first == await fleet.who_does("ALERT_ACK")
            assert (await fleet.explain(_NAME, "READ")).can
            assert (await fleet.network()).services == 1
            town.reached.is_away = True
            await asyncio.to_thread(town.look)
            async for change in fleet.watch():
                return first, change, await fleet.who_can("ALERT_ACK")
        raise AssertionError

    town.look()
    first, change, left = asyncio.run(follow())
    assert (first, change.drop, left) == ((_NAME,), (_NAME,), ())


@pytest.mark.clause("forja", "discovery")
def test_a_registry_that_was_put_back_and_counts_the_same_number_is_not_taken_for_the_same(town: Town) -> None:
    """After a restart on a restored database a revision may be another fleet than the one a client holds."""
    town.look()
    fleet = assay.Fleet(town.url, max_age=0)
    assert fleet.who_can("ALERT_ACK") == (_NAME,)
    shelf, same = town.registry.shelf, fleet.revision or 0
    other = FleetShelf(lambda known: (same, None if known == same else build_index(())), "another-boot")
    assert other.current()[0] == same
    town.registry.shelf = other
    assert fleet.who_can("ALERT_ACK") == ()
    assert isinstance(other.news_since(shelf.place(same)), FleetSnapshot)
    assert other.news_since(other.place(same)) is None
    fleet.close()
