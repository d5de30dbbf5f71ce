"""`assay verdict`: what was decided and why, what waits for a person, and that person's answer."""

from pathlib import Path

import click
import msgspec

from assay.flows.verdicts.attest_verdict import ATTEST
from assay.operations.table import BY_NAME
from assay.operations.verdicts import (
    ATTEST_VERDICT,
    EXPLAIN_VERDICT,
    OPERATIONS,
    PREPARE_ATTESTATION,
    SHOW_VERDICT,
    TICKET_VERDICT,
)
from assay.ports.signer import Signer
from assay.review.kind import KIND_RULES, TicketKind
from assay.surfaces.cli.acting import plain
from assay.surfaces.cli.derive import add_operations, common_options
from assay.surfaces.cli.output import Call, Group, NodeCommand
from assay.surfaces.cli.perform import perform, show, sign
from assay.surfaces.cli.reviewer_key import key_options, load_signer
from assay.surfaces.cli.verdict_page import verdict_page


@click.group(cls=Group)
def verdict() -> None:
    """Verdicts: one for each rule and record, on the ledger; one of high risk is none until a person attests it."""


add_operations(verdict, "verdict", OPERATIONS)


@verdict.command("show", cls=NodeCommand)
@click.argument("named", metavar="RECORD", required=False)
@click.option("--entry", type=click.IntRange(min=1), metavar="SEQ", help="By an entry of the ledger instead.")
@click.option("--rule", "rule_id", metavar="ID", help="Of this rule alone.")
@click.option("--transcript", "with_texts", is_flag=True, help="Print what the model was asked and what it wrote.")
@common_options(EXPLAIN_VERDICT)
@click.pass_obj
def _show(
    call: Call,
    /,
    *,
    named: str | None,
    entry: int | None,
    rule_id: str | None,
    with_texts: bool,
    **where: str | None,
) -> None:
    """Explain the verdicts on a record: each obligation with its clause, what the model asserted, what the verifier
    found, how the governor ruled, from what it was computed, and how to prove and replay it.

    A held verdict is not shown, only the ticket that asks for a person.
    """
    if (named is None) is (entry is None):
        raise click.UsageError("expected RECORD or --entry")
    telemetry_id = named or perform(call, SHOW_VERDICT, {"sequence": entry}, **where).telemetry_id
    given = {"telemetry_id": telemetry_id, **({} if rule_id is None else {"rule_id": rule_id})}
    shown = perform(call, EXPLAIN_VERDICT, given, **where)
    call.answer(shown, verdict_page(shown.decided, shown.explained, shown.transcripts, with_texts=with_texts))


@verdict.command("attest", cls=NodeCommand)
@click.argument("ticket")
@click.argument("choice", type=click.Choice(KIND_RULES[TicketKind.ATTESTATION].choices), default=ATTEST)
@click.option("--seen", metavar="HASH", help="The hash of what you were shown; without it, it is only shown.")
@click.option("--reason", default="", help="Why; declining must say it.")
@key_options
@common_options(ATTEST_VERDICT)
@click.pass_obj
def _attest(
    call: Call,
    /,
    *,
    ticket: str,
    choice: str,
    seen: str | None,
    reason: str,
    key_file: Path | None,
    key_passphrase: str | None,
    **where: str | None,
) -> None:
    """Attest (or decline) the held verdict that TICKET asks about, as the person whose session is given.

    First without --seen: that prints what you attest, and the hash that says you saw it. The token is signed over the
    envelope you were shown, and used once. The verdict becomes final: what the model said if the verifier agreed and
    you attest it, otherwise DISCRETIONARY. The sender of the record may not attest it.
    """
    if seen is None:
        _show_ticket(call, ticket, where)
        return
    given: dict[str, object] = {"ticket_id": ticket, "choice": choice, "seen": seen, "reason": reason}
    signer = load_signer(key_file, key_passphrase)
    if signer is None:
        show(call, ATTEST_VERDICT, given, perform(call, ATTEST_VERDICT, given, **where))
        return
    if choice == ATTEST:
        given["body"] = _token(call, ticket, signer, where)
    answer = BY_NAME["ticket.answer"]
    done = perform(call, answer, {**given, **sign(call, answer, given, signer, **where)}, **where)
    final = perform(call, TICKET_VERDICT, {"ticket_id": ticket}, **where)
    attested = ATTEST_VERDICT.gives(answered=done.answered, verdict=final)
    show(call, ATTEST_VERDICT, given, attested)


def _token(call: Call, ticket: str, signer: Signer, where: dict[str, str | None]) -> dict[str, object]:
    """The attestation, signed here: the key never leaves this machine."""
    asked = {"ticket_id": ticket, "key_id": signer.key_id}
    prepared = perform(call, PREPARE_ATTESTATION, asked, **{**where, "idempotency_key": None})
    signature = signer.sign(bytes.fromhex(prepared.message)).hex()
    token: dict[str, object] = msgspec.to_builtins(
        msgspec.structs.replace(prepared.token, signature_hex=signature), builtin_types=()
    )
    return token


def _show_ticket(call: Call, ticket: str, where: dict[str, str | None]) -> None:
    view = perform(call, BY_NAME["ticket.show"], {"ticket_id": ticket}, **where)
    one = view.ticket
    # Each line is marked, so that no text shown can pass for one of ours.
    lines = [f"| {line}" for line in plain(one.shown).split("\n")]
    asked = f"to answer: assay verdict attest {one.id} [attest|decline] --seen {one.shown_hash}"
    call.answer(view, "\n".join([*lines, "", asked]))
