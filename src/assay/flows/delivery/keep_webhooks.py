"""An operator says where events are posted: add, remove, look, and ask once more for events that were given up."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from assay.delivery.webhook import MOST_ATTEMPTS, Webhook, render_webhook_key
from assay.flows.delivery.delivery_entry import delivery_entry, news, read_text, text_of
from assay.flows.errors import NotFoundError
from assay.flows.tools import Tools
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.webhook_store import EndedWebhook, Letter, LetterState, StoredWebhook

__all__ = [
    "AddedWebhook",
    "ShownWebhook",
    "add_webhook",
    "cursor_name",
    "list_dead",
    "list_webhooks",
    "load_webhook",
    "remove_webhook",
    "replay_webhook",
]

_ID_BYTES = 12
_MOST_LETTERS = 10_000
_MOST_SHOWN = 1000


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


def add_webhook(
    tools: Tools, tenant_id: TenantId, url: str, types: Iterable[str] = (), *, by: PrincipalId, at: Instant
) -> AddedWebhook:
    """From the event of its own adding on, by which a receiver sees that it is heard."""
    webhook = Webhook(
        webhook_id=f"whk_{tools.entropy.token(_ID_BYTES).hex()}",
        url=url,
        types=tuple(sorted(types)),
        added_by=by,
        added_at=at,
    )

    def work(unit: Unit) -> None:
        event = news(EntryKind.WEBHOOK_ADDED, webhook.webhook_id, {"webhook_id": webhook.webhook_id})
        draft = delivery_entry(tenant_id, EntryKind.WEBHOOK_ADDED, webhook, at=at, events=(event,))
        number = unit.ledger.append(draft).sequence_number
        row = StoredWebhook(webhook_id=webhook.webhook_id, text=text_of(webhook), sequence_number=number)
        unit.webhooks.add_webhook(tenant_id, row)
        unit.outbox.confirm(tenant_id, cursor_name(webhook.webhook_id), unit.outbox.newest(tenant_id))

    tools.database.write(work)
    return AddedWebhook(webhook=webhook, public_key=_public_key(tools))


def remove_webhook(tools: Tools, tenant_id: TenantId, webhook_id: str, *, by: PrincipalId, at: Instant) -> Webhook:
    """Nothing is posted there any more; what was is still on record."""

    def work(unit: Unit) -> Webhook:
        webhook = load_webhook(unit, tenant_id, webhook_id)
        told = {"webhook_id": webhook_id, "removed_by": by}
        event = news(EntryKind.WEBHOOK_REMOVED, webhook_id, {"webhook_id": webhook_id})
        draft = delivery_entry(tenant_id, EntryKind.WEBHOOK_REMOVED, told, at=at, events=(event,))
        number = unit.ledger.append(draft).sequence_number
        ended = EndedWebhook(webhook_id=webhook_id, by=by, ended_at=at, sequence_number=number)
        unit.webhooks.end_webhook(tenant_id, ended)
        return webhook

    return tools.database.write(work)


def list_webhooks(tools: Tools, tenant_id: TenantId) -> tuple[ShownWebhook, ...]:
    """The webhooks of a tenant, the oldest first."""

    def work(unit: Unit) -> tuple[ShownWebhook, ...]:
        rows = unit.webhooks.webhooks(tenant_id)
        return tuple(_shown(unit, tools, tenant_id, read_text(row.text, Webhook)) for row in rows)

    return tools.database.read(work)


def list_dead(tools: Tools, tenant_id: TenantId, webhook_id: str) -> tuple[Letter, ...]:
    """The events that were given up, in order, each with the reason of the last attempt."""

    def work(unit: Unit) -> tuple[Letter, ...]:
        load_webhook(unit, tenant_id, webhook_id)
        return _given_up(unit, tenant_id, webhook_id, limit=_MOST_SHOWN)

    return tools.database.read(work)


def replay_webhook(
    tools: Tools,
    tenant_id: TenantId,
    webhook_id: str,
    *,
    after: int | None = None,
    by: PrincipalId,
    at: Instant,
) -> int:
    """Have what was given up posted again, or with `after` all events after that place; how many are due now."""

    def work(unit: Unit) -> int:
        webhook = load_webhook(unit, tenant_id, webhook_id)
        due = _dead(unit, tenant_id, webhook_id, at) if after is None else _past(unit, tenant_id, webhook, after, at)
        for letter in due:
            unit.webhooks.put_letter(tenant_id, letter)
        told = {"webhook_id": webhook_id, "after": after, "events": len(due), "asked_by": by}
        unit.ledger.append(delivery_entry(tenant_id, EntryKind.WEBHOOK_REPLAYED, told, at=at))
        return len(due)

    return tools.database.write(work)


def load_webhook(unit: Unit, tenant_id: TenantId, webhook_id: str) -> Webhook:
    row = unit.webhooks.find_webhook(tenant_id, webhook_id)
    if row is None or unit.webhooks.is_ended(tenant_id, webhook_id):
        raise NotFoundError(f"tenant `{tenant_id}` has no webhook `{webhook_id[:80]}`")
    return read_text(row.text, Webhook)


def _dead(unit: Unit, tenant_id: TenantId, webhook_id: str, at: Instant) -> list[Letter]:
    found = _given_up(unit, tenant_id, webhook_id, limit=_MOST_LETTERS)
    return [replace(one, state=LetterState.DUE, changed_at=at) for one in found]


def _given_up(unit: Unit, tenant_id: TenantId, webhook_id: str, *, limit: int) -> tuple[Letter, ...]:
    """The dead letters, without the one after the subscription's place that is still tried."""
    place = unit.outbox.cursor(tenant_id, cursor_name(webhook_id))
    found = unit.webhooks.letters(tenant_id, webhook_id, state=LetterState.DEAD, limit=limit)
    return tuple(one for one in found if one.position <= place or one.attempts >= MOST_ATTEMPTS)


def _past(unit: Unit, tenant_id: TenantId, webhook: Webhook, after: int, at: Instant) -> list[Letter]:
    """What the subscription has settled already; what is still before it comes by itself."""
    through = unit.outbox.cursor(tenant_id, cursor_name(webhook.webhook_id))
    events = unit.outbox.events(tenant_id, after=after, limit=_MOST_LETTERS)
    return [
        Letter(
            webhook_id=webhook.webhook_id,
            position=one.position,
            state=LetterState.DUE,
            attempts=0,
            problem="",
            changed_at=at,
        )
        for one in events
        if one.position <= through and webhook.wants(one.type)
    ]


def _shown(unit: Unit, tools: Tools, tenant_id: TenantId, webhook: Webhook) -> ShownWebhook:
    name = webhook.webhook_id
    return ShownWebhook(
        webhook=webhook,
        position=unit.outbox.cursor(tenant_id, cursor_name(name)),
        newest=unit.outbox.newest(tenant_id),
        dead=len(_given_up(unit, tenant_id, name, limit=_MOST_LETTERS)),
        due=len(unit.webhooks.letters(tenant_id, name, state=LetterState.DUE, limit=_MOST_LETTERS)),
        public_key=_public_key(tools),
    )


def _public_key(tools: Tools) -> str:
    key = tools.ledger_signer.public_key
    assert key is not None  # noqa: S101 - the configuration refuses a ledger key that nobody could verify with
    return render_webhook_key(key)
