"""Operations of truth and trust for tests: as a credential's principal, through the dispatcher, at a given time."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import orjson
from msgspec import Struct

from assay.flows.request import BulkLine
from assay.flows.tools import Tools
from assay.flows.trust.policies import PolicyItem, RegisterPolicy
from assay.flows.trust.record_signal import RecordSignal, Signalled
from assay.flows.trust.request_penalty import PenaltyRequest, PenaltyTicket
from assay.flows.truth.contracts import ContractItem, ReleaseContract
from assay.flows.truth.fingerprints import Attached, AttachFingerprint
from assay.flows.truth.observe import Observed, ObserveLines, ObserveRequest
from assay.flows.truth.votes import ChangeWindow, PrepareVote, VoteReceipt, VoteRequest, WindowReceipt
from assay.kernel.digest import Digest
from assay.kernel.instant import Instant, render_instant
from assay.operations.dispatch import Dispatcher, Outcome
from assay.operations.table import BY_NAME
from assay.ports.signer import Signer
from assay.trust.signal import TrustSignal, render_signal
from assay.truth.contract import VoteType
from assay.truth.state import TruthState, parse_truth_state
from assay.truth.status import TruthStatus
from assay.truth.window import WindowEventKind
from tests.acting import caller_of

EVENTS: dict[WindowEventKind, Literal["open", "extend", "close", "abort"]] = {
    WindowEventKind.OPENED: "open",
    WindowEventKind.EXTENDED: "extend",
    WindowEventKind.CLOSED: "close",
    WindowEventKind.ABORTED: "abort",
}


class Released(NamedTuple):
    contract: ContractItem
    is_new: bool


class Registered(NamedTuple):
    policy: PolicyItem
    is_new: bool


class InForce(NamedTuple):
    """A state that came with a receipt."""

    state: TruthState
    version: int


class Counted(NamedTuple):
    """How many lines of a stream were new, were there, and were refused."""

    recorded: int
    repeated: int
    refused: int


def perform(tools: Tools, name: str, wanted: Struct, *, credential: str, at: Instant) -> Outcome:
    """Perform an operation as this credential's principal; its permission is checked."""
    return Dispatcher(tools=tools)(BY_NAME[name], caller_of(tools, credential, at=at), wanted)


def bytes_of(given: bytes | str | dict[str, Any]) -> bytes:
    if isinstance(given, bytes):
        return given
    return given.encode() if isinstance(given, str) else orjson.dumps(given)


def release_contract(tools: Tools, text: str, schema: bytes | None = None, *, credential: str, at: Instant) -> Released:
    wanted = ReleaseContract(document=text, schema_text=None if schema is None else schema.decode())
    done = perform(tools, "contract.release", wanted, credential=credential, at=at)
    return Released(done.value, done.is_new)


def observe(tools: Tools, given: bytes | str | dict[str, Any], *, credential: str, at: Instant) -> Observed:
    wanted = ObserveRequest(observation=bytes_of(given))
    done: Observed = perform(tools, "observation.record", wanted, credential=credential, at=at).value
    return done


def observe_many(
    tools: Tools,
    lines: Iterable[bytes],
    *,
    credential: str,
    now: Callable[[], Instant],
    report: Callable[[BulkLine], None] | None = None,
) -> Counted:
    content = b"\n".join(line.removesuffix(b"\n") for line in lines)
    wanted = ObserveLines(observations=content)
    done: tuple[BulkLine, ...] = perform(tools, "observations.record", wanted, credential=credential, at=now()).value
    for one in done if report is not None else ():
        report(one)  # type: ignore[misc]  # not None here
    statuses = [one.status for one in done]
    return Counted(statuses.count("recorded"), statuses.count("known"), statuses.count("refused"))


def attach_fingerprint(
    tools: Tools, observation_hash: str, given: bytes | str | dict[str, Any], *, credential: str, at: Instant
) -> Attached:
    wanted = AttachFingerprint(observation_hash=observation_hash, fingerprint=bytes_of(given))
    done: Attached = perform(tools, "fingerprint.attach", wanted, credential=credential, at=at).value
    return done


def cast_vote(
    tools: Tools,
    truthkey: str,
    vote_type: VoteType,
    *,
    seen: Digest,
    reason: str = "",
    override_status: TruthStatus | None = None,
    signing: Signer | None = None,
    credential: str,
    at: Instant,
) -> VoteReceipt:
    said: dict[str, Any] = {"truthkey": truthkey, "vote_type": vote_type, "seen": seen, "reason": reason}
    own: dict[str, Any] = {}
    if signing is not None:
        asked = PrepareVote(**said, override_status=override_status)
        prepared = perform(tools, "vote.prepare", asked, credential=credential, at=at).value
        signature = signing.sign(bytes.fromhex(prepared.message)).hex()
        own = {"signature": signature, "answered_at": prepared.answered_at}
    wanted = VoteRequest(**said, **own, override_status=override_status)
    done: VoteReceipt = perform(tools, "vote.cast", wanted, credential=credential, at=at).value
    return done


def change_window(
    tools: Tools,
    truthkey: str,
    kind: WindowEventKind,
    *,
    closes_at: Instant | None = None,
    reason: str = "",
    credential: str,
    at: Instant,
) -> WindowReceipt:
    end = None if closes_at is None else render_instant(closes_at)
    wanted = ChangeWindow(truthkey=truthkey, event=EVENTS[kind], closes_at=end, reason=reason)
    done: WindowReceipt = perform(tools, "window.change", wanted, credential=credential, at=at).value
    return done


def register_policy(tools: Tools, text: str, *, credential: str, accept: Iterable[str] = (), at: Instant) -> Registered:
    wanted = RegisterPolicy(document=text, accept=tuple(accept))
    done = perform(tools, "policy.register", wanted, credential=credential, at=at)
    return Registered(done.value, done.is_new)


def record_signal(
    tools: Tools, given: bytes | str | dict[str, Any] | TrustSignal, *, credential: str, at: Instant
) -> Signalled:
    content = render_signal(given) if isinstance(given, TrustSignal) else bytes_of(given)
    done: Signalled = perform(tools, "signal.record", RecordSignal(signal=content), credential=credential, at=at).value
    return done


def request_penalty(
    tools: Tools, agent_id: str, points: Decimal, *, reason: str, credential: str, at: Instant
) -> PenaltyTicket:
    wanted = PenaltyRequest(agent_id=agent_id, points=float(points), reason=reason)
    done: PenaltyTicket = perform(tools, "penalty.request", wanted, credential=credential, at=at).value
    return done


def in_force(done: Any) -> InForce:  # noqa: ANN401  a receipt of a vote, a window event or a dispute
    """The state with what was recorded, where its key could be compiled."""
    assert done.state is not None, done.problem
    return InForce(parse_truth_state(done.state), done.version)
