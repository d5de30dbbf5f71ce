"""Webhooks: operators add and remove them, and the node posts its events there, signed, at least once."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct
from msgspec.structs import replace

from assay.delivery.webhook import (
    MOST_ATTEMPTS,
    Webhook,
    message_id,
    pause_after,
    render_webhook_key,
    verify_webhook_target,
    webhook_headers,
)
from assay.facts.delivery import WebhookFailed, WebhookRemoved, WebhookReplayed, WebhookResent
from assay.flows.delivery.delivery_entry import delivery_entry, news, read_text
from assay.flows.delivery.emit_event import outbox_cloud_event
from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import confirm
from assay.flows.ledger.check_entry import verify_stored_entry
from assay.flows.request import Option, Page, Paged, Request, cut, next_cursor, read_number
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.cloudevent import render_cloud_event
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind
from assay.ports.database import Unit
from assay.ports.events import OutboxEvent
from assay.ports.webhook_sender import Sent, WebhookSender
from assay.ports.webhook_store import Letter, LetterState, WebhookAttempts

_ID_BYTES = 12
_MOST_LETTERS = 10_000
_LETTER_KINDS: Mapping[EntryKind, type[Struct]] = MappingProxyType(
    {
        EntryKind.WEBHOOK_FAILED: WebhookFailed,
        EntryKind.WEBHOOK_REPLAYED: WebhookReplayed,
        EntryKind.WEBHOOK_RESENT: WebhookResent,
    }
)
_WebhookName = Annotated[str, Meta(description="The id of a webhook."), Option(metavar="ID")]


class AddedWebhook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A subscription, and the public key by which its receiver verifies what is posted."""

    webhook: Webhook
    public_key: str


class ShownWebhook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far a subscription has come: the last event that was settled, of how many, and how many were given up."""

    webhook: Webhook
    position: int
    newest: int
    dead: int
    due: int
    public_key: str


def cursor_name(webhook_id: str) -> str:
    """Under which a webhook's place in the outbox is kept."""
    return f"webhook:{webhook_id}"


class AddWebhook(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    url: Annotated[str, Meta(description="Where events are posted."), Option(form="argument", metavar="URL")]
    types: Annotated[
        tuple[str, ...],
        Meta(description="Types of events, such as `rca.triggered`; without it, all."),
        Option(flag="--type"),
    ] = ()


class ListWebhooks(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page of the webhooks."""


class RemoveWebhook(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    webhook_id: _WebhookName


class ListDead(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    webhook_id: _WebhookName


class ReplayWebhook(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    webhook_id: _WebhookName
    after: Annotated[
        Annotated[int, Meta(ge=0, le=2**53 - 1)] | None,
        Meta(description="Post all events after this position again, delivered or not."),
        Option(metavar="POSITION"),
    ] = None


class Replayed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many events are due again."""

    webhook_id: str
    due: int


def add_webhook(tools: Tools, caller: Caller, request: AddWebhook) -> AddedWebhook:
    """Post events to a URL from now on, signed; the result holds the key by which the receiver verifies them.

    The first event is that of the webhook's own adding. A private or loopback host and plain http need
    `delivery.webhook_hosts` in assay.toml; a link-local address is refused.
    """
    verify_webhook_target(request.url)
    tenant_id, at = caller.tenant_id, caller.at
    webhook_id = f"whk_{tools.entropy.token(_ID_BYTES).hex()}"

    def work(unit: Unit) -> Webhook:
        webhook = Webhook(
            webhook_id=webhook_id,
            url=request.url,
            types=tuple(sorted(request.types)),
            added_by=confirm(unit, caller).principal.id,
            added_at=at,
        )
        event = news(EntryKind.WEBHOOK_ADDED, webhook_id, {"webhook_id": webhook_id})
        draft = delivery_entry(tenant_id, EntryKind.WEBHOOK_ADDED, webhook, at=at, events=(event,))
        unit.record(draft)
        unit.outbox.confirm(tenant_id, cursor_name(webhook_id), unit.outbox.newest(tenant_id))
        return webhook

    return AddedWebhook(webhook=tools.database.write(work), public_key=_public_key(tools))


def remove_webhook(tools: Tools, caller: Caller, request: RemoveWebhook) -> Webhook:
    """Remove a webhook: nothing is posted there any more. What was posted stays in the ledger."""
    tenant_id, webhook_id = caller.tenant_id, request.webhook_id

    def work(unit: Unit) -> Webhook:
        by = confirm(unit, caller).principal.id
        webhook = load_webhook(unit, tenant_id, webhook_id)
        told = WebhookRemoved(webhook_id=webhook_id, removed_by=by)
        event = news(EntryKind.WEBHOOK_REMOVED, webhook_id, {"webhook_id": webhook_id})
        draft = delivery_entry(tenant_id, EntryKind.WEBHOOK_REMOVED, told, at=caller.at, events=(event,))
        unit.record(draft)
        return webhook

    return tools.database.write(work)


def webhooks(tools: Tools, caller: Caller, request: ListWebhooks) -> Page[ShownWebhook]:
    """List webhooks, the oldest first, each with its position in the events and how many were given up."""
    start = read_number("webhooks", request.cursor)
    found = list_webhooks(tools, caller.tenant_id)
    end = start + request.limit
    return Page(items=found[start:end], next=next_cursor("webhooks", end) if len(found) > end else None)


def list_webhooks(tools: Tools, tenant_id: TenantId) -> tuple[ShownWebhook, ...]:
    """The webhooks of a tenant, the oldest first."""

    def work(unit: Unit) -> tuple[ShownWebhook, ...]:
        rows = unit.webhooks.webhooks(tenant_id)
        return tuple(_shown(unit, tools, tenant_id, read_text(row.text, Webhook)) for row in rows)

    return tools.database.read(work)


def dead_events(tools: Tools, caller: Caller, request: ListDead) -> Page[Letter]:
    """List the events that were given up, in order, each with the reason of the last attempt."""
    after = read_number("dead_events", request.cursor)

    def work(unit: Unit) -> tuple[Letter, ...]:
        load_webhook(unit, caller.tenant_id, request.webhook_id)
        return _letters(unit, caller.tenant_id, request.webhook_id, LetterState.DEAD)

    found = [one for one in tools.database.read(work) if one.position > after]
    return cut("dead_events", found, request.limit, lambda one: one.position)


def replay_webhook(tools: Tools, caller: Caller, request: ReplayWebhook) -> Replayed:
    """Post again what was given up, or with `after` all events after a position; message ids stay the same."""
    tenant_id, webhook_id, at = caller.tenant_id, request.webhook_id, caller.at

    def work(unit: Unit) -> Replayed:
        by = confirm(unit, caller).principal.id
        webhook = load_webhook(unit, tenant_id, webhook_id)
        if request.after is None:
            due = [one.position for one in _letters(unit, tenant_id, webhook_id, LetterState.DEAD)]
        else:
            due = _past(unit, tenant_id, webhook, request.after)
        told = WebhookReplayed(
            webhook_id=webhook_id, after=request.after, events=len(due), asked_by=by, positions=tuple(due)
        )
        unit.record(delivery_entry(tenant_id, EntryKind.WEBHOOK_REPLAYED, told, at=at))
        return Replayed(webhook_id=webhook_id, due=len(due))

    return tools.database.write(work)


def load_webhook(unit: Unit, tenant_id: TenantId, webhook_id: str) -> Webhook:
    row = unit.webhooks.find_webhook(tenant_id, webhook_id)
    if row is None or unit.webhooks.is_ended(tenant_id, webhook_id):
        raise NotFoundError(f"tenant `{tenant_id}` has no webhook `{webhook_id[:80]}`")
    return read_text(row.text, Webhook)


def _letters(unit: Unit, tenant_id: TenantId, webhook_id: str, state: LetterState) -> tuple[Letter, ...]:
    """The events of a webhook that were given up, or are due again, by position, as the ledger has them."""
    if state is LetterState.DUE and unit.ledger.find_latest(tenant_id, EntryKind.WEBHOOK_REPLAYED) is None:
        return ()
    found: dict[int, Letter] = {}
    for stored in unit.ledger.entries(tenant_id, kinds=_LETTER_KINDS):
        entry = verify_stored_entry(stored, tenant_id, stored.sequence_number, previous_hash=None)
        body: Any = msgspec.json.decode(entry.body, type=_LETTER_KINDS[entry.kind])
        if body.webhook_id == webhook_id:
            _follow(found, body, entry.timestamp)
    return tuple(one for _, one in sorted(found.items()) if one.state is state)[:_MOST_LETTERS]


def _follow(found: dict[int, Letter], body: WebhookFailed | WebhookReplayed | WebhookResent, at: Instant) -> None:
    if isinstance(body, WebhookFailed):
        found[body.position] = Letter(
            webhook_id=body.webhook_id,
            position=body.position,
            state=LetterState.DEAD,
            attempts=body.attempts,
            problem=body.problem,
            changed_at=at,
        )
    elif isinstance(body, WebhookResent):
        found.pop(body.position, None)
    elif body.positions is UNSET:
        # 0.1.0 did not say which events were posted again, and whether they were taken.
        found.clear()
    else:
        for position in body.positions:
            blank = Letter(
                webhook_id=body.webhook_id,
                position=position,
                state=LetterState.DUE,
                attempts=0,
                problem="",
                changed_at=at,
            )
            found[position] = replace(found.get(position, blank), state=LetterState.DUE, changed_at=at)


def _past(unit: Unit, tenant_id: TenantId, webhook: Webhook, after: int) -> list[int]:
    """What the subscription has settled already; what is still before it comes by itself."""
    through = unit.outbox.cursor(tenant_id, cursor_name(webhook.webhook_id))
    events = unit.outbox.events(tenant_id, after=after, limit=_MOST_LETTERS)
    return [one.position for one in events if one.position <= through and webhook.wants(one.type)]


def _shown(unit: Unit, tools: Tools, tenant_id: TenantId, webhook: Webhook) -> ShownWebhook:
    name = webhook.webhook_id
    return ShownWebhook(
        webhook=webhook,
        position=unit.outbox.cursor(tenant_id, cursor_name(name)),
        newest=unit.outbox.newest(tenant_id),
        dead=len(_letters(unit, tenant_id, name, LetterState.DEAD)),
        due=len(_letters(unit, tenant_id, name, LetterState.DUE)),
        public_key=_public_key(tools),
    )


def _public_key(tools: Tools) -> str:
    key = tools.ledger_signer.public_key
    assert key is not None  # noqa: S101 - the configuration refuses a ledger key that nobody could verify with
    return render_webhook_key(key)


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
        lambda unit: unit.webhooks.find_attempts(event.tenant_id, webhook.webhook_id, event.position)
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
    letters = tools.database.read(lambda unit: _letters(unit, tenant_id, webhook.webhook_id, LetterState.DUE))
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
        attempts = _attempts_row(tools, webhook, event.position, number)
        tools.database.write(partial(_put, tenant_id=event.tenant_id, attempts=attempts))
        if not wait(pause_after(number, chance=_chance(tools))):
            raise Interrupted
        sent = _attempt(tools, webhook, event, sender)
        tried = number
    if sent.is_taken and tried:
        tools.database.write(lambda unit: unit.webhooks.drop_attempts(event.tenant_id, webhook.webhook_id))
    return sent


def _rest(tools: Tools, before: WebhookAttempts) -> float:
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
    name, position = webhook.webhook_id, letter.position
    if sent.is_taken:
        draft = _entry(tools, tenant_id, EntryKind.WEBHOOK_RESENT, WebhookResent(webhook_id=name, position=position))
    else:
        draft = _failure(tools, tenant_id, webhook, position, sent, attempts=letter.attempts + 1)
    tools.database.write(lambda unit: unit.record(draft))


def _put(unit: Unit, *, tenant_id: TenantId, attempts: WebhookAttempts) -> None:
    unit.webhooks.put_attempts(tenant_id, attempts)


def _give_up(tools: Tools, webhook: Webhook, event: OutboxEvent, sent: Sent) -> None:
    """On record without an event of its own: that one would go to the same place, and fail there for ever."""
    attempts = _attempts_row(tools, webhook, event.position, MOST_ATTEMPTS)
    draft = _failure(tools, event.tenant_id, webhook, event.position, sent, attempts=MOST_ATTEMPTS)

    def work(unit: Unit) -> None:
        unit.webhooks.put_attempts(event.tenant_id, attempts)
        unit.record(draft)

    tools.database.write(work)


def _failure(tools: Tools, tenant_id: TenantId, webhook: Webhook, position: int, sent: Sent, *, attempts: int) -> Draft:
    body = WebhookFailed(
        webhook_id=webhook.webhook_id,
        position=position,
        attempts=attempts,
        problem=sent.problem[:_LONGEST_PROBLEM],
    )
    return _entry(tools, tenant_id, EntryKind.WEBHOOK_FAILED, body)


def _entry(tools: Tools, tenant_id: TenantId, kind: EntryKind, body: Struct) -> Draft:
    return delivery_entry(tenant_id, kind, body, at=tools.clock.now())


def _attempts_row(tools: Tools, webhook: Webhook, position: int, attempts: int) -> WebhookAttempts:
    return WebhookAttempts(
        webhook_id=webhook.webhook_id, position=position, attempts=attempts, changed_at=tools.clock.now()
    )


def _chance(tools: Tools) -> float:
    return tools.entropy.token(1)[0] / 256
