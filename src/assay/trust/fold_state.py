"""The checkpoint of a fold: everything that the signals so far amount to under one policy, as canonical bytes.

Fold -> `checkpoint()` -> FoldState -> canonical JSON (`kaori-2.1`) -> FoldState -> `Fold.resume`
A short cut, never an authority: folding the whole log again gives the same bytes.
"""

from typing import Any

import msgspec
from msgspec import Struct

from assay.kernel.canonical import Profile, canonicalize
from assay.kernel.errors import Error
from assay.kernel.instant import Instant
from assay.trust.errors import TrustError
from assay.trust.learning import AgentLearning
from assay.trust.standing import AgentStanding
from assay.truth._wire import plain_record
from assay.truth.forms import AgentId, ClaimTypeId, HexHash, Name, RecordId, TruthKeyText
from assay.truth.learn import Lesson


class Endorsed(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A weight in millionths, as it was on that day."""

    weight: int
    day: int


class ProbeState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`theta_min` is in millionths."""

    created_by: AgentId
    theta_min: int | None


class Applied(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What one state wanted for an agent and what came of it, in which window of the limits and on which day."""

    agent_id: AgentId
    wanted: int
    applied: int
    day: int
    window: int


class Taught(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What one state taught about an agent, and as how many reports that counted, in millionths."""

    agent_id: AgentId
    factor: int
    lessons: tuple[Lesson, ...]


class Judgement(Struct, frozen=True, forbid_unknown_fields=True):
    """What a key's final states did so far; it may be revised until `revision_window` after the first."""

    judged_at: Instant
    state_hashes: tuple[HexHash, ...]
    shares: tuple[Applied, ...]
    taught: tuple[Taught, ...] = ()


class FoldState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing in it is changed after it was made, by anyone. All numbers are whole: millionths, days, counts.

    `clock` is the latest instant of any signal so far, the year 1 before the first; `observers` are the agents assigned
    to a probe, each with whether another assigned it; `settled` are the keys whose judgement can change no more.
    `learning` is what is known of each agent's reports, by claim type, where the policy asks for that.
    """

    policy_hash: HexHash
    signals: int
    clock: Instant
    agents: dict[AgentId, AgentStanding]
    roles: dict[AgentId, dict[Name, Instant | None]]
    endorsements: dict[AgentId, dict[AgentId, Endorsed]]
    probes: dict[RecordId, ProbeState]
    observers: dict[RecordId, dict[AgentId, bool]]
    tickets: tuple[str, ...]
    judged: dict[TruthKeyText, Judgement]
    settled: tuple[TruthKeyText, ...]
    learning: dict[AgentId, dict[ClaimTypeId, AgentLearning]] = {}


def render_fold_state(state: FoldState) -> bytes:
    """Without members that say nothing and that 0.1.0 did not know: its checkpoints are read as they are."""
    plain: Any = plain_record(state)
    if not state.learning:
        del plain["learning"]
    for judgement in plain["judged"].values():
        if not judgement["taught"]:
            del judgement["taught"]
    return canonicalize(plain, Profile.KAORI)


def parse_fold_state(content: bytes | str) -> FoldState:
    """From exactly the bytes that `render_fold_state` writes; anything else is refused, and the log folded again."""
    given = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    try:
        state = msgspec.json.decode(given, type=FoldState)
        is_canonical = render_fold_state(state) == given
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, Error) as error:
        raise TrustError.fold_state(
            f"expected the checkpoint of a fold, got a text that is not: {str(error)[:200]}"
        ) from error
    named = {share.agent_id for one in state.judged.values() for share in one.shares}
    named |= {lesson.agent_id for one in state.judged.values() for lesson in one.taught}
    unknown = (named | state.learning.keys()) - state.agents.keys()
    if not is_canonical or unknown:
        raise TrustError.fold_state("expected the checkpoint of a fold in canonical form and whole, got another")
    return state
