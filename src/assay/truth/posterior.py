"""The posterior: how probable each value of a field is, given who reported what and how competent each reporter is.

speakers + snapshot + contract -> likelihood of each report under each value -> product with the prior -> shares
Whole numbers throughout: a likelihood is rounded once, to millionths, and products of these are exact, so that the
result depends on neither order nor machine. `docs/truth.md` has the formula and an example computed by hand.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from math import prod
from typing import NamedTuple

import orjson

from assay.truth.centre import FINE, closeness, find_centre, tolerance_of
from assay.truth.contract import CENTRES, Contract, Derivation, DerivationStrategy, PosteriorRule
from assay.truth.depend import WHOLE, Groups, Kept, find_groups, kept_shares
from assay.truth.evidence import Fingerprint, Resemblance
from assay.truth.gather import Gathered
from assay.truth.likelihood import Record, Rule, likelihoods, record_of, rule_of
from assay.truth.number import MILLION, from_millionths, nearest, rounded_whole, whole_millionths
from assay.truth.reading import value_text
from assay.truth.snapshot import TrustSnapshot

# Values that no canonical text can be: anything that nobody reported; a number near to the centre, and one that is not.
OTHER = ""
NEAR = "="
ELSEWHERE = "!"
_NUMBER = (NEAR, ELSEWHERE)
_BOOLEANS = ("false", "true")
_MAJORITY, _MODE = DerivationStrategy.BOOLEAN_MAJORITY, DerivationStrategy.WEIGHTED_MODE
_BLOCK = 64


class Belief(NamedTuple):
    """What the reports say about one field.

    `values` are the candidates, `priors` and the `likelihoods` of each speaker are millionths in their order; a speaker
    that says nothing about the field has none. `odds` are exact products of them. `centre` is that of a number, in
    `FINE` parts of a millionth.
    """

    values: tuple[str, ...]
    priors: tuple[int, ...]
    likelihoods: tuple[tuple[int, ...] | None, ...]
    odds: tuple[int, ...]
    centre: int | None = None

    def shares(self) -> dict[str, Decimal]:
        """The posterior of each value at six places."""
        return dict(zip(self.values, _shares(self.odds), strict=True))

    def all_without(self) -> Iterator[tuple[int, dict[str, Decimal]]]:
        """For each speaker of the field its place, and the shares without its own report."""
        for place, row in enumerate(self.likelihoods):
            if row is not None:
                others = [whole // own for whole, own in zip(self.odds, row, strict=True)]
                yield place, dict(zip(self.values, _shares(others), strict=True))


def belief_of(
    values: tuple[str, ...],
    priors: tuple[int, ...],
    rows: Sequence[tuple[int, ...] | None],
    centre: int | None = None,
) -> Belief:
    """With the odds: the exact product of prior and likelihoods behind each value, up to a common factor."""
    heard = [row for row in rows if row is not None]
    columns = zip(*heard, strict=True) if heard else [()] * len(values)
    odds = tuple([prior * _product(column) for prior, column in zip(priors, columns, strict=True)])
    return Belief(values, priors, tuple(rows), odds, centre)


Numbers = tuple[Sequence[int], Sequence[int]]


class Posterior(NamedTuple):
    """`beliefs` by field; `corrected` are numbers and weights by path as competence corrects them.

    `has_dependents` says that some report counts for less because its reporter is not independent of another.
    """

    beliefs: Mapping[str, Belief]
    corrected: Mapping[str, Numbers]
    has_dependents: bool


NOTHING = Posterior({}, {}, has_dependents=False)


def _product(factors: Sequence[int]) -> int:
    """In blocks of like size, since multiplying a long number by a short one for each report would be slow."""
    parts = list(factors)
    while len(parts) > _BLOCK:
        parts = [prod(parts[start : start + _BLOCK]) for start in range(0, len(parts), _BLOCK)]
    return prod(parts)


def _shares(odds: Sequence[int]) -> list[Decimal]:
    total = sum(odds)
    return [from_millionths(nearest(one * MILLION, total)) for one in odds]


def believe(
    contract: Contract,
    said: Gathered,
    snapshot: TrustSnapshot,
    prints: Collection[Fingerprint | Resemblance] = (),
) -> Posterior:
    """What is believed about each field with one right answer; nothing where the contract computes no posterior."""
    rule = contract.consensus_model.posterior
    if rule is None or not said.rows:
        return NOTHING
    groups = find_groups(contract, rule.dependence, said.rows, snapshot, prints)
    beliefs: dict[str, Belief] = {}
    corrected: dict[str, Numbers] = {}
    numbers_rule = rule_of(rule)
    for name, derivation in contract.claim_derivation.items():
        asked = _Asked(contract, rule, name, derivation, said, snapshot, groups, numbers_rule)
        tolerance = None
        if derivation.strategy in CENTRES:
            tolerance = tolerance_of(derivation, contract.contradiction_rules)
        if tolerance is None:
            belief = _value_belief(asked)
        else:
            corrected[derivation.path] = _corrected(asked, tolerance)
            belief = _number_belief(asked, tolerance, *corrected[derivation.path])
        if belief is not None:
            beliefs[name] = belief
    return Posterior(beliefs, corrected, has_dependents=not groups.is_empty)


class _Asked(NamedTuple):
    contract: Contract
    rule: PosteriorRule
    name: str
    derivation: Derivation
    said: Gathered
    snapshot: TrustSnapshot
    groups: Groups
    numbers: Rule

    def record_of(self, agent_id: str) -> Record:
        """In whole numbers, worked out once for a snapshot."""
        known = self.snapshot.memo.setdefault((self.numbers, self.name), {})
        if agent_id not in known:
            trust = self.snapshot.find(agent_id)
            field = None if trust is None or trust.competence is None else trust.competence.fields.get(self.name)
            known[agent_id] = record_of(self.numbers, field)
        found: Record = known[agent_id]
        return found


def listed_values(contract: Contract, name: str) -> tuple[str, ...] | None:
    """The canonical texts of all values that a field can have, sorted; None where the schema does not list them."""
    if contract.claim_derivation[name].strategy is _MAJORITY:
        return _BOOLEANS
    return _listed(contract.schema_text, name)


@lru_cache(maxsize=1 << 10)
def _listed(schema_text: str, name: str) -> tuple[str, ...] | None:
    properties = orjson.loads(schema_text).get("properties")
    described = properties.get(name) if isinstance(properties, dict) else None
    if not isinstance(described, dict):
        return None
    if isinstance(described.get("enum"), list):
        return tuple(sorted({value_text(value) for value in described["enum"] if value is not None}))
    return _BOOLEANS if described.get("type") == "boolean" else None


def _value_belief(asked: _Asked) -> Belief | None:
    if asked.derivation.strategy not in (_MODE, _MAJORITY):
        return None
    texts = asked.said.texts[asked.derivation.path].texts
    listed = listed_values(asked.contract, asked.name)
    heard = [text if listed is None or text in listed else None for text in texts]
    spoken = {text for text in heard if text is not None}
    if not spoken:
        return None
    values = (*sorted(spoken), OTHER) if listed is None else listed
    kept = kept_shares(asked.groups, heard) if not asked.groups.is_empty else (WHOLE,) * len(heard)
    known = asked.snapshot.memo.setdefault((asked.numbers, asked.name, values), {})
    rows: list[tuple[int, ...] | None] = []
    for text, agent, share in zip(heard, asked.said.reporters, kept, strict=True):
        if text is None:
            rows.append(None)
        else:
            # Snapshots of many keys are asked about the same agents again and again.
            row = known.get((agent, text, share))
            if row is None:
                row = known[agent, text, share] = likelihoods(
                    asked.numbers, asked.record_of(agent), text, values, share
                )
            rows.append(row)
    return belief_of(values, _priors(asked.rule, asked.name, values), rows)


def _priors(rule: PosteriorRule, name: str, values: Sequence[str]) -> tuple[int, ...]:
    """As the contract states them; values that it does not name share what is left. Each has at least a millionth."""
    stated = rule.priors.get(name, {})
    by_text = {text: whole_millionths(share) for key, share in stated.items() for text in (key, value_text(key))}
    rest = max(0, MILLION - sum(whole_millionths(share) for share in stated.values()))
    unnamed = sum(value not in by_text for value in values) or 1
    return tuple([max(1, by_text.get(value, rest // unnamed)) for value in values])


def _number_belief(asked: _Asked, tolerance: int, corrected: Sequence[int], weights: Sequence[int]) -> Belief | None:
    """Whether the centre is right within the tolerance: each report speaks for it as far as it is close to it."""
    numbers = asked.said.numbers[asked.derivation.path].numbers
    places = [place for place, number in enumerate(numbers) if number is not None]
    if not places:
        return None
    centre = find_centre(asked.derivation, corrected, weights)
    kept = (WHOLE,) * len(numbers)
    if not asked.groups.is_empty:
        kept = kept_shares(asked.groups, [None if number is None else NEAR for number in numbers])
    rows: list[tuple[int, ...] | None] = [None] * len(numbers)
    pairs: dict[tuple[int, Kept], tuple[int, ...]] = {}
    for number, weight, place in zip(corrected, weights, places, strict=True):
        pair = pairs.get((weight, kept[place]))
        if pair is None:
            record = asked.record_of(asked.said.reporters[place])._replace(rows={})
            pair = pairs[weight, kept[place]] = likelihoods(asked.numbers, record, NEAR, _NUMBER, kept[place])
        right, wrong = pair
        near = closeness(abs(number * FINE - centre), tolerance * FINE)
        far = MILLION - near
        rows[place] = (
            max(1, nearest(near * right + far * wrong, MILLION)),
            max(1, nearest(near * wrong + far * right, MILLION)),
        )
    return belief_of(_NUMBER, (MILLION // 2, MILLION // 2), rows, centre)


def _corrected(asked: _Asked, tolerance: int) -> Numbers:
    """The numbers without each reporter's known bias, and weights, both in millionths.

    The weight is the share of right reports with the prior's, at most the cap: the same that a report of a value has.
    """
    strength, cap = asked.numbers.strength, asked.numbers.cap
    corrected, weights = [], []
    numbers = asked.said.numbers[asked.derivation.path].numbers
    for number, agent in zip(numbers, asked.said.reporters, strict=True):
        if number is None:
            continue
        record = asked.record_of(agent)
        shift = record.bias * record.reports * tolerance
        corrected.append(number - rounded_whole(shift, (record.reports + strength) * MILLION) if shift else number)
        weights.append(max(1, min(cap, nearest(record.above * MILLION, record.below))))
    return corrected, weights
