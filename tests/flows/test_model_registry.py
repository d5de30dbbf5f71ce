"""Weights become known, are measured here, and come into use by another person's answer; never otherwise."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree

import pytest

from assay.adapters.weight_folder import WeightFolder
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.model.activate_model import ActivationAsked, NeededCases, ask_activation
from assay.flows.model.evaluate_model import record_figures
from assay.flows.model.known_model import active_hash, load_weights, shipped_card, shipped_cards
from assay.flows.model.record_training import record_training
from assay.flows.model.show_model import list_models, show_model
from assay.flows.model.train_model import Comparison, Trained
from assay.flows.review.answer_review import Answered
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.identity.caller import Caller
from assay.kernel.digest import Digest, digest_of
from assay.kernel.ids import PrincipalId
from assay.kernel.ledger import EntryKind
from assay.model.figures import Figures, MarkedCase, count_cases
from assay.model.learn.plan import Plan
from assay.wiring import load_config, open_evaluation, open_node
from tests.acting import caller_of, issue_api_key
from tests.contract._kit import refused
from tests.flows._models import a_few_sealed, broken_weights, same_weights, shipped
from tests.flows._node import damage
from tests.flows._people import ADMIN, TENANT, Desk, LostError, opened_desk
from tests.verdict_calls import add_model

CASES = a_few_sealed(6)
SEALED = NeededCases(name="sealed cases", cases_hash=CASES.hash, cases=6)
SHIPPED, EARLIER = shipped_cards()


@dataclass
class ModelDesk(Desk):
    """A node with an operator who asks, and a reviewer who answers."""

    operator: str = ""

    def add_weights(self, content: bytes, version: str = "1.1.0", **more: Digest) -> Digest:
        done = add_model(
            self.tools, content, name="assay-judge", version=version, credential=self.operator, at=self.start, **more
        )
        return done.manifest.weight_hash

    def measure(self, *hashes: Digest) -> None:
        for one in hashes:
            record_figures(self.tools, self.caller(), CASES, one)

    def ask(self, weight_hash: Digest, sealed: NeededCases | None = SEALED) -> ActivationAsked:
        return ask_activation(self.tools, self.caller(), weight_hash, sealed=sealed)

    def caller(self) -> Caller:
        return caller_of(self.tools, self.operator, at=self.start)

    def say(self, asked: ActivationAsked, choice: str = "activate", by: str = "user:rita") -> Answered:
        return self.answer(asked.ticket, self.session(by), choice, follow_ups=ROOM_FOLLOW_UPS, reason="read")

    def in_use(self) -> Digest:
        return self.read(lambda unit: active_hash(unit, TENANT))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[ModelDesk]:
    with opened_desk(tmp_path) as opened:
        desk = ModelDesk(tools=opened.tools, start=opened.start)
        desk.add("user:olga", roles=("operator", "reviewer"))
        desk.add("user:rita", roles=("reviewer",))
        desk.operator, _ = issue_api_key(desk.tools, TENANT, PrincipalId("user:olga"), by=ADMIN, at=desk.start)
        yield desk


@pytest.mark.clause("ski", "4.6")
def test_a_model_comes_into_use_by_another_persons_answer(desk: ModelDesk) -> None:
    """The ticket shows the weight hash and both models' figures; the requester cannot answer it."""
    child = desk.add_weights(same_weights(), parent_hash=SHIPPED)
    desk.measure(SHIPPED, child)
    asked = desk.ask(child)
    shown = asked.ticket.shown.splitlines()
    assert shown[-1] == f"weight hash: {child}"
    assert f"in use now: assay-judge {shipped_card().version}, {SHIPPED}" in shown
    assert "  verdict accuracy: 100.0000% -> 100.0000%" in shown
    with refused("review.own_request"):
        desk.say(asked, by="user:olga")
    assert desk.in_use() == SHIPPED
    desk.say(asked)
    assert desk.in_use() == child
    (body,) = desk.entries(EntryKind.MODEL_ACTIVATED)
    assert body == {
        "weight_hash": child,
        "before_hash": SHIPPED,
        "ticket_id": asked.ticket.id,
        "activated_by": "user:rita",
    }
    known = show_model(desk.tools, TENANT)
    assert (known.manifest.weight_hash, known.is_active, known.lineage) == (child, True, (SHIPPED,))
    assert [one.by for one in known.activations] == ["user:rita"]
    with refused("model.moved"):
        desk.ask(child)


def test_a_model_that_is_worse_is_refused_before_anybody_is_asked(desk: ModelDesk) -> None:
    worse = desk.add_weights(broken_weights())
    desk.measure(SHIPPED, worse)
    before = desk.head()
    with refused("model.worse"):
        desk.ask(worse)
    assert desk.head() == before
    assert not desk.entries(EntryKind.TICKET_OPENED)


def test_a_rejected_model_stays_out_of_use(desk: ModelDesk) -> None:
    child = desk.add_weights(same_weights())
    desk.measure(SHIPPED, child)
    assert desk.say(desk.ask(child), "reject").settlement.denied
    assert desk.in_use() == SHIPPED
    assert not desk.entries(EntryKind.MODEL_ACTIVATED)


def test_a_model_must_be_measured_here_on_all_that_decides(desk: ModelDesk) -> None:
    """On the whole sealed file, both of them; the shipped card's own word does not count."""
    child = desk.add_weights(same_weights())
    with refused("model.not_evaluated"):
        desk.ask(child)
    desk.measure(child)
    with refused("model.not_evaluated"):
        desk.ask(child)
    desk.measure(SHIPPED)
    with refused("model.not_evaluated"):
        desk.ask(child, sealed=None)
    with refused("model.not_evaluated"):
        desk.ask(child, NeededCases(name="sealed cases", cases_hash=CASES.hash, cases=7))
    assert desk.ask(child).compared[0].after is not None


def test_an_answer_to_a_question_that_time_has_passed_by_is_refused(desk: ModelDesk) -> None:
    """Two were asked about; once one is in use, the other was compared with a model that is no more in use."""
    first = desk.add_weights(same_weights())
    desk.measure(SHIPPED, first)
    earlier, later = desk.ask(first), desk.ask(first)
    desk.say(earlier)
    with refused("model.moved"):
        desk.say(later)
    assert len(desk.entries(EntryKind.MODEL_ACTIVATED)) == 1


def test_what_was_in_use_before_may_come_back(desk: ModelDesk) -> None:
    """A way back must not depend on being better than what failed; it is reviewed all the same."""
    child = desk.add_weights(same_weights())
    desk.measure(SHIPPED, child)
    desk.say(desk.ask(child))
    back = desk.ask(SHIPPED, sealed=None)
    assert back.is_return
    assert "a return" in back.ticket.shown
    desk.say(back)
    assert desk.in_use() == SHIPPED
    assert desk.ask(child).is_return


def test_weights_are_known_once_and_listed_with_the_shipped_ones(desk: ModelDesk) -> None:
    child = desk.add_weights(same_weights(), parent_hash=SHIPPED)
    again = add_model(
        desk.tools, same_weights(), name="other", version="2", credential=desk.operator, at=desk.at(minutes=1)
    )
    assert (again.is_new, again.manifest.version) == (False, "1.1.0")
    rows = list_models(desk.tools, TENANT)
    assert [(one.weight_hash, one.is_shipped, one.is_active) for one in rows] == [
        (SHIPPED, True, True),
        (EARLIER, True, False),
        (child, False, False),
    ]
    assert rows[-1].added_by == "user:olga"
    assert show_model(desk.tools, TENANT, SHIPPED).card == shipped_card()
    assert len(desk.entries(EntryKind.MODEL_ADDED)) == 1


@pytest.mark.parametrize(
    ("content", "name", "version", "code"),
    [
        (b"weights", "judge", "1", "judge.weights"),
        (same_weights()[:-1], "judge", "1", "judge.weights"),
        (same_weights(), "Judge 1", "1", "judge.weights"),
        (same_weights(), "judge", "", "judge.weights"),
    ],
)
def test_what_are_no_weights_of_this_make_are_refused(
    desk: ModelDesk, content: bytes, name: str, version: str, code: str
) -> None:
    with refused(code):
        add_model(desk.tools, content, name=name, version=version, credential=desk.operator, at=desk.start)
    assert all(one.is_shipped for one in list_models(desk.tools, TENANT))


def test_only_an_operator_may_and_only_about_what_is_known(desk: ModelDesk) -> None:
    stranger = digest_of(b"stranger")
    with refused("identity.role"):
        replace(desk, operator=desk.session("user:rita")).add_weights(same_weights())
    with refused("model.unknown"):
        desk.add_weights(same_weights(), parent_hash=stranger)
    for act in (desk.measure, desk.ask):
        with refused("model.unknown"):
            act(stranger)
    with refused("model.unknown"):
        show_model(desk.tools, TENANT, stranger)
    with refused("model.no_folder"):
        replace(desk, tools=replace(desk.tools, weights=None)).add_weights(same_weights())


def test_nothing_is_half_recorded(desk: ModelDesk) -> None:
    """A commit that fails leaves no row and no entry; the bytes may lie there, which nothing names."""
    before = desk.head()
    with pytest.raises(LostError):
        replace(desk, tools=desk.failing().tools).add_weights(same_weights())
    assert desk.head() == before
    assert all(one.is_shipped for one in list_models(desk.tools, TENANT))


@pytest.mark.clause("ski", "2.1.1")
def test_the_weights_in_use_judge_and_substituted_bytes_are_refused(tmp_path: Path) -> None:
    """From the next opening on; the folder's owner cannot slip in other weights under the same name."""
    with opened_desk(tmp_path) as opened:
        desk = ModelDesk(tools=opened.tools, start=opened.start)
        desk.add("user:olga", roles=("operator",))
        desk.add("user:rita", roles=("reviewer",))
        desk.operator, _ = issue_api_key(desk.tools, TENANT, PrincipalId("user:olga"), by=ADMIN, at=desk.start)
        child = desk.add_weights(same_weights())
        desk.measure(SHIPPED, child)
        desk.say(desk.ask(child))
    home = next(tmp_path.rglob("assay.toml")).parent
    config = load_config(home, environment={})
    with open_node(home) as (tools, _):
        with open_evaluation(home, config, tools, may_wait=True) as evaluation:
            assert evaluation.tools.reasoner is not None
            assert evaluation.tools.reasoner.identify().model_weight_hash == child
        WeightFolder(home / "models").path_of(child).write_bytes(broken_weights())
        with refused("model.weights"):
            load_weights(tools, TENANT, child)
        with open_evaluation(home, config, tools, may_wait=True) as evaluation, refused("model.weights"):
            assert evaluation.tools.reasoner is not None
            evaluation.tools.reasoner.identify()
        WeightFolder(home / "models").path_of(child).unlink()
        with refused("model.unknown"):
            load_weights(tools, TENANT, child)


@pytest.mark.clause("ski", "2.1.1")
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE model_activation SET weight_hash = '{other}'",
        "UPDATE model_activation SET made_by = 'user:olga'",
        "UPDATE model_activation SET ticket_id = 'another'",
        "UPDATE model_activation SET activated_at = '2020-01-01T00:00:00.000000Z'",
        "UPDATE model_activation SET sequence_number = 1",
        "DELETE FROM model_activation",
        "INSERT INTO model_activation SELECT tenant_id, 9, '{other}', weight_hash, 'x', 'y', activated_at FROM {table}",
    ],
)
def test_a_row_that_nobody_decided_puts_no_weights_into_use(activated: Path, tmp_path: Path, change: str) -> None:
    """The registry is believed as far as the ledger says the same, at the start and at every question about it."""
    home = next(copytree(activated, tmp_path / "copy").rglob("assay.toml")).parent
    home.chmod(0o700)
    damage(home, change.format(other=digest_of(broken_weights()), table="model_activation"))
    config = load_config(home, environment={})
    with open_node(home) as (tools, _):
        with refused("store.damaged_record"), open_evaluation(home, config, tools, may_wait=True):
            pass
        with refused("store.damaged_record"):
            tools.database.read(lambda unit: active_hash(unit, TENANT))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("UPDATE model SET parent_hash = '{other}'", "ledger.row_differs"),
        ("UPDATE model SET manifest = replace(manifest, '1.1.0', '9.9.9')", "ledger.row_differs"),
        (
            "UPDATE model_evaluation SET figures = replace(figures, '\"silent_clears\":0', '\"silent_clears\":1')",
            "ledger.row_differs",
        ),
        ("UPDATE model_evaluation SET cases = 9000", "ledger.row_differs"),
        ("DELETE FROM model", "ledger.row_missing"),
        ("DELETE FROM model_evaluation", "ledger.row_missing"),
        ("DELETE FROM model_activation", "ledger.row_missing"),
    ],
)
def test_changed_rows_of_models_are_not_shown_and_an_audit_names_them(
    activated: Path, tmp_path: Path, change: str, code: str
) -> None:
    home = next(copytree(activated, tmp_path / "copy").rglob("assay.toml")).parent
    home.chmod(0o700)
    child = digest_of(same_weights())
    with open_node(home) as (tools, _):
        assert show_model(tools, TENANT, child).is_active
        assert audit_ledger(tools, TENANT, full=True, leave_mark=False).holds
    damage(home, change.format(other=digest_of(broken_weights())))
    table = next(word for word in change.split() if word.startswith("model"))
    with open_node(home) as (tools, _):
        report = audit_ledger(tools, TENANT, full=True, leave_mark=False)
        assert (report.holds, report.code) == (False, code)
        assert f"`{table}`" in str(report.message)
        if table == "model_evaluation" and code == "ledger.row_missing":
            assert show_model(tools, TENANT, child).evaluations == ()
            return
        with refused("store.damaged_record" if table != "model" or code == "ledger.row_differs" else "model.unknown"):
            show_model(tools, TENANT, child)


@pytest.fixture(scope="module")
def activated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A node that judges by other weights than the shipped ones."""
    folder = tmp_path_factory.mktemp("activated")
    with opened_desk(folder) as opened:
        desk = ModelDesk(tools=opened.tools, start=opened.start)
        desk.add("user:olga", roles=("operator",))
        desk.add("user:rita", roles=("reviewer",))
        desk.operator, _ = issue_api_key(desk.tools, TENANT, PrincipalId("user:olga"), by=ADMIN, at=desk.start)
        child = desk.add_weights(same_weights())
        desk.measure(SHIPPED, child)
        desk.say(desk.ask(child))
    return folder


def figures(right: int, wrong: int = 0) -> Figures:
    good = MarkedCase(expected="FLAG", got="FLAG", agreed=True)
    bad = MarkedCase(expected="FLAG", got="CLEAR", agreed=False)
    return count_cases([good] * right + [bad] * wrong)


def trained(content: bytes, held_out_after: Figures) -> Trained:
    plan = Plan(
        parent_hash=shipped().hash,
        pairs_hash=digest_of(b"pairs"),
        replay_seed=3,
        steps=5,
        rate=1e-3,
        tokens=1000,
        pair_share=0.5,
    )
    return Trained(
        weights=content,
        plan=plan,
        sealed=Comparison(CASES.hash, figures(6), figures(6)),
        held_out=Comparison(digest_of(b"held out"), figures(4, 2), held_out_after),
        losses=(1.0,),
    )


def test_a_training_is_recorded_with_its_plan_parent_and_figures(desk: ModelDesk) -> None:
    done = record_training(
        desk.tools,
        desk.caller(),
        trained(same_weights(), figures(6)),
        name="assay-judge",
        version="1.0.0+a",
    )
    assert done.worse == ()
    known = show_model(desk.tools, TENANT, done.manifest.weight_hash)
    assert known.manifest.training is not None
    assert (known.manifest.training.replay_seed, known.lineage) == (3, (SHIPPED,))
    assert len(known.evaluations) == 2
    assert len(show_model(desk.tools, TENANT, SHIPPED).evaluations) == 2
    compared = {one.name for one in desk.ask(done.manifest.weight_hash).compared}
    assert compared == {"sealed cases", "held-out pairs"}


def test_a_training_that_made_it_worse_on_its_own_pairs_is_recorded_and_refused(desk: ModelDesk) -> None:
    done = record_training(
        desk.tools,
        desk.caller(),
        trained(same_weights(), figures(3, 3)),
        name="assay-judge",
        version="1.0.0+b",
    )
    assert any("held-out pairs: FLAG recall" in reason for reason in done.worse)
    with refused("model.worse"):
        desk.ask(done.manifest.weight_hash)
