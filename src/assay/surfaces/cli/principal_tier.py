"""`assay principal tier`: a change of tier is asked for, and its history told (FRJ-015)."""

import click

from assay.surfaces.cli.acting import plain, read_session, session_option
from assay.surfaces.cli.output import Call, ListCommand, tenant_option

__all__ = ["tier"]


@click.command(cls=ListCommand)
@click.argument("principal_id", metavar="ID")
@click.argument("to_tier", metavar="[TIER]", type=click.IntRange(0, 3), required=False)
@click.option("--reason", metavar="TEXT", help="Why; shown to whoever decides, and recorded.")
@tenant_option
@session_option
@click.pass_obj
def tier(
    call: Call, principal_id: str, to_tier: int | None, reason: str | None, tenant: str | None, session: str | None
) -> None:
    """Ask that the tier of ID becomes TIER; without TIER, tell every change of it so far.

    Asking opens a ticket on the review desk (`assay review`), which an admin answers who is neither the asker nor ID.
    """
    if to_tier is None:
        _tell(call, principal_id, tenant)
        return
    if reason is None:
        raise click.UsageError("expected --reason with TIER")
    _ask(call, principal_id, to_tier, reason, read_session(session))


def _ask(call: Call, principal_id: str, to_tier: int, reason: str, session: str) -> None:
    from assay.flows.identity.change_tier import request_tier
    from assay.kernel.ids import parse_principal_id

    subject = parse_principal_id(principal_id)
    with call.open_node(writable=True) as (tools, _):
        ticket = request_tier(tools, subject, to_tier, reason=reason, credential=session, at=tools.clock.now())
    call.answer(ticket, f"{ticket.id} {ticket.title}")


def _tell(call: Call, principal_id: str, tenant: str | None) -> None:
    from assay.flows.identity.change_tier import list_tier_changes
    from assay.kernel.ids import parse_principal_id
    from assay.kernel.instant import render_instant

    with call.open_node() as (tools, config):
        found = list_tier_changes(tools, call.tenant_of(config, tenant), parse_principal_id(principal_id))
    rows = [
        (
            f"v{one.version}",
            f"{one.from_tier} -> {one.to_tier}",
            render_instant(one.changed_at),
            one.changed_by,
            plain(one.reason),
        )
        for one in found
    ]
    heads = ("VERSION", "TIER", "CHANGED", "BY", "WHY")
    call.answer_table(found, heads, rows, nothing="no change of tier was authorised yet")
