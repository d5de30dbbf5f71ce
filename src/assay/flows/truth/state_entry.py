"""How entries about states and records are read back: by their numbers, whole, for proofs and replays."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

from msgspec import Struct, ValidationError, convert

from assay.facts.trust import json_of
from assay.facts.truth import BronzeBody, StateBody
from assay.flows.errors.truth import TruthFlowError
from assay.kernel.bundle import EntryHead, parse_entry_head
from assay.kernel.ledger import EntryKind
from assay.truth.state import TruthState, parse_truth_state, render_truth_state

# The text of the entry with a number, or None where it is not at hand.
GetEntry = Callable[[int], bytes | None]
# A record as its entry tells it.
Told = tuple[EntryKind, BronzeBody]
T = TypeVar("T", bound=Struct)


class ReplayCode(StrEnum):
    """What a replay can find besides the errors of what it calls."""

    TRUST_DIFFERS = "replay.trust_differs"  # the snapshot does not follow from the signals of the ledger
    STATE_DIFFERS = "replay.state_differs"  # the same inputs compile to other bytes
    SEAL_DIFFERS = (
        "replay.seal_differs"  # the answers of people, or what is late for them, are not as states before say
    )
    SIGNAL_DIFFERS = "replay.signal_differs"  # the outcomes for trust do not follow from the state
    STATE_LEFT_OUT = "replay.state_left_out"  # the version does not count the states of the key before it
    RECORD_LEFT_OUT = "replay.record_left_out"  # an entry of the key that the state was compiled without
    RECORD_FOREIGN = "replay.record_foreign"  # an entry among the inputs that does not speak at the key
    PARTIAL = "replay.partial_export"  # the file begins later than the ledger
    ROW_DIFFERS = "replay.row_differs"  # a table says something else than the ledger
    NOT_CHECKED = "replay.not_checked"  # a signature that only the holder of a secret could check


class ReplayProblem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    code: str
    message: str


def read_state(get_entry: GetEntry, sequence_number: int) -> tuple[TruthState, StateBody]:
    body = read_body(get_entry, sequence_number, EntryKind.TRUTH_STATE, StateBody)
    return parse_truth_state(body.state), body


def read_bronze(get_entry: GetEntry, number: int) -> Told:
    head = _head(get_entry, number)
    return EntryKind(head.kind), _read(head, BronzeBody)


def read_body(get_entry: GetEntry, number: int, kind: EntryKind, shape: type[T]) -> T:
    head = _head(get_entry, number)
    if head.kind != kind:
        raise TruthFlowError.replay_entry_missing(
            f"expected a `{kind}` entry as number {number}, got `{head.kind[:80]}`"
        )
    return _read(head, shape)


def _head(get_entry: GetEntry, number: int) -> EntryHead:
    text = get_entry(number)
    if text is None:
        raise TruthFlowError.replay_entry_missing(
            f"expected entry {number}, which the state was compiled from, got none"
        )
    head = parse_entry_head(text)
    if head.sequence_number != number:
        raise TruthFlowError.replay_entry_missing(f"expected entry {number}, got {head.sequence_number}")
    return head


def _read(head: EntryHead, shape: type[T]) -> T:
    value: Any = head.body
    try:
        return convert(value, shape)
    except ValidationError as error:
        raise TruthFlowError.replay_entry_missing(
            f"expected the body of a `{head.kind}` entry as number {head.sequence_number}: {error}"
        ) from error


def state_value(state: TruthState) -> dict[str, Any]:
    """The state as part of a larger result; its canonical bytes are what was signed."""
    return json_of(render_truth_state(state))
