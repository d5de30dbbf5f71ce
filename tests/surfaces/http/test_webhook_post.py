"""A server posts events to its webhooks: from a durable place, in order, and each endpoint for itself."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from assay.adapters.webhooks.sender import HttpWebhookSender
from assay.delivery import webhook as schedule
from assay.flows.delivery.webhooks import list_webhooks
from assay.flows.tools import Tools
from assay.kernel.ledger import EntryKind
from assay.surfaces.http.app import create_app
from assay.surfaces.http.desk import Desk as HttpDesk
from assay.surfaces.http.serve import WebhookPost
from assay.wiring import load_config
from tests.delivering import add_webhook, list_dead, remove_webhook, replay_webhook
from tests.flows._people import ADMIN, TENANT, Desk, opened_desk
from tests.receiver import Receiver, receiving
from tests.waiting import until


@dataclass
class Office:
    desk: Desk
    http: HttpDesk

    @property
    def tools(self) -> Tools:
        return self.desk.tools

    def add(self, receiver: Receiver, *types: str) -> str:
        return add_webhook(self.tools, TENANT, receiver.url, types, by=ADMIN, at=self.desk.start).webhook.webhook_id

    def place(self, name: str) -> int:
        return self.desk.read(lambda unit: unit.outbox.cursor(TENANT, f"webhook:{name}"))


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    folder = tmp_path_factory.mktemp("office")
    with opened_desk(folder) as desk:
        config = load_config(_home(folder))
        config = changed(config, delivery=changed(config.delivery, webhook_hosts=("127.0.0.1",)))
        found = create_app(desk.tools, config).state.desk
        assert isinstance(found, HttpDesk)
        yield Office(desk, found)


def _home(folder: Path) -> Path:
    return next(path.parent for path in folder.rglob("assay.toml"))


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "_FIRST_SECONDS", 0.001)
    monkeypatch.setattr(schedule, "_FACTOR", 1.0)


def _ids(receiver: Receiver) -> list[int]:
    return [int(json.loads(one.body)["id"]) for one in receiver.received]


def test_events_are_posted_in_order_from_where_the_last_server_stopped(office: Office) -> None:
    """The next server goes on after the place that was confirmed: nothing is missed between the two."""
    with receiving() as receiver:
        name = office.add(receiver)
        office.desk.ticket()
        _post_until(office, lambda: len(receiver.received) >= 2)
        office.desk.ticket()
        office.desk.ticket()
        _post_until(office, lambda: office.place(name) == office.desk.read(lambda unit: unit.outbox.newest(TENANT)))
    ids = _ids(receiver)
    assert sorted(set(ids)) == list(range(ids[0], ids[0] + 4))
    assert ids == sorted(ids)


def _post_until(office: Office, condition: object) -> None:
    post = WebhookPost(replace(office.http, stopping=type(office.http.stopping)()))
    post.sync_webhooks(office.http)
    until(condition)  # type: ignore[arg-type]  # a callable of no arguments
    post.close()


def test_an_endpoint_that_is_down_holds_up_nobody_else(office: Office) -> None:
    """Its event is given up on record after the last attempt, and a replay brings it."""
    with receiving(answers=[500]) as broken, receiving() as good:
        bad, fine = office.add(broken, "ticket.opened"), office.add(good, "ticket.opened")
        office.desk.ticket()
        post = WebhookPost(replace(office.http, stopping=type(office.http.stopping)()))
        post.sync_webhooks(office.http)
        until(lambda: len(good.received) == 1, what="the good endpoint")
        until(lambda: len(list_dead(office.tools, TENANT, bad)) == 1, what="the dead letter")
        assert not list_dead(office.tools, TENANT, fine)
        broken.answers[:] = [204]
        assert replay_webhook(office.tools, TENANT, bad, by=ADMIN, at=office.desk.start) == 1
        post.sync_webhooks(office.http)
        until(lambda: not _shown(office, bad), what="the replay")
        assert _ids(broken)[-1] == _ids(good)[0]
        remove_webhook(office.tools, TENANT, bad, by=ADMIN, at=office.desk.start)
        count = len(broken.received)
        post.sync_webhooks(office.http)
        office.desk.ticket()
        until(lambda: len(good.received) == 2)
        assert len(broken.received) == count
        post.close()
    assert bad in [one["webhook_id"] for one in office.desk.entries(EntryKind.WEBHOOK_FAILED)]


def _shown(office: Office, name: str) -> int:
    return sum(one.due + one.dead for one in list_webhooks(office.tools, TENANT) if one.webhook.webhook_id == name)


def test_an_append_never_waits_for_an_endpoint(office: Office) -> None:
    """The endpoint answers nothing while many entries are committed."""
    with receiving() as receiver:
        receiver.gate.clear()
        office.add(receiver)
        sender = HttpWebhookSender(allowed=["127.0.0.1"], seconds=5)
        post = WebhookPost(replace(office.http, stopping=type(office.http.stopping)()), sender)
        post.sync_webhooks(office.http)
        # What is given up meanwhile, for webhooks of others, is on record too.
        before = len(office.desk.entries(EntryKind.TICKET_OPENED))
        for _ in range(20):
            office.desk.ticket()
        assert len(office.desk.entries(EntryKind.TICKET_OPENED)) == before + 20
        receiver.gate.set()
        post.close()
