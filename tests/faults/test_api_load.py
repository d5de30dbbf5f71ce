"""A served node under load and under knives, over the interface that people use: `/api/v1`, on both databases.

64 callers at once do what the rooms are there for; what they were told is then found again, once each. Then the server
is killed at moments of chance under the same load, started again, and asked again for what nobody heard of.
"""

import asyncio
import gc
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta

import httpx
import pytest

import assay
from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId
from assay.kernel.ledger import EntryKind
from assay.wiring import open_node
from tests.acting import log_in
from tests.claims.making import CONTENT
from tests.faults._callers import Book, Told, connected, run_callers, send
from tests.faults._children import chance
from tests.faults._promises import expect_kept, expect_listed, promised
from tests.faults._work import BOLD, CALM, WORK, Asked
from tests.flows._node import TENANT
from tests.flows._people import quick_passwords
from tests.node._home import PASSWORD, Home, made
from tests.postgres_cluster import PostgresCluster
from tests.scale import scale
from tests.surfaces.http.served import Served, serving
from tests.waiting import until

_SECONDS = scale(8, 60)
_ROUNDS = scale(3, 20)
_MOST_PROMISES = scale(60, 400)
_ASKED_AGAIN = scale(20, 200)
_READY_SECONDS = 120
_SESSION = timedelta(hours=4)
# Twins that met were told to come again; nothing else that callers do is refused.
_ANSWERS = {200, 201, 409}


@dataclass
class _Node:
    """A peopled node that serves; `after` is its last entry before the first caller, `book` what all callers know."""

    home: Home
    after: int
    stack: ExitStack
    served: Served = field(init=False)
    book: Book = field(default_factory=Book)

    def start(self) -> None:
        """Standing by first, since a database needs a moment to notice that the writer before was killed."""
        arguments = ("serve", "--home", str(self.home.folder), "--port", "0", "--standby")
        self.served = self.stack.enter_context(serving(*arguments, folder=self.home.folder.parent))
        ready = f"{self.served.url}/readyz"
        until(lambda: httpx.get(ready, trust_env=False).status_code == 200, seconds=_READY_SECONDS, what="a ready node")

    def client(self) -> httpx.Client:
        headers = {"x-api-key": self.home.keys["olga"]}
        return httpx.Client(base_url=self.served.url, headers=headers, trust_env=False, timeout=_READY_SECONDS)

    def expect_kept(self) -> None:
        """By GET while it serves, and in its database."""
        assert self.book.pending == {}
        with self.client() as client:
            expect_listed(client, self.book)
        with open_node(self.home.folder, writable=False) as (tools, _):
            expect_kept(tools, self.book, after=self.after)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Node]:
    dsn = _database(request.getfixturevalue("postgres_cluster")) if request.param == "postgres" else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.wiring.Argon2Passwords", quick_passwords)
        home = made(tmp_path_factory.mktemp("api") / "node", dsn)
        after = _add_agents(home)
    with ExitStack() as stack:
        node = _Node(home, after, stack)
        node.start()
        yield node


def _database(cluster: PostgresCluster) -> str:
    name = cluster.create_database()
    provision(cluster.dsn(name), at=SystemClock().now())
    return cluster.dsn(name, "assay_app")


def _add_agents(home: Home) -> int:
    """The last entry that this leaves."""
    with assay.open(home.folder) as node:
        for name in (*CALM, *BOLD):
            node.add_principal(f"ai:{name}", kind="agent", risk_ceiling=RiskTier.DELETE)
            home.keys[name] = str(node.issue_key(f"ai:{name}").api_key)
        node.acting(home.keys[BOLD[0]]).attach_evidence(CONTENT)
        for name in ("olga", "otto"):
            # Sessions end after a quarter of an hour unless told otherwise, and all rounds may take longer.
            home.keys[name], _ = log_in(
                node.tools, TENANT, PrincipalId(f"user:{name}"), PASSWORD, lifetime=_SESSION, at=node.tools.clock.now()
            )
        return node.tools.database.read(lambda unit: unit.ledger.head(TENANT).sequence_number)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_sixty_four_callers_at_once_lose_nothing(node: _Node) -> None:
    """Each is answered, never with our fault; each answer is found by GET and in the ledger, once, and no other is."""
    end = time.monotonic() + _SECONDS
    asyncio.run(run_callers(node.served.url, node.home.keys, node.book, "load", lambda: time.monotonic() > end))
    node.expect_kept()
    # With one piece of work for each caller at the least, every kind of work was done.
    assert len(node.book.told) > len(WORK)
    with node.client() as client:
        _expect_counted(client.get("/metrics").text, node.book)


def _expect_counted(figures: str, book: Book) -> None:
    """What operators watch says the same as the callers do: no fault of ours, and each record counted once."""
    answered = re.findall(r'^assay_http_request_seconds_count\{.*status="(\d+)"\} ([0-9.e+]+)$', figures, re.MULTILINE)
    assert {int(status) for status, count in answered if float(count)} <= _ANSWERS
    records = Counter(kind for kind, _ in promised(book))
    counted = re.search(r'^assay_observations_total\{outcome="recorded".*\} (\S+)$', figures, re.MULTILINE)
    assert counted is not None
    assert float(counted[1]) == records[EntryKind.OBSERVATION_RECORDED]
    appended = re.search(r"^assay_appends_total\{.*\} (\S+)$", figures, re.MULTILINE)
    assert appended is not None
    assert float(appended[1]) == records[EntryKind.NOTE]


# A kill may cut a connection that the client was only just making, and then its library leaves the socket to Python.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_server_that_is_killed_under_load_loses_nothing_and_does_nothing_twice(node: _Node) -> None:
    """Whatever was promised in any round is there; whatever nobody heard of is asked again, and happens once."""
    moments = chance(17)
    for number in range(_ROUNDS):
        goal, pause = len(node.book.told) + moments.randint(1, _MOST_PROMISES), moments.uniform(0, 0.05)
        asyncio.run(_load_until_killed(node, f"round{number}", goal, pause))
        assert node.served.process.wait(60) == -signal.SIGKILL
        node.start()
        asyncio.run(_ask_again(node, moments))
        gc.collect()
    node.expect_kept()


async def _load_until_killed(node: _Node, name: str, goal: int, pause: float) -> None:
    async def kill() -> None:
        while len(node.book.told) < goal:
            assert node.served.process.poll() is None, f"ended by itself: {node.served.log.read_text()[-2000:]}"
            await asyncio.sleep(0.002)
        await asyncio.sleep(pause)
        node.served.process.kill()

    callers = run_callers(
        node.served.url, node.home.keys, node.book, name, lambda: node.served.process.poll() is not None
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(kill())
        group.create_task(callers)


async def _ask_again(node: _Node, moments: random.Random) -> None:
    """All that was never answered, and some of what was, under their keys."""
    keyed = [one for one in node.book.told.values() if not one.asked.is_lines]
    chosen = moments.sample(keyed, min(_ASKED_AGAIN, len(keyed)))
    async with connected(node.served.url) as client:
        await asyncio.gather(
            *(_expect_the_same(client, node, one) for one in chosen),
            *(_ask_for_unheard(client, node, one) for one in list(node.book.pending.values())),
        )


async def _expect_the_same(client: httpx.AsyncClient, node: _Node, told: Told) -> None:
    """A promise is kept in its very words, over any number of ends."""
    again = await send(client, node.home.keys, told.asked)
    assert (again.status_code, again.content) == (told.status, told.content)
    assert again.headers["assay-is-kept"] == "true"


async def _ask_for_unheard(client: httpx.AsyncClient, node: _Node, asked: Asked) -> None:
    """It is done now, or was done and is told now, or was done and says so; once more, and the answer is the same."""
    first = await send(client, node.home.keys, asked)
    again = await send(client, node.home.keys, asked)
    del node.book.pending[asked.key]
    assert again.status_code == first.status_code, first.text
    if first.status_code == 409:
        assert first.json()["code"] == again.json()["code"] == "request.answer_lost"
        node.book.unheard[asked.key] = asked
        return
    assert first.status_code in (200, 201), first.text
    if not asked.is_lines:
        assert (again.content, again.headers["assay-is-kept"]) == (first.content, "true")
    node.book.told[asked.key] = Told(asked, first.status_code, first.content)
