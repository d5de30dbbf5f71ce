"""The client follows a node's events: in order, from a place on, and through the death of the server."""

import asyncio
import json
import signal
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import assay
from assay.identity.errors import IdentityError
from assay.kernel.cloudevent import CloudEvent
from assay.operations.node import EVENTS_FOLLOW
from assay.operations.parse import parse_request
from assay.surfaces.client import UnreachableNodeError
from assay.surfaces.client.errors import ForeignAnswerError
from assay.surfaces.client.following import Following
from assay.surfaces.client.render import render_call
from assay.wiring import open_node
from tests.raising import raises
from tests.surfaces.http.served import issue, make_node, serving


def _event(place: int) -> list[str]:
    told = {"id": str(place), "source": "s", "type": "t", "subject": "u", "time": "n", "ledgersequence": 1, "data": {}}
    return [f"id: {place}", "event: t", f"data: {json.dumps(told)}", ""]


def _ask_in_vain(client: assay.Client) -> None:
    """A question that nobody answers: `query.received` and `query.failed`."""
    with pytest.raises(assay.Error):
        client.ask("nobody.answers", {})


def test_a_stream_is_taken_up_where_it_was_after_the_server_was_killed(tmp_path: Path) -> None:
    home = tmp_path / "node"
    key = make_node(home)
    arguments = ("--home", str(home), "serve", "--port")
    with serving(*arguments, "0", folder=tmp_path) as server, assay.Client(server.url, key=key) as client:
        port = str(urlsplit(server.url).port)
        _ask_in_vain(client)
        events = client.events(after=0)
        heard = list(islice(events, 2))
        server.stop(signal.SIGKILL)
        with serving(*arguments, port, folder=tmp_path):
            _ask_in_vain(client)
            heard += islice(events, 2)
    assert [one.type for one in heard] == ["query.received", "query.failed"] * 2
    assert [int(one.id) for one in heard] == list(range(int(heard[0].id), int(heard[0].id) + 4))


def test_events_are_followed_on_a_loop_and_by_their_types(tmp_path: Path) -> None:
    home = tmp_path / "node"
    key = make_node(home)

    async def follow(url: str) -> list[CloudEvent]:
        async with assay.AsyncClient(url, key=key) as client:
            events = client.events(after=0, types=["query.failed"])
            return [await anext(events), await anext(events)]

    with serving("--home", str(home), "serve", "--port", "0", folder=tmp_path) as server:
        with assay.Client(server.url, key=key) as client:
            _ask_in_vain(client)
            _ask_in_vain(client)
        heard = asyncio.run(asyncio.wait_for(follow(server.url), 30))
    assert [one.type for one in heard] == ["query.failed"] * 2
    assert int(heard[0].id) < int(heard[1].id)


def test_whoever_may_not_listen_is_told_so_and_does_not_come_back(tmp_path: Path) -> None:
    home = tmp_path / "node"
    make_node(home)
    with open_node(home) as (tools, _):
        nobody = issue(tools, "svc:nobody")

    def wait(_seconds: float) -> None:
        pytest.fail("a refusal that cannot pass is not tried again")

    with (
        serving("--home", str(home), "serve", "--port", "0", folder=tmp_path) as server,
        assay.Client(server.url, key=nobody, sleep=wait) as client,
        raises(IdentityError.role),
    ):
        next(client.events())


def test_a_node_that_stays_away_is_given_up_after_a_few_attempts() -> None:
    waited: list[float] = []
    with (
        assay.Client("http://127.0.0.1:1", key="k", retries=3, sleep=waited.append) as client,
        pytest.raises(UnreachableNodeError),
    ):
        next(client.events())
    assert len(waited) == 3


def _following(**given: object) -> Following:
    call = render_call(EVENTS_FOLLOW, parse_request(EVENTS_FOLLOW, given))
    return Following(call, EVENTS_FOLLOW.item, retries=1)


def test_half_an_event_moves_no_place_and_is_asked_for_again() -> None:
    following = _following()
    assert "last-event-id" not in following.headers
    told = [following.take(line) for line in (": alive", "id: 6", "", *_event(7), "id: 8", "data: {")]
    assert [one.id for one in told if one is not None] == ["7"]
    following.wait_before_return(None)
    assert following.headers["last-event-id"] == "7"
    assert [one.id for line in _event(8) if (one := following.take(line))] == ["8"]


def test_what_is_no_event_of_a_node_is_refused() -> None:
    following = _following(after=3, types=["a", "b"])
    assert following.query == {"after": "3", "types": ["a", "b"]}
    following.take('data: {"hello": 1}')
    with pytest.raises(ForeignAnswerError):
        following.take("")
