"""A person opens, extends, closes or aborts the validation window of a key: a signed event, and the key is compiled."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from msgspec import Struct

from assay.flows.errors.truth import WindowRefusedError
from assay.flows.identity.authenticate import authenticate_in, require_session
from assay.flows.tools import Tools
from assay.flows.truth.compile_truth import CompiledTruth
from assay.flows.truth.key_contract import choose_contract
from assay.flows.truth.key_sealing import KeyRecords, SealedState, Sealing, find_sealing
from assay.flows.truth.load_truth import read_released
from assay.flows.truth.recount import recount_key
from assay.flows.truth.truth_entry import add_bronze
from assay.flows.truth.truth_key import introduce_truth_key
from assay.flows.truth.vouch_rows import vouch_states
from assay.flows.truth.window_entry import window_bronze
from assay.identity.authorise import has_role, require_role
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.instant import Instant, render_instant
from assay.ports.database import Unit
from assay.ports.truth_store import RecordKind, SilverState, TruthRecord
from assay.truth.consensus import find_window
from assay.truth.contract import Contract, FlowMode
from assay.truth.key import parse_truth_key, render_truth_key
from assay.truth.status import FINAL_STATUSES
from assay.truth.window import Window, WindowEvent, WindowEventKind, parse_window_event

_EITHER = (BuiltInRole.OPERATOR, BuiltInRole.REVIEWER)
# Where the contract leaves a decision to experts or authorities, reviewers at large do not set its frame.
WINDOW_ROLES: Mapping[FlowMode, tuple[BuiltInRole, ...]] = MappingProxyType(
    {
        FlowMode.AUTO: _EITHER,
        FlowMode.HUMAN_PEER: _EITHER,
        FlowMode.HUMAN_EXPERT: (BuiltInRole.OPERATOR,),
        FlowMode.AUTHORITY_GATE: (BuiltInRole.OPERATOR,),
    }
)
_ENDS = (WindowEventKind.CLOSED, WindowEventKind.ABORTED)
_ENTROPY = 16


class ChangedWindow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The event, its entry, and the state of the key with it.

    Without a state the key is not compiled yet, and `code` and `problem` say why; the event stands all the same.
    """

    event: WindowEvent
    sequence_number: int
    compiled: CompiledTruth | None = None
    code: str | None = None
    problem: str | None = None


def change_window(
    tools: Tools,
    truthkey: str,
    kind: WindowEventKind,
    *,
    closes_at: Instant | None = None,
    reason: str = "",
    credential: str,
    at: Instant,
) -> ChangedWindow:
    """Opening a window asks people, closing or aborting it stops asking: the ticket follows from the compiled state.

    After the end of a window another opening begins the next round, by a person who is signed in: an operator, or a
    reviewer who says why. Closing needs a session too; aborting is an operator's, with a reason, and is refused once
    the round has a final state. Whatever is raised, no event was recorded.
    """
    key = render_truth_key(parse_truth_key(truthkey))
    asked = _Asked(truthkey=key, kind=kind, reason=reason.strip(), credential=credential, at=at)
    principal = tools.database.read(lambda unit: _admitted(unit, tools, asked))
    tenant_id = principal.tenant_id
    event = parse_window_event(
        {
            "event_id": f"window.{tools.entropy.token(_ENTROPY).hex()}",
            "truthkey": key,
            "kind": kind.value,
            "by": principal.id,
            "occurred_at": render_instant(at),
            "closes_at": None if closes_at is None else render_instant(closes_at),
            "reason": reason,
        }
    )
    introduce_truth_key(tools, tenant_id, at=at)
    bronze = window_bronze(tools, tenant_id, event, submitted_by=principal.id, at=at)

    def work(unit: Unit) -> int:
        _admitted(unit, tools, asked)
        return add_bronze(unit, bronze).sequence_number

    number = tools.database.write(work)
    done = recount_key(tools, tenant_id, key, at=at)
    return ChangedWindow(
        event=event, sequence_number=number, compiled=done.compiled, code=done.code, problem=done.problem
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    truthkey: str
    kind: WindowEventKind
    reason: str
    credential: str
    at: Instant


def _admitted(unit: Unit, tools: Tools, asked: _Asked) -> Principal:
    """Who may, under the contract of the key; and the window stands so that the event means something."""
    proved = authenticate_in(unit, asked.credential, at=asked.at)
    principal = proved.principal
    require_role(principal, _EITHER)
    records = tuple(unit.truth.records(principal.tenant_id, asked.truthkey))
    released = choose_contract(unit, tools, principal.tenant_id, asked.truthkey, records, at=asked.at)
    contract = read_released(tools, released)
    require_role(principal, WINDOW_ROLES[contract.validation_flow.mode])
    window = _window(contract, asked.truthkey, records, asked.at)
    _require_follows(window, contract, asked)
    if asked.kind in _ENDS or (asked.kind is WindowEventKind.OPENED and window is not None):
        # A script's key does not show that a person wants this now.
        require_session(proved)
    if asked.kind is WindowEventKind.OPENED and window is not None and not has_role(principal, [BuiltInRole.OPERATOR]):
        _require_reason(asked)
    if asked.kind is WindowEventKind.ABORTED:
        require_role(principal, [BuiltInRole.OPERATOR])
        _require_reason(asked)
        last = unit.truth.find_state(principal.tenant_id, asked.truthkey)
        vouch_states(unit, tools.vouched, principal.tenant_id, () if last is None else (last,))
        known = None if last is None else SealedState.read(last.text)
        sealing = find_sealing(contract, asked.truthkey, known, KeyRecords.of(records), asked.at)
        _require_undecided(window, last, sealing)
    return principal


def _window(contract: Contract, truthkey: str, records: Iterable[TruthRecord], at: Instant) -> Window | None:
    events = [parse_window_event(one.text) for one in records if one.kind is RecordKind.WINDOW_EVENT]
    return find_window(contract, truthkey, events, at)[0]


def _require_reason(asked: _Asked) -> None:
    if not asked.reason:
        raise WindowRefusedError(f"expected a reason for {asked.kind}, got none")


def _require_undecided(window: Window | None, last: SilverState | None, sealing: Sealing) -> None:
    """What people or machines decided in a round is not undone by calling the round off."""
    is_final = last is not None and last.status in FINAL_STATUSES
    is_of_round = last is not None and window is not None and last.compile_time >= window.opened_at
    if sealing.sealed_at is not None or (is_final and is_of_round):
        raise WindowRefusedError("expected a round without a final state, got one that was decided: open the next one")


def _require_follows(window: Window | None, contract: Contract, asked: _Asked) -> None:
    is_open = window is not None and window.is_open(asked.at)
    if asked.kind is WindowEventKind.OPENED:
        if is_open:
            raise WindowRefusedError("expected a key without an open window, got one that people are asked in now")
        return
    if window is None or not is_open:
        raise WindowRefusedError(f"expected an open window for {asked.kind}, got none at {render_instant(asked.at)}")
    most = contract.validation_flow.max_extensions
    if asked.kind is WindowEventKind.EXTENDED and window.extensions >= most:
        raise WindowRefusedError(f"expected at most {most} extensions, got one more")
