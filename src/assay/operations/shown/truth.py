"""Contracts, observations, states and votes as text for people."""

from collections.abc import Mapping
from typing import Any

import msgspec

from assay.flows.request import BulkLine
from assay.flows.truth.check_truth import StateFinding
from assay.flows.truth.climb_ladder import Scored, ScoredStates
from assay.flows.truth.compile_all import CompiledAll, CompiledState
from assay.flows.truth.compile_truth import Aged
from assay.flows.truth.contracts import ContractDetail, ContractItem
from assay.flows.truth.fingerprints import Attached
from assay.flows.truth.observe import Observed
from assay.flows.truth.states import StateItem, StateReplay
from assay.flows.truth.votes import OpenQuestion, VoteReceipt, WindowReceipt
from assay.kernel.canonical import Profile, canonical_json
from assay.kernel.instant import render_instant
from assay.operations.kinds import Column
from assay.operations.shown.text import columns, plain
from assay.truth.form import ObservationForm
from assay.truth.state import TruthState, parse_truth_state

STATE_COLUMNS: tuple[Column, ...] = (
    ("KEY", lambda one: str(one.truthkey)),
    ("STATUS", lambda one: str(one.state["status"])),
    ("CONFIDENCE", lambda one: str(one.confidence_now)),
    ("CLAIM", lambda one: _value(one.state["claim"])),
    ("NOTE", lambda one: state_notes(one.is_expired, one.is_stale)),
)
VERSION_COLUMNS: tuple[Column, ...] = (
    ("VERSION", lambda one: f"v{one.version}"),
    ("COMPILED", lambda one: render_instant(one.compiled_at)),
    ("STATE", lambda one: state_line(one.state)),
)
_MARKS = {True: "ok", False: "FAILED", None: "-"}


def contract_line(one: ContractItem) -> str:
    return f"released: {one.claim_type} {one.claim_type_hash}, entry {one.sequence_number}"


def contract_text(found: ContractDetail) -> str:
    """When it was released, by whom, its hash, and the whole document."""
    facts = [
        ("claim type", found.claim_type),
        ("hash", found.claim_type_hash),
        ("released", f"{render_instant(found.released_at)} by {found.released_by}, entry {found.sequence_number}"),
        ("schema", "in the document" if found.schema_text is None else "in a file of its own"),
    ]
    return columns(list(facts)) + "\n" + msgspec.json.format(found.document, indent=2)


def form_text(form: ObservationForm) -> str:
    evidence = form.evidence
    rows = [
        (one.name, one.widget, "yes" if one.required else "no", ", ".join(one.options) or "-", one.help or "-")
        for one in form.fields
    ]
    facts = [
        ("form", form.title),
        ("claim type", f"{form.claim_type} {form.claim_type_hash}"),
        ("place", form.place),
        ("evidence", f"{evidence.min_count} to {evidence.max_count} of {', '.join(evidence.types)}"),
    ]
    return columns(list(facts)) + "\n" + columns([("MEMBER", "KIND", "REQUIRED", "OPTIONS", "HELP"), *rows])


def observed_text(done: Observed) -> str:
    """Where the observation is recorded, and whether the compiler would count it."""
    words = "recorded" if done.is_new else "was recorded before"
    lines = [f"{words}: entry {done.sequence_number}, {done.truthkey}"]
    if done.heard is not None:
        lines.append(f"heard: {done.heard}" + ("" if done.reason is None else f", {plain(done.reason)}"))
    return "\n".join(lines)


def lines_text(done: tuple[BulkLine, ...]) -> str:
    return "\n".join(map(line_text, done))


def line_text(one: BulkLine) -> str:
    """What happened to one line of a bulk request."""
    number = "" if one.line is None else str(one.line)
    if one.receipt is None:
        return f"{number:>8}  refused: {plain(one.problem or '')} [{one.code}]"
    return f"{number:>8}  entry {one.receipt['sequence_number']}, {one.receipt['truthkey']}"


def attached_text(done: Attached) -> str:
    words = "recorded" if done.is_new else "was recorded before"
    return f"{words}: entry {done.sequence_number}, {done.truthkey}"


def state_line(value: Mapping[str, Any]) -> str:
    """`VERIFIED_TRUE by HUMAN_CONSENSUS, confidence 0.9, {"present":true}`."""
    confidence, claim = value["confidence"], _value(value["claim"])
    return f"{value['status']} by {value['verification_basis']}, confidence {confidence}, {claim}"


def state_text(shown: StateItem) -> str:
    """A state with its confidence term by term, and what age has left of it."""
    state = parse_truth_state(dict(shown.state))
    inputs, security = state.compile_inputs, state.security
    facts = [
        ("truth key", state.truthkey),
        ("claim type", f"{state.claim_type} {state.claim_type_hash}"),
        ("status", f"{state.status} by {state.verification_basis}"),
        *((f"claim {name}", _value(value)) for name, value in sorted(state.claim.items())),
        ("confidence", f"{_number(state.confidence)} (machines {_number(state.ai_confidence)})"),
        *_parts(state),
        ("flags", ", ".join(state.transparency_flags) or "-"),
        ("observations", str(len(state.observation_ids))),
        ("votes given", str(len(inputs.vote_hashes))),
        ("compiled", f"{render_instant(inputs.compile_time)} by {inputs.compiler_version}"),
        ("trust", inputs.trust_snapshot_hash),
        ("state hash", "-" if security is None else security.state_hash),
        ("signed by", "-" if security is None else security.key_id),
        ("version", f"{shown.version}, entry {shown.sequence_number}"),
        ("confidence now", str(shown.confidence_now)),
        ("note", state_notes(shown.is_expired, shown.is_stale) or "-"),
    ]
    return columns(list(facts))


def compiled_text(done: CompiledState) -> str:
    words = f"version {done.version}, entry {done.sequence_number}"
    changed = words if done.is_new else f"unchanged: {words}"
    return f"{done.state['truthkey']}\n{state_line(done.state)}\n{changed}"


def compiled_all_text(done: CompiledAll) -> str:
    lines = [f"{one.truthkey}  could not be compiled: {one.problem} [{one.code}]" for one in done.stuck]
    words = f"{done.compiled} compiled, {done.unchanged} unchanged, {len(done.stuck)} could not be compiled"
    return "\n".join([*lines, words])


def aged_text(aged: Aged) -> str:
    lines = [f"{key}  compiled" for key in aged.compiled]
    lines += [f"{one.truthkey}  could not be compiled: {one.problem} [{one.code}]" for one in aged.stuck]
    return "\n".join(lines) or "nothing is due"


def scores_text(done: ScoredStates) -> str:
    return "\n".join(map(_scored, done.scores)) or "no rung is due"


def replay_text(found: StateReplay) -> str:
    words = "holds" if found.holds else "DOES NOT HOLD"
    unsaid = "" if found.is_complete is not None else ", not whether any was left out"
    unsaid += "" if found.is_trust_refolded is not None else ", trust not folded again"
    where = f"{found.truthkey} version {found.version}, entry {found.sequence_number}"
    head = f"{where}: {words}, {found.records} records{unsaid}"
    return "\n".join([head, *(f"  {problem.message} [{problem.code}]" for problem in found.problems)])


def finding_text(found: StateFinding) -> str:
    """Each check of a lone state, and what a lone state does not prove."""
    lines = [
        f"{_MARKS[check.holds]:<7} {check.name:<14} {check.message}{f' [{check.code}]' if check.code else ''}".rstrip()
        for check in found.checks
    ]
    unproven = [f"NOT PROVEN by this state alone: {one}" for one in found.not_proven]
    return "\n".join([f"{found.truthkey} {found.status}", *lines, *unproven])


def question_text(asked: OpenQuestion) -> str:
    """What a vote must have seen, and the hash that names it."""
    facts = [
        ("ticket", asked.ticket_id),
        ("shows", asked.shown_hash),
        ("votes", ", ".join(asked.choices)),
        ("due", "-" if asked.due_at is None else render_instant(asked.due_at)),
    ]
    return columns(list(facts)) + "\n" + plain(asked.shown)


def vote_text(done: VoteReceipt) -> str:
    return f"{done.voter_id} voted `{done.vote_type.value.lower()}`\n{recount_text(done.version, done.state)}"


def vote_notes(_given: object, done: VoteReceipt) -> str | None:
    return recount_warning(done, "vote", "vote")


def window_text(done: WindowReceipt) -> str:
    return f"{done.kind}, entry {done.sequence_number}\n{recount_text(done.version, done.state)}"


def window_notes(_given: object, done: WindowReceipt) -> str | None:
    return recount_warning(done, "event", "send it")


def recount_text(version: int | None, state: Mapping[str, Any] | None) -> str:
    """The state of a key after something about it was recorded."""
    if state is None:
        return "not compiled yet"
    return f"{state['truthkey']}\n{state_line(state)}\nversion {version}"


def recount_warning(done: Any, what: str, again: str) -> str | None:  # noqa: ANN401 - any receipt with a state
    """For something that is recorded while its key could not be compiled; None where it could."""
    if done.state is not None:
        return None
    return (
        f"the {what} is recorded, but the key is not compiled yet: {done.problem} [{done.code}]; do not {again} again"
    )


def _scored(one: Scored) -> str:
    said = f"no score: {one.problem} [{one.code}]"
    if one.score is not None:
        failed = f", failed {', '.join(one.score.failed_checks)}" if one.score.failed_checks else ""
        said = f"{one.score.score} by {one.score.engine} {one.score.engine_version}{failed}"
    return f"{one.observation_hash[:16]}  {one.stage or '-':<10}  {said}"


def state_notes(is_expired: bool, is_stale: bool) -> str:  # noqa: FBT001 - named alike wherever it is called
    notes = ["expired"] if is_expired else []
    notes += ["there are records that are in no state yet"] if is_stale else []
    return "; ".join(notes)


def _parts(state: TruthState) -> list[tuple[str, str]]:
    """The confidence line by line: the products and modifiers, added, clamped and aged, are it."""
    breakdown = state.confidence_breakdown
    parts = [
        (f"  {name}", f"{_number(one.weight)} x {_number(one.value)} = {_number(one.contribution)}")
        for name, one in sorted(breakdown.components.items())
    ]
    parts += [(f"  {name}", f"{_number(added)}") for name, added in sorted(breakdown.modifiers.items())]
    return [*parts, ("  decay", f"x {_number(breakdown.decay)}")] if parts else []


def _value(value: object) -> str:
    return plain(canonical_json(value, Profile.KAORI))


def _number(value: object) -> str:
    return f"{value:f}".rstrip("0").rstrip(".") if "." in f"{value:f}" else f"{value:f}"
