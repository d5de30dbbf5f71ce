"""Webhooks of a node: signed, in order, tried again, given up on record, and replayed under the same id."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from assay.adapters.webhooks.sender import HttpWebhookSender
from assay.delivery.errors import DeliveryError
from assay.delivery.webhook import MOST_ATTEMPTS, Webhook
from assay.flows.delivery.webhooks import Interrupted, list_webhooks, post_due, post_event
from assay.flows.errors import NotFoundError
from assay.kernel.ledger import EntryKind
from assay.ports.events import OutboxEvent
from tests.delivering import add_webhook, list_dead, remove_webhook, replay_webhook
from tests.flows._people import ADMIN, TENANT, Desk, opened_desk
from tests.raising import raises
from tests.receiver import Received, Receiver, receiving


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with opened_desk(_folder(tmp_path_factory)) as found:
        yield found


def _folder(factory: pytest.TempPathFactory) -> Path:
    return factory.mktemp("webhooks")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def _add(desk: Desk, url: str, *types: str) -> Webhook:
    return add_webhook(desk.tools, TENANT, url, types, by=ADMIN, at=desk.start).webhook


def _latest(desk: Desk) -> OutboxEvent:
    """A new ticket's event."""
    desk.ticket()
    newest = desk.read(lambda unit: unit.outbox.newest(TENANT))
    return desk.read(lambda unit: unit.outbox.events(TENANT, after=newest - 1, limit=1))[0]


def _sender(receiver: Receiver) -> HttpWebhookSender:
    return HttpWebhookSender(allowed=[receiver.host], seconds=5)


def _verify(received: Received, key: str) -> None:
    """As a receiver that knows Standard Webhooks and nothing of us."""
    signature = base64.b64decode(received.headers["webhook-signature"].removeprefix("v1a,"))
    message = f"{received.headers['webhook-id']}.{received.headers['webhook-timestamp']}.".encode() + received.body
    Ed25519PublicKey.from_public_bytes(base64.b64decode(key.removeprefix("whpk_"))).verify(signature, message)


def test_an_event_arrives_as_a_signed_cloud_event(desk: Desk, receiver: Receiver) -> None:
    added = add_webhook(desk.tools, TENANT, receiver.url, by=ADMIN, at=desk.start)
    event = _latest(desk)
    assert post_event(desk.tools, added.webhook, event, _sender(receiver), wait=lambda _: True)
    [one] = receiver.received
    _verify(one, added.public_key)
    told = json.loads(one.body)
    assert (told["specversion"], told["id"], told["type"]) == ("1.0", str(event.position), event.type)
    assert one.headers["webhook-id"] == f"evt_{event.position}_{TENANT}"


def test_it_is_tried_again_after_growing_pauses_until_it_is_taken(desk: Desk, receiver: Receiver) -> None:
    """Every attempt has the same id, by which a receiver knows a repeat."""
    receiver.answers[:] = [500, 503, 204]
    pauses: list[float] = []

    def wait(seconds: float) -> bool:
        pauses.append(seconds)
        return True

    webhook, event = _add(desk, receiver.url), _latest(desk)
    assert post_event(desk.tools, webhook, event, _sender(receiver), wait=wait)
    assert len(receiver.received) == 3
    assert len({one.headers["webhook-id"] for one in receiver.received}) == 1
    assert 2.5 <= pauses[0] < 5
    assert 10 <= pauses[1] < 20
    assert not list_dead(desk.tools, TENANT, webhook.webhook_id)


def test_an_event_that_nobody_takes_is_given_up_on_record_and_replayed(desk: Desk, receiver: Receiver) -> None:
    """The entry has no event of its own, which would go to the same place; a replay is one attempt, and its end."""
    receiver.answers[:] = [500]
    webhook, event, sender = _add(desk, receiver.url), _latest(desk), _sender(receiver)
    newest = desk.read(lambda unit: unit.outbox.newest(TENANT))
    assert not post_event(desk.tools, webhook, event, sender, wait=lambda _: True)
    assert len(receiver.received) == MOST_ATTEMPTS
    [dead] = list_dead(desk.tools, TENANT, webhook.webhook_id)
    assert (dead.position, dead.attempts, dead.problem) == (
        event.position,
        MOST_ATTEMPTS,
        "expected a status of 200 to 299, got 500",
    )
    assert desk.read(lambda unit: unit.outbox.newest(TENANT)) == newest
    assert desk.entries(EntryKind.WEBHOOK_FAILED)[-1]["webhook_id"] == webhook.webhook_id

    def replay() -> None:
        assert replay_webhook(desk.tools, TENANT, webhook.webhook_id, by=ADMIN, at=desk.start) == 1
        assert post_due(desk.tools, TENANT, webhook, sender, going_on=lambda: True) == 1

    replay()
    [again] = list_dead(desk.tools, TENANT, webhook.webhook_id)
    assert again.attempts == MOST_ATTEMPTS + 1
    receiver.answers[:] = [200]
    replay()
    assert not list_dead(desk.tools, TENANT, webhook.webhook_id)
    assert receiver.received[-1].headers["webhook-id"] == receiver.received[0].headers["webhook-id"]


def test_events_that_were_delivered_can_be_asked_for_again(desk: Desk, receiver: Receiver) -> None:
    """Only what the subscription has settled, and only its types; what lies before it comes by itself."""
    webhook = _add(desk, receiver.url, "ticket.opened")
    name = f"webhook:{webhook.webhook_id}"
    first, second, third = _latest(desk), _latest(desk), _latest(desk)
    desk.tools.database.write(lambda unit: unit.outbox.confirm(TENANT, name, second.position))
    after = first.position - 1
    count = replay_webhook(desk.tools, TENANT, webhook.webhook_id, after=after, by=ADMIN, at=desk.start)
    assert post_due(desk.tools, TENANT, webhook, _sender(receiver), going_on=lambda: True) == count == 2
    ids = [json.loads(one.body)["id"] for one in receiver.received]
    assert ids == [str(first.position), str(second.position)]
    assert str(third.position) not in ids


def test_a_type_that_was_not_chosen_is_passed_over(desk: Desk, receiver: Receiver) -> None:
    webhook = _add(desk, receiver.url, "rca.closed")
    assert post_event(desk.tools, webhook, _latest(desk), _sender(receiver), wait=lambda _: True)
    assert not receiver.received


def test_a_node_that_closes_leaves_the_event_for_later(desk: Desk, receiver: Receiver) -> None:
    """It is neither taken nor given up."""
    receiver.answers[:] = [500]
    webhook = _add(desk, receiver.url)
    with pytest.raises(Interrupted):
        post_event(desk.tools, webhook, _latest(desk), _sender(receiver), wait=lambda _: False)
    assert not list_dead(desk.tools, TENANT, webhook.webhook_id)


def test_attempts_count_on_after_a_restart_and_their_pause_too(desk: Desk, receiver: Receiver) -> None:
    """An endpoint that fails for ever is tried ten times in all, however often the node is restarted meanwhile."""
    receiver.answers[:] = [500]
    webhook, event, sender = _add(desk, receiver.url), _latest(desk), _sender(receiver)
    rests: list[float] = []
    for run in range(MOST_ATTEMPTS - 1):
        answers = iter([True, False] if run else [False])

        def wait(seconds: float, answers: Iterator[bool] = answers) -> bool:
            rests.append(seconds)
            return next(answers)

        with pytest.raises(Interrupted):
            post_event(desk.tools, webhook, event, sender, wait=wait)
        assert not list_dead(desk.tools, TENANT, webhook.webhook_id)
        assert list_webhooks(desk.tools, TENANT)[-1].dead == 0
        assert replay_webhook(desk.tools, TENANT, webhook.webhook_id, by=ADMIN, at=desk.start) == 0
    assert rests[1] > 0
    assert rests[3] > rests[1]
    assert not post_event(desk.tools, webhook, event, sender, wait=lambda _: True)
    assert not post_event(desk.tools, webhook, event, sender, wait=lambda _: True)
    assert len(receiver.received) == MOST_ATTEMPTS
    [dead] = list_dead(desk.tools, TENANT, webhook.webhook_id)
    assert dead.attempts == MOST_ATTEMPTS


def test_an_event_taken_after_a_restart_leaves_no_letter(desk: Desk, receiver: Receiver) -> None:
    receiver.answers[:] = [500, 204]
    webhook, event, sender = _add(desk, receiver.url), _latest(desk), _sender(receiver)
    with pytest.raises(Interrupted):
        post_event(desk.tools, webhook, event, sender, wait=lambda _: False)
    assert post_event(desk.tools, webhook, event, sender, wait=lambda _: True)
    assert desk.read(lambda unit: unit.webhooks.find_attempts(TENANT, webhook.webhook_id, event.position)) is None


def test_a_webhook_begins_with_its_own_adding_and_ends_when_removed(desk: Desk) -> None:
    _latest(desk)
    webhook = _add(desk, "https://example.org/hook")
    [shown] = [one for one in list_webhooks(desk.tools, TENANT) if one.webhook == webhook]
    assert shown.position + 1 == shown.newest
    remove_webhook(desk.tools, TENANT, webhook.webhook_id, by=ADMIN, at=desk.start)
    assert webhook not in [one.webhook for one in list_webhooks(desk.tools, TENANT)]
    assert desk.entries(EntryKind.WEBHOOK_REMOVED)[-1] == {"webhook_id": webhook.webhook_id, "removed_by": ADMIN}
    for gone in (webhook.webhook_id, "whk_none"):
        with pytest.raises(NotFoundError):
            remove_webhook(desk.tools, TENANT, gone, by=ADMIN, at=desk.start)
        with pytest.raises(NotFoundError):
            replay_webhook(desk.tools, TENANT, gone, by=ADMIN, at=desk.start)


def test_an_address_that_cannot_be_used_is_refused_and_nothing_recorded(desk: Desk) -> None:
    before = len(list_webhooks(desk.tools, TENANT))
    for url in (
        "gopher://example.org/",
        "https://169.254.169.254/x",
        "https://[fe80::1]/",
        "https://[::ffff:a9fe:a9fe]/",
    ):
        with raises(DeliveryError.webhook):
            _add(desk, url)
    assert len(list_webhooks(desk.tools, TENANT)) == before
