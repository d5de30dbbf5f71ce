"""`assay claims show` and `list`: what is on record about bundles."""

import click

from assay.claims.bundle import Decision
from assay.flows.claims.claims_entry import ClaimsDecided
from assay.flows.claims.show_claims import ClaimsView, ListedClaims, list_claims, show_claims
from assay.kernel.digest import parse_digest
from assay.kernel.ids import parse_principal_id
from assay.kernel.instant import render_instant
from assay.surfaces.cli.acting import plain
from assay.surfaces.cli.claims_text import gated_text
from assay.surfaces.cli.output import Call, ListCommand, NodeCommand, tenant_option

_REASON = 80


@click.command(cls=NodeCommand)
@click.argument("bundle_hash", metavar="HASH")
@tenant_option
@click.pass_obj
def show(call: Call, bundle_hash: str, tenant: str | None) -> None:
    """Show the bundle HASH as it stands, and every decision about it in order."""
    wanted = parse_digest(bundle_hash)
    with call.open_node() as (tools, config):
        tenant_id, at = call.tenant_of(config, tenant), tools.clock.now()
        view = tools.database.read(lambda unit: show_claims(unit, tools, tenant_id, wanted, at=at))
    call.answer(view, _view_text(view))


@click.command(name="list", cls=ListCommand)
@click.option("--agent", metavar="ID", help="Only bundles of this principal.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="At most so many.")
@tenant_option
@click.pass_obj
def list_(call: Call, agent: str | None, limit: int, tenant: str | None) -> None:
    """List the latest bundles, each with its decision."""
    by = None if agent is None else parse_principal_id(agent)
    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        found = tools.database.read(lambda unit: list_claims(unit, tenant_id, submitted_by=by, limit=limit))
    heads = ("BUNDLE", "RECEIVED", "AGENT", "TIER", "DECISION", "WHY")
    call.answer_table(found, heads, map(_row, found), nothing="no bundle was received")


def _row(one: ListedClaims) -> tuple[str, ...]:
    why = plain(" ".join((one.reason or "").split()))[:_REASON]
    return one.bundle_hash, render_instant(one.received_at), one.submitted_by, one.tier, one.decision or "none yet", why


def _view_text(view: ClaimsView) -> str:
    lines = [gated_text(view.gated), "", f"received {render_instant(view.received_at)} from {view.submitted_by}"]
    if view.resumes is not None:
        lines.append(f"in the place of {view.resumes}")
    if view.successor is not None:
        lines.append(f"its place was taken by {view.successor}")
    lines += [_decision_line(one) for one in view.decisions]
    lines += [
        f"approved by {one.approver} at {render_instant(one.timestamp)}: {plain(one.reason) or '-'}"
        for one in view.gated.bundle.audit_trail.human_approvals
        if view.gated.decision is Decision.PUBLISH
    ]
    return "\n".join(lines)


def _decision_line(one: ClaimsDecided) -> str:
    why = plain(" ".join(one.outcome.reason.split()))[:_REASON]
    return f"{one.position}. {render_instant(one.outcome.decided_at)} {one.outcome.decision}: {why}"
