"""A node that delivers: people and services who may ask and report, rules, kinds of question, and answerers."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.delivery.answerer import Question
from assay.delivery.level import Level
from assay.delivery.pair import TrainingPair
from assay.delivery.plugin import Category
from assay.facts.delivery import logged_pair, text_of
from assay.flows.delivery.answerers import Answerers
from assay.flows.delivery.count_outcome import Reported
from assay.flows.delivery.deliver_answer import AnsweredQuestion
from assay.flows.delivery.delivery_entry import delivery_entry
from assay.flows.delivery.root_causes import ShownItem
from assay.flows.review.answer_desk import DeskAnswer, answer_desk
from assay.flows.tools import Tools
from assay.identity.principal import PrincipalKind
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.delivery_store import RuleCounters, StoredPair
from assay.review.draft import Reply as DeskReply
from assay.review.ticket import Ticket
from assay.wiring import open_node
from tests.acting import caller_of, issue_api_key
from tests.delivering import (
    ask_certification,
    certify_rule,
    conclude_rootcause,
    deliver_answer,
    grant_reporter,
    measure_proof,
    register_query,
    register_rule,
    report_outcome,
)
from tests.flows._node import new_node
from tests.flows._people import ADMIN, TENANT, Desk, quick_passwords

__all__ = ["BELL", "CODE", "RULE", "SLUG", "TEXT", "Delivery", "opened_delivery"]

RULE, SLUG = "MAR-YK-007", "vessel.ukc-status"
TEXT = "The under-keel clearance must be at least 10 % of the draught."
BELL = PrincipalId("service:bell")
CODE = {"ukc.py": f"# @rule:{RULE}\n"}
_QUERY_BIT = 0b10


@dataclass
class Delivery:
    """`olga` runs the node, `rita` and `sam` review, `amira` asks, and the service `bell` reports."""

    desk: Desk
    olga: str
    amira: str
    bell: str
    rita: str
    sam: str

    @property
    def tools(self) -> Tools:
        return self.desk.tools

    def with_settings(self, **changes: Any) -> "Delivery":  # noqa: ANN401  any field of the settings
        settings = replace(self.tools.delivery, **changes)
        return replace(self, desk=replace(self.desk, tools=replace(self.tools, delivery=settings)))

    def answering(self, function: Callable[[Question], Any], name: str = SLUG, **chosen: Any) -> "Delivery":  # noqa: ANN401
        table = Answerers()
        table.answers(name, **{"rules": [RULE], **chosen})(function)
        return self.with_settings(answerers={**self.tools.delivery.answerers, **table.freeze()})

    def rule(self, name: str = RULE, text: str = TEXT, *, domains: tuple[str, ...] = ("maritime",)) -> None:
        register_rule(self.tools, name, text, domains=domains, credential=self.olga, at=self.desk.start)

    def certify(self, name: str = RULE, *, by: str | None = None, at: Instant | None = None) -> None:
        now = at or self.desk.at(minutes=1)
        ticket = ask_certification(self.tools, TENANT, name, at=now)
        certify_rule(self.tools, name, seen=ticket.shown_hash, credential=by or self.rita, at=now)

    def query(self, slug: str = SLUG, *, answerer: str = SLUG, **chosen: Any) -> None:  # noqa: ANN401  any field
        fields: dict[str, Any] = {
            "description": "is there enough water",
            "domain": "maritime",
            "expected_level": Level.PARTIAL,
            "rules": [RULE],
        }
        register_query(
            self.tools, slug, answerer=answerer, **(fields | chosen), credential=self.olga, at=self.desk.start
        )

    def prove(self, **minutes: float) -> None:
        measure_proof(self.tools, TENANT, CODE, by=ADMIN, at=self.desk.at(**(minutes or {"minutes": 2})))

    def grant(self, *rules: str) -> None:
        grant_reporter(self.tools, BELL, rules, credential=self.olga, at=self.desk.start)

    def ready(self, outcome: Any = "clear") -> "Delivery":  # noqa: ANN401  any JSON, or a function
        """One rule that a person stands by, one kind of question, and a service that reports."""
        self.rule()
        self.certify()
        self.query()
        self.grant("MAR-*")
        return self.answering(outcome if callable(outcome) else lambda _question: outcome)

    def ask(
        self,
        question: Any = None,  # noqa: ANN401  any JSON
        slug: str = SLUG,
        *,
        by: str | None = None,
        minute: float = 3,
    ) -> AnsweredQuestion:
        return deliver_answer(
            self.tools,
            slug,
            {"ship": "Ada"} if question is None else question,
            credential=by or self.amira,
            at=self.desk.at(minutes=minute),
        )

    def signal(self, outcome: str = "failure", *, minute: float = 4, **chosen: Any) -> dict[str, Any]:  # noqa: ANN401
        told = {
            "signal_type": "phala",
            "rule_id": RULE,
            "applied_by": "bridge",
            "query_context": "entering port",
            "outcome": outcome,
            "strands_available": ["capability", "knowledge"],
            "strand_missing": ["proof"],
            "authenticity_level": "PRAMANA-2",
            "rca_triggered": False,
            "timestamp": render_instant(self.desk.at(minutes=minute)),
        }
        return {name: value for name, value in (told | chosen).items() if value is not None}

    def report(
        self,
        outcome: str = "failure",
        *,
        key: str | None = None,
        by: str | None = None,
        minute: float = 4,
        **chosen: Any,  # noqa: ANN401  any member
    ) -> Reported:
        return report_outcome(
            self.tools,
            json.dumps(self.signal(outcome, minute=minute, **chosen)).encode(),
            credential=by or self.bell,
            idempotency_key=key,
            at=self.desk.at(minutes=minute),
        )

    def fail(self, times: int = 3, *, prefix: str = "f", answer_id: str | None = None, **chosen: Any) -> list[Reported]:  # noqa: ANN401
        """The last of them is the outcome of the answer, where one is named: an answer has one outcome."""
        named = [*[None] * (times - 1), answer_id]
        return [self.report(key=f"{prefix}{number}", answer_id=one, **chosen) for number, one in enumerate(named)]

    def counters(self, rule: str = RULE) -> RuleCounters:
        [found] = self.desk.read(lambda unit: unit.delivery.find_counters(TENANT, [rule]))
        return found

    def ticket_of(self, item_id: str) -> Ticket:
        def look(unit: Any) -> Ticket:  # noqa: ANN401  the unit
            asked = unit.delivery.find_asked(TENANT, item_id)
            assert asked is not None
            found: Ticket | None = unit.review.find_ticket(TENANT, TicketId(asked.ticket_id))
            assert found is not None
            return found

        return self.desk.read(look)

    def conclude(
        self,
        item_id: str,
        category: Category = Category.RULE,
        *,
        by: str | None = None,
        corrected: str | None = "At least 15 %.",
        sub_category: str | None = None,
        minute: float = 9,
    ) -> ShownItem:
        return conclude_rootcause(
            self.tools,
            item_id,
            category,
            "the rule is too lenient",
            seen=self.ticket_of(item_id).shown_hash,
            corrected_rule=corrected if category is Category.RULE else None,
            sub_category=sub_category,
            credential=by or self.rita,
            at=self.desk.at(minutes=minute),
        )

    def accept(
        self, ticket: Ticket, *, by: str | None = None, choice: str = "accept", minute: float = 12
    ) -> DeskAnswer:
        reply = DeskReply(choice=choice, seen=ticket.shown_hash, reason="looked at", body="{}")
        return answer_desk(
            self.tools, caller_of(self.tools, by or self.sam, at=self.desk.at(minutes=minute)), ticket.id, reply
        )

    def events(self, kind: str) -> list[dict[str, Any]]:
        rows = self.desk.read(lambda unit: unit.outbox.events(TENANT, after=0, limit=1000))
        return [json.loads(bytes(row.body)) for row in rows if row.type == kind]


@contextmanager
def opened_delivery(folder: Path, *, database: str | None = None) -> Iterator[Delivery]:
    """A new node, on SQLite unless another database is named."""
    new_node(folder, database=database)
    with open_node(folder / "node") as (opened, _):
        desk = Desk(tools=replace(opened, passwords=quick_passwords()), start=opened.clock.now())
        asking = {"trust_mask": _QUERY_BIT, "action_tier": 1}
        for name, granted in (
            ("user:olga", {"roles": ("operator",)}),
            ("user:amira", {"roles": (), **asking}),
            ("user:rita", {"roles": ("reviewer",), **asking}),
            ("user:sam", {"roles": ("reviewer",)}),
        ):
            desk.add(name, **granted)
        desk.add(str(BELL), kind=PrincipalKind.SERVICE, roles=())
        bell, _ = issue_api_key(desk.tools, TENANT, BELL, by=ADMIN, at=desk.start)
        people = {name: desk.session(f"user:{name}") for name in ("olga", "amira", "rita", "sam")}
        yield Delivery(desk=desk, bell=bell, **people)


def record_pair(unit: Unit, tenant_id: TenantId, pair: TrainingPair, item_id: str) -> None:
    """Record a training pair as a conclusion does."""
    text = text_of(pair)
    body = {**logged_pair(text), "item_id": item_id}
    row = StoredPair(
        pair_id=pair.training_pair_id, rule_id=pair.rule_id, item_id=item_id, text=text, sequence_number=0, bound=1
    )
    unit.record(delivery_entry(tenant_id, EntryKind.TRAINING_PAIR, body, at=pair.captured_at), row)
