"""`assay verdict`: what was decided and why, what waits for a person, and that person's answer."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
import msgspec

from assay.flows.verdicts.attest_verdict import ATTEST
from assay.flows.verdicts.explain_verdict import ExplainedNode, ExplainedObligation, ExplainedRule
from assay.flows.verdicts.read_verdicts import Decided, RuleVerdict
from assay.kernel.instant import render_instant
from assay.kernel.transcript import Transcript
from assay.operations.shown.verdicts import standing_word
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
from assay.surfaces.cli.acting import columns, plain
from assay.surfaces.cli.derive import add_operations, common_options
from assay.surfaces.cli.output import Call, Group, NodeCommand
from assay.surfaces.cli.perform import perform, show, sign
from assay.surfaces.cli.reviewer_key import key_options, load_signer
from assay.surfaces.cli.verdict_text import clause_text, one_line, told_obligation
from assay.verdicts.docket import UNRULED
from assay.verdicts.envelope import Envelope, FormalizableAssertion, HumanAttestation
from assay.verdicts.window_fact import WindowFact


def verdict_page(
    decided: Decided,
    explained: Sequence[ExplainedRule],
    transcripts: Mapping[str, Transcript],
    *,
    with_texts: bool = False,
) -> str:
    """The record first, then rule by rule; what strangers and models wrote stays on lines that are marked."""
    lines = [*_record(decided)]
    for verdict, rule in zip(decided.verdicts, explained, strict=True):
        lines += ["", *_rule(verdict, rule, transcripts)]
        if with_texts and verdict.envelope is not None:
            lines += _texts(transcripts[verdict.envelope.transcript_ref])
    return "\n".join(lines)


def _record(decided: Decided) -> Iterator[str]:
    overall = decided.overall.verdict or "held until a person answers"
    facts = [
        ("record", one_line(decided.telemetry_id)),
        ("subject", one_line(decided.subject)),
        ("measured", render_instant(decided.as_of)),
        ("hash", decided.telemetry_hash),
        ("overall", overall),
    ]
    yield columns(list(facts))


def _rule(verdict: RuleVerdict, rule: ExplainedRule, transcripts: Mapping[str, Transcript]) -> Iterator[str]:
    name = "no rule applies" if verdict.rule_id == UNRULED else one_line(rule.rule_name or verdict.rule_id)
    ident = "" if verdict.rule_id == UNRULED else f"{one_line(verdict.rule_id)}, "
    yield f"{standing_word(verdict)}  {name} ({ident}{verdict.tier} tier)"
    yield from _section("obligations", (line for one in rule.obligations for line in _obligation(one)))
    yield from _section("with them in the slice", (_node(one) for one in rule.considered))
    yield from _section("windows", (_window(one) for one in rule.window_facts))
    if verdict.envelope is not None:
        yield from _envelope(verdict.envelope, transcripts)
    yield from _section("the governor", [verdict.reason, *_model_said(verdict, rule)])
    if verdict.ticket_id is not None and verdict.verdict is None:
        yield from _section("waits for", [f"assay review show {verdict.ticket_id}"])
    yield from _section("on the ledger", _proof(verdict))


def _section(title: str, lines: Iterator[str] | Sequence[str]) -> Iterator[str]:
    told = list(lines)
    if told:
        yield f"  {title}"
        yield from (f"    {line}" for line in told)


def _obligation(one: ExplainedObligation) -> Iterator[str]:
    yield f"{one_line(one.obligation_id)}: {told_obligation(one)}"
    if one.summary:
        yield f"  | {one_line(one.summary)}"
    for clause in one.clauses:
        url = f"  {one_line(clause.url)}" if clause.url else ""
        yield f"  {clause_text([clause])}{url}"


def _node(one: ExplainedNode) -> str:
    clauses = f" [{clause_text(one.clauses)}]" if one.clauses else ""
    return f"{one_line(one.node_id)}: {one_line(one.text)}{clauses}"


def _window(one: WindowFact) -> str:
    span = "" if one.window_seconds is None else f" over {one.window_seconds} s"
    doubt = "" if one.doubt is None else f", in doubt: {one.doubt}"
    what = f"{one.kind} of {one_line(one.metric)}{span}"
    return f"{one_line(one.obligation_id)}: {what} is {one.shown}, {one.records} records{doubt}"


def _envelope(envelope: Envelope, transcripts: Mapping[str, Transcript]) -> Iterator[str]:
    yield from _section(
        "the model's own words", [f"| {line}" for line in plain(envelope.reasoning).split("\n") if line]
    )
    yield from _section("it asserted", [_assertion(one) for one in envelope.formalizable_assertions])
    yield from _section("it cited", [f"{one_line(one.node_id)} as {one.role}" for one in envelope.kg_citations])
    result = envelope.verifier_result
    yield from _section(
        "the verifier",
        [f"{result.status}, {result.checked_assertions} assertions checked", *map(one_line, result.divergences)],
    )
    if envelope.human_attestation is not None:
        yield from _section("attested", [_attestation(envelope.human_attestation)])
    yield from _section("notes", [one_line(note) for note in envelope.notes])
    yield from _section("computed from", _provenance(envelope, transcripts.get(envelope.transcript_ref)))


def _assertion(one: FormalizableAssertion) -> str:
    claim = "satisfied" if one.satisfied else "not satisfied"
    observed, value = (one_line(json.dumps(part, ensure_ascii=False)) for part in (one.observed, one.value))
    return (
        f"{one_line(one.obligation_id)}: {one_line(one.metric)} {one.predicate} {value}, observed {observed}: {claim}"
    )


def _attestation(one: HumanAttestation) -> str:
    return f"by {one.reviewer} at {render_instant(one.attested_at)}, key {one.key_id}"


def _provenance(envelope: Envelope, transcript: Transcript | None) -> Iterator[str]:
    one = envelope.model_provenance
    path = "the fast path: no model was asked" if envelope.verdict_path is not None else None
    backend = None if transcript is None else f"{transcript.backend_name}, {_times(transcript)}"
    facts = [
        ("graph", one.kg_version_hash),
        ("weights", one.model_weight_hash),
        ("prompt", f"{one.prompt_template_hash} ({one.prompt_template_id}, seed {one.decoder_seed})"),
        ("grammar", one.structured_grammar_hash),
        ("transcript", envelope.transcript_ref),
        ("answered by", path or backend or "a transcript that is not kept any more"),
    ]
    yield from columns(list(facts)).split("\n")


def _times(transcript: Transcript) -> str:
    return f"{render_instant(transcript.started_at)} to {render_instant(transcript.completed_at)}"


def _model_said(verdict: RuleVerdict, rule: ExplainedRule) -> Sequence[str]:
    ruling = rule.ruling
    if ruling is None or verdict.verdict is None or ruling.model_verdict is verdict.verdict:
        return ()
    return (f"the model said {ruling.model_verdict}",)


def _proof(verdict: RuleVerdict) -> Iterator[str]:
    number = verdict.sequence_number
    yield f"entry {number} of {render_instant(verdict.recorded_at)}, {verdict.entry_hash}"
    yield f"prove:   assay ledger prove {number} --output verdict-{number}.json"
    yield f"verify:  assay verify verdict-{number}.json --trust KEY"
    yield f"replay:  assay replay --entry {number}"
    if verdict.envelope is not None and verdict.envelope.verdict_path is None:
        yield f"receipt: assay receipt verify --entry {number}"


def _texts(transcript: Transcript) -> Iterator[str]:
    for title, text, name in (
        ("asked", transcript.request_canonical, "prompt"),
        ("answered", transcript.response_canonical, "text"),
    ):
        value = json.loads(text)
        told = value.get(name) or value.get("failure") or ""
        yield from _section(title, [f"| {line}" for line in plain(str(told)).split("\n")])


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
