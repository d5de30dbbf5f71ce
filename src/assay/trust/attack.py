"""Attacks on a contract and a policy, rehearsed through the real compiler and the real fold.

contract + policy + crowd + seed -> for each kind of attack: quiet keys, attacked keys, keys after it -> what came of it
Every choice is the hash of the seed and of what is being chosen, so that a run repeats exactly on every machine.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, NamedTuple

import orjson
from msgspec import Struct

from assay.trust._crowd import drawn
from assay.trust._signal_body import Endorsement, SignalKind
from assay.trust.errors import TrustError
from assay.trust.policy import TrustPolicy
from assay.trust.rehearse import Rehearsal, Rehearsed
from assay.truth._read import Bound
from assay.truth.centre import tolerance_of
from assay.truth.contract import CENTRES, Contract, Derivation, DerivationStrategy
from assay.truth.forms import HexHash
from assay.truth.number import from_millionths, plain_number
from assay.truth.posterior import listed_values
from assay.truth.reading import value_text
from assay.truth.snapshot import TrustSnapshot
from assay.truth.status import TruthStatus

_Count = Annotated[int, Bound(Decimal(1), Decimal(500))]
_Percent = Annotated[int, Bound(Decimal(1), Decimal(100))]
# An honest agent is harmed where its record falls below this share of right reports, once it has so many.
_HARMED, _JUDGED = Decimal("0.5"), 5
# So many keys in a row without a harmed agent and without a wrong claim are a recovery.
_CALM = 5
_OF_BEST = 97
_ROLE_OF_EXPERT = "specialist"
_ZERO = Decimal(0)


class AttackKind(StrEnum):
    """How attackers behave before and during the attack."""

    # Many new names that come with the attack and say one lie.
    SYBILS = "sybils"
    # A group that works honestly first, endorses each other, and then says one lie at every second key.
    RING = "ring"
    # Agents that are better than the honest ones first, and then say one lie.
    SLEEPERS = "sleepers"
    # Agents that look at nothing and say what the first reporter says, with the same evidence.
    COPIERS = "copiers"
    # Agents that say anything, at every key.
    SPAMMERS = "spammers"
    # A part of the crowd that says one lie from the first key on.
    COLLUDERS = "colluders"
    # One agent with the best record and the role of an expert that is bought.
    BRIBED_EXPERT = "bribed_expert"


class AttackRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`honest` agents report on `reports` of a hundred keys and are right in `right` of a hundred of these.

    `attackers` is how many there are of each kind, but for the one expert and for colluders, who are three of ten in
    the whole crowd; in the attack they report on `attack_reports` of a hundred keys. `quiet`, `attacked` and `after`
    are numbers of keys.
    """

    seed: str = "assay"
    honest: _Count = 12
    attackers: _Count = 8
    right: _Percent = 85
    reports: _Percent = 70
    attack_reports: _Percent = 70
    quiet: _Count = 60
    attacked: _Count = 30
    after: _Count = 20
    kinds: tuple[AttackKind, ...] = tuple(AttackKind)


class Attack(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came of one kind. `believed` are lies that a state claims, `verified` those that it verifies.

    `wrong` are all keys, of any phase, whose claim was not the truth. `harmed` is the most honest agents that were
    harmed at one time; `recovery` is how many keys after the attack it took until nobody was, None where that never
    came. `confidence_in_lies` is the mean confidence of the lies that were believed, key by key in `course`.
    """

    kind: AttackKind
    lies: int
    believed: int
    verified: int
    wrong: int
    keys: int
    harmed: int
    recovery: int | None
    confidence_in_lies: Decimal
    course: tuple[Decimal, ...]


class AttackReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    claim_type: str
    claim_type_hash: HexHash
    policy_hash: HexHash
    request: AttackRequest
    attacks: tuple[Attack, ...]


def simulate_attacks(contract: Contract, policy: TrustPolicy, request: AttackRequest) -> AttackReport:
    """Each kind by itself against the same honest crowd; the same arguments give the same report."""
    if not request.kinds:
        raise TrustError.simulation("expected at least one kind of attack, got none")
    attacks = tuple(_World(contract, policy, request, kind).run() for kind in request.kinds)
    return AttackReport(
        claim_type=contract.id,
        claim_type_hash=contract.claim_type_hash,
        policy_hash=policy.policy_hash,
        request=request,
        attacks=attacks,
    )


class _Values(NamedTuple):
    """What a field can be made to say: the truth of a key, and the lie about it."""

    path: str
    truth: object
    lie: object


class _World:
    def __init__(self, contract: Contract, policy: TrustPolicy, request: AttackRequest, kind: AttackKind) -> None:
        self.contract, self.request, self.kind = contract, request, kind
        self.honest = [f"user:honest-{number:03d}" for number in range(request.honest)]
        count = {
            AttackKind.BRIBED_EXPERT: 1,
            # Three of ten in the whole crowd.
            AttackKind.COLLUDERS: max(1, request.honest * 3 // 7),
        }.get(kind, request.attackers)
        self.attackers = [f"user:attacker-{number:03d}" for number in range(count)]
        at_start = [] if kind is AttackKind.SYBILS else self.attackers
        self.rehearsal = Rehearsal(contract, policy, [*self.honest, *at_start])
        if kind is AttackKind.BRIBED_EXPERT and _ROLE_OF_EXPERT in policy.roles:
            self.rehearsal.grant(self.attackers[0], _ROLE_OF_EXPERT)
        self.field = _asked_about(contract)

    def run(self) -> Attack:
        request = self.request
        first, last = request.quiet, request.quiet + request.attacked
        lies = believed = verified = wrong = harmed = calm = 0
        recovery: int | None = None
        course: list[Decimal] = []
        for number in range(last + request.after):
            values = [
                _values(self.contract, request.seed, number, *item) for item in self.contract.claim_derivation.items()
            ]
            is_attack = self._attacks(number, first, last)
            done = self._key(number, values, is_attack=is_attack, is_over=number >= last)
            is_wrong, is_lie = self._judged(done, values)
            wrong += is_wrong
            if is_attack:
                lies += 1
                believed += is_lie
                verified += is_lie and done.state.status is TruthStatus.VERIFIED_TRUE
                course.append(done.state.confidence if is_lie else _ZERO)
            hurt = self._harmed()
            harmed = max(harmed, hurt)
            calm = 0 if hurt or is_wrong or number < last else calm + 1
            if calm == _CALM and recovery is None:
                recovery = number - last + 1 - _CALM
        return Attack(
            kind=self.kind,
            lies=lies,
            believed=believed,
            verified=verified,
            wrong=wrong,
            keys=last + request.after,
            harmed=harmed,
            recovery=recovery,
            confidence_in_lies=sum(course, _ZERO) / max(1, lies),
            course=tuple(course),
        )

    def _attacks(self, number: int, first: int, last: int) -> bool:
        if self.kind is AttackKind.COLLUDERS:
            return number < last
        if self.kind is AttackKind.RING:
            return first <= number < last and (number - first) % 2 == 0
        return first <= number < last

    def _key(self, number: int, values: Sequence[_Values], *, is_attack: bool, is_over: bool) -> Rehearsed:
        if self.kind is AttackKind.SYBILS and number == self.request.quiet:
            self.rehearsal.register(self.attackers)
        if self.kind is AttackKind.RING and number % 10 == 0 and not is_over:
            self._endorse_each_other()
        said = dict(self._honest(number, values))
        evidence = {}
        for name, payload, copied in () if is_over else self._attacking(number, values, said, is_attack=is_attack):
            said[name] = payload
            if copied is not None:
                evidence[name] = copied
        if not said:  # nobody looked: the first of the honest agents does
            said[self.honest[0]] = _payload(values, is_lie=False)
        return self.rehearsal.report(said, evidence)

    def _endorse_each_other(self) -> None:
        for one in self.attackers:
            for other in self.attackers:
                if one != other:
                    self.rehearsal.add(one, SignalKind.ENDORSEMENT, Endorsement(endorsed=other, weight=Decimal(1)))

    def _honest(self, number: int, values: Sequence[_Values]) -> Iterator[tuple[str, dict[str, object]]]:
        for name in self.honest:
            if drawn(self.request.seed, "reports", name, number) < self.request.reports:
                is_wrong = drawn(self.request.seed, "right", name, number) >= self.request.right
                yield name, self._erring(name, number) if is_wrong else _payload(values, is_lie=False)

    def _erring(self, name: str, number: int) -> dict[str, object]:
        """An honest error is the agent's own, and hardly ever the lie."""
        seed = f"{self.request.seed} error {name}"
        rules = self.contract.claim_derivation.items()
        return _payload([_values(self.contract, seed, number, *item) for item in rules], is_lie=False)

    def _attacking(
        self, number: int, values: Sequence[_Values], said: Mapping[str, dict[str, object]], *, is_attack: bool
    ) -> Iterator[tuple[str, dict[str, object], str | None]]:
        """Who of the attackers reports, what, and whose evidence it shows."""
        for name in self.attackers:
            if self.kind is AttackKind.SYBILS and not is_attack:
                continue
            if self.kind is AttackKind.COPIERS:
                copied = next(iter(said), None)
                if copied is not None:
                    yield name, dict(said[copied]), copied
            elif self.kind is AttackKind.SPAMMERS:
                yield name, self._erring(name, number), None
            elif is_attack:
                if drawn(self.request.seed, "attacks", name, number) < self.request.attack_reports:
                    yield name, _payload(values, is_lie=True), None
            elif drawn(self.request.seed, "reports", name, number) < self.request.reports:
                is_best = self.kind in (AttackKind.SLEEPERS, AttackKind.BRIBED_EXPERT)
                right = _OF_BEST if is_best else self.request.right
                is_wrong = drawn(self.request.seed, "right", name, number) >= right
                yield name, self._erring(name, number) if is_wrong else _payload(values, is_lie=False), None

    def _judged(self, done: Rehearsed, values: Sequence[_Values]) -> tuple[bool, bool]:
        """Whether the claim is wrong, and whether it is the lie, at the field that is asked about."""
        claimed, name = done.state.claim, self.field
        place = list(self.contract.claim_derivation).index(name)
        if name not in claimed:
            return True, False
        asked = values[place]
        rule = self.contract.claim_derivation[name]
        return not _is(self.contract, rule, claimed[name], asked.truth), _is(
            self.contract, rule, claimed[name], asked.lie
        )

    def _harmed(self) -> int:
        """Honest agents that are not heard any more, or whose record has become that of a liar."""
        snapshot = self.rehearsal.freeze(self.honest)
        return sum(self._is_harmed(snapshot, name) for name in self.honest)

    def _is_harmed(self, snapshot: TrustSnapshot, name: str) -> bool:
        trust = snapshot.agent_trusts[name]
        record = None if trust.competence is None else trust.competence.fields.get(self.field)
        reports = _ZERO if record is None else record.right + record.wrong
        is_doubted = record is not None and reports >= _JUDGED and record.right < _HARMED * reports
        return not trust.admissible or is_doubted


def _asked_about(contract: Contract) -> str:
    """The first field with one right answer."""
    answers = (DerivationStrategy.WEIGHTED_MODE, DerivationStrategy.BOOLEAN_MAJORITY, *CENTRES)
    for name, rule in contract.claim_derivation.items():
        if rule.strategy in answers:
            return name
    raise TrustError.simulation(f"expected a field of `{contract.id}` with one right answer, got none")


def _payload(values: Sequence[_Values], *, is_lie: bool) -> dict[str, object]:
    """As an observer says it; a path that several fields share is said once."""
    payload: dict[str, object] = {}
    for value in values:
        *way, last = value.path.split(".")
        inner = payload
        for name in way:
            inner = inner.setdefault(name, {})  # type: ignore[assignment]  # a member of a path is a mapping
        inner.setdefault(last, value.lie if is_lie else value.truth)
    return payload


def _values(contract: Contract, seed: str, number: int, name: str, rule: Derivation) -> _Values:
    """The truth of a key at a field, drawn from the seed, and another value as the lie; fields of one path agree."""
    place = drawn(seed, "truth", rule.path, number)
    if rule.strategy in (*CENTRES, DerivationStrategy.INTERVAL, DerivationStrategy.MIN, DerivationStrategy.MAX):
        return _number(contract, rule, place)
    listed = _listed(contract, name)
    if listed is None:
        return _Values(rule.path, f"value {place % 4}", f"value {place % 4 + 1}")
    values = [orjson.loads(text) for text in listed]
    return _Values(rule.path, values[place % len(values)], values[(place + 1) % len(values)])


def _listed(contract: Contract, name: str) -> tuple[str, ...] | None:
    """The values of the field, or of a mode at the same path: a count says nothing about them."""
    path = contract.claim_derivation[name].path
    for other, rule in contract.claim_derivation.items():
        if rule.path == path and (found := listed_values(contract, other)) is not None:
            return found
    return None


def _number(contract: Contract, rule: Derivation, place: int) -> _Values:
    """Near the middle of what the schema allows; the lie is four tolerances away."""
    tolerances = [
        found
        for other in contract.claim_derivation.values()
        if other.path == rule.path and (found := tolerance_of(other, contract.contradiction_rules)) is not None
    ]
    tolerance = from_millionths(min(tolerances)) if tolerances else Decimal(1)
    low, high = _range(contract, rule.path, tolerance)
    truth = low + (high - low) * Decimal(20 + place // 5) / 100
    lie = truth + 4 * tolerance if truth + 4 * tolerance <= high else truth - 4 * tolerance
    return _Values(rule.path, plain_number(truth), plain_number(max(low, lie)))


def _range(contract: Contract, path: str, tolerance: Decimal) -> tuple[Decimal, Decimal]:
    """What the schema allows of the fields at a path, at most forty tolerances wide."""
    properties = contract.schema.get("properties")
    lows, highs = [Decimal(0)], []
    for name, rule in contract.claim_derivation.items():
        described = properties.get(name) if isinstance(properties, dict) and rule.path == path else None
        if isinstance(described, dict):
            lows += [Decimal(str(described["minimum"]))] if "minimum" in described else []
            highs += [Decimal(str(described["maximum"]))] if "maximum" in described else []
    low = max(lows)
    return low, min([*highs, low + 40 * tolerance])


def _is(contract: Contract, rule: Derivation, claimed: object, value: object) -> bool:
    """The same value; of a number, within the tolerance."""
    if isinstance(claimed, bool) or not isinstance(claimed, int | float) or not isinstance(value, int | float):
        return value_text(claimed) == value_text(value)
    tolerance = tolerance_of(rule, contract.contradiction_rules)
    return abs(Decimal(str(claimed)) - Decimal(str(value))) <= (from_millionths(tolerance) if tolerance else _ZERO)
