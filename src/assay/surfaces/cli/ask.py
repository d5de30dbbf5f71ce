"""`assay ask`, `assay outcome` and `assay trace`: an answer with its marks, what came of it, and its whole way."""

from typing import BinaryIO

import click

from assay.surfaces.cli.acting import credential_option, plain, read_credential
from assay.surfaces.cli.output import Call, NodeCommand, tenant_option
from assay.surfaces.cli.text_file import TextFileError

__all__ = ["ask", "outcome", "trace"]

_HONEST_NO = 1
_LARGEST = 16 * 1024 * 1024


@click.command(cls=NodeCommand)
@click.argument("query_type", metavar="QUERY_TYPE")
@click.argument("question", metavar="JSON", default="{}")
@click.option("--session-id", metavar="TEXT", help="To tell the outcomes of one conversation from another's.")
@credential_option
@click.pass_context
def ask(context: click.Context, query_type: str, question: str, session_id: str | None, credential: str | None) -> None:
    """Ask a question of QUERY_TYPE and print the answer under its mark; exit 1 where your floor withholds it."""
    from assay.delivery.render import render_text
    from assay.flows.deliver_answer import deliver_answer
    from assay.kernel.json_text import parse_json
    from assay.surfaces.cli.output import json_text

    call: Call = context.obj
    token, asked = read_credential(credential), parse_json(question)
    with call.open_node(writable=True) as (tools, _):
        done = deliver_answer(tools, query_type, asked, credential=token, session_id=session_id, at=tools.clock.now())
    output = "(withheld)" if done.body.withheld else json_text(done.body.output)
    told = f"{render_text(done.body.annotation)}\n{plain(output)}\n{done.answer_id}"
    call.answer(done, told)
    if done.body.withheld:
        context.exit(_HONEST_NO)


@click.command(cls=NodeCommand)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@click.option("--key", metavar="TEXT", help="Your own name of the signal: sent again under it, it counts once.")
@click.option("--ndjson", is_flag=True, help="One signal in each line, all in one commit.")
@credential_option
@click.pass_obj
def outcome(call: Call, file: BinaryIO, key: str | None, credential: str | None, *, ndjson: bool) -> None:
    """Report the PHALA signal in FILE to the rules it names; the same signal again counts once."""
    from assay.flows.report_outcome import report_outcomes
    from assay.flows.tend_delivery import tend_delivery

    if ndjson and key is not None:
        raise click.UsageError("expected --key with a single signal, got --ndjson")
    token = read_credential(credential)
    content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise TextFileError(f"expected at most {_LARGEST} bytes, got more")
    lines = [line for line in content.splitlines() if line.strip()] if ndjson else [content]
    with call.open_node(writable=True) as (tools, config):
        now = tools.clock.now()
        done = report_outcomes(tools, [(line, key) for line in lines], credential=token, at=now)
        tend_delivery(tools, call.tenant_of(config, None), at=now)
    texts = [f"{one.signal_id} {'counted' if one.is_new else 'was there'}" for one in done]
    for one in done:
        texts += [f"  {rule.rule_id}: root cause {rule.item_id}" for rule in one.rules if rule.rca_triggered]
    call.answer(done if ndjson else done[0], "\n".join(texts))


@click.command(cls=NodeCommand)
@click.argument("answer_id", metavar="ANSWER")
@tenant_option
@click.pass_context
def trace(context: click.Context, answer_id: str, tenant: str | None) -> None:
    """Show what each stage about ANSWER read, routed and recorded; exit 1 if one was skipped."""
    from assay.flows.trace_answer import trace_answer

    call: Call = context.obj
    with call.open_node() as (tools, config):
        shown = trace_answer(tools, call.tenant_of(config, tenant), answer_id)
    lines = [f"{shown.answer_id} {shown.query_type} {shown.level}"]
    for loop in shown.trace.loops:
        lines.append(str(loop.stage))
        parts = (("READ", loop.read), ("ROUTE", loop.route), ("RECORD", loop.record))
        lines += [f"  {name:<6} {part}" for name, told in parts for part in told]
    lines += [f"MISSING  {one}" for one in shown.problems]
    call.answer(shown, plain("\n".join(lines)))
    if shown.problems:
        context.exit(_HONEST_NO)
