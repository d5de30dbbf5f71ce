"""`assay verdict show`, `list` and `hold-list`: reading works beside a running server."""

import click
from msgspec import Struct
from msgspec.structs import replace

from assay.flows.tools import Tools
from assay.flows.verdicts.explain_verdict import ExplainedRule, VerdictExplainer
from assay.flows.verdicts.read_verdicts import (
    Decided,
    HeldVerdict,
    list_held,
    list_verdicts,
    show_entry_verdict,
    show_transcript,
    show_verdict,
)
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.transcript import Transcript
from assay.ports.verdict_store import VerdictRow
from assay.surfaces.cli.acting import MOMENT
from assay.surfaces.cli.output import Call, ListCommand, NodeCommand, tenant_option
from assay.surfaces.cli.verdict_page import verdict_page
from assay.surfaces.cli.verdict_text import HELD
from assay.verdicts.docket import UNRULED
from assay.verdicts.envelope import Verdict
from assay.verdicts.govern import Standing

_MOST = 1000


class ShownVerdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`transcripts` are what a model was asked and answered, by their id; none of a held verdict."""

    decided: Decided
    explained: tuple[ExplainedRule, ...]
    transcripts: dict[str, Transcript]


@click.command(cls=NodeCommand)
@click.argument("named", metavar="TELEMETRY_ID", required=False)
@click.option("--entry", type=click.IntRange(min=1), metavar="SEQ", help="By an entry of the ledger instead.")
@click.option("--rule", "rule_id", metavar="ID", help="Of this rule alone.")
@click.option("--transcript", "with_texts", is_flag=True, help="Print what the model was asked and what it wrote.")
@tenant_option
@click.pass_obj
def show(
    call: Call, named: str | None, entry: int | None, rule_id: str | None, tenant: str | None, *, with_texts: bool
) -> None:
    """Explain the verdicts on a record: each obligation with its clause, what the model asserted, what the verifier
    found, how the governor ruled, from what it was computed, and how to prove and replay it.

    A held verdict is not shown, only the ticket that asks for a person.
    """
    if (named is None) is (entry is None):
        raise click.UsageError("expected TELEMETRY_ID or --entry")
    with call.open_node() as (tools, config):
        shown = _look(tools, call.tenant_of(config, tenant), named, entry, rule_id)
    call.answer(shown, verdict_page(shown.decided, shown.explained, shown.transcripts, with_texts=with_texts))


def _look(tools: Tools, tenant_id: TenantId, named: str | None, entry: int | None, rule_id: str | None) -> ShownVerdict:
    decided = (
        show_verdict(tools, tenant_id, named or "") if entry is None else show_entry_verdict(tools, tenant_id, entry)
    )
    explained = VerdictExplainer(tools, tenant_id).explain(decided)
    if rule_id is not None:
        if rule_id not in {one.rule_id for one in decided.verdicts}:
            raise click.UsageError(f"expected a rule that judged `{decided.telemetry_id}`, got `{rule_id}`")
        decided, explained = _of_rule(decided, explained, rule_id)
    named_in = {one.envelope.transcript_ref for one in decided.verdicts if one.envelope is not None}
    transcripts = {ref: show_transcript(tools, tenant_id, ref) for ref in sorted(named_in)}
    return ShownVerdict(decided=decided, explained=explained, transcripts=transcripts)


def _of_rule(
    decided: Decided, explained: tuple[ExplainedRule, ...], rule_id: str
) -> tuple[Decided, tuple[ExplainedRule, ...]]:
    kept = tuple(one for one in decided.verdicts if one.rule_id == rule_id)
    return replace(decided, verdicts=kept), tuple(one for one in explained if one.rule_id == rule_id)


@click.command(cls=ListCommand, name="list")
@click.option("--rule", "rule_id", metavar="ID", help="Of this rule alone.")
@click.option("--subject", metavar="NAME", help="About this subject alone.")
@click.option("--verdict", "wanted", type=click.Choice([one.value for one in Verdict]), help="Only this verdict.")
@click.option("--from", "from_at", type=MOMENT, metavar="TIME", help="Only records measured then or later.")
@click.option("--to", "until", type=MOMENT, metavar="TIME", help="Only records measured before this.")
@click.option("--before", type=click.IntRange(min=1), metavar="SEQ", help="Go on before this entry: the next page.")
@click.option("--limit", type=click.IntRange(1, _MOST), default=50, show_default=True, metavar="N", help="At most N.")
@tenant_option
@click.pass_obj
def list_(
    call: Call,
    /,
    *,
    rule_id: str | None,
    subject: str | None,
    wanted: str | None,
    from_at: Instant | None,
    until: Instant | None,
    before: int | None,
    limit: int,
    tenant: str | None,
) -> None:
    """List verdicts, the newest first. A held one is listed as HELD, whatever the model said."""
    with call.open_node() as (tools, config):
        rows = list_verdicts(
            tools,
            call.tenant_of(config, tenant),
            rule_id=rule_id,
            subject=subject,
            verdict=wanted,
            since=from_at,
            until=until,
            before=before,
            limit=limit,
        )
    heads = ("ENTRY", "VERDICT", "RECORD", "SUBJECT", "RULE", "TIER", "VERIFIER", "MEASURED")
    call.answer_table(rows, heads, map(_row, rows), nothing="no verdict")


def _row(one: VerdictRow) -> tuple[str, ...]:
    return (
        str(one.sequence_number),
        HELD if one.standing == Standing.HELD else one.verdict,
        one.telemetry_id,
        one.subject,
        "-" if one.rule_id == UNRULED else one.rule_id,
        one.tier,
        one.status,
        render_instant(one.as_of),
    )


@click.command(cls=ListCommand, name="hold-list")
@click.option("--after", type=click.IntRange(min=0), default=0, metavar="SEQ", help="Go on after this entry.")
@click.option("--limit", type=click.IntRange(1, _MOST), default=50, show_default=True, metavar="N", help="At most N.")
@tenant_option
@click.pass_obj
def hold_list(call: Call, after: int, limit: int, tenant: str | None) -> None:
    """Verdicts that wait for a person, the oldest first, each with the ticket that asks.

    `assay review show TICKET` prints what the person is to attest, and its hash.
    """
    with call.open_node() as (tools, config):
        tenant_id, at = call.tenant_of(config, tenant), tools.clock.now()
        held = list_held(tools, tenant_id, at=at, after=after, limit=limit)
    heads = ("TICKET", "ENTRY", "RECORD", "SUBJECT", "RULE", "DUE")
    call.answer_table(held, heads, map(_held_row, held), nothing="no verdict is held")


def _held_row(one: HeldVerdict) -> tuple[str, ...]:
    due = "-" if one.ticket.due_at is None else render_instant(one.ticket.due_at)
    return (
        one.ticket.id,
        str(one.sequence_number),
        one.telemetry_id,
        one.subject,
        one.rule_id,
        f"{due}{', overdue' if one.is_overdue else ''}",
    )
