"""Nothing closes a root cause but a person, and what that person says is never lost: pair, proposal, new version."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

from assay.config.delivery import PluginName
from assay.delivery.answerer import Question, Reply
from assay.delivery.pair import TrainingPair
from assay.delivery.plugin import Category, PluginCard, PluginReply, PluginRequest, PurvaPaksha
from assay.delivery.rule import RuleId
from assay.delivery.trace import Stage
from assay.delivery.twowrong import Step, StepKind, StepVerdict
from assay.flows.delivery.open_rootcause import ask_people
from assay.flows.delivery.root_causes import ConcludeRootCause, ShownItem, conclude_root_cause
from assay.flows.delivery.tend_delivery import tend_delivery
from assay.flows.delivery.training import PairFormat, list_jobs, run_training, trigger_training
from assay.flows.review.answer_desk import answer_desk
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.canonical import canonical_digest, canonical_json
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.json_text import JsonValue
from assay.kernel.ledger import MAX_ENTRY_BYTES, EntryKind
from assay.ports.plugin import PluginPost
from assay.ports.trainer import TrainingJob, TrainingResult, TrainingState
from assay.review.draft import Reply as DeskReply
from assay.wiring import load_config
from assay.wiring._delivery import delivery_settings
from tests.acting import amend_principal, caller_of, issue_api_key
from tests.contract._kit import refused
from tests.delivering import (
    export_pairs,
    grant_reporter,
    list_items,
    list_rules,
    recount_rules,
    show_item,
    show_rule,
    trace_answer,
)
from tests.flows._delivery import RULE, SLUG, TEXT, Delivery, opened_delivery
from tests.flows._node import damage
from tests.flows._people import ADMIN, TENANT, LostError
from tests.flows._questions import questions_of

AMIRA = PrincipalId("user:amira")
_OTHER = TenantId("other")


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Delivery]:
    with opened_delivery(tmp_path) as delivery:
        yield delivery.ready()


def _opened(node: Delivery, **chosen: Any) -> str:  # noqa: ANN401  any member of a signal
    item_id = node.fail(3, **chosen)[-1].rules[0].item_id
    assert item_id is not None
    return item_id


@pytest.mark.clause("pramana", "11.10")
@pytest.mark.clause("pramana", "10.1")
def test_the_ticket_shows_everything_that_a_reviewer_needs(node: Delivery) -> None:
    answer = node.ask()
    item_id = _opened(node, answer_id=answer.answer_id)
    ticket = node.ticket_of(item_id)
    shown = json.loads(ticket.shown)
    assert (shown["rule_content"], shown["rule"]) == (TEXT, {"rule_id": RULE, "version": 1})
    assert (shown["original_query"], shown["original_response"]) == ('{"ship":"Ada"}', '"clear"')
    assert [one["query_context"] for one in shown["contexts"]] == ["entering port"] * 3
    assert shown["tally"]["failure"] == 3
    assert shown["rule_history"][0]["rule_id"] == RULE
    assert ticket.choices == ("routing_failure", "application_failure", "rule_failure")


@pytest.mark.clause("pramana", "10.4")
@pytest.mark.clause("pramana", "12.6")
@pytest.mark.clause("pramana", "14.5")
@pytest.mark.parametrize("category", list(Category))
@pytest.mark.clause("pramana", "12.2")
@pytest.mark.clause("pramana", "7.3")
def test_every_conclusion_leaves_a_training_pair_with_its_reviewer(node: Delivery, category: Category) -> None:
    item_id = _opened(node)
    node.conclude(item_id, category)
    [pair] = json.loads(export_pairs(node.tools, TENANT))
    assert set(pair) == {"training_pair_id", "rule_id", "input", "label", "captured_by", "captured_at"}
    assert (pair["rule_id"], pair["captured_by"]) == (RULE, "user:rita")
    assert pair["label"]["failure_category"] == category
    shown = show_item(node.tools, TENANT, item_id)
    assert (shown.is_open, shown.pair_id) == (False, pair["training_pair_id"])
    assert [one["payload"]["failure_category"] for one in node.events("rca.closed")] == [category]
    assert len(node.events("slm.training_pair_captured")) == 1


@pytest.mark.clause("pramana", "10.4")
def test_a_root_cause_of_a_long_answer_can_be_concluded(node: Delivery) -> None:
    """The pair is kept whole; an entry that cannot hold its input binds it by its hash."""
    node = node.answering(lambda _question: "é" * MAX_ENTRY_BYTES)
    node.conclude(_opened(node, answer_id=node.ask().answer_id))
    [pair] = json.loads(export_pairs(node.tools, TENANT))
    assert pair["input"]["original_response"] == f'"{"é" * MAX_ENTRY_BYTES}"'
    [logged] = node.desk.entries(EntryKind.TRAINING_PAIR)
    assert (logged["label"], logged["input_hash"]) == (pair["label"], canonical_digest(pair["input"]))


@pytest.mark.clause("pramana", "10.2")
@pytest.mark.clause("pramana", "14.5")
def test_nobody_but_a_reviewer_in_session_concludes(node: Delivery) -> None:
    """An API key, a person without the role, nobody at all: refused, with nothing on record."""
    item_id = _opened(node)
    before = node.desk.head()
    for by, code in (
        (node.bell, "identity.role"),
        (node.amira, "identity.role"),
        ("st_nobody", "identity.not_signed_in"),
    ):
        with refused(code):
            node.conclude(item_id, by=by)
    said = ConcludeRootCause(
        item_id=item_id, failure_category=Category.ROUTING, siddhanta="x", seen=node.ticket_of(item_id).shown_hash
    )
    # The desk refuses them too, whichever door let them in.
    for by, code in ((node.bell, "review.machine"), (node.amira, "review.not_eligible")):
        with refused(code):
            conclude_root_cause(node.tools, caller_of(node.tools, by, at=node.desk.at(minutes=9)), said)
    assert node.desk.head() == before
    assert show_item(node.tools, TENANT, item_id).is_open


@pytest.mark.clause("pramana", "10.2")
@pytest.mark.clause("pramana", "14.2")
def test_nobody_concludes_the_root_cause_of_what_they_reported(node: Delivery) -> None:
    """One of three outcomes is enough; another reviewer concludes, and the reporter concludes what others tell of."""
    grant_reporter(node.tools, PrincipalId("user:rita"), ["MAR-*"], credential=node.olga, at=node.desk.at(minutes=2))
    node.report(key="her own", by=node.rita)
    item_id = node.fail(2)[-1].rules[0].item_id
    assert item_id is not None
    before = node.desk.head()
    with refused("review.own_request"):
        node.conclude(item_id, by=node.rita)
    assert node.desk.head() == before
    node.conclude(item_id, Category.APPLICATION, by=node.sam)
    node.conclude(_opened(node, prefix="others", minute=10), Category.APPLICATION, by=node.rita, minute=11)


@pytest.mark.clause("pramana", "10.1")
@pytest.mark.parametrize(
    "body",
    [
        {"failure_category": "A", "siddhanta": "wrong port"},
        {"failure_category": "C", "siddhanta": "the rule is wrong"},
        {"siddhanta": "no category"},
        {"failure_category": "C", "siddhanta": "", "corrected_rule": "x"},
    ],
)
def test_an_answer_that_is_no_conclusion_closes_nothing(node: Delivery, body: dict[str, str]) -> None:
    """Another category than was chosen, no corrected rule, no words: the desk refuses the answer itself."""
    ticket = node.ticket_of(_opened(node))
    before = node.desk.head()
    with refused("delivery.conclusion"):
        reply = DeskReply(choice="rule_failure", seen=ticket.shown_hash, reason="", body=canonical_json(body))
        answer_desk(node.tools, caller_of(node.tools, node.rita, at=node.desk.at(minutes=9)), ticket.id, reply)
    assert node.desk.head() == before


@pytest.mark.clause("pramana", "10.1")
def test_a_conclusion_names_a_sub_category_that_its_ticket_lists(node: Delivery) -> None:
    """What the ticket showed holds, whatever is listed afterwards; where none is listed any may be named."""
    listing = node.with_settings(sub_categories={Category.ROUTING: ("wrong port",)})
    item_id = _opened(listing)
    assert json.loads(node.ticket_of(item_id).shown)["sub_categories"] == {"A": ["wrong port"]}
    before = node.desk.head()
    for category, name in ((Category.ROUTING, "moon"), (Category.APPLICATION, "wrong port")):
        with refused("delivery.conclusion"):
            node.conclude(item_id, category, sub_category=name)
    assert node.desk.head() == before
    node.conclude(item_id, Category.ROUTING, sub_category="wrong port")
    free = _opened(node, prefix="free", minute=10)
    listing.conclude(free, Category.ROUTING, sub_category="moon", minute=11)
    told = [one["sub_category"] for one in node.desk.entries(EntryKind.ROOT_CAUSE_CLOSED)]
    assert told == ["wrong port", "moon"]


def test_a_lost_commit_concludes_nothing_and_the_next_attempt_does(node: Delivery) -> None:
    item_id = _opened(node)
    broken = Delivery(
        desk=node.desk.failing(), olga=node.olga, amira=node.amira, bell=node.bell, rita=node.rita, sam=node.sam
    )
    with pytest.raises(LostError):
        broken.conclude(item_id)
    assert json.loads(export_pairs(node.tools, TENANT)) == []
    node.conclude(item_id)
    assert len(json.loads(export_pairs(node.tools, TENANT))) == 1


def test_a_conclusion_ends_the_episode_and_the_next_failures_open_another(node: Delivery) -> None:
    first = _opened(node)
    node.fail(2, prefix="during")
    node.conclude(first, Category.APPLICATION)
    assert node.counters().item_id is None
    done = node.fail(3, prefix="after", minute=10)
    assert [one.rules[0].rca_triggered for one in done] == [False, False, True]
    assert [one.is_open for one in list_items(node.tools, TENANT)] == [False, True]
    assert len(list_items(node.tools, TENANT, open_only=True)) == 1
    assert recount_rules(node.tools, TENANT).holds


def test_a_longer_list_of_root_causes_asks_the_database_no_more_questions(
    node: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for somebody with a floor, who is shown what each answer behind them reached."""
    raised = PrincipalChange(authenticity_level_floor=3)
    at, sam = node.desk.at(minutes=2), PrincipalId("user:sam")
    first, third = node.ask().answer_id, node.ask().answer_id
    viewer = amend_principal(node.tools, TENANT, sam, raised, by=ADMIN, at=at)

    def listed() -> tuple[ShownItem, ...]:
        return list_items(node.tools, TENANT, viewer=viewer)

    node.conclude(_opened(node, answer_id=first))
    listed()
    one = questions_of(monkeypatch, listed)
    node.conclude(_opened(node, prefix="second", minute=10), minute=10)
    _opened(node, prefix="third", minute=11, answer_id=third)
    # Entries of rows that nobody has read yet are read once, all together.
    listed()
    assert questions_of(monkeypatch, listed) == one
    assert [item.ticket is None for item in listed()] == [True, False, True]
    assert listed() == tuple(show_item(node.tools, TENANT, item.item.item_id, viewer=viewer) for item in listed())


@pytest.mark.clause("pramana", "14.3")
@pytest.mark.clause("pramana", "14.4")
def test_a_corrected_rule_is_proposed_and_waits_for_a_second_person(node: Delivery) -> None:
    """Until then the old version is in force; then the new one is, certified by the second person."""
    item_id = _opened(node)
    node.conclude(item_id)
    (proposed,) = node.desk.read(lambda unit: unit.delivery.proposals_on(TENANT, [item_id]))
    ticket = node.desk.read(lambda unit: unit.review.find_ticket(TENANT, proposed.ticket_id))  # type: ignore[arg-type]  # its text
    assert ticket is not None
    assert show_rule(node.tools, TENANT, RULE).content == TEXT
    with refused("review.own_request"):
        node.accept(ticket, by=node.rita)
    node.accept(ticket)
    shown = show_rule(node.tools, TENANT, RULE)
    assert (shown.content, len(shown.versions), shown.is_certified) == ("At least 15 %.", 2, True)
    assert shown.certifications[-1].certified_by == "user:sam"
    assert node.ask(minute=13).body.annotation.rules[0].version == 2


def test_a_rejected_proposal_changes_nothing(node: Delivery) -> None:
    item_id = _opened(node)
    node.conclude(item_id)
    ticket_id = show_item(node.tools, TENANT, item_id).proposal_ticket_id
    ticket = node.desk.read(lambda unit: unit.review.find_ticket(TENANT, ticket_id))  # type: ignore[arg-type]  # its text
    assert ticket is not None
    node.accept(ticket, choice="reject")
    assert len(show_rule(node.tools, TENANT, RULE).versions) == 1


@pytest.mark.clause("pramana", "9")
def test_one_answer_is_traced_through_all_four_stages(node: Delivery) -> None:
    answer_id = node.ask().answer_id
    item_id = _opened(node, answer_id=answer_id)
    node.conclude(item_id)
    shown = trace_answer(node.tools, TENANT, answer_id)
    assert shown.trace is not None
    assert [one.stage for one in shown.trace.loops] == [
        Stage.QUERY, Stage.DELIVERY, Stage.OUTCOME, Stage.ROOT_CAUSE,
    ]  # fmt: skip
    assert shown.problems == ()
    assert "reviewer user:rita" in shown.trace.loops[-1].route


@dataclass
class _Slm:
    """A plugin that answers, is late, or fails; it keeps what it was told."""

    does: str = "answer"
    heard: list[PluginRequest] = field(default_factory=list)

    def infer(self, request: PluginRequest) -> bytes:
        self.heard.append(request)
        if self.does == "late":
            threading.Event().wait(5)
        if self.does == "fail":
            raise RuntimeError("no memory")
        if self.does == "nonsense":
            return b"{}"
        if self.does == "nothing":
            return None  # type: ignore[return-value]  # as a plugin does that forgets to answer
        thought = PurvaPaksha(
            failure_category=Category.ROUTING, hypothesis="wrong ship", proposed_correction="", confidence=1.0
        )
        return msgspec.json.encode(PluginReply(rule_id=request.rule_id, purva_paksha=thought))


def _plugged(node: Delivery, slm: _Slm, *, rules: tuple[str, ...] = (RULE,)) -> Delivery:
    card = PluginCard(plugin_id="slm-1", model_version="1", rule_ids=tuple(map(RuleId, rules)))
    return node.with_settings(plugin=PluginPost(card=card, plugin_of=lambda _tenant_id: slm, seconds=0.2))


@pytest.mark.clause("pramana", "10.3")
@pytest.mark.clause("pramana", "12.5")
@pytest.mark.clause("pramana", "10.2")
def test_a_hypothesis_is_shown_and_decides_nothing(node: Delivery) -> None:
    """However sure the plugin is, the person concludes otherwise, and the pair keeps both."""
    slm = _Slm()
    node = _plugged(node, slm)
    item_id = _opened(node)
    assert show_item(node.tools, TENANT, item_id).ticket is None
    [asked] = ask_people(node.tools, TENANT, at=node.desk.at(minutes=5))
    assert (asked.item_id, asked.plugin_problem) == (item_id, None)
    assert slm.heard[0].rule_content == TEXT
    shown = json.loads(node.ticket_of(item_id).shown)
    assert shown["purva_paksha"]["confidence"] == 1
    assert show_item(node.tools, TENANT, item_id).is_open
    node.conclude(item_id)
    [pair] = json.loads(export_pairs(node.tools, TENANT))
    assert (pair["input"]["purva_paksha"]["failure_category"], pair["label"]["failure_category"]) == ("A", "C")
    assert ask_people(node.tools, TENANT, at=node.desk.at(minutes=6)) == ()
    [line] = export_pairs(node.tools, TENANT, PairFormat.PREFERENCES).splitlines()
    assert json.loads(line)["rejected"].startswith("Category A")
    [line] = export_pairs(node.tools, TENANT, PairFormat.CHAT).splitlines()
    assert json.loads(line)["messages"][2]["content"].startswith("Category C")


@pytest.mark.clause("pramana", "10.3")
@pytest.mark.parametrize("does", ["late", "fail", "nonsense", "nothing"])
def test_a_plugin_that_fails_costs_its_hypothesis_and_nothing_else(node: Delivery, does: str) -> None:
    node = _plugged(node, _Slm(does))
    item_id = _opened(node)
    [asked] = ask_people(node.tools, TENANT, at=node.desk.at(minutes=5))
    assert asked.plugin_problem is not None
    assert json.loads(node.ticket_of(item_id).shown)["purva_paksha"] is None


def test_the_nearest_case_is_one_of_the_same_tenant(node: Delivery, tmp_path: Path) -> None:
    """What one tenant concluded is in no ticket, row or entry of another, whose rule has the same name."""
    config = load_config(tmp_path / "node")
    chosen = structs.replace(
        config.delivery, plugin=PluginName.NEAREST_CASE, plugin_rules=(RULE,), tenants=(TENANT, _OTHER)
    )
    plugin = delivery_settings(structs.replace(config, delivery=chosen), node.tools.database).plugin
    plugged = node.with_settings(plugin=plugin)
    first = _opened(plugged)
    ask_people(plugged.tools, TENANT, at=node.desk.at(minutes=5))
    plugged.conclude(first, corrected="At least 15 % off Rotterdam.")
    other = _other_tenant(plugged)
    _opened(other)
    [asked] = ask_people(other.tools, _OTHER, at=node.desk.at(minutes=15))
    assert asked.plugin_problem is not None
    told = node.desk.read(lambda unit: unit.review.find_ticket(_OTHER, TicketId(asked.ticket_id)))
    assert told is not None
    assert "Rotterdam" not in told.shown
    _opened(plugged, prefix="again", minute=16)
    [asked] = ask_people(plugged.tools, TENANT, at=node.desk.at(minutes=17))
    own = node.desk.read(lambda unit: unit.review.find_ticket(TENANT, TicketId(asked.ticket_id)))
    assert own is not None
    assert "Rotterdam" in json.loads(own.shown)["purva_paksha"]["proposed_correction"]


def _other_tenant(node: Delivery) -> Delivery:
    """An operator and a reporter of another tenant of the same node, with a rule of the same name."""
    desk = node.desk
    desk.add("user:oda", tenant=_OTHER, roles=("operator",))
    desk.add("service:bell", tenant=_OTHER, kind=PrincipalKind.SERVICE, roles=())
    bell, _ = issue_api_key(desk.tools, _OTHER, PrincipalId("service:bell"), by=ADMIN, at=desk.start)
    other = replace(node, olga=desk.session("user:oda", tenant=_OTHER), bell=bell)
    other.rule()
    other.grant("MAR-*")
    return other


@pytest.mark.clause("pramana", "14.4")
def test_a_plugin_never_hears_of_a_rule_outside_its_scope(node: Delivery) -> None:
    slm = _Slm()
    node = _plugged(node, slm, rules=("OTHER-1",))
    item_id = _opened(node)
    assert node.ticket_of(item_id).about == item_id
    assert slm.heard == []


@dataclass
class _Trainer:
    does: TrainingState = TrainingState.TRAINED
    taken: list[tuple[TrainingJob, int]] = field(default_factory=list)

    def train(
        self, _tenant_id: TenantId, job: TrainingJob, pairs: bytes, *, is_stopping: Callable[[], bool]
    ) -> TrainingResult:
        assert not is_stopping()
        self.taken.append((job, len(msgspec.json.decode(pairs, type=list[TrainingPair]))))
        if self.does is TrainingState.FAILED:
            raise _NoMemoryError("no memory")
        return TrainingResult(state=self.does, model_version="v2", before=0.5, after=0.6)


class _NoMemoryError(Error):
    """Only for this test."""

    code = "test.no_memory"
    blame = Blame.OURS


def _conclude_some(node: Delivery, number: int) -> None:
    for one in range(number):
        minute = 5 + one / 10
        item_id = _opened(node, prefix=f"t{one}", minute=minute)
        node.conclude(item_id, Category.ROUTING, minute=minute)


@pytest.mark.clause("pramana", "10.4")
@pytest.mark.clause("pramana", "12.6")
@pytest.mark.clause("pramana", "12.2")
@pytest.mark.clause("pramana", "7.3")
def test_a_full_batch_of_pairs_is_a_job_for_the_trainer(node: Delivery) -> None:
    """Pairs wait until the batch is full; a job takes each pair once, and its result is given once."""
    trainer = _Trainer()
    assert node.tools.delivery.pair_batch == 50
    node = node.with_settings(pair_batch=2, trainer=trainer)
    _conclude_some(node, 3)
    at = node.desk.at(minutes=10)
    [job] = trigger_training(node.tools, TENANT, at=at)
    assert trigger_training(node.tools, TENANT, at=at) == ()
    assert [one["payload"]["pairs"] for one in node.events("slm.finetuning_triggered")] == [2]
    [done] = run_training(node.tools, TENANT, at=at)
    assert (trainer.taken[0][1], done.result) == (2, list_jobs(node.tools, TENANT)[0].result)
    assert run_training(node.tools, TENANT, at=at) == ()
    [second] = trigger_training(node.tools, TENANT, size=1, at=at)
    assert not set(second.pair_ids) & set(job.pair_ids)


def test_a_trainer_that_fails_leaves_a_result_that_says_so(node: Delivery) -> None:
    node = node.with_settings(pair_batch=1, trainer=_Trainer(TrainingState.FAILED))
    _conclude_some(node, 1)
    at = node.desk.at(minutes=10)
    trigger_training(node.tools, TENANT, at=at)
    [done] = run_training(node.tools, TENANT, at=at)
    assert done.result is not None
    assert (done.result.state, done.result.reason) == (TrainingState.FAILED, "test.no_memory: no memory")
    assert run_training(node.with_settings(trainer=None).tools, TENANT, at=at) == ()


def _two_steps(wrong: int) -> list[Step]:
    names = (("parameters", StepKind.PARAMETERS), ("route", StepKind.ROUTE))
    return [
        Step(kind=kind, ref=ref, verdict=StepVerdict.WRONG, evidence="the log shows it")
        if number < wrong
        else Step(kind=kind, ref=ref)
        for number, (ref, kind) in enumerate(names)
    ]


def _answer_with(wrong: int) -> object:
    return lambda _question: Reply(output="clear", steps=tuple(_two_steps(wrong)))


def _replay(_question: Question, repaired: tuple[str, ...]) -> JsonValue:
    return "clear" if len(repaired) > 1 else "aground"


def _keeps_saying_it(_question: Question, _repaired: tuple[str, ...]) -> JsonValue:
    return "clear"


@pytest.mark.clause("pramana", "12.4")
def test_a_success_by_two_wrong_steps_is_confirmed_by_replay(node: Delivery) -> None:
    """The specified counters count the success; beside them it is tainted, flagged, and a root cause opens."""
    node = node.answering(_answer_with(2), replay=_replay)  # type: ignore[arg-type]  # a lambda
    answer = node.ask()
    done = node.report("success", key="k", answer_id=answer.answer_id)
    [rule] = done.rules
    assert (rule.two_wrong, rule.rca_triggered) == (True, True)
    row = node.counters()
    assert (row.success, row.tainted_success) == (1, 1)
    assert node.events("phala.generated")[0]["payload"]["two_wrong_flag"] is True
    assert rule.item_id is not None
    item = show_item(node.tools, TENANT, rule.item_id).item
    assert item.two_wrong is not None
    assert (item.reason, item.two_wrong.standing) == ("two_wrong", "confirmed")
    assert recount_rules(node.tools, TENANT).holds


@pytest.mark.clause("pramana", "7.4.1")
@pytest.mark.clause("pramana", "12.4")
def test_every_report_of_a_success_by_two_wrong_steps_says_so_and_people_are_asked_once(node: Delivery) -> None:
    """The flag is of the output, whoever tells of it; what a person has concluded is not asked again."""
    node = node.answering(_answer_with(2), replay=_replay)  # type: ignore[arg-type]  # a lambda
    answer_id = node.ask().answer_id
    [first] = node.report("success", key="k", answer_id=answer_id).rules
    node.conclude(str(first.item_id), Category.APPLICATION)
    grant_reporter(node.tools, AMIRA, ["MAR-*"], credential=node.olga, at=node.desk.at(minutes=4))
    [again] = node.report("success", key="again", by=node.amira, answer_id=answer_id, minute=10).rules
    assert (again.two_wrong, again.rca_triggered, again.item_id) == (True, False, None)
    assert [one["payload"]["two_wrong_flag"] for one in node.events("phala.generated")] == [True, True]
    assert (again.tally.success, again.tally.tainted_success, again.tally.adjusted_confidence) == (2, 2, 0)


@pytest.mark.clause("pramana", "7.4.1")
@pytest.mark.clause("pramana", "12.4")
def test_a_signal_for_each_rule_taints_each_rule(node: Delivery) -> None:
    """As one signal that names both would have."""
    node.rule("MAR-2")
    both = Reply(output="clear", rules=(RuleId(RULE), RuleId("MAR-2")), steps=tuple(_two_steps(2)))
    node = node.answering(lambda _question: both, replay=_replay)
    answer_id = node.ask().answer_id
    mark: dict[str, Any] = {"authenticity_level": "PRAMANA-1", "strands_available": ["capability"]}
    told = [
        node.report("success", key=rule, rule_id=rule, answer_id=answer_id, strand_missing=None, **mark)
        for rule in (RULE, "MAR-2")
    ]
    assert [(one.two_wrong, one.rca_triggered) for done in told for one in done.rules] == [(True, True)] * 2
    assert [node.counters(rule).tainted_success for rule in (RULE, "MAR-2")] == [1, 1]


@pytest.mark.clause("pramana", "12.4")
def test_a_rule_concluded_to_be_wrong_while_a_success_is_looked_at_counts_in_its_commit(node: Delivery) -> None:
    """The answer is worked out again outside of any commit, which takes its time."""
    item_ids: list[str] = []

    def concludes_meanwhile(_question: Question, _repaired: tuple[str, ...]) -> JsonValue:
        while item_ids:
            node.conclude(item_ids.pop())
        return "clear"

    node = node.answering(_answer_with(2), replay=concludes_meanwhile)  # type: ignore[arg-type]  # a lambda
    answer_id = node.ask().answer_id
    item_ids.append(_opened(node))
    [done] = node.report("success", key="meanwhile", answer_id=answer_id, minute=10).rules
    assert (done.two_wrong, node.counters().tainted_success) == (True, 1)


@pytest.mark.clause("pramana", "7.4.2")
def test_an_open_item_takes_a_tainted_success_in_once(node: Delivery) -> None:
    node = node.answering(_answer_with(2), replay=_replay)  # type: ignore[arg-type]  # a lambda
    _opened(node)
    before = node.counters().absorbed
    done = node.report("success", key="lucky", answer_id=node.ask(minute=9).answer_id, minute=10)
    assert (done.rules[0].two_wrong, node.counters().absorbed) == (True, before + 1)


@pytest.mark.clause("pramana", "12.4")
def test_a_replay_that_shows_otherwise_clears_the_suspicion(node: Delivery) -> None:
    node = node.answering(_answer_with(2), replay=_keeps_saying_it)  # type: ignore[arg-type]  # a lambda
    done = node.report("success", key="k", answer_id=node.ask().answer_id)
    assert (done.rules[0].two_wrong, node.counters().tainted_success) == (False, 0)


@pytest.mark.clause("pramana", "12.4")
def test_a_suspicion_cleared_later_taints_no_report_any_more(node: Delivery) -> None:
    """The first report found nobody to replay it; for the second the answerer can, and what it shows counts for both.

    A third finds it suspected again: all three are tainted then, and each time a recount agrees.
    """
    suspected = node.answering(_answer_with(2))  # type: ignore[arg-type]  # a lambda
    cleared = node.answering(_answer_with(2), replay=_keeps_saying_it)  # type: ignore[arg-type]  # a lambda
    answer_id = suspected.ask().answer_id
    for name in ("amira", "rita"):
        who = PrincipalId(f"user:{name}")
        grant_reporter(node.tools, who, ["MAR-*"], credential=node.olga, at=node.desk.at(minutes=4))
    found = []
    for able, sender in ((suspected, node.bell), (cleared, node.amira), (suspected, node.rita)):
        [rule] = able.report("success", key="k", by=sender, answer_id=answer_id).rules
        assert recount_rules(node.tools, TENANT).problems == ()
        assert node.counters().tainted_success == rule.tally.tainted_success
        found.append((rule.two_wrong, rule.tally.tainted_success, rule.tally.adjusted_confidence))
    assert found == [(True, 1, 0), (False, 0, 1), (True, 3, 0)]


@pytest.mark.clause("pramana", "12.4")
def test_a_tainted_counter_that_was_changed_is_refused(node: Delivery, tmp_path: Path) -> None:
    node = node.answering(_answer_with(2), replay=_replay)  # type: ignore[arg-type]  # a lambda
    node.report("success", key="k", answer_id=node.ask().answer_id)
    damage(tmp_path / "node", "UPDATE rule_counter SET tainted_success = 0")
    with refused("store.damaged_record"):
        recount_rules(node.tools, TENANT)


@pytest.mark.clause("pramana", "12.4")
def test_a_rule_found_wrong_later_taints_the_successes_it_took_part_in(node: Delivery) -> None:
    """One wrong step was known; with the rule itself there are two."""
    node = node.answering(_answer_with(1))  # type: ignore[arg-type]  # a lambda
    answer_id = node.ask().answer_id
    node.report("success", key="k", answer_id=answer_id)
    assert node.counters().tainted_success == 0
    node.conclude(_opened(node))
    row = node.counters()
    assert (row.success, row.tainted_success, row.total) == (1, 1, 4)
    [remarked] = node.desk.entries(EntryKind.ANSWER_REMARKED)
    assert (remarked["answer_id"], remarked["after"]["standing"]) == (answer_id, "suspected")
    [line] = [one for one in list_rules(node.tools, TENANT) if one.rule_id == RULE]
    assert (line.tally.tainted_success, line.version) == (1, 1)


@pytest.mark.clause("pramana", "12.4")
def test_a_rule_found_wrong_later_taints_every_report_of_a_success(node: Delivery) -> None:
    node = node.answering(_answer_with(1))  # type: ignore[arg-type]  # a lambda
    answer_id = node.ask().answer_id
    grant_reporter(node.tools, AMIRA, ["MAR-*"], credential=node.olga, at=node.desk.at(minutes=4))
    for sender in (node.bell, node.amira):
        node.report("success", key="k", by=sender, answer_id=answer_id)
    node.conclude(_opened(node))
    assert (node.counters().success, node.counters().tainted_success) == (2, 2)


@pytest.mark.clause("pramana", "12.4")
def test_a_rule_for_which_nobody_told_the_success_is_not_tainted_by_it(node: Delivery) -> None:
    """Two rules stand behind the answer and one was reported; the other's own success was of something else."""
    node.rule("MAR-2")
    both = Reply(output="clear", rules=(RuleId(RULE), RuleId("MAR-2")), steps=tuple(_two_steps(1)))
    node = node.answering(lambda _question: both)
    mark: dict[str, Any] = {
        "authenticity_level": "PRAMANA-1",
        "strands_available": ["capability"],
        "strand_missing": [],
    }
    node.report("success", key="k", answer_id=node.ask().answer_id, **mark)
    node.report("success", key="other", rule_id="MAR-2")
    node.conclude(_opened(node))
    assert (node.counters().tainted_success, node.counters("MAR-2").tainted_success) == (1, 0)


def _of_two_rules(node: Delivery, *steps: Step) -> tuple[Delivery, str]:
    """A success of an answer by two rules, told for both."""
    node.rule("MAR-2")
    both = Reply(output="clear", rules=(RuleId(RULE), RuleId("MAR-2")), steps=steps)
    node = node.answering(lambda _question: both)
    answer_id = node.ask().answer_id
    mark: dict[str, Any] = {
        "authenticity_level": "PRAMANA-1",
        "strands_available": ["capability"],
        "strand_missing": [],
    }
    node.report("success", key="both", rule_id=None, rule_ids=[RULE, "MAR-2"], answer_id=answer_id, **mark)
    return node, answer_id


@pytest.mark.clause("pramana", "11.9")
@pytest.mark.clause("pramana", "12.4")
def test_a_rule_that_people_have_concluded_is_not_opened_again_by_an_earlier_success(node: Delivery) -> None:
    """Both rules are found wrong, one after the other: the first has its conclusion, and still fails as a rule can."""
    node, _ = _of_two_rules(node)
    node.conclude(_opened(node, prefix="second", rule_id="MAR-2"), minute=8)
    node.conclude(_opened(node))
    assert [node.counters(one).tainted_success for one in (RULE, "MAR-2")] == [1, 1]
    assert (node.counters("MAR-2").item_id, node.counters("MAR-2").streak) == (None, 0)
    assert node.ticket_of(_opened(node, prefix="later", rule_id="MAR-2", minute=10)).kind == "root_cause"


@pytest.mark.clause("pramana", "12.4")
def test_a_step_that_was_wrong_gets_a_root_cause_of_its_own_when_the_other_is_found(node: Delivery) -> None:
    """Also where an earlier item of the same rule is closed; people see the success that two wrongs made."""
    wrong = Step(kind=StepKind.RULE, ref="MAR-2@1", verdict=StepVerdict.WRONG, evidence="the log shows it")
    node, answer_id = _of_two_rules(node, wrong)
    first = _opened(node, prefix="second", rule_id="MAR-2")
    node.conclude(first, Category.ROUTING, minute=8)
    node.conclude(_opened(node))
    item_id = node.counters("MAR-2").item_id
    assert item_id not in (None, first)
    tend_delivery(node.tools, TENANT, at=node.desk.at(minutes=10))
    item = show_item(node.tools, TENANT, str(item_id)).item
    assert (item.reason, [one.answer_id for one in item.contexts]) == ("two_wrong", [answer_id])
    node.conclude(str(item_id), Category.APPLICATION, minute=11)
    assert node.counters("MAR-2").item_id is None


def test_a_rule_known_to_be_wrong_is_a_wrong_step_at_once(node: Delivery) -> None:
    node = node.answering(_answer_with(1))  # type: ignore[arg-type]  # a lambda
    node.conclude(_opened(node))
    answer_id = node.ask(minute=10).answer_id
    mark: dict[str, Any] = {"authenticity_level": "PRAMANA-1", "strands_available": ["capability"]}
    done = node.report("success", key="late", answer_id=answer_id, minute=11, **mark)
    assert done.rules[0].two_wrong is True
    assert SLUG in [one["payload"]["query_type"] for one in node.events("query.answered")]


@pytest.mark.clause("pramana", "6.2")
def test_a_version_found_wrong_is_not_authoritative_any_more(node: Delivery) -> None:
    """From the conclusion on, not from the correction: nobody is told to trust what a person called wrong."""
    node.prove()
    assert node.ask().body.authenticity_level == "PRAMANA-3"
    node.conclude(_opened(node))
    after = node.ask(minute=10).body
    assert (after.authenticity_level, after.annotation.strands_missing) == ("PRAMANA-2", ("knowledge",))


@pytest.mark.clause("pramana", "6.2")
def test_a_failure_that_lies_elsewhere_leaves_the_rule_its_authority(node: Delivery) -> None:
    node.conclude(_opened(node), Category.ROUTING)
    assert "knowledge" in node.ask(minute=10).body.annotation.strands_present


@pytest.mark.clause("pramana", "14.1")
@pytest.mark.parametrize("whose", ["user:amira", "user:sam"])
def test_no_ticket_and_no_pair_goes_round_a_floor(node: Delivery, whose: str) -> None:
    """Neither that of the asker nor that of a reviewer, since all reviewers read one ticket."""
    node = node.answering(lambda _question: "the secret output")
    raised = PrincipalChange(authenticity_level_floor=3)
    amend_principal(node.tools, TENANT, PrincipalId(whose), raised, by=ADMIN, at=node.desk.at(minutes=2))
    item_id = _opened(node, answer_id=node.ask().answer_id)
    node.conclude(item_id)
    shown = node.ticket_of(item_id).shown
    assert json.loads(shown)["original_response"].startswith("withheld")
    assert "secret" not in shown
    assert b"secret" not in export_pairs(node.tools, TENANT)
