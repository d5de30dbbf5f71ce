"""How large a key may grow: its states name every observation, and are still one entry each."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.flows.truth.replay_truth import replay_truth
from assay.kernel.ledger import MAX_STATE_BYTES, EntryKind
from assay.truth.status import TruthStatus
from tests.acting_truth import observe_many, register_policy
from tests.flows._node import TENANT
from tests.flows._truth import POLICY, TruthDesk, opened_truth

_HEARD = 20_000
# Newcomers are heard and believed, so that a crowd of them is: nothing for a real node.
_TRUSTING = POLICY.replace("initial_standing: 300", "initial_standing: 700")
_WEAK = ("quick_authority", "spammer_heard", "sybils_lift_each_other", "collusion_outvotes")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    with opened_truth(tmp_path, policy=None) as one:
        register_policy(one.tools, _TRUSTING, credential=one.operator, accept=_WEAK, at=one.now("12:00"))
        one.people()
        yield one


def _reporters(desk: TruthDesk, first: int, last: int) -> None:
    names = [f"user:reporter-{number:05}" for number in range(first, last)]
    for name in names:
        desk.trust(name)
    lines = (json.dumps(desk.report(name)).encode() for name in names)
    done = observe_many(desk.tools, lines, credential=desk.relay, now=lambda: desk.now("12:30"))
    assert (done.recorded, done.refused) == (last - first, 0)


def _longest(desk: TruthDesk, kind: EntryKind) -> int:
    return max(len(json.dumps(body, separators=(",", ":"))) for body in desk.entries(kind))


def test_a_key_has_room_for_twenty_thousand_who_are_heard(desk: TruthDesk) -> None:
    """A final state names each observation, when it came and who was right: what forty more of them add says how many
    fit, and its replay finds them all.
    """
    sizes = []
    for first, last, at in ((0, 20, "12:40"), (20, 60, "12:45")):
        _reporters(desk, first, last)
        desk.score(local_vision=0.95)
        compiled = desk.compile(at)
        assert compiled.state.status is TruthStatus.VERIFIED_TRUE
        assert len(compiled.state.observation_ids) == last
        sizes.append([_longest(desk, kind) for kind in (EntryKind.TRUTH_STATE, EntryKind.SNAPSHOT_FROZEN)])
    assert replay_truth(desk.tools, TENANT, truthkey=desk.truthkey).holds
    for small, large in zip(*sizes, strict=True):
        assert large + (_HEARD - 60) * (large - small) / 40 < MAX_STATE_BYTES
