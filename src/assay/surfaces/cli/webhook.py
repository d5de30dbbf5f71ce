"""`assay webhook`: where events are posted, how far each has come, and what could not be delivered."""

import click

from assay.flows.delivery.keep_webhooks import ShownWebhook
from assay.identity.principal import BuiltInRole
from assay.surfaces.cli.acting import acting_as, session_option
from assay.surfaces.cli.output import Call, Group, ListCommand, tenant_option

__all__ = ["webhook"]

_HEADS = ("WEBHOOK", "URL", "TYPES", "POSITION", "DEAD")


@click.group(cls=Group)
def webhook() -> None:
    """Webhooks: add, list, remove, dead letters, replay."""


@webhook.command("add")
@click.argument("url", metavar="URL")
@click.option(
    "--type", "types", multiple=True, metavar="TYPE", help="A type of event, such as rca.triggered; else all."
)
@tenant_option
@session_option
@click.pass_obj
def _add(call: Call, url: str, types: tuple[str, ...], tenant: str | None, session: str | None) -> None:
    """Have events posted to URL from now on, signed; prints the key by which the receiver verifies.

    A host inside (private, loopback, link-local) and plain http need `delivery.webhook_hosts` of assay.toml.
    """
    from assay.flows.delivery.keep_webhooks import add_webhook

    with call.open_node(writable=True) as (tools, config):
        at, tenant_id = tools.clock.now(), call.tenant_of(config, tenant)
        by = acting_as(BuiltInRole.OPERATOR, tools, tenant_id, session, at=at)
        added = add_webhook(tools, tenant_id, url, types, by=by, at=at)
    call.answer(added, f"{added.webhook.webhook_id}\n{added.public_key}")


@webhook.command("list", cls=ListCommand)
@tenant_option
@click.pass_obj
def _list(call: Call, tenant: str | None) -> None:
    """List webhooks, each with its place in the events and what could not be delivered."""
    from assay.flows.delivery.keep_webhooks import list_webhooks

    with call.open_node() as (tools, config):
        found = list_webhooks(tools, call.tenant_of(config, tenant))
    call.answer_table(found, _HEADS, map(_row, found), nothing="no webhook is kept")


@webhook.command("remove")
@click.argument("webhook_id", metavar="ID")
@tenant_option
@session_option
@click.pass_obj
def _remove(call: Call, webhook_id: str, tenant: str | None, session: str | None) -> None:
    """Post nothing there any more."""
    from assay.flows.delivery.keep_webhooks import remove_webhook

    with call.open_node(writable=True) as (tools, config):
        at, tenant_id = tools.clock.now(), call.tenant_of(config, tenant)
        by = acting_as(BuiltInRole.OPERATOR, tools, tenant_id, session, at=at)
        removed = remove_webhook(tools, tenant_id, webhook_id, by=by, at=at)
    call.answer(removed, f"removed {removed.webhook_id}")


@webhook.command("dead", cls=ListCommand)
@click.argument("webhook_id", metavar="ID")
@tenant_option
@click.pass_obj
def _dead(call: Call, webhook_id: str, tenant: str | None) -> None:
    """List the events that were given up, each with the reason of its last attempt."""
    from assay.flows.delivery.keep_webhooks import list_dead

    with call.open_node() as (tools, config):
        found = list_dead(tools, call.tenant_of(config, tenant), webhook_id)
    rows = [(str(one.position), str(one.attempts), one.problem) for one in found]
    call.answer_table(found, ("POSITION", "ATTEMPTS", "PROBLEM"), rows, nothing="nothing was given up")


@webhook.command("replay")
@click.argument("webhook_id", metavar="ID")
@click.option(
    "--after", type=click.IntRange(0), metavar="POSITION", help="All events after this one, delivered or not."
)
@tenant_option
@session_option
@click.pass_obj
def _replay(call: Call, webhook_id: str, after: int | None, tenant: str | None, session: str | None) -> None:
    """Have what was given up posted once more, by the server as soon as it runs; the ids of messages stay the same."""
    from assay.flows.delivery.keep_webhooks import replay_webhook

    with call.open_node(writable=True) as (tools, config):
        at, tenant_id = tools.clock.now(), call.tenant_of(config, tenant)
        by = acting_as(BuiltInRole.OPERATOR, tools, tenant_id, session, at=at)
        count = replay_webhook(tools, tenant_id, webhook_id, after=after, by=by, at=at)
    call.answer({"webhook_id": webhook_id, "due": count}, f"{count} events are due again")


def _row(one: ShownWebhook) -> tuple[str, ...]:
    return (
        one.webhook.webhook_id,
        one.webhook.url,
        ",".join(one.webhook.types) or "all",
        f"{one.position} of {one.newest}",
        str(one.dead),
    )
