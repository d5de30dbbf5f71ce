"""An event is posted to a webhook: signed, tried until it is taken, and given up on record (Standard Webhooks).

event -> CloudEvent -> headers (id, time, Ed25519) -> one attempt -> pause -> again … -> taken, or a dead letter
"""

from collections.abc import Callable

from assay.delivery.webhook import MOST_ATTEMPTS, Webhook, message_id, pause_after, webhook_headers
from assay.flows.delivery.delivery_entry import delivery_entry
from assay.flows.delivery.emit_event import outbox_cloud_event
from assay.flows.tools import Tools
from assay.kernel.cloudevent import render_cloud_event
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.events import OutboxEvent
from assay.ports.webhook_sender import Sent, WebhookSender
from assay.ports.webhook_store import Letter, LetterState

_LONGEST_PROBLEM = 300
# Waits so many seconds, and says whether to go on afterwards.
Wait = Callable[[float], bool]


class Interrupted(Exception):  # noqa: N818  no failure of anybody: the node is closing, and the event comes again
    """The node is closing while an event waits for its next attempt."""


def post_event(tools: Tools, webhook: Webhook, event: OutboxEvent, sender: WebhookSender, *, wait: Wait) -> bool:
    """Whether it was taken; after the last attempt it is a dead letter, and the next event has its turn.

    Attempts are on record: those before a restart count, and so does the pause that was not over.
    """
    if not webhook.wants(event.type):
        return True
    before = tools.database.read(
        lambda unit: unit.webhooks.find_letter(event.tenant_id, webhook.webhook_id, event.position)
    )
    tried = 0 if before is None else before.attempts
    if tried >= MOST_ATTEMPTS:
        # Given up, and the node ended before its place was confirmed.
        return False
    if before is not None and not wait(_rest(tools, before)):
        raise Interrupted
    sent = _attempts(tools, webhook, event, sender, tried=tried, wait=wait)
    if not sent.is_taken:
        _give_up(tools, webhook, event, sent)
    return sent.is_taken


def post_due(
    tools: Tools, tenant_id: TenantId, webhook: Webhook, sender: WebhookSender, *, going_on: Callable[[], bool]
) -> int:
    """Each event that somebody asked for again, once: taken and gone, or dead again with the new reason."""
    letters = tools.database.read(
        lambda unit: unit.webhooks.letters(tenant_id, webhook.webhook_id, state=LetterState.DUE)
    )
    done = 0
    for letter in letters:
        if not going_on():
            break
        _post_letter(tools, tenant_id, webhook, letter, sender)
        done += 1
    return done


def _attempts(
    tools: Tools, webhook: Webhook, event: OutboxEvent, sender: WebhookSender, *, tried: int, wait: Wait
) -> Sent:
    sent = _attempt(tools, webhook, event, sender)
    for number in range(tried + 1, MOST_ATTEMPTS):
        if sent.is_taken:
            break
        _put(tools, event.tenant_id, _letter(tools, webhook, event.position, attempts=number, sent=sent))
        if not wait(pause_after(number, chance=_chance(tools))):
            raise Interrupted
        sent = _attempt(tools, webhook, event, sender)
        tried = number
    if sent.is_taken and tried:
        _drop(tools, event.tenant_id, webhook, event.position)
    return sent


def _rest(tools: Tools, before: Letter) -> float:
    """The seconds of the pause after the last attempt that are left; a node that keeps restarting hurries nobody."""
    passed = (tools.clock.now() - before.changed_at).total_seconds()
    return max(0.0, pause_after(before.attempts, chance=_chance(tools)) - max(0.0, passed))


def _attempt(tools: Tools, webhook: Webhook, event: OutboxEvent, sender: WebhookSender) -> Sent:
    body = render_cloud_event(outbox_cloud_event(tools.origin_of(event.tenant_id), event))
    headers = webhook_headers(
        message_id(event.tenant_id, event.position),
        sent=int(tools.clock.now().timestamp()),
        body=body,
        sign=tools.ledger_signer.sign,
    )
    return sender.send(webhook.url, body, headers)


def _post_letter(tools: Tools, tenant_id: TenantId, webhook: Webhook, letter: Letter, sender: WebhookSender) -> None:
    found = tools.database.read(lambda unit: unit.outbox.events(tenant_id, after=letter.position - 1, limit=1))
    sent = _attempt(tools, webhook, found[0], sender) if found else Sent(status=None, problem="no such event")
    if sent.is_taken:
        _drop(tools, tenant_id, webhook, letter.position)
    else:
        _put(tools, tenant_id, _letter(tools, webhook, letter.position, attempts=letter.attempts + 1, sent=sent))


def _put(tools: Tools, tenant_id: TenantId, letter: Letter) -> None:
    tools.database.write(lambda unit: unit.webhooks.put_letter(tenant_id, letter))


def _drop(tools: Tools, tenant_id: TenantId, webhook: Webhook, position: int) -> None:
    tools.database.write(lambda unit: unit.webhooks.drop_letter(tenant_id, webhook.webhook_id, position))


def _give_up(tools: Tools, webhook: Webhook, event: OutboxEvent, sent: Sent) -> None:
    """On record without an event of its own: that one would go to the same place, and fail there for ever."""
    letter = _letter(tools, webhook, event.position, attempts=MOST_ATTEMPTS, sent=sent)
    told = {
        "webhook_id": webhook.webhook_id,
        "position": event.position,
        "attempts": letter.attempts,
        "problem": letter.problem,
    }
    draft = delivery_entry(event.tenant_id, EntryKind.WEBHOOK_FAILED, told, at=letter.changed_at)

    def work(unit: Unit) -> None:
        unit.webhooks.put_letter(event.tenant_id, letter)
        unit.ledger.append(draft)

    tools.database.write(work)


def _letter(tools: Tools, webhook: Webhook, position: int, *, attempts: int, sent: Sent) -> Letter:
    return Letter(
        webhook_id=webhook.webhook_id,
        position=position,
        state=LetterState.DEAD,
        attempts=attempts,
        problem=sent.problem[:_LONGEST_PROBLEM],
        changed_at=tools.clock.now(),
    )


def _chance(tools: Tools) -> float:
    return tools.entropy.token(1)[0] / 256
