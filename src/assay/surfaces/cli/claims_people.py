"""`assay claims approve` and `attach`: what people and agents add to a bundle's case."""

from pathlib import Path
from typing import BinaryIO

import click

from assay.claims.bundle import Decision
from assay.flows.claims.approve_claims import answer_claims
from assay.flows.claims.attach_evidence import LARGEST_EVIDENCE, attach_evidence
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.review.show_ticket import ShowTicket
from assay.flows.review.show_ticket import ticket as show_ticket
from assay.identity.caller import local_caller
from assay.kernel.digest import parse_digest
from assay.kernel.ids import parse_ticket_id
from assay.review.draft import Reply
from assay.review.kind import TicketKind
from assay.surfaces.cli.acting import credential_option, plain, read_credential, read_session, session_option, within
from assay.surfaces.cli.claims_text import gated_text
from assay.surfaces.cli.output import Call, NodeCommand
from assay.surfaces.cli.reviewer_key import key_options, load_signer

_HONEST_NO = 1


@click.command(cls=NodeCommand)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@credential_option
@click.pass_obj
def attach(call: Call, file: BinaryIO, credential: str | None) -> None:
    """Keep the content of FILE under its SHA-256, and print that: it is the `evidence_hash` of a pointer to it."""
    token, content = read_credential(credential), file.read(LARGEST_EVIDENCE + 1)
    with call.open_node(writable=True) as (tools, _):
        done = attach_evidence(tools, content, credential=within(tools, token, "claims:write"), at=tools.clock.now())
    call.answer(done, done.evidence_hash)
    call.say(f"{done.size} bytes, {'kept' if done.is_new else 'were kept before'}, entry {done.sequence_number}")


@click.command(cls=NodeCommand)
@click.argument("ticket", metavar="TICKET")
@click.option("--seen", metavar="HASH", help="The hash of what you were shown; without it, it is only shown.")
@click.option("--reject", is_flag=True, help="Reject instead, with --reason; the bundle is then refused for good.")
@click.option("--reason", default="", help="Why; recorded with the answer.")
@key_options
@session_option
@click.pass_context
def approve(
    context: click.Context,
    /,
    *,
    ticket: str,
    seen: str | None,
    reject: bool,
    reason: str,
    key_file: Path | None,
    key_passphrase: str | None,
    session: str | None,
) -> None:
    """Approve the bundle of TICKET, or let a deferred one go on; then it is gated again.

    First without --seen: that prints what you approve, and the hash that says you saw it. Exit 0 once it is published,
    1 while it waits for others or is refused.
    """
    call: Call = context.obj
    ticket_id = parse_ticket_id(ticket)
    if seen is None:
        _show(call, ticket)
        return
    token, shown = read_session(session), parse_digest(seen)
    signer = load_signer(key_file, key_passphrase)
    with call.open_node(writable=True) as (tools, config):
        tenant_id, at = call.tenant_of(config, None), tools.clock.now()
        view = show_ticket(tools, local_caller(tenant_id, at=at), ShowTicket(ticket_id=ticket_id))
        choice = "reject" if reject else _YES.get(view.ticket.kind, "approve")
        reply = Reply(choice=choice, seen=shown, reason=reason)
        done = answer_claims(
            tools, ticket_id, reply, credential=token, follow_ups=ROOM_FOLLOW_UPS, signing=signer, at=at
        )
    said = f"{done.answered.answer.by} chose `{done.answered.answer.choice}`"
    text = said if done.gated is None else f"{said}\n{gated_text(done.gated)}"
    call.answer(done, text)
    if done.problem is not None:
        call.warn(f"the answer is recorded, and the bundle is not decided yet: {done.problem} [{done.code}]")
    is_published = done.gated is not None and done.gated.decision is Decision.PUBLISH
    context.exit(0 if is_published else _HONEST_NO)


_YES = {TicketKind.APPROVAL: "approve", TicketKind.DEFERRAL: "resume"}


def _show(call: Call, ticket: str) -> None:
    with call.open_node() as (tools, config):
        caller = local_caller(call.tenant_of(config, None), at=tools.clock.now())
        view = show_ticket(tools, caller, ShowTicket(ticket_id=ticket))
    one = view.ticket
    # Each line is marked, so that no text shown can pass for one of ours.
    lines = [f"| {line}" for line in plain(one.shown).split("\n")]
    asked = f"to answer: assay claims approve {one.id} --seen {one.shown_hash}"
    call.answer(view, "\n".join([*lines, "", asked]))
