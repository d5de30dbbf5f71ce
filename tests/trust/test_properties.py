"""Laws of trust for every log: on the scale, the same again, in parts as in whole, never up by taking away."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.instant import render_instant
from assay.trust.evolve import Fold
from assay.trust.fold_state import parse_fold_state, render_fold_state
from assay.trust.freeze import effective_share, freeze_trust
from assay.trust.signal import TrustSignal, parse_signal, render_signal
from assay.truth.snapshot import render_snapshot
from tests.trust.signals import (
    CLAIM_TYPE,
    at,
    emitted,
    endorsed,
    fold_of,
    instant,
    outcome,
    penalty,
    policy,
    registered,
    signal,
)

AGENTS = ("user:a", "user:b", "sensor:c", "plain")
POLICY = policy(
    initial_standing=500,
    network={"bonus_per_weight": 0.05, "cap": 0.2, "decay_per_day": 0.05, "endorser_min_standing": 450},
    limits={"window": "PT3H", "per_window": 4, "per_day": 9},
    revision_window="P5D",
)
LAST = 60
_agents = st.sampled_from(AGENTS)
_whens = st.builds(at, st.integers(0, LAST - 1), st.integers(0, 23))
_shares = st.decimals(0, 1, places=6).map(float)


@st.composite
def _states(draw: st.DrawFn) -> TrustSignal:
    names = draw(st.lists(st.tuples(_agents, st.sampled_from(["reporter", "voter"])), max_size=4, unique=True))
    outcomes = [
        outcome(name, draw(st.sampled_from([True, False, None])), draw(_shares), role=role, probe_id="p-1")
        for name, role in names
    ]
    key = f"earth:flood:h3:{draw(st.integers(1, 3))}:surface:2026-01-07T12:00Z"
    statuses = ["VERIFIED_TRUE", "VERIFIED_FALSE", "INCONCLUSIVE", "EXPIRED", "PENDING"]
    return emitted(
        *outcomes,
        when=draw(_whens),
        truthkey=key,
        state_hash=f"{draw(st.integers(1, 5)):064x}",
        status=draw(st.sampled_from(statuses)),
    )


def _ticket(number: int) -> str:
    return f"tkt_{number:026d}"


_signals = st.one_of(
    _states(),
    _states(),
    st.builds(lambda name, when: registered(name, when=when), _agents, _whens),
    st.builds(lambda by, whom, weight, when: endorsed(by, whom, weight, when=when), _agents, _agents, _shares, _whens),
    st.builds(
        lambda name, points, ticket, when: penalty(name, points, ticket=_ticket(ticket), when=when),
        _agents,
        st.integers(1, 600),
        st.integers(1, 3),
        _whens,
    ),
    st.builds(lambda by: signal("PROBE_CREATED", {"probe_id": "p-1", "created_by": by}), _agents),
    st.builds(
        lambda name, by: signal("OBSERVER_ASSIGNED", {"probe_id": "p-1", "agent_id": name}, by=by), _agents, _agents
    ),
    st.builds(lambda name, by: signal("ROLE_GRANTED", {"agent_id": name, "role": "steward"}, by=by), _agents, _agents),
)
_logs = st.lists(_signals, max_size=25).map(lambda log: [*map(registered, AGENTS), *log])


@given(_logs)
def test_standing_stays_on_its_scale_after_every_signal(log: list[TrustSignal]) -> None:
    fold = Fold(POLICY)
    for one in log:
        for change in fold.add(one):
            assert 0 <= change.after <= 1000
            assert change.before != change.after
    assert all(0 <= fold.get_standing(name, instant(LAST)) <= 1000 for name in fold.agent_ids())


@given(_logs, st.integers(0, 29))
def test_a_checkpoint_resumed_equals_the_whole_fold_byte_for_byte(log: list[TrustSignal], cut: int) -> None:
    """Also when the checkpoint went through its text, and every signal through its own."""
    whole = render_fold_state(fold_of(*log, under=POLICY).checkpoint())
    first = render_fold_state(fold_of(*log[:cut], under=POLICY).checkpoint())
    again = [parse_signal(render_signal(one)) for one in log[cut:]]
    resumed = Fold.resume(POLICY, parse_fold_state(first))
    for one in again:
        resumed.add(one)
    assert render_fold_state(resumed.checkpoint()) == whole
    assert render_fold_state(fold_of(*log, under=POLICY).checkpoint()) == whole


@given(_logs)
def test_only_signed_states_and_penalties_move_a_standing(log: list[TrustSignal]) -> None:
    fold = Fold(POLICY)
    for one in log:
        assert not fold.add(one) or one.kind in ("TRUTHSTATE_EMITTED", "PENALTY_APPLIED")


@given(_logs)
def test_a_penalty_moves_a_standing_at_most_once_for_each_ticket(log: list[TrustSignal]) -> None:
    fold = Fold(POLICY)
    tickets = [
        one.object.ticket_id  # type: ignore[union-attr]  # what a penalty has
        for one in log
        if fold.add(one) and one.kind == "PENALTY_APPLIED"
    ]
    assert len(tickets) == len(set(tickets))
    assert set(tickets) <= set(fold.checkpoint().tickets)


@given(_logs, st.lists(st.integers(0, LAST), max_size=5))
def test_looking_changes_nothing(log: list[TrustSignal], days: list[int]) -> None:
    watched, quiet = Fold(POLICY), Fold(POLICY)
    for one in log:
        quiet.add(one)
        watched.add(one)
        for day in days:
            watched.find_standing("user:a", instant(day))
        watched.checkpoint()
    assert watched.checkpoint() == quiet.checkpoint()


@given(_logs, _agents, _agents)
def test_taking_endorsements_away_never_raises_anyones_trust(log: list[TrustSignal], by: str, whom: str) -> None:
    """Something else is logged at its instant, since the log's time goes on all the same."""

    def is_between(one: TrustSignal) -> bool:
        return one.kind == "ENDORSEMENT" and one.agent_id == by and one.object.endorsed == whom  # type: ignore[union-attr]  # what an endorsement has

    without = _scores([_nothing(one) if is_between(one) else one for one in log])
    assert all(without[name] <= score for name, score in _scores(log).items())


@given(_logs, _agents)
def test_a_penalty_more_never_raises_anyones_trust(log: list[TrustSignal], whom: str) -> None:
    harsher = _scores([*log, penalty(whom, 50, ticket=_ticket(9), when=at(LAST))])
    assert all(harsher[name] <= score for name, score in _scores(log).items())


@given(_logs, st.permutations(range(4)))
def test_signals_of_one_instant_about_different_agents_and_keys_may_change_places(
    log: list[TrustSignal], order: list[int]
) -> None:
    """Order matters through the clock, through keys and through agents, and in no other way."""
    apart = [
        emitted(
            outcome(name, number % 2 == 0),
            when=at(LAST),
            truthkey=f"earth:storm:h3:{number}:surface:2026-01-07T12:00Z",
        )
        for number, name in enumerate(AGENTS)
    ]
    # The log's own time reaches the instant first.
    log = [*log, registered("user:a", when=at(LAST))]
    straight = fold_of(*log, *apart, under=POLICY).checkpoint()
    assert fold_of(*log, *(apart[place] for place in order), under=POLICY).checkpoint() == straight


@given(_logs)
def test_what_is_frozen_is_the_same_on_every_run(log: list[TrustSignal]) -> None:
    def frozen() -> bytes:
        fold = Fold(POLICY)
        for one in log:
            fold.add(one)
        return render_snapshot(freeze_trust(fold, AGENTS, claim_type=CLAIM_TYPE, at=instant(LAST)))

    assert frozen() == frozen()


_standings = st.decimals(0, 1000, places=6)


@given(_standings, _standings, st.decimals(0, "0.3", places=6), st.booleans())
def test_more_standing_or_bonus_never_lowers_effective_trust(
    one: Decimal,
    other: Decimal,
    bonus: Decimal,
    in_own_probe: bool,  # noqa: FBT001 - given by name of the strategy
) -> None:
    low, high = sorted((one, other))
    lower = effective_share(low, POLICY, bonus=bonus, in_own_probe=in_own_probe)
    assert 0 <= lower <= effective_share(high, POLICY, bonus=bonus, in_own_probe=in_own_probe) <= 1
    assert effective_share(low, POLICY, in_own_probe=in_own_probe) <= lower


def _nothing(instead_of: TrustSignal) -> TrustSignal:
    return signal("MISSION_CREATED", {"mission_id": "m"}, when=render_instant(instead_of.occurred_at))


def _scores(log: list[TrustSignal]) -> dict[str, Decimal]:
    fold = Fold(POLICY)
    for one in log:
        fold.add(one)
    snapshot = freeze_trust(fold, AGENTS, claim_type=CLAIM_TYPE, at=instant(LAST))
    return {name: trust.trust_score for name, trust in snapshot.agent_trusts.items()}
