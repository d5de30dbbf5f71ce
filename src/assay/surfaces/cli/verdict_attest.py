"""`assay verdict attest`: a person's answer to a held verdict, with a signed token over exactly that envelope."""

from pathlib import Path

import click
from msgspec.structs import asdict

from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.review.show_ticket import ShowTicket
from assay.flows.review.show_ticket import ticket as show_ticket
from assay.flows.verdicts.attest_verdict import ATTEST, attest_verdict
from assay.flows.verdicts.read_verdicts import show_ticket_verdict
from assay.identity.caller import local_caller
from assay.kernel.digest import parse_digest
from assay.kernel.ids import TicketId, parse_ticket_id
from assay.review.kind import KIND_RULES, TicketKind
from assay.surfaces.cli.acting import plain, read_session, session_option
from assay.surfaces.cli.output import Call, NodeCommand
from assay.surfaces.cli.reviewer_key import key_options, load_signer
from assay.surfaces.cli.verdict_text import standing_word


@click.command(cls=NodeCommand)
@click.argument("ticket")
@click.argument("choice", type=click.Choice(KIND_RULES[TicketKind.ATTESTATION].choices), default=ATTEST)
@click.option("--seen", metavar="HASH", help="The hash of what you were shown; without it, it is only shown.")
@click.option("--reason", default="", help="Why; declining must say it.")
@key_options
@session_option
@click.pass_obj
def attest(
    call: Call,
    /,
    *,
    ticket: str,
    choice: str,
    seen: str | None,
    reason: str,
    key_file: Path | None,
    key_passphrase: str | None,
    session: str | None,
) -> None:
    """Attest (or decline) the held verdict that TICKET asks about, as the person whose session is given.

    First without --seen: that prints what you attest, and the hash that says you saw it. The token is signed over the
    envelope you were shown, and used once. The verdict becomes final: what the model said if the verifier agreed and
    you attest it, otherwise DISCRETIONARY. Whoever sent the record may not attest it.
    """
    ticket_id = parse_ticket_id(ticket)
    if seen is None:
        _show(call, ticket_id)
        return
    shown, token = parse_digest(seen), read_session(session)
    signer = load_signer(key_file, key_passphrase)
    with call.open_node(writable=True) as (tools, _):
        done = attest_verdict(
            tools,
            ticket_id,
            choice,
            seen=shown,
            reason=reason,
            signing=signer,
            credential=token,
            follow_ups=ROOM_FOLLOW_UPS,
            at=tools.clock.now(),
        )
        final = show_ticket_verdict(tools, done.answer.tenant_id, ticket_id)
    said = done.answer
    came_to = f"{standing_word(final)}: {final.reason}, entry {final.sequence_number}"
    words = f"{said.by} chose `{said.choice}`, signed with the {said.signed_with}, entry {done.receipt.sequence_number}"
    call.answer({**asdict(done), "verdict": final}, f"{words}\n{came_to}")


def _show(call: Call, ticket_id: TicketId) -> None:
    with call.open_node() as (tools, config):
        caller = local_caller(call.tenant_of(config, None), at=tools.clock.now())
        view = show_ticket(tools, caller, ShowTicket(ticket_id=ticket_id))
    one = view.ticket
    # Each line is marked, so that no text shown can pass for one of ours.
    lines = [f"| {line}" for line in plain(one.shown).split("\n")]
    asked = f"to answer: assay verdict attest {one.id} [attest|decline] --seen {one.shown_hash}"
    call.answer(view, "\n".join([*lines, "", asked]))
