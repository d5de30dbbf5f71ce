"""SENSE and the ledger's events over server-sent events: in order, at least once, resumable, and nobody's brake."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import Raw

from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId
from assay.kernel.ledger import EntryKind, Event, draft_entry
from assay.surfaces.http import event_stream
from assay.surfaces.http.app import create_app
from assay.surfaces.http.desk import Desk
from assay.surfaces.signing import SignedRequests
from assay.wiring import load_config
from tests.acting import amend_principal, issue_api_key, register_signing_key, revoke_api_key
from tests.flows._delivery import SLUG, Delivery, opened_delivery
from tests.flows._people import ADMIN, TENANT
from tests.surfaces.http._house import refused
from tests.surfaces.http._streams import Running, hearing, running
from tests.surfaces.http.served import make_node, serving
from tests.waiting import until

_ALL, _SENSE = "/api/v1/events", "/api/v2/pramana/sense/events"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Delivery]:
    folder = tmp_path_factory.mktemp("events")
    with opened_delivery(folder) as opened:
        yield opened.ready()


@pytest.fixture(scope="module")
def served(node: Delivery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    home = next(tmp_path_factory.getbasetemp().glob("events*")) / "node"
    with running(create_app(node.tools, load_config(home))) as found:
        yield found


def _tell(node: Delivery, *subjects: str, size: int = 0) -> None:
    """Entries with one event each."""
    body = b'{"fill":"%s"}' % (b"x" * size)
    for subject in subjects:
        event = Event(type="note", subject=subject, body=Raw(body))
        node.tools.database.append(
            draft_entry(TENANT, EntryKind.NOTE, {"about": subject}, at=node.tools.clock.now(), events=(event,))
        )


def _newest(node: Delivery) -> int:
    return node.desk.read(lambda unit: unit.outbox.newest(TENANT))


@pytest.mark.clause("pramana", "12.10")
def test_a_subscriber_is_told_without_asking_again(node: Delivery, served: Running) -> None:
    """CloudEvents 1.0: the id is the place in the tenant's order, and the entry is named beside it."""
    before = _newest(node)
    with hearing(served.url + _ALL, node.olga) as heard:
        _tell(node, "first", "second")
        until(lambda: len(heard.events) == 2)
    assert heard.ids == [before + 1, before + 2]
    one = heard.events[0]
    assert set(one) == {
        *("specversion", "id", "source", "type", "subject", "time", "datacontenttype", "ledgersequence", "data")
    }
    assert (one["specversion"], one["id"], one["subject"]) == ("1.0", str(before + 1), "first")
    assert one["source"] == node.tools.origin_of(TENANT)
    assert heard.names == ["note", "note"]
    entry = node.desk.read(lambda unit: unit.ledger.find_entry(TENANT, one["ledgersequence"]))
    assert entry is not None
    assert b"first" in entry.text


def test_whoever_comes_back_has_missed_nothing(node: Delivery, served: Running) -> None:
    """`Last-Event-ID` wins over the query; what was committed meanwhile comes first, in order, each once."""
    with hearing(served.url + _ALL, node.olga) as heard:
        _tell(node, "a")
        until(lambda: len(heard.events) == 1)
    _tell(node, "b", "c")
    back = {"last-event-id": str(heard.last_id)}
    with hearing(served.url + _ALL + "?after=0", node.olga, **back) as again:
        _tell(node, "d")
        until(lambda: len(again.events) == 3)
    assert [one["subject"] for one in again.events] == ["b", "c", "d"]
    assert again.ids == list(range(heard.ids[-1] + 1, heard.ids[-1] + 4))


def test_the_whole_history_is_read_from_the_outbox(node: Delivery, served: Running) -> None:
    _tell(node, "now")
    newest = _newest(node)
    with hearing(served.url + _ALL + "?after=0", node.olga) as heard:
        until(lambda: len(heard.ids) >= newest)
    assert heard.ids == list(range(1, newest + 1))


def test_answers_are_not_told_to_whoever_is_still_to_judge_alone(node: Delivery, served: Running) -> None:
    """One that settles nothing is an approval; whoever has answered, and whoever only watches, hears of it."""
    keys = {}
    for name in ("user:ann", "user:ben"):
        node.desk.add(name, roles=("reviewer",))
        keys[name], _ = issue_api_key(node.tools, TENANT, PrincipalId(name), by=ADMIN, at=node.desk.start)
    ticket, place = node.desk.ticket(quorum=2, eligible_roles=("reviewer",)), _newest(node)
    node.desk.answer(ticket, node.desk.session("user:ben"))
    _tell(node, "after")
    heard: dict[str, list[str]] = {}
    for name, key in (*keys.items(), ("olga", node.olga)):
        with hearing(served.url + f"{_ALL}?after={place}&types=ticket.answered,note", key) as reader:
            until(lambda reader=reader: "note" in reader.names)  # type: ignore[misc]  # bound at once
        heard[name] = reader.names
    all_of_it = ["ticket.answered", "note"]
    assert heard == {"user:ann": ["note"], "user:ben": all_of_it, "olga": all_of_it}


def test_an_event_that_is_left_out_still_moves_the_place(node: Delivery, served: Running) -> None:
    """A reader of few types that comes back need not be told of all the others in between."""
    with hearing(served.url + _ALL + "?types=other,note", node.olga) as heard:
        node.ask()
        _tell(node, "last")
        until(lambda: len(heard.events) == 1)
    assert heard.names == ["note"]
    with hearing(served.url + _ALL + "?types=nothing", node.olga) as deaf:
        _tell(node, "unheard")
        until(lambda: deaf.last_id == _newest(node))
    assert not deaf.events


@pytest.mark.clause("pramana", "12.2")
@pytest.mark.clause("pramana", "7.3")
def test_sense_events_have_exactly_their_four_members(node: Delivery, served: Running) -> None:
    """Events of the node and of services that emit; what is not SENSE stays out."""
    with hearing(served.url + _SENSE, node.olga) as heard:
        _tell(node, "not sense")
        assert served.post("/api/v2/pramana/query", {"query_type": SLUG, "question": {}}, node.amira).status_code == 200
        told = {
            "event_type": "crane.moved",
            "service": "bell",
            "timestamp": "2026-03-01T12:00:00Z",
            "payload": {"t": 4},
        }
        assert served.post("/api/v2/pramana/sense/emit", told, node.bell).status_code == 201
        until(lambda: len(heard.events) == 3)
    assert heard.names == ["query.received", "query.answered", "crane.moved"]
    assert all(set(one) == {"event_type", "service", "timestamp", "payload"} for one in heard.events)
    assert heard.events[2] == told


@pytest.mark.clause("pramana", "7.3")
def test_a_service_emits_under_its_own_name_alone(node: Delivery, served: Running) -> None:
    """Nobody speaks for the node or for another service, and nobody without a credential."""
    before = _newest(node)
    told = {"event_type": "rca.closed", "service": "assay", "timestamp": "2026-03-01T12:00:00Z", "payload": {}}
    path = "/api/v2/pramana/sense/emit"
    refused(served.post(path, told, node.bell), 403, "delivery.emitter")
    refused(served.post(path, told | {"service": "bell"}), 401, "identity.not_signed_in")
    refused(served.post(path, told | {"service": "bell", "more": 1}, node.bell), 422, "delivery.event")
    for own in ("claims.decided", "ticket.answered", "rule.certified"):
        refused(served.post(path, told | {"service": "bell", "event_type": own}, node.bell), 403, "delivery.emitter")
    assert _newest(node) == before


def test_an_event_that_is_sent_again_under_its_key_is_told_once(node: Delivery, served: Running) -> None:
    told = {"event_type": "bell.rung", "service": "bell", "timestamp": "2026-03-01T12:00:00Z", "payload": {}}
    before = _newest(node)
    path, key = "/api/v2/pramana/sense/emit", {"idempotency-key": "rung-once"}
    first, again = (served.post(path, told, node.bell, **key) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert _newest(node) == before + 1


def test_events_are_for_those_who_may_see_all(node: Delivery, served: Running) -> None:
    refused(served.get(_ALL), 401, "identity.not_signed_in")
    refused(served.get(_ALL, node.amira), 403, "identity.role")
    refused(served.get(_ALL + "?after=-1", node.olga), 422, "http.fields")
    found = httpx.get(served.url + _ALL, headers={"x-api-key": node.olga, "last-event-id": "soon"}, timeout=20)
    refused(found, 400, "events.last_event_id")


def test_a_reader_who_takes_nothing_slows_nobody_and_is_dropped(
    node: Delivery, served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is let go after a time without having cost an append anything; others go on, and it can come back."""
    monkeypatch.setattr(event_stream, "SEND_SECONDS", 0.3)
    host, port = served.url.removeprefix("http://").split(":")
    with socket.socket() as deaf:
        # A window as small as the system allows, and nobody who empties it.
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        deaf.connect((host, int(port)))
        deaf.sendall(f"GET {_ALL} HTTP/1.1\r\nHost: x\r\nx-api-key: {node.olga}\r\n\r\n".encode())
        until(lambda: served.desk.fanout.readers == 1, what="the deaf reader")
        with hearing(served.url + _ALL, node.olga) as heard:
            _tell(node, *(f"large {number}" for number in range(40)), size=200_000)
            until(lambda: len(heard.events) == 40)
            until(lambda: served.desk.fanout.readers == 1, what="the deaf reader to be dropped")
            _tell(node, "after")
            until(lambda: len(heard.events) == 41)
    assert heard.ids == sorted(set(heard.ids))


def test_a_revoked_key_hears_nothing_more(node: Delivery, served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "IDLE_SECONDS", 0.05)
    name = node.desk.add("service:listener", kind=PrincipalKind.SERVICE, roles=("auditor",)).id
    key, record = issue_api_key(node.tools, TENANT, name, by=ADMIN, at=node.desk.start)
    with hearing(served.url + _ALL, key) as heard:
        revoke_api_key(node.tools, TENANT, record.prefix, reason="gone", by=ADMIN, at=node.tools.clock.now())
        until(lambda: heard.is_over)
        _tell(node, "secret")
    assert all(one["subject"] != "secret" for one in heard.events)


def test_who_lost_the_role_hears_nothing_more(node: Delivery, served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The credential still is good for something: it is the role that let them listen."""
    monkeypatch.setattr(event_stream, "IDLE_SECONDS", 0.05)
    name = node.desk.add("service:demoted", kind=PrincipalKind.SERVICE, roles=("auditor",)).id
    key, _ = issue_api_key(node.tools, TENANT, name, by=ADMIN, at=node.desk.start)
    with hearing(served.url + _ALL, key) as heard:
        change = PrincipalChange(roles=())
        amend_principal(node.tools, TENANT, name, change, by=ADMIN, at=node.tools.clock.now())
        until(lambda: heard.is_over)
        _tell(node, "hidden")
    assert all(one["subject"] != "hidden" for one in heard.events)


def test_a_signed_reader_goes_on_hearing(node: Delivery, served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signature is looked at again like a key: its nonce is on record, so the reader is who began."""
    monkeypatch.setattr(event_stream, "IDLE_SECONDS", 0.05)
    name = node.desk.add("service:signer", kind=PrincipalKind.SERVICE, roles=("auditor",)).id
    signer = SignedRequests(Ed25519PrivateKey.generate(), clock=node.tools.clock)
    at = node.desk.start
    register_signing_key(node.tools, TENANT, name, signer.public_key, by=ADMIN, at=at)
    url = f"{served.url}{_ALL}"
    headers = next(signer.auth_flow(httpx.Request("GET", url))).headers
    checks: list[bool] = []
    is_admitted = event_stream._is_admitted

    def counted(desk: Desk, reader: event_stream.Reader) -> bool:
        checks.append(is_admitted(desk, reader))
        return checks[-1]

    monkeypatch.setattr(event_stream, "_is_admitted", counted)
    with httpx.stream("GET", url, headers=headers, timeout=20) as heard:
        assert heard.status_code == 200
        lines = heard.iter_lines()
        while len(checks) < 2:
            next(lines)
    assert all(checks)


def test_many_commits_at_once_reach_many_readers_in_order(node: Delivery, served: Running) -> None:
    """The law of the stream: every reader's places are one run without gap or repeat."""
    with hearing(served.url + _ALL, node.olga) as one, hearing(served.url + _ALL, node.olga) as two:
        threads = [threading.Thread(target=_tell, args=(node, *(f"{n}-{i}" for i in range(15)))) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        until(lambda: len(one.ids) == len(two.ids) == 60)
    assert one.ids == two.ids == list(range(one.ids[0], one.ids[0] + 60))


def test_a_server_that_is_full_says_so(node: Delivery, served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.desk.fanout, "_most_readers", 0)
    refused(served.get(_ALL, node.olga), 503, "events.too_many")


def test_streams_end_with_the_server(tmp_path: Path) -> None:
    with (
        opened_delivery(tmp_path) as other,
        running(create_app(other.tools, load_config(tmp_path / "node"))) as served,
        hearing(served.url + _ALL, other.olga) as heard,
    ):
        served.desk.fanout.close()
        until(lambda: heard.is_over)


def test_a_served_node_ends_its_streams_when_it_is_told_to_stop(tmp_path: Path) -> None:
    """SIGTERM is not held up by a reader who would listen for ever."""
    key = make_node(tmp_path / "node")
    with (
        serving("--home", str(tmp_path / "node"), "serve", "--port", "0", folder=tmp_path) as server,
        hearing(server.url + _ALL, key) as heard,
    ):
        assert server.stop() == 0
        until(lambda: heard.is_over)
