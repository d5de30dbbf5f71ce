"""Questions of the sample, what came of the answers, and what people learnt from the failures."""

import json
from datetime import timedelta
from typing import Any

from assay.surfaces.sample.answerers import CLEARANCE, SQUAT
from assay.surfaces.sample.stage import Stage

_TEXTS = {
    CLEARANCE: "The under-keel clearance must be at least 10 % of the draught.",
    SQUAT: "Squat in open water is the block coefficient times the speed in knots squared, divided by 100.",
}
_CORRECTED = "The under-keel clearance must be at least 10 % of the draught, and 15 % where there is swell."
_QUERIES = (
    ("vessel.clearance", "Is there enough water under the keel?", (CLEARANCE,), "PRAMANA-3"),
    ("vessel.squat", "How far does the ship sink at this speed?", (CLEARANCE, SQUAT), "PRAMANA-2"),
)
_SHIPS = (("Ada", 11.2, 12.9), ("Boreas", 9.8, 10.4), ("Castor", 14.1, 15.8), ("Dione", 12.0, 13.3))
_SOURCE = "def clearance(draught, depth):\n    return depth - draught >= draught / 10  # @rule:MAR-YK-007\n"
_PEER = {
    "peer": "harbour.example",
    "rules": [SQUAT],
    "strands": ["knowledge", "capability"],
    "reason": "joint pilotage",
}


def answer_questions(stage: Stage) -> str:
    """Register rules and query types, ask for some days, report outcomes, and work on two root causes."""
    for rule_id, text in _TEXTS.items():
        stage.do("user:olga", "rule.register", rule_id=rule_id, content=text, domains=("maritime",))
    for slug, description, rules, level in _QUERIES:
        stage.do(
            "user:olga",
            "query.register",
            slug=slug,
            description=description,
            domain="maritime",
            rules=rules,
            expected_level=level,
        )
    for ship in _SHIPS[:2]:
        _ask(stage, *ship)
    ticket = stage.do("user:olga", "rule.certification.request", rule_id=CLEARANCE)
    stage.do("user:rita", "rule.certify", rule_id=CLEARANCE, seen=ticket.shown_hash, reason="checked by the pilots")
    stage.do("user:olga", "rules.prove", texts={"clearance.py": _SOURCE})
    stage.do("user:olga", "reporter.grant", principal_id="service:bridge", rules=(CLEARANCE, SQUAT))
    count = 2
    for day in range(2):
        for ship in _SHIPS:
            answer = _ask(stage, *ship)
            _report(stage, answer, "success" if day == 0 else "failure", f"berth {ship[0]}, day {day + 1}")
            count += 1
        stage.clock.advance(timedelta(hours=6))
    _conclude(stage)
    for _ in range(3):
        _report(stage, _ask_squat(stage), "failure", "shallow channel")
        count += 1
    return f"{count} questions answered, one root cause concluded and one open"


def _ask(stage: Stage, ship: str, draught: float, depth: float) -> Any:  # noqa: ANN401 - an operation's result
    question = {"ship": ship, "draught": draught, "depth": depth}
    return stage.do("service:bridge", "answer.ask", query_type="vessel.clearance", question=question, session_id=ship)


def _ask_squat(stage: Stage) -> Any:  # noqa: ANN401 - an operation's result
    question = {"ship": "Castor", "block": 0.8, "knots": 12}
    return stage.do("service:bridge", "answer.ask", query_type="vessel.squat", question=question, session_id="Castor")


def _report(stage: Stage, answer: Any, outcome: str, context: str) -> None:  # noqa: ANN401 - an operation's result
    rule_id = SQUAT if "channel" in context else CLEARANCE
    signal = {
        "signal_type": "phala",
        "rule_id": rule_id,
        "applied_by": "bridge",
        "query_context": context,
        "outcome": outcome,
        "strands_available": list(answer.body.annotation.strands_present),
        "authenticity_level": str(answer.body.authenticity_level),
        "rca_triggered": False,
        "timestamp": stage.at(),
        "answer_id": answer.answer_id,
    }
    stage.do("service:bridge", "outcome.report", signal=json.dumps(signal).encode())


def _conclude(stage: Stage) -> None:
    """One person concludes that the rule is wrong; a second one accepts the corrected rule."""
    (item,) = stage.do("user:rita", "rootcauses.list").items
    shown = stage.do("user:rita", "rootcause.show", item_id=item.item.item_id)
    stage.do(
        "user:rita",
        "rootcause.conclude",
        item_id=item.item.item_id,
        failure_category="C",
        siddhanta="the rule forgets the swell",
        seen=shown.ticket.shown_hash,
        corrected_rule=_CORRECTED,
    )
    done = stage.do("user:sam", "rootcause.show", item_id=item.item.item_id)
    ticket = stage.do("user:sam", "ticket.show", ticket_id=done.proposal_ticket_id)
    stage.do(
        "user:sam",
        "ticket.answer",
        ticket_id=done.proposal_ticket_id,
        choice="accept",
        seen=ticket.ticket.shown_hash,
        reason="agreed with the pilots",
    )
