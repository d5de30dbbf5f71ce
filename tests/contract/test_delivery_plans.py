"""How the databases find what delivery asks for: along an index, also on tables they know nothing about yet."""

from collections.abc import Callable

import pytest

from assay.adapters.sql.delivery_store import SqlDeliveryStore
from assay.adapters.sql.row import sortable
from assay.adapters.sql.session import Row
from assay.ports.database import Database
from tests.contract._delivery import BELL, counters, rule_signal, signal
from tests.contract._kit import AT
from tests.contract._plans import fill, plans_of, require_index, require_narrow
from tests.contract._records import ACME
from tests.contract._unchecked import unchecked_rows

_Ask = Callable[[SqlDeliveryStore], object]
_FEW: dict[str, _Ask] = {
    "versions of a rule": lambda store: store.rule_versions(ACME, "rule-7"),
    "the version in force": lambda store: store.latest_versions(ACME, ["rule-7"]),
    "certifications": lambda store: store.certifications(ACME, "rule-7"),
    "versions of a kind of question": lambda store: store.query_versions(ACME, "slug-7"),
    "a grant": lambda store: store.find_grant(ACME, BELL),
    "an answer": lambda store: store.find_answer(ACME, "ans-7"),
    "findings": lambda store: store.findings(ACME, "ans-7"),
    "a signal": lambda store: store.find_signals(ACME, ["sig-7", "sig-8"]),
    "a session": lambda store: store.session_signals(ACME, "session-7", limit=9),
    "an answer's signals": lambda store: store.answer_signals(ACME, "ans-7"),
    "a rule's history": lambda store: list(store.rule_signals(ACME, "rule-7")),
    "a rule's latest signals": lambda store: store.latest_signals(ACME, "rule-7", limit=9),
    "answers of a version": lambda store: store.answers_with(ACME, "rule-7", 1, "success"),
    "counters": lambda store: store.find_counters(ACME, ["rule-7", "rule-8"]),
    "an item": lambda store: store.find_item(ACME, "rca-7"),
    "its ticket": lambda store: store.find_asked(ACME, "rca-7"),
    "tickets of some items": lambda store: store.asked_on(ACME, ["rca-7", "rca-8"]),
    "conclusions of some items": lambda store: store.conclusions_on(ACME, ["rca-7", "rca-8"]),
    "proposals of some items": lambda store: store.proposals_on(ACME, ["rca-7", "rca-8"]),
    "some answers": lambda store: list(store.find_answers(ACME, ["ans-7", "ans-8"])),
    "a conclusion of a version": lambda store: store.has_conclusion(ACME, "rule-7", 1, "C"),
    "versions of some rules": lambda store: store.versions_of(ACME, ["rule-7", "rule-8"]),
    "certifications of some rules": lambda store: store.certifications_of(ACME, ["rule-7", "rule-8"]),
    "a pair": lambda store: store.find_pair(ACME, "pair-7"),
    "rules that were reported of": lambda store: store.reported_among(ACME, ["rule-7", "rule-8"]),
    "a result": lambda store: store.find_result(ACME, "job-7"),
    "a signal added": lambda store: store.add_signals(ACME, [signal("new", place=5000)]),
    "a rule's signal added": lambda store: store.add_rule_signals(ACME, [rule_signal("new", place=5000)]),
    "counters put": lambda store: store.put_counters(ACME, [counters(7, "rule-7")]),
}
_WHOLE: dict[str, _Ask] = {
    "sessions": lambda store: store.sessions(ACME, after="session-7", limit=9),
    "answers that fell short": lambda store: store.short_answers(ACME, after=7, limit=9),
    "all rules": lambda store: store.rule_ids(ACME),
    "a page of rules": lambda store: store.rule_ids(ACME, after="rule-7", limit=9),
    "kinds of question": lambda store: store.queries(ACME),
    "items": lambda store: store.items(ACME),
    "pairs": lambda store: store.pairs(ACME, after=70, limit=9),
    "jobs": lambda store: store.jobs(ACME),
}


@pytest.fixture
def filled(database: Database) -> Database:
    """Enough for the size alone to say that a tenant has many rows, since there are no statistics."""
    at, many = sortable(AT), range(1, 3001)
    rows: dict[str, list[Row]] = {
        "rule_version": [(ACME, f"rule-{n}", 1, "h", "{}", "text", n) for n in many],
        "rule_certification": [(ACME, f"rule-{n}", 1, "{}", n) for n in many],
        "query_type": [(ACME, f"slug-{n}", 1, "{}", n) for n in many],
        "reporter_grant": [(ACME, f"service:{n}", "{}", "user:a", n) for n in many],
        "delivered_answer": [
            (ACME, f"ans-{n}", "q", "user:a", "PRAMANA-2", "{}", at, n, "PRAMANA-3" if n % 9 == 0 else None)
            for n in many
        ],
        "outcome_signal": [(ACME, f"sig-{n}", "h", f"session-{n % 99}", f"ans-{n}", "{}", at, n, 1) for n in many],
        "rule_outcome": [(ACME, f"rule-{n % 99}", n, 1, f"sig-{n}", "success", "s", at, at, 1) for n in many],
        "rule_counter": [(ACME, f"rule-{n}", *[1] * 8, None, 0, None, 4000) for n in many],
        "root_cause": [(ACME, f"rca-{n}", f"rule-{n}", "{}", at, n, 1) for n in many],
        "root_cause_ticket": [(ACME, f"rca-{n}", f"tkt-{n}", "{}", n, 1) for n in many],
        "root_cause_conclusion": [(ACME, f"rca-{n}", f"rule-{n}", 1, "C", "{}", f"pair-{n}", n, 1) for n in many],
        "rule_proposal": [(ACME, f"rca-{n}", f"rule-{n}", f"tkt-{n}", "{}", n, 1) for n in many],
        "answer_finding": [(ACME, f"ans-{n}", "{}", n) for n in many],
        "training_pair": [(ACME, f"pair-{n}", f"rule-{n}", f"rca-{n}", "{}", n, 1) for n in many],
        "training_job": [(ACME, f"job-{n}", n, 1, "{}", at, n, 1) for n in many],
        "training_result": [(ACME, f"job-{n}", "{}", at, n) for n in many],
    }
    fill(database, rows)
    return database


def _plans(database: Database, ask: _Ask) -> list[str]:
    return plans_of(database, lambda session: ask(SqlDeliveryStore(unchecked_rows(session))))


def test_one_thing_is_found_by_what_tells_it_apart(filled: Database) -> None:
    """Never by reading all rows of a tenant."""
    for name, ask in _FEW.items():
        require_narrow(_plans(filled, ask), name)


def test_what_goes_through_a_whole_tenant_follows_an_index(filled: Database) -> None:
    for name, ask in _WHOLE.items():
        require_index(_plans(filled, ask), name)
