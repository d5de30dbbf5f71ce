"""Truth for people: a state, what became of it, and what was found about it, as aligned lines."""

from assay.flows.truth.compile_truth import CompiledTruth
from assay.flows.truth.show_truth import ShownTruth
from assay.kernel.canonical import Profile, canonical_json
from assay.kernel.instant import render_instant
from assay.surfaces.cli.acting import columns, plain
from assay.truth.state import TruthState


def state_line(state: TruthState) -> str:
    """`VERIFIED_TRUE by HUMAN_CONSENSUS, confidence 0.9, {"present":true}`."""
    claim = plain(canonical_json(state.claim, Profile.KAORI))
    return f"{state.status} by {state.verification_basis}, confidence {_number(state.confidence)}, {claim}"


def state_text(state: TruthState, *more: tuple[str, str]) -> str:
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
        *more,
    ]
    return columns(list(facts))


def shown_text(shown: ShownTruth) -> str:
    notes = ["expired"] if shown.is_expired else []
    notes += ["there are records that are in no state yet"] if shown.is_stale else []
    return state_text(
        shown.state,
        ("version", f"{shown.version}, entry {shown.sequence_number}"),
        ("confidence now", f"{_number(shown.confidence_now)} at {render_instant(shown.read_at)}"),
        ("note", "; ".join(notes) or "-"),
    )


def compiled_text(done: CompiledTruth) -> str:
    words = f"version {done.version}, entry {done.sequence_number}"
    return f"{done.state.truthkey}\n{state_line(done.state)}\n{words if done.is_new else f'unchanged: {words}'}"


def recount_text(truthkey: str, compiled: CompiledTruth | None) -> str:
    """What became of a key after something about it was recorded."""
    return f"{truthkey}\nnot compiled yet" if compiled is None else compiled_text(compiled)


def recount_warning(code: str | None, problem: str | None, what: str = "vote") -> str:
    """For a vote, a window event or a dispute that is recorded while its key could not be compiled."""
    return f"the {what} is recorded, but the key is not compiled yet: {problem} [{code}]; do not {_AGAIN[what]} again"


_AGAIN = {"vote": "vote", "event": "send it", "dispute": "dispute it"}


def _parts(state: TruthState) -> list[tuple[str, str]]:
    """How the confidence came about, line by line: the products and modifiers, added, clamped and aged, are it."""
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
