"""What a final state teaches about its reporters: what each said, beside what is believed without its own report.

final state + observations that spoke + snapshot -> a lesson for each reporter and field
Nobody confirms themselves: a reporter is compared with the posterior of the others, or with what people decided.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Annotated

from msgspec import Struct

from assay.truth._read import Bound
from assay.truth.centre import FINE, tolerance_of, weighted_median
from assay.truth.contract import CENTRES, Contract
from assay.truth.forms import PayloadPath, Share
from assay.truth.gather import Gathered, gather_observations
from assay.truth.number import MILLION, from_millionths, nearest, rounded_whole, whole_millionths
from assay.truth.observation import Observation, hash_observation
from assay.truth.posterior import OTHER, Belief, Posterior, believe, listed_values
from assay.truth.reading import value_text
from assay.truth.snapshot import TrustSnapshot
from assay.truth.state import TruthState
from assay.truth.status import TruthStatus, VerificationBasis

# A distance beyond this many tolerances teaches no more than this one.
FARTHEST = 10
_LONGEST_TEXT = 200
# Above this many reports one of them hardly moves their median, which is then not computed again without it.
_MANY = 256
_TRUE, _FALSE, _OPEN = TruthStatus.VERIFIED_TRUE, TruthStatus.VERIFIED_FALSE, TruthStatus.INCONCLUSIVE
_BY_PEOPLE = (VerificationBasis.HUMAN_CONSENSUS, VerificationBasis.AUTHORITY_OVERRIDE)


class Lesson(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one report teaches about its reporter at one field.

    `said` is the canonical text, `shares` what is believed of each value without this report; where the schema lists no
    values only the share of `said` is there. Of a number, `said` is the nearest whole number of tolerances, and
    `distance` how far it is from the others' centre, in tolerances too.
    `weight` says how much is known at all: 1 where people decided, 0 where the others leave everything open.
    """

    field: PayloadPath
    weight: Share
    said: str = ""
    shares: dict[str, Share] = {}
    is_listed: bool = False
    distance: Annotated[Decimal, Bound(Decimal(-FARTHEST), Decimal(FARTHEST))] | None = None


def is_by_people(state: TruthState) -> bool:
    """Whether people settled the state, and not those who reported."""
    return state.verification_basis in _BY_PEOPLE


def lessons_of(
    contract: Contract, state: TruthState, observations: Iterable[Observation], snapshot: TrustSnapshot
) -> dict[str, tuple[Lesson, ...]]:
    """By reporter; none where the contract computes no posterior or nobody judged the state."""
    is_default = state.verification_basis is VerificationBasis.TIMEOUT_DEFAULT and state.status is _FALSE
    if contract.consensus_model.posterior is None or is_default or state.status not in (_TRUE, _FALSE, _OPEN):
        return {}
    heard = frozenset(state.observation_ids)
    said = gather_observations(contract, [hash_observation(one) for one in observations if one.observation_id in heard])
    posterior = believe(contract, said, snapshot)
    lessons: dict[str, list[Lesson]] = {}
    for name, belief in posterior.beliefs.items():
        judged = _numbers if belief.centre is not None else _values
        for place, lesson in judged(contract, state, name, said, posterior):
            lessons.setdefault(said.reporters[place], []).append(lesson)
    return {agent: tuple(found) for agent, found in sorted(lessons.items())}


def _values(
    contract: Contract, state: TruthState, name: str, said: Gathered, posterior: Posterior
) -> Iterator[tuple[int, Lesson]]:
    belief, texts = posterior.beliefs[name], said.texts[contract.claim_derivation[name].path].texts
    claimed = value_text(state.claim[name]) if name in state.claim else OTHER
    is_listed = listed_values(contract, name) is not None
    for place, shares in belief.all_without():
        text = texts[place] or ""
        if len(text) > _LONGEST_TEXT:
            continue
        found = _believed(state, belief, claimed, shares)
        weight = _weight(found, is_known=is_by_people(state) and (state.status is _TRUE or text == claimed))
        kept = found if is_listed else {text: found.get(text, Decimal(0))}
        if weight:
            yield place, Lesson(field=name, weight=weight, said=text, shares=kept, is_listed=is_listed)


def _believed(state: TruthState, belief: Belief, claimed: str, shares: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """Of a claim that was found true by people it is certain, of one that was found false it is certainly not."""
    if state.status is _TRUE and is_by_people(state):
        return {value: Decimal(int(value == claimed)) for value in belief.values}
    if state.status is not _FALSE:
        return dict(shares)
    rest = {value: 0 if value == claimed else whole_millionths(share) for value, share in shares.items()}
    total = sum(rest.values())
    if not total:
        return {value: Decimal(0) for value in rest}
    return {value: from_millionths(nearest(share * MILLION, total)) for value, share in rest.items()}


def _weight(shares: Mapping[str, Decimal], *, is_known: bool) -> Decimal:
    """(highest share - 1/K) / (1 - 1/K): nothing is learnt from a posterior that is as flat as no report at all."""
    count = len(shares)
    if is_known or count == 1:
        return Decimal(1)
    highest = whole_millionths(max(shares.values()))
    return from_millionths(max(0, nearest(max(0, highest * count - MILLION), count - 1)))


def _numbers(
    contract: Contract, state: TruthState, name: str, said: Gathered, posterior: Posterior
) -> Iterator[tuple[int, Lesson]]:
    rule = contract.claim_derivation[name]
    tolerance = tolerance_of(rule, contract.contradiction_rules) if rule.strategy in CENTRES else None
    column = said.numbers[rule.path].numbers
    places = [place for place, number in enumerate(column) if number is not None]
    if tolerance is None or state.status is _FALSE or name not in state.claim:
        return
    is_known = is_by_people(state) and state.status is _TRUE
    centres = [_claimed(state.claim[name])] * len(places) if is_known else _others(*posterior.corrected[rule.path])
    weight = Decimal(1) if is_known else from_millionths(nearest((len(places) - 1) * MILLION, len(places) + 1))
    for place, centre in zip(places, centres, strict=True):
        if weight and centre is not None:
            distance = rounded_whole(((column[place] or 0) * FINE - centre) * MILLION, tolerance * FINE)
            clipped = max(-FARTHEST * MILLION, min(FARTHEST * MILLION, distance))
            said_near = str(rounded_whole(column[place] or 0, tolerance))
            yield place, Lesson(field=name, weight=weight, said=said_near, distance=from_millionths(clipped))


def _claimed(value: object) -> int | None:
    return whole_millionths(value) * FINE if isinstance(value, int | float) else None


def _others(numbers: Sequence[int], weights: Sequence[int]) -> list[int | None]:
    """For each number the weighted median of the others."""
    if len(numbers) > _MANY:
        return [weighted_median(numbers, weights)] * len(numbers)
    return [
        weighted_median([*numbers[:place], *numbers[place + 1 :]], [*weights[:place], *weights[place + 1 :]])
        if len(numbers) > 1
        else None
        for place in range(len(numbers))
    ]
