"""`assay rules`: the registry that answers and outcomes rest on."""

from pathlib import Path

import click

from assay.kernel.instant import render_instant
from assay.surfaces.cli.acting import (
    credential_option,
    plain,
    read_credential,
    read_session,
    session_option,
)
from assay.surfaces.cli.output import Call, Group, ListCommand, tenant_option
from assay.surfaces.cli.source_texts import source_texts
from assay.surfaces.cli.text_file import read_text

__all__ = ["rules"]

_HONEST_NO = 1
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group(cls=Group)
def rules() -> None:
    """The rule registry: versions, who stands by them, and what came of answers that used them."""


@rules.command("list", cls=ListCommand)
@tenant_option
@click.pass_obj
def _list(call: Call, tenant: str | None) -> None:
    """List all rules with their counters; `!` marks those whose outcomes are worth a look."""
    from assay.flows.delivery.inspect_delivery import list_rules

    with call.open_node() as (tools, config):
        found = list_rules(tools, call.tenant_of(config, tenant))
    rows = [
        (
            "!" if one.alert is not None or one.item_id is not None else "",
            f"{one.rule_id}@{one.version}",
            one.source,
            "certified" if one.is_certified else "not certified",
            f"{one.tally.success}/{one.tally.total}",
            one.item_id or "",
        )
        for one in found
    ]
    heads = ("", "RULE", "SOURCE", "STATE", "SUCCESS", "ROOT CAUSE")
    call.answer_table(found, heads, rows, nothing="no rule is registered")


@rules.command("alerts", cls=ListCommand)
@click.option("--min-total", type=click.IntRange(1), default=20, show_default=True, help="From so many outcomes on.")
@click.option(
    "--min-confidence", type=click.FloatRange(0, 1), default=0.8, show_default=True, help="Below this it is one."
)
@tenant_option
@click.pass_context
def _alerts(context: click.Context, tenant: str | None, *, min_total: int, min_confidence: float) -> None:
    """List rules whose outcomes are bad over time, the worst first; exit 1 if there is one."""
    from assay.delivery.tally import AlertRule
    from assay.flows.delivery.inspect_outcomes import list_alerts

    call: Call = context.obj
    rule = AlertRule(min_total=min_total, min_confidence=min_confidence)
    with call.open_node() as (tools, config):
        found = list_alerts(tools, call.tenant_of(config, tenant), rule)
    rows = [
        (
            one.alert.rule_id,
            f"{one.alert.confidence:.3f}",
            f"{one.alert.tally.success}/{one.alert.tally.total}",
            one.item_id or "",
        )
        for one in found
    ]
    heads = ("RULE", "CONFIDENCE", "SUCCESS", "ROOT CAUSE")
    call.answer_table(found, heads, rows, nothing="no rule is worth a look")
    if found:
        context.exit(_HONEST_NO)


@rules.command("sessions", cls=ListCommand)
@click.argument("session", metavar="[SESSION]", required=False)
@click.option("--after", default="", metavar="SESSION", help="From the one after this name on.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@tenant_option
@click.pass_obj
def _sessions(call: Call, session: str | None, after: str, limit: int, tenant: str | None) -> None:
    """List sessions that told outcomes, or what SESSION (`session:ID` or `sender:ID`) told."""
    from assay.flows.delivery.inspect_delivery import show_session
    from assay.flows.delivery.inspect_outcomes import list_sessions

    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        if session is not None:
            signals = show_session(tools, tenant_id, session)
            told = [
                (render_instant(one.received_at), str(one.outcome), ", ".join(one.rule_ids), one.answer_id or "")
                for one in signals
            ]
            call.answer_table(signals, ("RECEIVED", "OUTCOME", "RULES", "ANSWER"), told, nothing="it told nothing")
            return
        found = list_sessions(tools, tenant_id, after=after, limit=limit)
    rows = [(one.session, str(one.signals)) for one in found]
    call.answer_table(found, ("SESSION", "SIGNALS"), rows, nothing="no session told an outcome")


@rules.command("show")
@click.argument("rule_id", metavar="RULE")
@tenant_option
@click.pass_obj
def _show(call: Call, rule_id: str, tenant: str | None) -> None:
    """Show a rule: its text, versions, certifications, counters and their series by day."""
    from assay.flows.delivery.inspect_delivery import show_rule

    with call.open_node() as (tools, config):
        shown = show_rule(tools, call.tenant_of(config, tenant), rule_id)
    tally = shown.tally
    lines = [
        f"{shown.rule_id}@{shown.versions[-1].version} {'certified' if shown.is_certified else 'not certified'}",
        f"outcomes {tally.total}: {tally.success} success, {tally.failure} failure, {tally.partial} partial",
        f"indeterminate {tally.indeterminate}, failures in a row {tally.consecutive_failures}",
        f"confidence {shown.confidence}, adjusted {shown.adjusted_confidence}",
        plain(shown.content),
    ]
    call.answer(shown, "\n".join(lines))


@rules.command("add")
@click.argument("rule_id", metavar="RULE")
@click.argument("file", metavar="FILE", type=_FILE)
@click.option("--domain", "domains", multiple=True, metavar="NAME", help="What it is authoritative for. Repeatable.")
@click.option("--capability", "capabilities", multiple=True, metavar="SLUG", help="What it stands behind. Repeatable.")
@click.option("--code", is_flag=True, help="The rule lives in code that is annotated with its id.")
@credential_option
@click.pass_obj
def _add(
    call: Call,
    rule_id: str,
    file: Path,
    domains: tuple[str, ...],
    capabilities: tuple[str, ...],
    credential: str | None,
    *,
    code: bool,
) -> None:
    """Record the text in FILE as the next version of RULE; the same text again adds nothing."""
    from assay.delivery.rule import RuleSource, render_ref
    from assay.flows.delivery.register_rule import register_rule

    token, content = read_credential(credential), read_text(file)
    with call.open_node(writable=True) as (tools, _):
        ref = register_rule(
            tools,
            rule_id,
            content,
            domains=domains,
            capabilities=capabilities,
            source=RuleSource.CODE if code else RuleSource.TEXT,
            credential=token,
            at=tools.clock.now(),
        )
    call.answer(ref, render_ref(ref))


@rules.command("certify")
@click.argument("rule_id", metavar="RULE")
@click.option("--seen", metavar="HASH", help="The hash of what you were shown; without it the rule is only shown.")
@session_option
@click.pass_obj
def _certify(call: Call, rule_id: str, seen: str | None, session: str | None) -> None:
    """Stand by the version of RULE in force, as a person in session, having seen it."""
    from assay.flows.delivery.certify_rule import ask_certification, certify_rule
    from assay.flows.identity.authenticate import authenticate
    from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
    from assay.kernel.digest import parse_digest

    token = read_session(session)
    with call.open_node(writable=True) as (tools, _):
        now = tools.clock.now()
        tenant_id = authenticate(tools, token, at=now).principal.tenant_id
        ticket = ask_certification(tools, tenant_id, rule_id, at=now)
        if seen is None:
            call.answer(ticket, f"{plain(ticket.shown)}\n--seen {ticket.shown_hash}")
            return
        done = certify_rule(
            tools, rule_id, seen=parse_digest(seen), credential=token, follow_ups=ROOM_FOLLOW_UPS, at=now
        )
    call.answer(done, f"{ticket.about}: {done.settlement.reason}")


@rules.command("grant")
@click.argument("principal", metavar="PRINCIPAL")
@click.argument("names", metavar="RULE...", nargs=-1)
@credential_option
@click.pass_obj
def _grant(call: Call, principal: str, names: tuple[str, ...], credential: str | None) -> None:
    """Let PRINCIPAL report outcomes of these rules, ids or a prefix and `*`; none takes everything away."""
    from assay.flows.delivery.grant_reporter import grant_reporter
    from assay.kernel.ids import parse_principal_id

    token = read_credential(credential)
    with call.open_node(writable=True) as (tools, _):
        grant = grant_reporter(tools, parse_principal_id(principal), names, credential=token, at=tools.clock.now())
    call.answer(grant, f"{grant.principal_id}: {', '.join(grant.rules) or 'nothing'}")


@rules.command("proof")
@click.argument("source", metavar="SRC", type=click.Path(path_type=Path, exists=True))
@tenant_option
@session_option
@click.pass_context
def _proof(context: click.Context, source: Path, tenant: str | None, session: str | None) -> None:
    """Measure which certified rules SRC implements, and keep it: the proof strand of this node; exit 1 if too few."""
    from assay.flows.delivery.measure_proof import measure_proof
    from assay.identity.principal import BuiltInRole
    from assay.surfaces.cli.acting import acting_as

    call: Call = context.obj
    texts = source_texts(source)
    with call.open_node(writable=True) as (tools, config):
        tenant_id, now = call.tenant_of(config, tenant), tools.clock.now()
        by = acting_as(BuiltInRole.OPERATOR, tools, tenant_id, session, at=now)
        found = measure_proof(tools, tenant_id, texts, by=by, at=now)
    words = f"{found.rules_with_code} of {found.rules_certified} certified rules have code: {found.coverage_pct} %"
    call.answer(found, words)
    if not found.passing:
        context.exit(_HONEST_NO)


@rules.command("recount")
@tenant_option
@click.pass_context
def _recount(context: click.Context, tenant: str | None) -> None:
    """Count every outcome again and compare with the counters; exit 1 if one differs."""
    from assay.flows.delivery.recount_rules import recount_rules

    call: Call = context.obj
    with call.open_node() as (tools, config):
        found = recount_rules(tools, call.tenant_of(config, tenant))
    words = f"{found.signals} signals of {found.rules} rules counted again"
    call.answer(found, "\n".join([words, *found.problems]))
    if not found.holds:
        context.exit(_HONEST_NO)
