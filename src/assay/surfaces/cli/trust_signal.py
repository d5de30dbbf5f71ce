"""`assay trust signal`, `admit`, `grant`, `endorse`, `dispute` and `penalise`: what goes into the log of signals."""

from decimal import Decimal, InvalidOperation
from typing import BinaryIO

import click

from assay.flows.identity.authenticate import authenticate
from assay.flows.trust.record_signal import DisputeAnswer, Signalled, record_signal
from assay.flows.trust.request_penalty import request_penalty
from assay.kernel.errors import Blame
from assay.kernel.instant import Instant, render_instant
from assay.surfaces.cli.acting import INSTANT, credential_option, read_credential, within
from assay.surfaces.cli.output import EXIT_CODES, Call, NodeCommand
from assay.surfaces.cli.truth_text import recount_text, recount_warning
from assay.trust.signal import SignalKind

_LARGEST = 1024 * 1024
_ENTROPY = 16


class _Number(click.ParamType[Decimal]):
    """An exact decimal; a binary float would change what was typed."""

    name = "number"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        try:
            number = Decimal(str(value))
        except InvalidOperation:
            self.fail(f"expected a number, got `{value}`", param, ctx)
        if not number.is_finite():
            self.fail(f"expected a finite number, got `{value}`", param, ctx)
        return number


_NUMBER = _Number()


@click.command(cls=NodeCommand)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@credential_option
@click.pass_obj
def signal(call: Call, file: BinaryIO, credential: str | None) -> None:
    """Log the signal in FILE, a JSON object by whoever is signed in; its kind must be open to that principal."""
    content, token = file.read(_LARGEST + 1), read_credential(credential)
    with call.open_node(writable=True) as (tools, _):
        done = record_signal(tools, content, credential=within(tools, token, "trust:write"), at=tools.clock.now())
    _answer(call, done)


@click.command(cls=NodeCommand)
@click.argument("agent", metavar="AGENT")
@credential_option
@click.pass_obj
def admit(call: Call, agent: str, credential: str | None) -> None:
    """Make AGENT known, as an admin: whoever is not known weighs nothing.

    AGENT is `prefix:name`, such as user:amira or sensor:042; it need not be a principal of this node.
    """
    _log(call, SignalKind.AGENT_REGISTERED, {"agent_id": agent}, credential)


@click.command(cls=NodeCommand)
@click.argument("agent", metavar="AGENT")
@click.argument("role", metavar="ROLE")
@click.option("--until", type=INSTANT, metavar="TIME", help="When the role ends; else it does not.")
@credential_option
@click.pass_obj
def grant(call: Call, agent: str, role: str, until: Instant | None, credential: str | None) -> None:
    """Grant AGENT a ROLE of the policy, as an admin: at least the role's class of standing."""
    ends = None if until is None else render_instant(until)
    _log(call, SignalKind.ROLE_GRANTED, {"agent_id": agent, "role": role, "expires_at": ends}, credential)


@click.command(cls=NodeCommand)
@click.argument("agent", metavar="AGENT")
@click.option("--weight", type=_NUMBER, default="1", show_default=True, help="0 to 1; 0 takes it back.")
@credential_option
@click.pass_obj
def endorse(call: Call, agent: str, weight: Decimal, credential: str | None) -> None:
    """Vouch for AGENT: it changes their network weight, never their standing, and never your own."""
    _log(call, SignalKind.ENDORSEMENT, {"endorsed": agent, "weight": float(weight)}, credential)


@click.command(cls=NodeCommand)
@click.argument("truthkey", metavar="KEY")
@click.option("--state", "state_hash", required=True, metavar="HASH", help="The state hash of what you dispute.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; recorded with the dispute.")
@credential_option
@click.pass_obj
def dispute(call: Call, truthkey: str, state_hash: str, reason: str, credential: str | None) -> None:
    """Dispute the final state of KEY: people are asked again, as its contract resolves disputes.

    It counts in person (a session), from whoever's vote would count there, about the state in force, and once for each
    agent and key. One that does not count is recorded all the same, and the answer says why: then the exit code is 1.
    """
    body: dict[str, object] = {"truthkey": truthkey, "state_hash": state_hash, "reason": reason}
    _log(call, SignalKind.DISPUTE_RAISED, body, credential)


@click.command(cls=NodeCommand)
@click.argument("agent", metavar="AGENT")
@click.option("--points", type=_NUMBER, required=True, help="How many points of standing; more than 0, up to 1000.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; those who decide are shown it.")
@credential_option
@click.pass_obj
def penalise(call: Call, agent: str, points: Decimal, reason: str, credential: str | None) -> None:
    """Ask people to lower AGENT's standing: a ticket on the review desk, and nothing changes before they decide."""
    token = read_credential(credential)
    with call.open_node(writable=True) as (tools, _):
        ticket = request_penalty(
            tools, agent, points, reason=reason, credential=within(tools, token, "trust:write"), at=tools.clock.now()
        )
    call.answer(ticket, ticket.id)
    call.say(f"opened; it shows {ticket.shown_hash}")


def _log(call: Call, kind: SignalKind, body: dict[str, object], credential: str | None) -> None:
    """One signal by whoever is signed in, now, under a new id."""
    token = read_credential(credential)
    with call.open_node(writable=True) as (tools, _):
        at = tools.clock.now()
        given = {
            "signal_id": f"{kind.value.lower()}.{tools.entropy.token(_ENTROPY).hex()}",
            "kind": kind.value,
            "agent_id": authenticate(tools, token, at=at).principal.id,
            "occurred_at": render_instant(at),
            "object": body,
        }
        done = record_signal(tools, given, credential=within(tools, token, "trust:write"), at=at)
    _answer(call, done)


def _answer(call: Call, done: Signalled) -> None:
    words = "logged" if done.is_new else "was logged before"
    lines = [f"{words}: {done.signal_id}, entry {done.sequence_number}"]
    if done.dispute is not None:
        lines.append(_dispute_text(done.dispute))
    call.answer(done, "\n".join(lines))
    if done.dispute is None:
        return
    recount = done.dispute.recount
    if recount is not None and recount.compiled is None:
        call.warn(recount_warning(recount.code, recount.problem, "dispute"))
    if not done.dispute.counts:
        click.get_current_context().exit(EXIT_CODES[Blame.ANSWER])


def _dispute_text(answer: DisputeAnswer) -> str:
    if answer.recount is None:
        return f"does not count: {answer.refusal}"
    opened = f"a round is open, entry {answer.window_number}"
    return f"{opened}\n{recount_text(answer.recount.truthkey, answer.recount.compiled)}"
