"""Conformance: the ten requirements of PRAMANA 11 and the ten of 12, judged over what a checker fetched and tried.

evidence (documents, what was reported in between, attacks, all as values) + profile -> check_delivery -> Report
A requirement that there is nothing to look at for is not met; it is never skipped.
"""

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from assay.delivery._conform_full import check_full
from assay.delivery._conform_minimum import check_minimum
from assay.delivery.outcome import Outcome
from assay.delivery.sense import StandardEvent
from assay.kernel.conformance import Fetched, Finding, Report, outcome

_REFUSED = frozenset({401, 403})


class Profile(StrEnum):
    """The minimum viable implementation, and the full one, which contains it."""

    MINIMUM = "pramana-mvi"
    FULL = "pramana-full"


class Attack(StrEnum):
    """What `--active` really tries."""

    PHALA_WITHOUT_KEY = "phala_without_key"
    PHALA_OUT_OF_SCOPE = "phala_out_of_scope"
    PHALA_REPLAYED = "phala_replayed"
    CONCLUSION_WITHOUT_PERSON = "conclusion_without_person"
    FLOOR_LOWERED_BY_CLIENT = "floor_lowered_by_client"


class AttackResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came back, and whether anything had changed afterwards; for the floor, whether the output was seen."""

    attack: Attack
    status: int
    changed: bool = False


class Evidence(Struct, frozen=True, kw_only=True):
    """Everything that was fetched and tried; None and empty is what could not be fetched at all.

    `rule_before` and `rule_after` are the counters of one rule around `reported`, the outcomes that the checker sent
    for it, in order; `receipts` are the replies to them. `root_cause` is the work item that they opened. `provoked`
    are the events that the checker caused, `events` those that a subscription received without asking again.
    """

    state: Fetched | None = None
    trust: Fetched | None = None
    answers: tuple[Fetched, ...] = ()
    rule_before: Fetched | None = None
    rule_after: Fetched | None = None
    reported: tuple[Outcome, ...] = ()
    receipts: tuple[Fetched, ...] = ()
    root_cause: Fetched | None = None
    sense_emit: Fetched | None = None
    provoked: tuple[StandardEvent, ...] = ()
    events: tuple[bytes, ...] = ()
    batched: Fetched | None = None
    two_wrong: Fetched | None = None
    plugin_request: bytes | None = None
    plugin_reply: bytes | None = None
    pairs: Fetched | None = None
    queue: Fetched | None = None
    inferred: Fetched | None = None
    queries: Fetched | None = None
    session: Fetched | None = None
    attacks: tuple[AttackResult, ...] = ()


def check_delivery(evidence: Evidence, profile: Profile) -> Report:
    """One finding for every requirement of the profile and every attack tried; never raises for a bad service."""
    return Report(profile=profile, findings=tuple(_findings(evidence, profile)))


def judge_attack(result: AttackResult) -> Finding:
    """An attack must be refused and change nothing; a replay may be acknowledged, as long as it counts for nothing."""
    refused = result.status in _REFUSED
    by_nature = result.attack in (Attack.PHALA_REPLAYED, Attack.FLOOR_LOWERED_BY_CLIENT)
    holds = not result.changed and (refused or by_nature)
    told = f"got status {result.status}{', and something had changed' if result.changed else ''}"
    return outcome(
        holds, _RULES[result.attack], f"attack:{result.attack}", f"expected a refusal that changes nothing, {told}"
    )


def _findings(evidence: Evidence, profile: Profile) -> Iterator[Finding]:
    yield from check_minimum(
        state=evidence.state,
        trust=evidence.trust,
        answers=evidence.answers,
        rule_before=evidence.rule_before,
        rule_after=evidence.rule_after,
        reported=evidence.reported,
        receipts=evidence.receipts,
        root_cause=evidence.root_cause,
    )
    if profile is Profile.FULL:
        yield from check_full(
            state=evidence.state,
            answers=evidence.answers,
            sense_emit=evidence.sense_emit,
            provoked=evidence.provoked,
            events=evidence.events,
            batched=evidence.batched,
            two_wrong=evidence.two_wrong,
            plugin=(evidence.plugin_request, evidence.plugin_reply),
            pairs=evidence.pairs,
            queue=evidence.queue,
            inferred=evidence.inferred,
            queries=evidence.queries,
            session=evidence.session,
        )
    yield from map(judge_attack, evidence.attacks)


_RULES = {
    Attack.PHALA_WITHOUT_KEY: "pramana.14.2",
    Attack.PHALA_OUT_OF_SCOPE: "pramana.14.2",
    Attack.PHALA_REPLAYED: "pramana.14.2",
    Attack.CONCLUSION_WITHOUT_PERSON: "pramana.14.5",
    Attack.FLOOR_LOWERED_BY_CLIENT: "pramana.14.6",
}
