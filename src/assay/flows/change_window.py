"""A person opens, extends, closes or aborts the validation window of a key: a signed event, and the key is compiled."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct

from assay.flows.admit_principal import admit_principal
from assay.flows.compile_truth import CompiledTruth, compile_truth
from assay.flows.errors import WindowRefusedError
from assay.flows.load_truth import claim_types_of
from assay.flows.released import contract_of_key, read_contract
from assay.flows.tools import Tools
from assay.flows.truth_entry import add_bronze
from assay.flows.truth_key import introduce_truth_key
from assay.flows.window_entry import window_bronze
from assay.identity.authorise import require_role
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.instant import Instant, render_instant
from assay.ports.database import Unit
from assay.ports.truth_store import RecordKind, TruthRecord
from assay.truth.consensus import find_window
from assay.truth.contract import Contract, FlowMode
from assay.truth.key import parse_truth_key, render_truth_key
from assay.truth.window import Window, WindowEvent, WindowEventKind, parse_window_event

__all__ = ["WINDOW_ROLES", "ChangedWindow", "change_window"]

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
_ENTROPY = 16


class ChangedWindow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The event, its entry, and the state of the key with it."""

    event: WindowEvent
    sequence_number: int
    compiled: CompiledTruth


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
    """Opening a window asks people, closing or aborting it stops asking: the ticket follows from the compiled state."""
    key = render_truth_key(parse_truth_key(truthkey))
    principal = tools.database.read(lambda unit: _admitted(unit, tools, key, kind, credential, at))
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
        _admitted(unit, tools, key, kind, credential, at)
        return add_bronze(unit, bronze).sequence_number

    number = tools.database.write(work)
    compiled = compile_truth(tools, tenant_id, key, at=at)
    return ChangedWindow(event=event, sequence_number=number, compiled=compiled)


def _admitted(
    unit: Unit, tools: Tools, truthkey: str, kind: WindowEventKind, credential: str, at: Instant
) -> Principal:
    """Who may, under the contract of the key; and the window stands so that the event means something."""
    principal = admit_principal(unit, credential, any_of=_EITHER, at=at)
    records = tuple(unit.truth.records(principal.tenant_id, truthkey))
    observed = claim_types_of(records)
    released = contract_of_key(unit, principal.tenant_id, parse_truth_key(truthkey), observed=observed)
    contract = read_contract(released.document, released.schema_text, tools.domain_systems)
    require_role(principal, WINDOW_ROLES[contract.validation_flow.mode])
    _require_follows(_window(contract, truthkey, records, at), contract, kind, at)
    return principal


def _window(contract: Contract, truthkey: str, records: Iterable[TruthRecord], at: Instant) -> Window | None:
    events = [parse_window_event(one.text) for one in records if one.kind is RecordKind.WINDOW_EVENT]
    return find_window(contract, truthkey, events, at)[0]


def _require_follows(window: Window | None, contract: Contract, kind: WindowEventKind, at: Instant) -> None:
    if kind is WindowEventKind.OPENED:
        if window is not None:
            raise WindowRefusedError("expected a key without a window, got one whose window was opened before")
        return
    if window is None or not window.is_open(at):
        raise WindowRefusedError(f"expected an open window for {kind}, got none at {render_instant(at)}")
    most = contract.validation_flow.max_extensions
    if kind is WindowEventKind.EXTENDED and window.extensions >= most:
        raise WindowRefusedError(f"expected at most {most} extensions, got one more")
