"""What marking an answer costs: strands, level, annotation and JSON, beside a plain `json.dumps` of the same members.

A budget of 20 us for one answer; the signature is not in it. And how long a recount of a million signals takes.
"""

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime
from statistics import median
from time import process_time

from assay.delivery.annotate import AnswerFacts, annotate, render_annotation
from assay.delivery.outcome import Outcome
from assay.delivery.rule import RuleId, RuleRef
from assay.delivery.strand import CAPABILITY, CORE_REGISTRY, KNOWLEDGE, present, settle_strands
from assay.delivery.tally import recount_rules
from assay.kernel.digest import digest_of
from assay.kernel.instant import Instant
from bench._frame import Aim, Figure, compare, load, print_table

__all__ = ["figures"]

_BUDGET_US = 20
_RECOUNT_SECONDS = 5
_SIGNALS = 1_000_000
_RULES = 1000
_ROUNDS, _CALLS = 5, 10_000
_AT = Instant(datetime(2026, 1, 7, 12, tzinfo=UTC))


def _facts() -> AnswerFacts:
    return AnswerFacts(
        answer_id="ans_0001",
        query_type="vessel.ukc-status",
        service="org.harbour.ukc",
        rules=(RuleRef(rule_id=RuleId("MAR-YK-007"), version=3), RuleRef(rule_id=RuleId("INF-LL-001"), version=1)),
        output_hash=digest_of(b"output"),
        answered_at=_AT,
    )


def _cpu_micros(fn: Callable[[], object]) -> tuple[float, float]:
    """CPU time of one call, the median of a few rounds: what others run on the machine is not in it."""
    rounds = []
    for _ in range(_ROUNDS):
        start = process_time()
        for _ in range(_CALLS):
            fn()
        rounds.append(process_time() - start)
    return 1e6 * median(rounds) / _CALLS, sum(rounds)


def _annotating() -> list[Figure]:
    facts = _facts()
    found = [present(one, "seen", evidence=("registry",), at=_AT) for one in (CAPABILITY, KNOWLEDGE)]
    report = settle_strands(CORE_REGISTRY, found, at=_AT)

    def ours() -> bytes:
        return render_annotation(annotate(facts, report))

    document = json.loads(ours())
    micros, spent = _cpu_micros(ours)
    return [
        Figure(
            name="annotation of one answer, CPU",
            ours=micros,
            peer=None,
            peer_name=f"{_BUDGET_US} us",
            unit="us",
            ratio=micros / _BUDGET_US,
            target=1,
            cpu_seconds=spent,
            load=load(),
            aim=Aim.AT_MOST,
        ),
        compare(
            "annotation of one answer, made and written",
            ours,
            lambda: json.dumps(document),
            peer_name="json.dumps, written only",
            target=0.5,
            seconds=0.3,
            rounds=3,
        ),
    ]


def _recounting() -> Figure:
    chance = random.Random(7)
    outcomes = list(Outcome)
    history = [(RuleId(f"R-{chance.randrange(_RULES)}"), chance.choice(outcomes)) for _ in range(_SIGNALS)]
    start = process_time()
    found = recount_rules(history)
    seconds = process_time() - start
    assert sum(tally.total for tally in found.values()) == _SIGNALS  # noqa: S101 - a wrong recount is no figure
    return Figure(
        name="recount of 1,000,000 signals",
        ours=seconds,
        peer=None,
        peer_name=f"{_RECOUNT_SECONDS} s",
        unit="s",
        ratio=seconds / _RECOUNT_SECONDS,
        target=1,
        cpu_seconds=seconds,
        load=load(),
        aim=Aim.AT_MOST,
    )


def figures() -> list[Figure]:
    return [*_annotating(), _recounting()]


if __name__ == "__main__":
    print_table(figures())
