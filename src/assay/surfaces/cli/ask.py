"""`assay ask`, `assay outcome` and `assay trace`: an answer with its marks, what came of it, and its whole way."""

import json
from typing import TYPE_CHECKING, BinaryIO

import click

from assay.surfaces.cli.acting import credential_option, plain, read_credential
from assay.surfaces.cli.output import Call, NodeCommand, tenant_option
from assay.surfaces.cli.text_file import TextFileError

if TYPE_CHECKING:
    from assay.flows.delivery.deliver_answer import Delivered

__all__ = ["OUTCOMES", "ask", "outcome", "trace"]

# Those of PRAMANA 7.4.1, without loading them for `--help`.
OUTCOMES = ("success", "failure", "partial", "indeterminate")

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
@click.argument("file", type=click.File("rb"), metavar="[FILE|-]", required=False)
@click.option("--answer", metavar="ANSWER", help="Of this answer of the node, in place of FILE; with --outcome.")
@click.option("--outcome", "came", type=click.Choice(OUTCOMES), help="What came of --answer.")
@click.option("--context", metavar="TEXT", help="What --answer was for, for whoever looks for a root cause.")
@click.option("--key", metavar="TEXT", help="Your own name of the signal: sent again under it, it counts once.")
@click.option("--ndjson", is_flag=True, help="One whole signal in each line, all in one commit.")
@credential_option
@click.pass_obj
def outcome(
    call: Call,
    /,
    *,
    file: BinaryIO | None,
    answer: str | None,
    came: str | None,
    context: str | None,
    key: str | None,
    credential: str | None,
    ndjson: bool,
) -> None:
    """Report the PHALA signal in FILE to the rules it names; the same signal again counts once.

    Of an answer of this node, --answer and --outcome are enough: rules, strands and level are those of the answer. So
    they are of a single signal in FILE that has `answer_id` and leaves them out.
    """
    from assay.flows.delivery.report_answer import report_answer
    from assay.flows.delivery.report_outcome import report_outcomes
    from assay.flows.delivery.tend_delivery import tend_delivery

    if ndjson and (key is not None or file is None):
        raise click.UsageError("expected --ndjson with FILE and without --key")
    token = read_credential(credential)
    content = _named(answer, came, context) if file is None else _read_signals(file, answer, came, context)
    lines = [line for line in content.splitlines() if line.strip()]
    with call.open_node(writable=True) as (tools, config):
        now = tools.clock.now()
        if ndjson:
            done = report_outcomes(tools, [(line, None) for line in lines], credential=token, at=now)
        else:
            done = (report_answer(tools, content, credential=token, idempotency_key=key, at=now),)
        tend_delivery(tools, call.tenant_of(config, None), at=now)
    texts = [f"{one.signal_id} {'counted' if one.is_new else 'was there'}" for one in done]
    for one in done:
        texts += [f"  {rule.rule_id}: root cause {rule.item_id}" for rule in one.rules if rule.rca_triggered]
    call.answer(done if ndjson else done[0], "\n".join(texts))


def _named(answer: str | None, came: str | None, context: str | None) -> bytes:
    """The signal of an answer of the node, which says the rest."""
    if answer is None or came is None:
        raise click.UsageError("expected FILE, or --answer ANSWER and --outcome OUTCOME")
    told = {"answer_id": answer, "outcome": came, "query_context": context}
    return json.dumps({name: value for name, value in told.items() if value is not None}).encode()


def _read_signals(file: BinaryIO, *named: str | None) -> bytes:
    if any(one is not None for one in named):
        raise click.UsageError("expected FILE, or --answer, --outcome and --context, got both")
    content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise TextFileError(f"expected at most {_LARGEST} bytes, got more")
    return content


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
