"""Answers, strands and rules for tests."""

from collections.abc import Iterable
from typing import Any

from assay.delivery.annotate import Annotation, AnswerFacts, annotate
from assay.delivery.rule import RuleId, RuleRef
from assay.delivery.strand import (
    CORE_REGISTRY,
    StrandId,
    StrandRegistry,
    StrandReport,
    StrandType,
    absent,
    present,
    register_strands,
    settle_strands,
)
from assay.kernel.digest import digest_of
from assay.kernel.json_text import JsonValue
from tests.identity.people import NOON

__all__ = ["OUTPUT", "RULE", "extended", "make_annotation", "make_facts", "report", "widened"]

RULE = RuleId("MAR-YK-007")
OUTPUT: dict[str, JsonValue] = {"answer": "under-keel clearance is 1.4 m"}


def extended(number: int, *, private: bool = True) -> StrandType:
    return StrandType(
        strand_type_id=StrandId(f"{'x-' if private else ''}extra-{number}"),
        name=f"Extra {number}",
        how_to_check="ask the register",
        absence_implication="nobody has looked at it",
        contact="registry@harbour.example",
    )


def widened(count: int) -> StrandRegistry:
    return register_strands(map(extended, range(count)))


def report(names: Iterable[str], registry: StrandRegistry = CORE_REGISTRY) -> StrandReport:
    there = set(names)
    results = [
        present(one, "seen", evidence=("test",), at=NOON) if one in there else absent(one, "not seen", at=NOON)
        for one in registry.ids()
    ]
    return settle_strands(registry, results, at=NOON)


def make_facts(**changes: Any) -> AnswerFacts:  # noqa: ANN401  any field
    fields: dict[str, Any] = {
        "answer_id": "ans_1",
        "query_type": "vessel.ukc-status",
        "service": "org.harbour.ukc",
        "rules": (RuleRef(rule_id=RULE, version=3),),
        "output_hash": digest_of(b"output"),
        "answered_at": NOON,
    }
    return AnswerFacts(**(fields | changes))


def make_annotation(names: Iterable[str], registry: StrandRegistry = CORE_REGISTRY, **changes: Any) -> Annotation:  # noqa: ANN401  any field
    return annotate(make_facts(**changes), report(names, registry), registry=registry)
