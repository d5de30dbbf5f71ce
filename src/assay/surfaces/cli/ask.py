"""`assay ask`, `assay outcome` and `assay trace`: an answer with its marks, what came of it, and its whole way."""

from typing import TYPE_CHECKING, BinaryIO

import click

from assay.surfaces.cli.acting import credential_option, plain, read_credential
from assay.surfaces.cli.output import Call, NodeCommand, tenant_option
from assay.surfaces.cli.text_file import TextFileError

if TYPE_CHECKING:
    from assay.flows.delivery.deliver_answer import Delivered

__all__ = ["ask", "outcome", "trace"]

_HONEST_NO = 1
_LARGEST = 16 * 1024 * 1024


@click.command(cls=NodeCommand)
@click.argument("query_type", metavar="[QUERY_TYPE]", required=False)
@click.argument("question", metavar="JSON", default="{}")
@click.option("--session-id", metavar="TEXT", help="To tell the outcomes of one conversation from another's.")
@click.option("--resume", metavar="ANSWER", help="Your own answer that the gates held back, now that people answered.")
@credential_option
@click.pass_context
def ask(
    context: click.Context,
    /,
    *,
    query_type: str | None,
    question: str,
    session_id: str | None,
    resume: str | None,
    credential: str | None,
) -> None:
    """Ask a question of QUERY_TYPE and print the answer under its mark; exit 1 where it is withheld.

    It is withheld below your floor, and where the gates do not publish it; then the tickets are named that people have
    to answer, and --resume asks for the same answer again.
    """
    from assay.flows.delivery.deliver_answer import deliver_answer
    from assay.flows.delivery.resume_answer import resume_answer
    from assay.kernel.json_text import parse_json

    call: Call = context.obj
    if (query_type is None) is (resume is None):
        raise click.UsageError("expected QUERY_TYPE, or --resume ANSWER")
    token, asked = read_credential(credential), parse_json(question)
    with call.open_node(writable=True) as (tools, _):
        at = tools.clock.now()
        if resume is not None:
            done = resume_answer(tools, resume, credential=token, at=at)
        else:
            done = deliver_answer(tools, query_type or "", asked, credential=token, session_id=session_id, at=at)
    call.answer(done, _answer_text(done))
    if done.body.withheld:
        context.exit(_HONEST_NO)


def _answer_text(done: "Delivered") -> str:
    from assay.delivery.render import render_text
    from assay.surfaces.cli.output import json_text

    output = "(withheld)" if done.body.withheld else json_text(done.body.output)
    waiting = [f"waits for ticket {one.ticket_id}{f' of {one.role}' if one.role else ''}" for one in done.tickets]
    return "\n".join([plain(render_text(done.body.annotation)), plain(output), *waiting, done.answer_id])


@click.command(cls=NodeCommand)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@click.option("--key", metavar="TEXT", help="Your own name of the signal: sent again under it, it counts once.")
@click.option("--ndjson", is_flag=True, help="One signal in each line, all in one commit.")
@credential_option
@click.pass_obj
def outcome(call: Call, file: BinaryIO, key: str | None, credential: str | None, *, ndjson: bool) -> None:
    """Report the PHALA signal in FILE to the rules it names; the same signal again counts once."""
    from assay.flows.delivery.report_outcome import report_outcomes
    from assay.flows.delivery.tend_delivery import tend_delivery

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
    from assay.flows.delivery.trace_answer import trace_answer

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
