"""`assay review`: the review desk."""

from pathlib import Path
from typing import BinaryIO

import click
import msgspec
from msgspec import Struct

from assay.adapters.keyfile import load_key_file
from assay.flows.answer_desk import answer_desk
from assay.flows.check_answer import AnswerFinding
from assay.flows.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.inspect_review import ReviewView, inspect_review, list_reviews
from assay.flows.open_review import open_review
from assay.flows.settle_reviews import settle_reviews
from assay.identity.authorise import require_role
from assay.identity.principal import BuiltInRole
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import PrincipalId, TicketId, parse_ticket_id
from assay.kernel.instant import Instant, parse_instant, render_instant
from assay.kernel.json_text import parse_json
from assay.review.draft import Reply
from assay.review.kind import TicketKind
from assay.review.settle import Settlement
from assay.review.ticket import Ticket, TicketDraft
from assay.surfaces.cli.acting import columns, plain, read_session, session_option, session_person
from assay.surfaces.cli.output import EXIT_CODES, Call, Group, tenant_option
from assay.surfaces.cli.truth_text import recount_text, recount_warning

__all__ = [
    "ApprovalRequest",
    "ListedTicket",
    "TicketFileError",
    "answer",
    "list_",
    "open_",
    "review",
    "settle",
    "show",
]


class TicketFileError(Error):
    """A file does not describe a ticket."""

    code = "review.ticket_file"
    blame = Blame.INPUT


class ApprovalRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `assay review open` reads; `shown` is the text people will see, or a JSON document, shown canonically."""

    title: str
    shown: object
    eligible_roles: tuple[str, ...]
    requested_by: PrincipalId | None = None
    about: str | None = None
    quorum: int = 1
    due_at: str | None = None


class ListedTicket(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of `assay review list`."""

    ticket_id: TicketId
    kind: TicketKind
    title: str
    shown_hash: Digest
    opened_at: Instant
    due_at: Instant | None
    quorum: int
    settlement: Settlement


@click.group(cls=Group)
def review() -> None:
    """The review desk: every question to a person, bound by hash to what that person was shown."""


@review.command(name="list")
@click.option("--all", "settled_too", is_flag=True, help="Settled tickets too.")
@tenant_option
@click.pass_obj
def list_(call: Call, settled_too: bool, tenant: str | None) -> None:  # noqa: FBT001 - click's own
    """List the tickets that wait for an answer."""
    with call.open_node() as (tools, config):
        at = tools.clock.now()
        found = list_reviews(tools, call.tenant_of(config, tenant), settled_too=settled_too, at=at)
    rows = [(one.id, one.kind, standing.state, _due(one), plain(one.title)) for one, standing in found]
    call.answer(
        [_listed(one, standing) for one, standing in found],
        columns([("TICKET", "KIND", "STATE", "DUE", "TITLE"), *rows]),
    )


@review.command()
@click.argument("ticket")
@tenant_option
@click.pass_obj
def show(call: Call, ticket: str, tenant: str | None) -> None:
    """Show what a ticket asks and shows, its hash, and every answer with its signature verified.

    Exit code 3 if a stored answer's signature does not hold.
    """
    ticket_id = parse_ticket_id(ticket)
    with call.open_node() as (tools, config):
        view = inspect_review(tools, call.tenant_of(config, tenant), ticket_id, at=tools.clock.now())
    call.answer(view, _view_text(view))
    if not all(finding.verified for finding in view.answers):
        raise click.exceptions.Exit(EXIT_CODES[Blame.INPUT])


@review.command()
@click.argument("ticket")
@click.argument("choice")
@click.option("--seen", required=True, metavar="HASH", help="The hash of what you were shown, as `show` prints it.")
@click.option("--reason", default="", help="Why; a rejection must say it.")
@click.option("--body", default="{}", metavar="JSON", help="What the ticket's kind asks for besides the choice.")
@click.option(
    "--key",
    "key_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Your registered key, which then signs instead of the node's review key.",
)
@click.option("--key-passphrase", envvar="ASSAY_REVIEWER_PASSPHRASE", hidden=True)
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
    signer = None if key_file is None else load_key_file(key_file, passphrase=key_passphrase)
    with call.open_node(writable=True) as (tools, _):
        at = tools.clock.now()
        done = answer_desk(tools, ticket_id, reply, credential=token, signing=signer, at=at)
    said, receipt = done.answered.answer, done.answered.receipt
    lines = [
        f"{said.by} chose `{said.choice}`, signed with the {said.signed_with}, entry {receipt.sequence_number}",
        _standing(done.answered.settlement),
    ]
    recount = done.recount
    if recount is not None:
        lines.append(recount_text(recount.truthkey, recount.compiled))
    call.answer({**msgspec.structs.asdict(done.answered), "recount": recount}, "\n".join(lines))
    if recount is not None and recount.compiled is None:
        call.warn(recount_warning(recount.code, recount.problem))


@review.command(name="open")
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
        at = tools.clock.now()
        person = session_person(tools, token, at=at)
        require_role(person, [BuiltInRole.OPERATOR])
        ticket, receipt = open_review(tools, person.tenant_id, _draft(request, person.id), at=at)
    call.answer({"ticket": ticket, "receipt": receipt}, ticket.id)
    call.say(f"opened, entry {receipt.sequence_number}; it shows {ticket.shown_hash}")


@review.command()
@tenant_option
@click.pass_obj
def settle(call: Call, tenant: str | None) -> None:
    """Settle every ticket that is due, as its kind says: an approval that nobody gave is denied.

    Exit code 3 if a ticket could not be settled, since an answer to it does not hold.
    """
    with call.open_node(writable=True) as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        sweep = settle_reviews(tools, tenant_id, at=tools.clock.now(), follow_ups=ROOM_FOLLOW_UPS)
    lines = [f"{one.ticket_id}  {_standing(one)}" for one in sweep.settled]
    lines += [f"{one.ticket_id}  stuck: {one.problem} [{one.code}]" for one in sweep.stuck]
    call.answer(sweep, "\n".join(lines) or "nothing is due")
    if sweep.stuck:
        raise click.exceptions.Exit(EXIT_CODES[Blame.INPUT])


def _parse_request(content: bytes) -> ApprovalRequest:
    try:
        return msgspec.convert(parse_json(content), ApprovalRequest)
    except msgspec.ValidationError as error:
        raise TicketFileError(f"expected a ticket, got: {error}") from error


def _draft(request: ApprovalRequest, opened_by: PrincipalId) -> TicketDraft:
    shown = request.shown if isinstance(request.shown, str) else canonicalize(request.shown).decode()
    return TicketDraft(
        kind=TicketKind.APPROVAL,
        title=request.title,
        shown=shown,
        eligible_roles=request.eligible_roles,
        opened_by=opened_by,
        requested_by=request.requested_by,
        about=request.about,
        quorum=request.quorum,
        due_at=None if request.due_at is None else parse_instant(request.due_at),
    )


def _listed(ticket: Ticket, standing: Settlement) -> ListedTicket:
    return ListedTicket(
        ticket_id=ticket.id,
        kind=ticket.kind,
        title=ticket.title,
        shown_hash=ticket.shown_hash,
        opened_at=ticket.opened_at,
        due_at=ticket.due_at,
        quorum=ticket.quorum,
        settlement=standing,
    )


def _due(ticket: Ticket) -> str:
    return "-" if ticket.due_at is None else render_instant(ticket.due_at)


def _standing(settlement: Settlement) -> str:
    return f"{settlement.state}: {settlement.reason}{' (denied)' if settlement.denied else ''}"


def _view_text(view: ReviewView) -> str:
    ticket = view.ticket
    facts = [
        ("ticket", ticket.id),
        ("kind", ticket.kind.value),
        ("title", plain(ticket.title)),
        ("opened", f"{render_instant(ticket.opened_at)} by {ticket.opened_by}"),
        ("requested by", ticket.requested_by or "-"),
        ("about", plain(ticket.about or "-")),
        ("due", f"{_due(ticket)}, then {ticket.on_expiry}"),
        ("choices", ", ".join(ticket.choices)),
        ("who may answer", f"{', '.join(ticket.eligible_roles)}; {ticket.quorum} must agree"),
        ("standing", _standing(view.settlement) + _unrecorded(view)),
        ("shown hash", ticket.shown_hash),
    ]
    # Each line is marked, so that no text shown can pass for one of ours.
    shown = [f"| {line}" for line in plain(ticket.shown).split("\n")]
    answers = [_finding_text(finding) for finding in view.answers]
    return "\n".join([columns(list(facts)), "", "shown", *shown, *([""] if answers else []), *answers])


def _unrecorded(view: ReviewView) -> str:
    return "" if view.recorded or view.settlement.is_open else ", not recorded yet: run `assay review settle`"


def _finding_text(finding: AnswerFinding) -> str:
    one = finding.answer
    verified = "signature holds" if finding.verified else f"SIGNATURE DOES NOT HOLD: {finding.problem} [{finding.code}]"
    reason = f": {plain(one.reason)}" if one.reason else ""
    return f"{render_instant(one.answered_at)} {one.by} chose `{one.choice}`{reason} ({one.signed_with}, {verified})"
