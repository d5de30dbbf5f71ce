"""From verdicts that failed to new weights: what the model was shown is what the judge learns from."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from assay.adapters.weight_folder import WeightFolder
from assay.delivery.level import Level
from assay.delivery.pair import TrainingPair
from assay.delivery.plugin import Category
from assay.delivery.trigger import TriggerRule
from assay.flows.delivery.deliver_answer import AnsweredQuestion
from assay.flows.delivery.project_rules import GRAPH_DOMAIN
from assay.flows.delivery.tend_delivery import tend_delivery
from assay.flows.delivery.training import captured_pairs, run_training
from assay.flows.model.judge_pairs import teaching_cases
from assay.flows.model.known_model import active_hash, shipped_card
from assay.flows.model.show_model import show_model
from assay.flows.model.train_judge import JudgeTrainer, TrainingEffort
from assay.identity.principal import PrincipalChange
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import render_instant
from assay.kernel.json_text import JsonValue
from assay.ports.trainer import TrainingResult, TrainingState
from assay.verdicts.case import expected_of, open_case
from tests.acting import amend_principal
from tests.delivering import (
    conclude_rootcause,
    deliver_answer,
    export_pairs,
    grant_reporter,
    register_query,
    register_rule,
    report_outcome,
)
from tests.flows._models import a_few_sealed
from tests.flows._people import ADMIN, TENANT
from tests.flows._verdicts import VerdictDesk, opened_verdicts, rule

_SENSOR = PrincipalId("service:sensor")
_BATCH = 6
_LITTLE = TrainingEffort(steps=2, tokens=150, rate=5e-3, pair_share=0.5)


@dataclass
class Learning:
    """A node that judges stacks, answers for its verdicts, hears what came of them, and asks Rita why."""

    desk: VerdictDesk
    rita: str

    def verdict(self, name: str, so2: float) -> AnsweredQuestion:
        self.desk.decide({"so2": so2, "load": so2 + 1}, name=name)
        return self._ask("stack.verdict", {"telemetry_id": name})

    def told(self) -> AnsweredQuestion:
        return self._ask("stack.rule", {"rule_id": "TEXT-1"})

    def conclude(self, answer: AnsweredQuestion, words: str, category: Category = Category.APPLICATION) -> TrainingPair:
        """The answer failed, which opens a root cause; Rita concludes it."""
        item_id = self._fail(answer)
        asked = self.desk.read(lambda unit: unit.delivery.find_asked(TENANT, item_id))
        assert asked is not None
        ticket = self.desk.read(lambda unit: unit.review.find_ticket(TENANT, TicketId(asked.ticket_id)))
        assert ticket is not None
        conclude_rootcause(
            self.desk.tools,
            item_id,
            category,
            words,
            seen=ticket.shown_hash,
            corrected_rule="At most 30." if category is Category.RULE else None,
            credential=self.rita,
            at=self.desk.at(minutes=9),
        )
        return captured_pairs(self.desk.tools.database, TENANT)[-1]

    def train(self) -> TrainingResult:
        tend_delivery(self.desk.tools, TENANT, at=self.desk.at(minutes=10))
        [done] = run_training(self.desk.tools, TENANT, at=self.desk.at(minutes=10))
        assert done.result is not None
        return done.result

    def _ask(self, slug: str, question: JsonValue) -> AnsweredQuestion:
        at = self.desk.at(minutes=7)
        return deliver_answer(self.desk.tools, slug, question, credential=self.desk.sensor, at=at)

    def _fail(self, answer: AnsweredQuestion) -> str:
        annotation = answer.body.annotation
        told = {
            "signal_type": "phala",
            "rule_id": annotation.rules[0].rule_id,
            "applied_by": "plant",
            "outcome": "failure",
            "strands_available": list(annotation.strands_present),
            "strand_missing": list(annotation.strands_missing),
            "authenticity_level": str(annotation.authenticity_level),
            "timestamp": render_instant(self.desk.at(minutes=8)),
            "answer_id": answer.answer_id,
        }
        at = self.desk.at(minutes=8)
        done = report_outcome(self.desk.tools, json.dumps(told).encode(), credential=self.desk.sensor, at=at)
        [one] = done.rules
        assert one.item_id is not None
        return one.item_id


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Learning]:
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(rule("SO2"), rule("LOAD", metric="load", value=20, subject="other"))
        change = PrincipalChange(trust_mask=2, action_tier=1)
        amend_principal(desk.tools, TENANT, _SENSOR, change, by=ADMIN, at=desk.start)
        for slug, answerer, domain in (
            ("stack.verdict", "verdict", GRAPH_DOMAIN),
            ("stack.rule", "rule", "texts"),
        ):
            register_query(
                desk.tools,
                slug,
                description=slug,
                domain=domain,
                answerer=answerer,
                expected_level=Level.UNVERIFIED,
                credential=desk.operator,
                at=desk.start,
            )
        register_rule(desk.tools, "TEXT-1", "Look twice.", domains=["texts"], credential=desk.operator, at=desk.start)
        grant_reporter(desk.tools, _SENSOR, ["*"], credential=desk.operator, at=desk.start)
        trainer = JudgeTrainer(
            tools=desk.tools, places=WeightFolder(tmp_path / "trainings"), effort=_LITTLE, sealed=a_few_sealed(1)
        )
        settings = replace(desk.tools.delivery, trainer=trainer, pair_batch=_BATCH, trigger=TriggerRule(threshold=1))
        desk.use(delivery=settings)
        yield Learning(desk, desk.session("user:rita"))


@pytest.mark.clause("pramana", "10.4")
@pytest.mark.clause("pramana", "12.6")
def test_a_job_of_failed_verdicts_trains_the_judge_and_measures_it(node: Learning) -> None:
    """Five failed verdicts and one failed text: the judge learns from the five, and says that one was not for it."""
    for number in range(_BATCH - 1):
        node.conclude(node.verdict(f"t-{number}", 36.5 + number), "the reading was of another stack")
    node.conclude(node.told(), "nobody asked that")
    result = node.train()
    assert result.state in {TrainingState.TRAINED, TrainingState.REFUSED}
    assert (result.used, result.not_for_this_trainer) == (_BATCH - 1, 1)
    assert None not in (result.before, result.after, result.weight_hash)
    known = show_model(node.desk.tools, TENANT, Digest(str(result.weight_hash)))
    assert known.lineage == (shipped_card().weight_hash,)
    assert len(known.evaluations) == 2
    assert node.desk.read(lambda unit: active_hash(unit, TENANT)) == shipped_card().weight_hash
    assert len(json.loads(export_pairs(node.desk.tools, TENANT))) == _BATCH


@pytest.mark.clause("pramana", "10.4")
def test_a_pair_carries_what_the_model_was_shown(node: Learning) -> None:
    """The very lines of the prompt, of the rule that failed; and the members of a pair are those of the text."""
    answer = node.verdict("t-1", 40)
    pair = node.conclude(answer, "the reading was of another stack")
    [case] = teaching_cases([pair])
    assert expected_of(open_case(case.case)).verdict == case.expected.verdict == "FLAG"
    assert case.case.measurement == {"so2": 40, "load": 41}
    assert [one.id for one in case.case.obligations] == ["SO2.o"]
    assert node.desk.model is not None
    shown = node.desk.model.asked[-1].prompt
    assert open_case(case.case).prompt.endswith(shown[shown.rindex("\ncase\n") :])
    [exported] = json.loads(export_pairs(node.desk.tools, TENANT))
    assert set(exported["input"]) == {"query", "original_response", "phala_signals"}


@pytest.mark.clause("pramana", "10.1")
def test_what_a_judge_learns_is_what_the_person_said(node: Learning) -> None:
    """A named verdict must be the verifier's; of a rule that is itself wrong, or of two verdicts, nothing follows."""
    pairs = [
        node.conclude(node.verdict("a", 40), "FLAG"),
        node.conclude(node.verdict("b", 41), "It should have been CLEAR."),
        node.conclude(node.verdict("c", 42), "neither FLAG nor CLEAR"),
        node.conclude(node.verdict("d", 43), "the limit is out of date", Category.RULE),
        node.conclude(node.verdict("e", 44), "the wrong stack was asked about", Category.ROUTING),
    ]
    taught = [one.training_pair_id for one in teaching_cases(pairs)]
    assert taught == [pairs[0].training_pair_id, pairs[4].training_pair_id]


def test_a_job_without_verdicts_is_passed_over_and_did_not_fail(node: Learning) -> None:
    for number in range(_BATCH):
        node.conclude(node.told(), f"nobody asked that, {number}")
    result = node.train()
    assert (result.state, result.model_version) == (TrainingState.PASSED_OVER, None)
    assert (result.used, result.not_for_this_trainer) == (0, _BATCH)
    assert len(json.loads(export_pairs(node.desk.tools, TENANT))) == _BATCH
