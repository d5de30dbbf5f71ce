"""`assay review claim`, `release`, `assign`, `priority` and `comment`: what people do besides answering, signed."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import click

from assay.flows.review.act_review import Acted, Wish, act_review
from assay.flows.review.claim_review import claim_wish, release_wish
from assay.flows.review.comment_review import comment_wish
from assay.flows.review.place_review import assign_wish, priority_wish
from assay.flows.tools import Tools
from assay.kernel.ids import parse_principal_id, parse_ticket_id
from assay.kernel.instant import render_instant
from assay.review.act import Claim, Priority, parse_act_body
from assay.surfaces.cli.acting import SPAN, read_session, session_option
from assay.surfaces.cli.output import Call, NodeCommand
from assay.surfaces.cli.reviewer_key import key_options, load_signer

__all__ = ["assign", "claim", "comment", "priority", "release"]


@click.command(cls=NodeCommand)
@click.argument("ticket")
@click.option("--for", "span", type=SPAN, metavar="SPAN", help="How long, such as 30m; else as assay.toml says.")
@key_options
@session_option
@click.pass_obj
def claim(
    call: Call, ticket: str, *, span: timedelta | None, key_file: Path | None, key_passphrase: str | None,
    session: str | None,
) -> None:  # fmt: skip
    """Work on TICKET for a while: others are refused until then. Claiming again moves the end.

    A claim is no right to answer, and answering needs no claim.
    """
    done = _act(call, ticket, lambda tools: claim_wish(tools, span), key_file, key_passphrase, session)
    body = parse_act_body(done.act)
    assert isinstance(body, Claim)  # noqa: S101 - it is a claim
    call.answer(done, f"yours until {render_instant(body.until)}, entry {done.receipt.sequence_number}")


@click.command(cls=NodeCommand)
@click.argument("ticket")
@click.option("--holder", metavar="PERSON", help="Whose claim; else your own. Another's needs admin or operator.")
@key_options
@session_option
@click.pass_obj
def release(
    call: Call, ticket: str, *, holder: str | None, key_file: Path | None, key_passphrase: str | None,
    session: str | None,
) -> None:  # fmt: skip
    """Give TICKET back before its claim ends."""
    whose = None if holder is None else parse_principal_id(holder)
    done = _act(call, ticket, lambda _: release_wish(whose), key_file, key_passphrase, session)
    call.answer(done, f"released, entry {done.receipt.sequence_number}")


@click.command(cls=NodeCommand)
@click.argument("ticket")
@click.option("--to", "person", metavar="PERSON", help="For this person.")
@click.option("--role", metavar="ROLE", help="For whoever holds this role.")
@key_options
@session_option
@click.pass_obj
def assign(
    call: Call, ticket: str, *, person: str | None, role: str | None, key_file: Path | None,
    key_passphrase: str | None, session: str | None,
) -> None:  # fmt: skip
    """Say whose TICKET is: a person's or a role's that may answer it, or with neither everybody's again.

    It steers the queue; everybody who may answer still may.
    """
    named = None if person is None else parse_principal_id(person)
    done = _act(call, ticket, lambda _: assign_wish(person=named, role=role), key_file, key_passphrase, session)
    call.answer(done, f"for {person or role or 'everybody'}, entry {done.receipt.sequence_number}")


@click.command(cls=NodeCommand)
@click.argument("ticket")
@click.argument("priority", type=click.Choice([one.value for one in Priority]))
@key_options
@session_option
@click.pass_obj
def priority(
    call: Call, ticket: str, priority: str, *, key_file: Path | None, key_passphrase: str | None, session: str | None
) -> None:
    """Say how soon TICKET should be looked at."""
    wanted = Priority(priority)
    done = _act(call, ticket, lambda _: priority_wish(wanted), key_file, key_passphrase, session)
    call.answer(done, f"{priority}, entry {done.receipt.sequence_number}")


@click.command(cls=NodeCommand)
@click.argument("ticket")
@click.argument("text")
@key_options
@session_option
@click.pass_obj
def comment(
    call: Call, ticket: str, text: str, *, key_file: Path | None, key_passphrase: str | None, session: str | None
) -> None:
    """Add TEXT to TICKET, signed; `assay erase` of its entry takes the words away and leaves the proof."""
    done = _act(call, ticket, lambda tools: comment_wish(tools, text), key_file, key_passphrase, session)
    call.answer(done, f"said, entry {done.receipt.sequence_number}")


def _act(
    call: Call,
    ticket: str,
    wish: Callable[[Tools], Wish],
    key_file: Path | None,
    passphrase: str | None,
    session: str | None,
) -> Acted:
    ticket_id, token, signer = parse_ticket_id(ticket), read_session(session), load_signer(key_file, passphrase)
    with call.open_node(writable=True) as (tools, _):
        return act_review(tools, ticket_id, wish(tools), credential=token, signing=signer, at=tools.clock.now())
