"""While serving: each webhook has a thread and a durable place in the outbox; those that come and go are noticed.

webhooks on record -> a subscription for each -> event -> signed and posted, again after pauses -> place confirmed
"""

import threading
from collections.abc import Callable
from typing import NamedTuple

import structlog

from assay.adapters.bus.inprocess import Bus, Subscription
from assay.adapters.webhooks.sender import HttpWebhookSender
from assay.delivery.webhook import Webhook
from assay.flows.delivery.webhooks import Interrupted, cursor_name, list_webhooks, post_due, post_event
from assay.kernel.ids import TenantId
from assay.ports.events import OutboxEvent
from assay.ports.webhook_sender import WebhookSender
from assay.surfaces.http.desk import Desk
from assay.surfaces.http.rounds import for_each_tenant

_log = structlog.get_logger("assay.serve")


class _Post(NamedTuple):
    subscription: Subscription
    removed: threading.Event


class WebhookPost:
    """All webhooks of one server; a slow or dead endpoint holds up its own events and nobody else's."""

    def __init__(self, desk: Desk, sender: WebhookSender | None = None) -> None:
        self._desk = desk
        self._sender = sender or HttpWebhookSender(allowed=desk.config.delivery.webhook_hosts)
        self._bus = Bus(desk.tools.database)
        self._posts: dict[tuple[TenantId, str], _Post] = {}
        self._replaying: set[str] = set()

    def sync_webhooks(self, desk: Desk) -> None:
        """One round: begin with those that were added, leave those that were removed, post what is due again."""
        for_each_tenant(desk, "sync_webhooks", self._sync)

    def close(self) -> None:
        """Before the database is closed; an event that waits for its next attempt comes again."""
        self._desk.stopping.set()
        for post in self._posts.values():
            post.removed.set()
        self._bus.close()

    def _sync(self, tenant_id: TenantId) -> None:
        shown = {one.webhook.webhook_id: one for one in list_webhooks(self._desk.tools, tenant_id)}
        for key, post in list(self._posts.items()):
            if key[0] == tenant_id and key[1] not in shown:
                post.removed.set()
                self._bus.unsubscribe(post.subscription)
                del self._posts[key]
        for name, one in shown.items():
            if (tenant_id, name) not in self._posts:
                self._posts[(tenant_id, name)] = self._begin(tenant_id, one.webhook)
            if one.due and name not in self._replaying:
                self._replay(tenant_id, one.webhook)

    def _begin(self, tenant_id: TenantId, webhook: Webhook) -> _Post:
        removed = threading.Event()
        handler = self._handler(webhook, removed)
        return _Post(self._bus.subscribe(cursor_name(webhook.webhook_id), tenant_id, handler), removed)

    def _handler(self, webhook: Webhook, removed: threading.Event) -> Callable[[OutboxEvent], None]:
        def handle(event: OutboxEvent) -> None:
            if removed.is_set():
                raise Interrupted
            wait = lambda seconds: not removed.wait(seconds)  # noqa: E731 - one line of its own
            if not post_event(self._desk.tools, webhook, event, self._sender, wait=wait):
                _log.warning("webhook", webhook=webhook.webhook_id, position=event.position, message="given up")

        return handle

    def _replay(self, tenant_id: TenantId, webhook: Webhook) -> None:
        """On a thread of its own: an endpoint that is slow shall not hold up the round."""
        name = webhook.webhook_id
        self._replaying.add(name)

        def replay() -> None:
            try:
                going_on = lambda: not self._desk.stopping.is_set()  # noqa: E731 - as above
                post_due(self._desk.tools, tenant_id, webhook, self._sender, going_on=going_on)
            finally:
                self._replaying.discard(name)

        threading.Thread(target=replay, name=f"assay-replay-{name}", daemon=True).start()
