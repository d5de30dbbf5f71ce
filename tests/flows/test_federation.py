"""Between two organisations: real nodes, one behind a server; nothing is inherited, outcomes come home translated."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from assay.adapters.service_client import HttpServiceClient
from assay.delivery.answerer import Question
from assay.delivery.errors import DeliveryError, InvalidQuestionError, OutcomeConflictError
from assay.delivery.federate import Agreement, parse_agreement
from assay.delivery.rule import RuleId, RuleRef
from assay.delivery.strand import StrandId, StrandResult, StrandType, register_strands
from assay.flows.delivery.answerers import Connect, ProxyAnswerer
from assay.flows.delivery.peers import Forwarded
from assay.flows.errors import NotFoundError
from assay.flows.errors.delivery import AnswererError
from assay.identity.errors import IdentityError
from assay.identity.principal import PrincipalKind
from assay.kernel.conformance import Fetched
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.surfaces.http.app import create_app
from assay.wiring import load_config, open_node
from tests.acting import issue_api_key
from tests.delivering import agree_with_peer, forward_outcome, grant_reporter, show_agreement
from tests.flows._delivery import RULE, SLUG, Delivery, opened_delivery
from tests.flows._people import ADMIN, TENANT
from tests.raising import raises
from tests.surfaces.http._streams import Running, running

_OURS = "QUAY-1"


@dataclass
class Two:
    """`theirs` answers behind `served`, and `ours` proxies it; `harbour` is their name and key here."""

    theirs: Delivery
    served: Running
    ours: Delivery
    harbour: str

    def proxying(self, connect: Connect = HttpServiceClient, **chosen: Any) -> Delivery:  # noqa: ANN401  any field
        """Our node before theirs, under an agreement that names their key."""
        key = _key_of(self.theirs)
        fields: dict[str, Any] = {"peer": "harbour", "rules": ((RuleId(RULE), RuleId(_OURS)),), "keys": (key,)}
        agreed = Agreement(**(fields | chosen))
        answerer = ProxyAnswerer(
            connect, self.served.url, lambda: agreed, entropy=self.ours.tools.entropy, token=self.theirs.amira
        )
        return self.ours.with_settings(answerers={SLUG: answerer})

    def forward(
        self, outcome: str, *rules: str, key: str | None, by: str | None = None, answer_id: str = "ans_theirs"
    ) -> Forwarded:
        told = self.ours.signal(outcome, rule_id=None, rule_ids=list(rules), answer_id=answer_id)
        at = self.ours.desk.at(minutes=4)
        content = json.dumps(told).encode()
        return forward_outcome(self.ours.tools, content, credential=by or self.harbour, idempotency_key=key, at=at)


def _key_of(node: Delivery) -> str:
    """The key that seals this node's annotations."""
    found = node.tools.ledger_signer.public_key
    assert found is not None
    return found.hex()


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    their_folder, our_folder = tmp_path_factory.mktemp("theirs"), tmp_path_factory.mktemp("ours")
    with opened_delivery(their_folder) as opened, opened_delivery(our_folder) as ours:
        theirs = _full(opened)
        ours.rule(_OURS)
        ours.certify(_OURS, at=ours.desk.start)
        ours.query(rules=[_OURS])
        name = ours.desk.add("service:harbour", kind=PrincipalKind.SERVICE, roles=(), trust_mask=2, action_tier=1).id
        key, _ = issue_api_key(ours.tools, TENANT, name, by=ADMIN, at=ours.desk.start)
        grant_reporter(ours.tools, name, ["QUAY-*"], credential=ours.olga, at=ours.desk.start)
        with running(create_app(theirs.tools, load_config(their_folder / "node"))) as served:
            yield Two(theirs, served, ours, key)


def _full(node: Delivery) -> Delivery:
    """All three strands, at once."""
    node.rule()
    node.certify(at=node.desk.start)
    node.query()
    node.prove(minutes=0)
    return node.answering(lambda _question: "clear")


@pytest.mark.clause("pramana", "13.1")
@pytest.mark.clause("pramana", "13.3")
def test_their_strands_are_not_ours(two: Two) -> None:
    """What arrives at PRAMANA-3 is marked by our own checks at our own boundary: here without proof."""
    done = two.proxying().ask()
    annotation = done.body.annotation
    assert done.body.output == "clear"
    [component] = annotation.components or ()
    assert (component.source, str(component.level)) == ("harbour", "PRAMANA-3")
    assert (str(annotation.authenticity_level), annotation.strands_missing) == ("PRAMANA-2", ("proof",))
    assert [one.rule_id for one in annotation.rules] == [_OURS]


@pytest.mark.clause("pramana", "13.3")
@pytest.mark.clause("pramana", "14.1")
def test_a_composite_has_the_lowest_level_of_its_parts(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer whose STATE cannot be read claims nothing here, and the answer is PRAMANA-0 with it."""
    monkeypatch.setattr(ProxyAnswerer, "_state", lambda _self, _client: None)
    annotation = two.proxying().ask().body.annotation
    assert str(annotation.authenticity_level) == "PRAMANA-0"
    assert annotation.human_review_required


class _Meddler(HttpServiceClient):
    """Somebody on the way, who changes the text of what the peer answers."""

    change: ClassVar[Callable[[dict[str, Any]], object]]

    def request(self, method: str, url: str, **more: Any) -> Fetched | None:  # noqa: ANN401  as the client takes them
        found = super().request(method, url, **more)
        if found is None or method != "POST":
            return found
        told = json.loads(found.content)
        type(self).change(told)
        return Fetched(status=found.status, content=json.dumps(told).encode())


@pytest.mark.clause("pramana", "13.3")
@pytest.mark.clause("pramana", "14.1")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda told: told["annotation"].pop("signature"), "it is not signed"),
        (lambda told: told["annotation"].update(answer_id="ans_other"), "its signature does not hold"),
        (lambda told: told.update(output="closed"), "its signature is for another output"),
    ],
    ids=["unsigned", "forged", "another output"],
)
def test_what_their_key_did_not_sign_is_worth_nothing_and_the_answer_says_so(
    two: Two, change: Callable[[dict[str, Any]], object], reason: str
) -> None:
    """Their real answer, changed on its way: PRAMANA-0, in words for people, and in the ledger."""
    meddler = type("Meddler", (_Meddler,), {"change": staticmethod(change)})
    done = two.proxying(meddler).ask()
    annotation = done.body.annotation
    assert str(annotation.authenticity_level) == "PRAMANA-0"
    assert annotation.human_review_required
    assert f"harbour claims PRAMANA-3 and counts as PRAMANA-0 here: {reason}" in annotation.disclosure
    [entry] = [
        one
        for one in two.ours.desk.entries(EntryKind.ANSWER_DELIVERED)
        if one["delivered"]["answer_id"] == done.answer_id
    ]
    [component] = entry["delivered"]["components"]
    assert (component["level"], component["claimed"]) == ("PRAMANA-0", "PRAMANA-3")
    assert component["reason"].startswith(reason)


@pytest.mark.clause("pramana", "13.3")
@pytest.mark.clause("pramana", "14.1")
def test_an_answer_that_they_sealed_before_is_worth_nothing_when_it_is_given_again(two: Two) -> None:
    """Word for word what their key signed, to the same question of the same kind: whoever keeps it cannot use it."""
    kept: list[bytes] = []

    class Replayer(HttpServiceClient):
        def request(self, method: str, url: str, **more: Any) -> Fetched | None:  # noqa: ANN401  as the client has it
            found = super().request(method, url, **more)
            if found is None or method != "POST":
                return found
            kept.append(found.content)
            return Fetched(status=found.status, content=kept[0])

    node = two.proxying(Replayer)
    assert str(node.ask().body.authenticity_level) == "PRAMANA-2"
    annotation = node.ask().body.annotation
    assert str(annotation.authenticity_level) == "PRAMANA-0"
    assert "its signature is not for this asking" in annotation.disclosure


@pytest.mark.clause("pramana", "14.1")
def test_a_peer_whose_key_was_not_agreed_on_is_believed_nothing(two: Two) -> None:
    """Another organisation's key, or none at all."""
    for keys in ((), (_key_of(two.ours),)):
        assert str(two.proxying(keys=keys).ask().body.authenticity_level) == "PRAMANA-0"


def test_a_question_that_a_peer_refuses_is_refused_here(two: Two) -> None:
    """It is the asker's, and no failure of this node."""

    class Picky(HttpServiceClient):
        def request(self, method: str, url: str, **more: Any) -> Fetched | None:  # noqa: ANN401  as the client has it
            return Fetched(status=422, content=b"{}") if method == "POST" else super().request(method, url, **more)

    with pytest.raises(InvalidQuestionError, match="`harbour` refuses the question: 422"):
        two.proxying(Picky).ask()


def test_a_peer_that_gives_no_answer_gave_none(two: Two) -> None:
    """Silence or a refusal is an answer that was not given, never a level; steps of others cannot be repaired."""
    entropy = two.ours.tools.entropy
    away = ProxyAnswerer(HttpServiceClient, "http://127.0.0.1:9", lambda: Agreement(peer="harbour"), entropy=entropy)
    with pytest.raises(AnswererError, match="silence"):
        two.ours.with_settings(answerers={SLUG: away}).ask()
    stranger = ProxyAnswerer(HttpServiceClient, two.served.url, lambda: Agreement(peer="harbour"), entropy=entropy)
    with pytest.raises(AnswererError, match="401"):
        two.ours.with_settings(answerers={SLUG: stranger}).ask()
    with pytest.raises(AnswererError):
        away.replay(None, ())  # type: ignore[arg-type]  # whatever was asked


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "cannot be read"),
        (b"<html>busy</html>", "cannot be read"),
        (b'{"output": "clear"', "cannot be read"),
        (b'{"output": "clear", "output": "danger"}', "cannot be read"),
        (b'["clear"]', "expected an object"),
        (b'{"answer": "clear"}', "member `output`"),
        (b'{"output": null}', "or `withheld`, got null"),
        (b'{"output": null, "annotation": {"withheld": false}}', "or `withheld`, got null"),
        (b'{"output": null, "annotation": {"withheld": "true"}}', "or `withheld`, got null"),
    ],
)
def test_what_cannot_be_read_and_a_null_that_is_not_withheld_are_failures(two: Two, content: bytes, words: str) -> None:
    """Neither is the answer `null`: the peer failed, and nothing is delivered in its place."""
    before = len(two.ours.desk.entries(EntryKind.ANSWER_DELIVERED))
    with pytest.raises(AnswererError, match=words):
        two.proxying(_saying(content)).ask()
    assert len(two.ours.desk.entries(EntryKind.ANSWER_DELIVERED)) == before


def test_an_output_that_a_peer_withholds_is_an_answer(two: Two) -> None:
    done = two.proxying(_saying(b'{"output": null, "annotation": {"withheld": true}}')).ask()
    assert (done.body.output, str(done.body.authenticity_level)) == (None, "PRAMANA-0")


def _saying(content: bytes) -> Connect:
    class Odd(HttpServiceClient):
        def request(self, method: str, url: str, **more: Any) -> Fetched | None:  # noqa: ANN401  as the client has it
            return Fetched(status=200, content=content) if method == "POST" else super().request(method, url, **more)

    return Odd


def _agree(two: Two, *, by: str | None = None, **chosen: Any) -> Agreement:  # noqa: ANN401  any field
    fields: dict[str, Any] = {"peer": "harbour", "rules": ((RuleId(RULE), RuleId(_OURS)),)}
    made = Agreement(**(fields | chosen))
    return agree_with_peer(two.ours.tools, made, credential=by or two.ours.olga, at=two.ours.desk.start)


@pytest.mark.clause("pramana", "13.2")
def test_outcomes_come_home_in_our_own_rule_ids(two: Two) -> None:
    """They count as any signal here, once; the id of their answer means nothing to us."""
    _agree(two)
    before = two.ours.desk.read(lambda unit: unit.delivery.find_counters(TENANT, [_OURS]))
    done = two.forward("success", RULE, key="home-1")
    assert done.reported is not None
    assert [one.rule_id for one in done.reported.rules] == [_OURS]
    assert (done.untranslated, done.ticket_id) == ((), None)
    again = two.forward("success", RULE, key="home-1")
    assert again.reported is not None
    assert not again.reported.is_new
    assert two.ours.counters(_OURS).success == sum(one.success for one in before) + 1


@pytest.mark.clause("pramana", "13.2")
def test_two_signals_that_only_their_answers_tell_apart_are_two_here(two: Two) -> None:
    """Their answers mean nothing to us and are left out; without a key, each is known by what it was there."""
    _agree(two)
    before = two.forward("success", RULE, key="apart").reported
    assert before is not None
    for answer_id in ("ans_a", "ans_b", "ans_b"):
        two.forward("success", RULE, key=None, answer_id=answer_id)
    assert two.ours.counters(_OURS).total == before.rules[0].tally.total + 2


@pytest.mark.clause("pramana", "13.2")
@pytest.mark.clause("pramana", "14.2")
def test_a_person_who_is_called_like_a_peer_is_none(two: Two) -> None:
    _agree(two)
    two.ours.desk.add("user:harbour", roles=())
    person = two.ours.desk.session("user:harbour")
    grant_reporter(
        two.ours.tools, PrincipalId("user:harbour"), ["QUAY-*"], credential=two.ours.olga, at=two.ours.desk.start
    )
    with raises(DeliveryError.outcome_source):
        two.forward("failure", RULE, key="person", by=person)


@pytest.mark.clause("pramana", "13.2")
def test_what_nobody_can_translate_goes_to_a_person_once_and_counts_for_nothing(two: Two) -> None:
    """The known rule of the same signal is counted; the other is shown to a reviewer with the whole signal."""
    _agree(two)
    total = two.ours.counters(_OURS).total if two.forward("partial", RULE, key="x").reported else 0
    done, again = (two.forward("failure", RULE, "HAR-9", key="mixed") for _ in range(2))
    assert (done.untranslated, done.ticket_id) == (("HAR-9",), again.ticket_id)
    assert two.ours.counters(_OURS).total == total + 1
    ticket = two.ours.desk.read(lambda unit: unit.review.find_ticket(TENANT, TicketId(str(done.ticket_id))))
    assert ticket is not None
    assert (ticket.kind, ticket.choices) == ("foreign_outcome", ("translate", "dismiss"))
    assert ticket.title.endswith("by rules that nobody translated: HAR-9")
    assert json.loads(ticket.shown)["rule_ids"] == ["HAR-9"]
    entries = two.ours.desk.entries(EntryKind.PEER_UNTRANSLATED)
    assert len([one for one in entries if one["ticket_id"] == done.ticket_id]) == 1
    two.ours.accept(ticket, choice="dismiss", by=two.ours.rita)
    only = two.forward("failure", "HAR-9", key="alone")
    assert only.reported is None
    assert only.ticket_id is not None


@pytest.mark.clause("pramana", "13.2")
@pytest.mark.parametrize("known", [(), (RULE,)])
def test_a_key_stands_for_one_signal_also_where_nobody_can_translate_it(two: Two, known: tuple[str, ...]) -> None:
    """Another signal under it is refused, and not taken for one that people were asked about; nothing of it counts."""
    _agree(two)
    key = f"taken-{len(known)}"
    first = two.forward("failure", *known, "HAR-9", key=key)
    entries = len(two.ours.desk.entries(EntryKind.OUTCOME_REPORTED))
    for outcome, rules in (("success", (*known, "HAR-9")), ("failure", (*known, "HAR-8")), ("failure", (RULE,))):
        with pytest.raises(OutcomeConflictError):
            two.forward(outcome, *rules, key=key)
    assert len(two.ours.desk.entries(EntryKind.OUTCOME_REPORTED)) == entries
    assert two.forward("failure", *known, "HAR-9", key=key).ticket_id == first.ticket_id


@pytest.mark.clause("pramana", "14.2")
def test_only_a_peer_with_an_agreement_forwards_and_only_what_it_was_granted(two: Two) -> None:
    """An agreement translates and does not authorise."""
    with raises(DeliveryError.outcome_source):
        two.forward("failure", RULE, key="bell", by=two.ours.bell)
    two.ours.rule("MAR-1")
    _agree(two, rules=((RuleId(RULE), RuleId("MAR-1")),))
    with raises(DeliveryError.outcome_source):
        two.forward("failure", RULE, key="foreign")
    _agree(two)


def test_an_operator_agrees_and_the_latest_agreement_is_in_force(two: Two) -> None:
    made = _agree(two, strands=(StrandId("x-pilot"),))
    assert show_agreement(two.ours.tools, TENANT, "harbour") == made
    with raises(IdentityError.role):
        _agree(two, by=two.ours.amira)
    with pytest.raises(NotFoundError):
        _agree(two, rules=((RuleId(RULE), RuleId("NOT-HERE")),))
    with pytest.raises(NotFoundError):
        show_agreement(two.ours.tools, TENANT, "nobody")
    assert parse_agreement(json.dumps({"peer": "harbour", "rules": [[RULE, _OURS]]})).rules == ((RULE, _OURS),)
    for wrong in (b"[]", b'{"peer":""}', b'{"peer":"a","strands":["proof"]}', b'{"peer":"a","more":1}'):
        with raises(DeliveryError.federation):
            parse_agreement(wrong)


@dataclass
class _Pilot:
    at: Instant

    def check(self, _question: Question, _rules: tuple[RuleRef, ...]) -> StrandResult:
        return StrandResult(
            strand=StrandId("x-pilot"), present=True, reason="aboard", evidence=("log",), checked_at=self.at
        )


@pytest.mark.clause("pramana", "15")
def test_private_strands_mark_answers_to_a_peer_only_by_agreement(two: Two) -> None:
    """Our own people see it; the peer does so after both agreed on it."""
    pilot = StrandType(
        strand_type_id=StrandId("x-pilot"),
        name="Pilot",
        how_to_check="a pilot looked",
        absence_implication="no pilot looked",
        contact="quay@example.org",
    )
    node = two.proxying().with_settings(
        strands=register_strands([pilot]), checks={StrandId("x-pilot"): _Pilot(two.ours.desk.start)}
    )

    def seen(by: str) -> bool:
        return "x-pilot" in str(node.ask(by=by).body.annotation)

    _agree(two)
    assert (seen(two.ours.amira), seen(two.harbour)) == (True, False)
    _agree(two, strands=(StrandId("x-pilot"),))
    assert seen(two.harbour)
    _agree(two)


def test_a_node_is_told_of_its_peers_by_its_configuration(tmp_path: Path) -> None:
    """A query type names `peer:NAME` as its answerer."""
    with opened_delivery(tmp_path):
        pass
    config = tmp_path / "node" / "assay.toml"
    config.write_text(config.read_text() + '\n[[delivery.peers]]\nname = "harbour"\nurl = "http://127.0.0.1:9"\n')

    with open_node(tmp_path / "node") as (tools, read):
        own = TenantId(read.node.tenant)
        assert isinstance(tools.delivery.answerers_of(own)["peer:harbour"], ProxyAnswerer)
        assert "peer:harbour" not in tools.delivery.answerers_of(TenantId("other"))
