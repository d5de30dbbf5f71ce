"""`assay review answer`, `undo`, `draft` and `bulk`: what a person says to tickets."""

from pathlib import Path
from typing import BinaryIO, Unpack

import click
import msgspec
from msgspec import Struct

from assay.flows.review.act_review import act_review
from assay.flows.review.answer_bulk import BulkReport, Pick, answer_bulk, plan_bulk
from assay.flows.review.answer_desk import answer_desk
from assay.flows.review.keep_draft import DraftedReply, drop_draft, keep_draft
from assay.flows.review.undo_answer import undo_wish
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import parse_digest
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import parse_ticket_id
from assay.kernel.instant import render_instant
from assay.kernel.json_text import parse_json
from assay.review.draft import Reply
from assay.surfaces.cli.acting import columns, plain, read_session, session_option
from assay.surfaces.cli.output import EXIT_CODES, Call, NodeCommand
from assay.surfaces.cli.review_filter import FilterOptions, filter_options, parse_filter
from assay.surfaces.cli.review_text import standing_text
from assay.surfaces.cli.reviewer_key import key_options, load_signer
from assay.surfaces.cli.truth_text import recount_text, recount_warning

__all__ = ["PlanFileError", "answer", "bulk", "draft", "undo"]


class PlanFileError(Error):
    """A file is not the answer of a dry run."""

    code = "review.plan_file"
    blame = Blame.INPUT


class _Line(Struct):
    """Of a line of a plan, what is answered."""

    ticket_id: str
    seen: str
    accepted: bool = True


class _Plan(Struct):
    lines: tuple[_Line, ...]


@click.command(cls=NodeCommand)
@click.argument("ticket")
@click.argument("choice")
@click.option("--seen", required=True, metavar="HASH", help="The hash of what you were shown, as `show` prints it.")
@click.option("--reason", default="", help="Why; a rejection must say it.")
@click.option("--body", default="{}", metavar="JSON", help="What the ticket's kind asks for besides the choice.")
@key_options
@session_option
@click.pass_obj
def answer(
    call: Call,
    /,
    *,
    ticket: str,
    choice: str,
    seen: str,
    reason: str,
    body: str,
    key_file: Path | None,
    key_passphrase: str | None,
    session: str | None,
) -> None:
    """Answer a ticket as the person whose session is given.

    An answer binds what you saw: if the ticket shows something else than --seen says, it is refused. An answer to a
    validation ticket is a vote, and its key is compiled with it. A held verdict is attested by `assay verdict attest`,
    which makes the signed token that an attestation is.
    """
    ticket_id = parse_ticket_id(ticket)
    reply = Reply(choice=choice, seen=parse_digest(seen), reason=reason, body=canonicalize(parse_json(body)).decode())
    token = read_session(session)
    signer = load_signer(key_file, key_passphrase)
    with call.open_node(writable=True) as (tools, _):
        at = tools.clock.now()
        done = answer_desk(tools, ticket_id, reply, credential=token, signing=signer, at=at)
    said, receipt = done.answered.answer, done.answered.receipt
    lines = [
        f"{said.by} chose `{said.choice}`, signed with the {said.signed_with}, entry {receipt.sequence_number}",
        standing_text(done.answered.settlement),
    ]
    if done.answered.takes_effect_at is not None:
        until = render_instant(done.answered.takes_effect_at)
        lines.append(f"it counts from {until} on; until then `assay review undo` takes it back")
    recount = done.recount
    if recount is not None:
        lines.append(recount_text(recount.truthkey, recount.compiled))
    call.answer({**msgspec.structs.asdict(done.answered), "recount": recount}, "\n".join(lines))
    if recount is not None and recount.compiled is None:
        call.warn(recount_warning(recount.code, recount.problem))


@click.command(cls=NodeCommand)
@click.argument("ticket")
@click.option("--reason", default="", help="Why; others read it in the ledger.")
@key_options
@session_option
@click.pass_obj
def undo(
    call: Call, ticket: str, *, reason: str, key_file: Path | None, key_passphrase: str | None, session: str | None
) -> None:
    """Take back your answer to TICKET, which does not count yet; the ledger keeps both."""
    ticket_id, token, signer = parse_ticket_id(ticket), read_session(session), load_signer(key_file, key_passphrase)
    with call.open_node(writable=True) as (tools, _):
        done = act_review(tools, ticket_id, undo_wish(reason), credential=token, signing=signer, at=tools.clock.now())
    call.answer(done, f"undone, entry {done.receipt.sequence_number}; you may answer again")


@click.command(cls=NodeCommand)
@click.argument("ticket")
@click.option("--choice", help="What you lean to.")
@click.option("--reason", default="", help="What you have written so far.")
@click.option("--body", default="", metavar="TEXT", help="The body as far as it is.")
@click.option("--drop", is_flag=True, help="Throw it away.")
@session_option
@click.pass_obj
def draft(
    call: Call, ticket: str, *, choice: str | None, reason: str, body: str, drop: bool, session: str | None
) -> None:
    """Keep a draft of your answer to TICKET; nobody else sees it, and it is in no ledger."""
    ticket_id, token = parse_ticket_id(ticket), read_session(session)
    with call.open_node(writable=True) as (tools, _):
        at = tools.clock.now()
        if drop:
            drop_draft(tools, ticket_id, credential=token, at=at)
            call.answer({"dropped": True}, "thrown away")
            return
        kept = keep_draft(
            tools, ticket_id, DraftedReply(choice=choice, reason=reason, body=body), credential=token, at=at
        )
    call.answer(kept, "kept; `assay review show` has it for you alone")


@click.command(cls=NodeCommand)
@click.argument("choice")
@click.option("--reason", default="", help="Why; a rejection must say it.")
@click.option("--dry-run", is_flag=True, help="Show what would be answered, and record nothing.")
@click.option("--plan", "file", type=click.File("rb"), help="The JSON of a dry run (`-` is standard input): answer it.")
@filter_options
@session_option
@click.pass_obj
def bulk(
    call: Call,
    /,
    *,
    choice: str,
    reason: str,
    dry_run: bool,
    file: BinaryIO | None,
    session: str | None,
    **options: Unpack[FilterOptions],
) -> None:
    """Answer many tickets with CHOICE: first a dry run by filter, then exactly the tickets and hashes that it showed.

    Each is answered by itself and bound to what it shows; those refused are named, and the others go on. Exit code 1 if
    any was refused. They count after a short time, in which `assay review undo` takes each back.
    """
    if dry_run == (file is not None):
        raise click.UsageError("expected one of --dry-run and --plan")
    token, picks = read_session(session), None if file is None else _parse_plan(file.read())
    with call.open_node(writable=True) as (tools, _):
        at = tools.clock.now()
        if picks is None:
            report = plan_bulk(tools, parse_filter(options), choice, reason=reason, credential=token, at=at)
        else:
            report = answer_bulk(tools, picks, choice, reason=reason, credential=token, at=at)
    call.answer(report, _report_text(report))
    if report.refused:
        raise click.exceptions.Exit(EXIT_CODES[Blame.ANSWER])


def _parse_plan(content: bytes) -> tuple[Pick, ...]:
    """Of the tickets that the dry run did not refuse."""
    try:
        plan = msgspec.convert(parse_json(content), _Plan)
    except msgspec.ValidationError as error:
        raise PlanFileError(f"expected the JSON of a dry run, got: {error}") from error
    return tuple(
        Pick(ticket_id=parse_ticket_id(line.ticket_id), seen=parse_digest(line.seen))
        for line in plan.lines
        if line.accepted
    )


def _report_text(report: BulkReport) -> str:
    done = "would be" if report.rehearsed else "were"
    rows: list[tuple[str, ...]] = [
        (line.ticket_id, "yes" if line.accepted else f"no: {line.problem} [{line.code}]", plain(line.title or ""))
        for line in report.lines
    ]
    told = f"{report.accepted} {done} answered `{report.choice}`, {report.refused} refused"
    return "\n".join([*([columns(rows)] if rows else []), told])
