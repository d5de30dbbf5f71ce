"""`assay review open` and `settle`: a question of the operator's own, and the sweep."""

from typing import BinaryIO

import click
import msgspec

from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.review.open_approval import ApprovalRequest, open_approval
from assay.flows.review.settle_reviews import settle_reviews
from assay.flows.review.take_effect import Effect, EffectState
from assay.kernel.errors import Blame, Error
from assay.kernel.json_text import parse_json
from assay.surfaces.cli.acting import read_session, session_option
from assay.surfaces.cli.output import EXIT_CODES, Call, NodeCommand, tenant_option
from assay.surfaces.cli.review_text import standing_text

__all__ = ["TicketFileError", "open_", "settle"]


class TicketFileError(Error):
    """A file does not describe a ticket."""

    code = "review.ticket_file"
    blame = Blame.INPUT


@click.command(cls=NodeCommand, name="open")
@click.argument("file", type=click.File("rb"))
@session_option
@click.pass_obj
def open_(call: Call, file: BinaryIO, session: str | None) -> None:
    """Open a ticket of kind approval from a JSON file (`-` is standard input), as an operator with a session.

    Fields: title, shown, eligible_roles; also requested_by, about, quorum, due_at.
    """
    request = _parse_request(file.read())
    token = read_session(session)
    with call.open_node(writable=True) as (tools, _):
        ticket, receipt = open_approval(tools, request, credential=token, at=tools.clock.now())
    call.answer({"ticket": ticket, "receipt": receipt}, ticket.id)
    call.say(f"opened, entry {receipt.sequence_number}; it shows {ticket.shown_hash}")


@click.command(cls=NodeCommand)
@tenant_option
@click.pass_obj
def settle(call: Call, tenant: str | None) -> None:
    """Settle every ticket that is due, as its kind says: an approval that nobody gave is denied.

    Held answers whose time has come count first, and tickets whose time runs out are told to more people.

    Exit code 3 if a ticket could not be settled, since an answer to it does not hold.
    """
    with call.open_node(writable=True) as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        sweep = settle_reviews(tools, tenant_id, at=tools.clock.now(), follow_ups=ROOM_FOLLOW_UPS)
    lines = [f"{one.ticket_id}  {standing_text(one)}" for one in sweep.settled]
    lines += [f"{one.ticket_id}  stuck: {one.problem} [{one.code}]" for one in sweep.stuck]
    lines += [f"{one.ticket_id}  {_effect_text(one)}" for one in sweep.effects]
    lines += [f"{one.ticket_id}  escalated: its end is {one.stage}" for one in sweep.escalated]
    call.answer(sweep, "\n".join(lines) or "nothing is due")
    if sweep.stuck:
        raise click.exceptions.Exit(EXIT_CODES[Blame.INPUT])


def _parse_request(content: bytes) -> ApprovalRequest:
    try:
        return msgspec.convert(parse_json(content), ApprovalRequest)
    except msgspec.ValidationError as error:
        raise TicketFileError(f"expected a ticket, got: {error}") from error


def _effect_text(effect: Effect) -> str:
    if effect.state is EffectState.COUNTS:
        return f"the answer of {effect.by} counts"
    return f"the answer of {effect.by} lapsed: {effect.problem} [{effect.code}]"
