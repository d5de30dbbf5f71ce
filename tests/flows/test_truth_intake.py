"""Contracts are released, observations recorded, windows changed: by whom, once, and never edited."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import orjson
import pytest

from assay.flows.errors import NotFoundError
from assay.flows.errors.identity import IdentityFlowError, NotSignedInError
from assay.flows.errors.truth import TruthFlowError
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.trust.standings import tally_credits
from assay.flows.truth.climb_ladder import ask_rung, open_ladder
from assay.flows.truth.fingerprints import Attached
from assay.flows.truth.observe import MOST_REPORTS
from assay.flows.truth.replay_truth import replay_truth
from assay.flows.truth.truth_entry import key_records
from assay.identity.errors import IdentityError
from assay.identity.principal import PrincipalKind
from assay.kernel.digest import digest_of
from assay.kernel.errors import Code, Error
from assay.kernel.ledger import EntryKind
from assay.review.errors import ReviewError
from assay.review.settle import SettlementState
from assay.truth.contract import StageName, VoteType
from assay.truth.errors import ContractError, RecordError, TruthError
from assay.truth.status import TruthStatus
from assay.truth.window import WindowEventKind
from tests.acting import looking, view_ticket
from tests.acting_truth import attach_fingerprint, cast_vote, observe, observe_many, release_contract
from tests.flows._node import TENANT
from tests.flows._truth import Says, TruthDesk, critical_flood, in_force, opened_truth
from tests.raising import raises
from tests.truth.records import contract_text, hash_of_text, schema_bytes

OPENED, EXTENDED = WindowEventKind.OPENED, WindowEventKind.EXTENDED
CLOSED, ABORTED = WindowEventKind.CLOSED, WindowEventKind.ABORTED


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    with opened_truth(tmp_path) as one:
        one.people()
        yield one


@pytest.mark.clause("kaori", "6.4")
def test_a_released_contract_is_never_changed(desk: TruthDesk) -> None:
    """The same body again is no news; another body under its id is refused, whoever brings it."""
    head = desk.head()
    desk.release(at="12:10")
    assert desk.head() == head
    changed = contract_text().replace("finalize_threshold: 15", "finalize_threshold: 14")
    with raises(TruthError.contract_changed):
        desk.release(text=changed)
    assert desk.head() == head
    (body,) = desk.entries(EntryKind.CONTRACT_RELEASED)
    assert (body["claim_type"], body["schema_text"]) == ("earth.flood.v1", (schema_bytes() or b"").decode())


def test_only_an_operator_releases_a_contract(desk: TruthDesk) -> None:
    at = desk.now("12:10")
    with raises(IdentityError.role):
        release_contract(desk.tools, contract_text("coral_bleaching_v1"), None, credential=desk.admin, at=at)
    with pytest.raises(NotSignedInError):
        release_contract(desk.tools, contract_text("coral_bleaching_v1"), None, credential="nobody", at=at)
    with pytest.raises(ContractError):
        release_contract(desk.tools, "id: x", None, credential=desk.operator, at=at)


@pytest.mark.clause("kaori", "7.1")
@pytest.mark.clause("kaori", "4.3")
def test_an_observation_is_recorded_whole_with_when_it_was_received(desk: TruthDesk) -> None:
    """Its key is that of its own time; the time of receipt is metadata of the entry."""
    given = desk.report("user:ann")
    observed = observe(desk.tools, given, credential=desk.relay, at=desk.now("14:00"))
    assert observed.truthkey == desk.truthkey
    (body,) = desk.entries(EntryKind.OBSERVATION_RECORDED)
    assert body["record"]["observation_id"] == given["observation_id"]
    assert (body["receipt_time"], body["submitted_by"]) == (f"{desk.start:%Y-%m-%d}T14:00:00Z", "service:gateway")
    assert (body["signal"]["kind"], body["signal"]["agent_id"], body["signal"]["submitted_by"]) == (
        "OBSERVATION_SUBMITTED",
        "user:ann",
        "service:gateway",
    )
    events = desk.read(lambda unit: unit.outbox.events(TENANT, after=0, limit=100))
    assert [event.subject for event in events if event.type == "observation.recorded"] == [given["observation_id"]]


def test_a_reporter_speaks_for_itself_and_a_relay_for_others(desk: TruthDesk) -> None:
    key = desk.join("sensor:042", kind=PrincipalKind.AGENT)
    mine = observe(desk.tools, desk.report("sensor:042"), credential=key, at=desk.now("12:30"))
    assert mine.is_new
    assert desk.entries(EntryKind.OBSERVATION_RECORDED)[-1]["signal"]["submitted_by"] is None
    with raises(TruthFlowError.not_reporter):
        observe(desk.tools, desk.report("user:ann"), credential=key, at=desk.now("12:30"))
    with pytest.raises(NotSignedInError):
        observe(desk.tools, desk.report("user:ann"), credential="nobody", at=desk.now("12:30"))


def test_an_observation_is_recorded_once(desk: TruthDesk) -> None:
    """The same again answers with what is recorded; another under its id is refused."""
    first = desk.observe("user:ann")
    again = desk.observe("user:ann", at="12:35")
    assert (again.is_new, again.sequence_number) == (False, first.sequence_number)
    with raises(TruthFlowError.record_conflict):
        desk.observe("user:ann", {"severity": "low", "water_level_meters": 0})
    (picture,) = desk.report("user:ann")["evidence_refs"]
    with raises(TruthFlowError.record_conflict, match="media type"):
        desk.observe("user:ann", evidence_refs=[{**picture, "mime_type": "image/png"}])
    assert len(desk.entries(EntryKind.OBSERVATION_RECORDED)) == 1


def test_nobody_takes_the_id_of_another_reporter(desk: TruthDesk) -> None:
    """At another key an id is free for others, at the same key it names one observation; a reporter has it once."""
    assert desk.observe("user:mal", observation_id="o-1", reported="09:10").is_new
    mine = desk.observe("user:ann", observation_id="o-1")
    assert mine.is_new
    again = desk.observe("user:ann", observation_id="o-1")
    assert (again.is_new, again.sequence_number) == (False, mine.sequence_number)
    head = desk.head()
    for reporter, reported in (("user:ann", "09:10"), ("user:ann", "08:10"), ("user:ben", "12:10")):
        with raises(TruthFlowError.record_conflict):
            desk.observe(reporter, observation_id="o-1", reported=reported)
    assert desk.head() == head


def test_nobody_fills_a_key_alone(desk: TruthDesk) -> None:
    """Every observation stays in the key's states: one reporter has so many, and others still have theirs."""
    for number in range(MOST_REPORTS):
        desk.observe("user:ann", observation_id=f"ann-{number}")
    head = desk.head()
    with raises(TruthFlowError.too_many_reports) as refused:
        desk.observe("user:ann", observation_id="one-more")
    assert (refused.value.code, desk.head()) == ("truth.too_many_reports", head)
    assert not desk.observe("user:ann", observation_id="ann-0").is_new
    assert desk.observe("user:ben").is_new
    assert desk.observe("user:ann", observation_id="elsewhen", reported="10:10").is_new


def test_what_cannot_be_an_observation_is_refused_with_a_code(desk: TruthDesk) -> None:
    """From the future, of an unknown claim type, or malformed."""
    head = desk.head()
    with raises(TruthFlowError.future_observation):
        desk.observe("user:ann", reported="12:36", at="12:30")
    with raises(TruthFlowError.not_released):
        desk.observe("user:ann", claim_type="earth.fire.v1")
    with pytest.raises(RecordError):
        desk.observe("user:ann", geo=4)
    picture = {"uri": "gs://kaori-evidence/a.jpg", "sha256": hash_of_text("picture"), "mime_type": "image/jpeg"}
    given = desk.report("user:ann", evidence_refs=[picture])
    assert desk.head() == head
    assert observe(desk.tools, given, credential=desk.relay, at=desk.now("12:30")).is_new


def test_a_clock_may_be_a_little_ahead(desk: TruthDesk) -> None:
    assert desk.observe("user:ann", reported="12:35", at="12:30").is_new


def test_a_fingerprint_speaks_under_every_key_whose_observations_carry_its_evidence(desk: TruthDesk) -> None:
    """One entry, a row under each key; the compiler then drops the copy."""
    picture = {"uri": "gs://kaori-evidence/a.jpg", "sha256": hash_of_text("one"), "mime_type": "image/jpeg"}
    first = desk.observe("user:ann", evidence_refs=[picture])
    fingerprint = {"sha256": hash_of_text("one"), "method": "phash", "bits": "00ff00ff00ff00ff"}
    at = desk.now("12:31")
    attached = attach_fingerprint(desk.tools, first.observation_hash, fingerprint, credential=desk.operator, at=at)
    assert (attached.is_new, attached.truthkey) == (True, desk.truthkey)
    other = desk.observe("user:ben", reported="11:10", evidence_refs=[picture])
    rows = desk.read(lambda unit: key_records(unit, TENANT, other.truthkey))
    assert ("fingerprint", attached.sequence_number) in [(row.kind, row.sequence_number) for row in rows]
    again = attach_fingerprint(desk.tools, other.observation_hash, fingerprint, credential=desk.relay, at=at)
    assert (again.is_new, again.sequence_number) == (False, attached.sequence_number)
    assert len(desk.entries(EntryKind.FINGERPRINT_RECORDED)) == 1


def test_a_fingerprint_is_refused_where_it_does_not_belong(desk: TruthDesk) -> None:
    first, at = desk.observe("user:ann"), desk.now("12:31")
    right = {"sha256": hash_of_text("user:ann 12:10"), "method": "phash", "bits": "00ff00ff00ff00ff"}
    wrong = {**right, "sha256": hash_of_text("other")}
    with pytest.raises(NotFoundError):
        attach_fingerprint(desk.tools, first.observation_hash, wrong, credential=desk.operator, at=at)
    with pytest.raises(NotFoundError):
        attach_fingerprint(desk.tools, "0" * 64, right, credential=desk.operator, at=at)
    with raises(IdentityError.role):
        attach_fingerprint(desk.tools, first.observation_hash, right, credential=desk.admin, at=at)
    attach_fingerprint(desk.tools, first.observation_hash, right, credential=desk.operator, at=at)
    changed = {**right, "bits": "ffffffffffffffff"}
    with raises(TruthFlowError.record_conflict):
        attach_fingerprint(desk.tools, first.observation_hash, changed, credential=desk.operator, at=at)


def _alike(first: str, second: str, **members: object) -> dict[str, Any]:
    low, high = sorted([hash_of_text(first), hash_of_text(second)])
    pair = {"sha256": low, "other": high, "model": "clip-vit-b32", "similarity": 0.99, "method": "embedding"}
    return {**pair, **members}


def test_what_a_model_finds_alike_is_recorded_once_and_speaks_where_its_evidence_is(desk: TruthDesk) -> None:
    """One thing of one pair; a piece may resemble several, and every state and row can be checked."""
    names = ("user:ann", "user:ben", "user:cem")
    made = {hash_of_text(f"{name} 12:10"): desk.observe(name).observation_hash for name in names}
    pairs = [_alike(f"{one} 12:10", f"{two} 12:10") for one, two in combinations(names, 2)]
    at = desk.now("12:31")

    def attach(pair: dict[str, Any]) -> Attached:
        return attach_fingerprint(desk.tools, made[pair["sha256"]], pair, credential=desk.operator, at=at)

    done = [attach(pair) for pair in pairs]
    assert [one.is_new for one in done] == [True] * 3
    assert [attach(pair).is_new for pair in pairs] == [False] * 3
    assert attach({**pairs[0], "model": "another"}).is_new
    with raises(TruthFlowError.record_conflict):
        attach({**pairs[0], "similarity": 0.5})
    state = desk.compile("12:40").state
    assert "similar_evidence" in state.transparency_flags
    assert len(state.compile_inputs.fingerprint_hashes) == 4
    low = min(made)
    picture = {"uri": "gs://kaori-evidence/a.jpg", "sha256": low, "mime_type": "image/jpeg"}
    other = desk.observe("user:eve", reported="11:10", evidence_refs=[picture])
    rows = desk.read(lambda unit: key_records(unit, TENANT, other.truthkey))
    brought = [row for row in rows if row.kind == "fingerprint"]
    assert len(brought) == len({one.fingerprint_id for one in done if low in one.fingerprint_id}) + 1
    assert audit_ledger(desk.tools, TENANT, full=True, leave_mark=False).holds
    assert replay_truth(desk.tools, TENANT, truthkey=desk.truthkey).holds


def test_only_the_rung_that_is_due_is_asked(desk: TruthDesk) -> None:
    """The bouncer first; then whom its route names; after the end nobody."""
    observed, at = desk.observe("user:ann"), desk.now("12:31")
    engines = Says({"local_vision": 0.5, "flood_segmentation": 0.9})
    ladder, stages = open_ladder(desk.tools, TENANT, observed.truthkey), []
    while True:
        scored = ask_rung(desk.tools, TENANT, ladder, observed.observation_hash, engines, at=at)
        stages.append(scored.stage)
        if scored.score is None:
            break
    assert stages == [StageName.BOUNCER, StageName.GENERALIST, StageName.SPECIALIST, None]
    assert len(desk.entries(EntryKind.AI_SCORE_RECORDED)) == 3


def test_an_engine_that_is_not_there_leaves_no_score(desk: TruthDesk) -> None:
    """The ladder stays unfinished, and the state says so."""
    for name in ("user:ann", "user:eve"):
        desk.observe(name)
    scored = desk.score()
    assert [(one.stage, one.code) for one in scored] == [
        (StageName.BOUNCER, None),
        (StageName.GENERALIST, "validator.unavailable"),
    ] * 2
    assert "ladder_unfinished" in desk.compile("12:40").state.transparency_flags


def test_a_person_opens_extends_and_closes_a_window(desk: TruthDesk) -> None:
    """Opening asks people, closing stops asking: the ticket follows, and whoever opened it does not vote."""
    desk.observe("user:ann")
    reviewer = desk.key("user:eve")
    opened = desk.window(OPENED, credential=reviewer, at="12:40", closes="14:00")
    ticket = desk.validation("12:41")
    assert (ticket.opened_by, ticket.requested_by, ticket.about) == ("user:eve", "user:eve", desk.truthkey)
    assert in_force(opened).state.status not in (TruthStatus.VERIFIED_TRUE, TruthStatus.VERIFIED_FALSE)
    with raises(ReviewError.own_request):
        desk.vote("user:eve", at="12:45")
    desk.vote("user:fay", at="12:46")
    desk.window(EXTENDED, credential=desk.operator, at="13:30", closes="16:00")
    desk.vote("user:gus", VoteType.REJECT, at="15:00")
    with raises(IdentityFlowError.session_required):
        desk.window(CLOSED, credential=reviewer, at="15:30")
    closed = desk.window(CLOSED, credential=desk.signed_in("user:eve", "15:30"), at="15:30")
    assert in_force(closed).state.status is TruthStatus.INCONCLUSIVE
    view = view_ticket(desk.tools, looking(None, at=desk.now("15:31")), ticket.id)
    assert (view.settlement.state, view.settlement.choice, view.settlement.denied) == (
        SettlementState.SETTLED,
        None,
        True,
    )
    kinds = [body["signal"]["kind"] for body in desk.entries(EntryKind.WINDOW_CHANGED)]
    assert kinds == ["WINDOW_OPENED", "WINDOW_EXTENDED", "WINDOW_CLOSED"]


def test_an_aborted_window_never_asked(desk: TruthDesk) -> None:
    """Its votes do not count, its question is withdrawn."""
    desk.observe("user:ann")
    desk.window(OPENED, credential=desk.operator, at="12:40", closes="14:00")
    ticket = desk.validation("12:41")
    desk.vote("user:eve", at="12:45")
    aborted = desk.window(ABORTED, credential=desk.signed_in("user:op", "12:50"), at="12:50")
    assert "window_aborted" in in_force(aborted).state.transparency_flags
    view = view_ticket(desk.tools, looking(None, at=desk.now("12:51")), ticket.id)
    assert view.settlement.state is SettlementState.WITHDRAWN
    with raises(TruthFlowError.no_open_ticket):
        desk.vote("user:fay", at="12:55", seen=ticket.shown_hash)


def test_a_window_event_must_mean_something(desk: TruthDesk) -> None:
    """No second opening, nothing after the end, no more extensions than the contract allows."""
    desk.observe("user:ann")
    with raises(TruthFlowError.window_refused):
        desk.window(CLOSED, credential=desk.operator, at="12:40")
    desk.window(OPENED, credential=desk.operator, at="12:40", closes="13:00")
    with raises(TruthFlowError.window_refused):
        desk.window(OPENED, credential=desk.operator, at="12:41", closes="13:00")
    for at, closes in (("12:50", "14:00"), ("13:50", "15:00")):
        desk.window(EXTENDED, credential=desk.operator, at=at, closes=closes)
    with raises(TruthFlowError.window_refused, match="at most 2"):
        desk.window(EXTENDED, credential=desk.operator, at="14:00", closes="16:00")
    with raises(TruthFlowError.window_refused):
        desk.window(CLOSED, credential=desk.operator, at="16:00")
    with pytest.raises(RecordError):
        desk.window(ABORTED, credential=desk.signed_in("user:op", "14:10"), at="14:10", closes="16:00")


def test_who_may_change_a_window_is_the_contracts_to_say(tmp_path: Path) -> None:
    """Where experts decide, reviewers at large do not set the frame."""
    with opened_truth(tmp_path, contract=critical_flood(validation_flow__mode="human_expert")) as desk:
        desk.people()
        reviewer = desk.key("user:eve")
        with raises(IdentityError.role):
            desk.window(OPENED, credential=reviewer, at="12:40", closes="13:00")
        with raises(IdentityError.role):
            desk.window(OPENED, credential=desk.admin, at="12:40", closes="13:00")
        with pytest.raises(NotSignedInError):
            desk.window(OPENED, credential="nobody", at="12:40", closes="13:00")


def test_a_vote_is_a_persons_own_answer_to_what_was_shown(desk: TruthDesk) -> None:
    """No machine, no key without a person, no role, no other text."""
    desk.observe("user:ann")
    desk.window(OPENED, credential=desk.operator, at="12:40", closes="14:00")
    shown = desk.validation("12:41").shown_hash
    at = desk.now("12:45")

    def cast(credential: str, seen: str = shown) -> Callable[[], object]:
        return lambda: cast_vote(
            desk.tools,
            desk.truthkey,
            VoteType.RATIFY,
            seen=digest_of(b"") if seen == "" else shown,
            credential=credential,
            at=at,
        )

    desk.add("user:new", roles=())
    refusals: list[tuple[Code | type[Error], Callable[[], object]]] = [
        (IdentityError.role, cast(desk.relay)),
        (IdentityFlowError.session_required, cast(desk.key("user:eve"))),
        (IdentityError.role, cast(desk.signed_in("user:new", "12:42"))),
        (ReviewError.stale_ticket, cast(desk.signed_in("user:eve", "12:42"), seen="")),
        (NotSignedInError, cast("nobody")),
    ]
    for error, door in refusals:
        with raises(error):
            door()
    assert desk.entries(EntryKind.VOTE_CAST) == []
    done = desk.vote("user:eve", at="12:46")
    (body,) = desk.entries(EntryKind.VOTE_CAST)
    assert body["ticket_id"] == done.ticket_id
    assert body["record"]["seen_hash"] in desk.validation("12:47").shown


def test_two_versions_of_a_contract_share_their_keys_and_the_first_that_spoke_stays(desk: TruthDesk) -> None:
    """No report moves a key to another version, only an operator who asks for it; what is of the other is flagged."""
    desk.observe("user:ann")
    assert desk.compile("12:40").state.claim_type == "earth.flood.v1"
    desk.release(text=critical_flood(), at="12:41")
    desk.observe("user:ben", claim_type="earth.flood.v2", at="12:43")
    same = desk.compile("12:44").state
    assert (same.claim_type, "foreign_claim_type" in same.transparency_flags) == ("earth.flood.v1", True)
    moved = desk.compile("12:45", claim_type="earth.flood.v2").state
    assert (moved.claim_type, "foreign_claim_type" in moved.transparency_flags) == ("earth.flood.v2", True)
    desk.observe("user:cem", at="12:46")
    assert desk.compile("12:47").state.claim_type == "earth.flood.v2"


def test_a_payload_that_does_not_answer_the_form_is_refused(desk: TruthDesk) -> None:
    """At once, so that whoever reports can mend it; nothing is recorded."""
    with raises(TruthError.payload_form):
        desk.observe("user:ann", {"severity": "high", "water_level_meters": "knee deep"})
    assert desk.entries(EntryKind.OBSERVATION_RECORDED) == []


def test_credits_are_what_the_last_final_state_of_each_key_pays(tmp_path: Path) -> None:
    """Five for a report, fifteen more where it was right, two for a vote; a later final state takes its place."""
    with opened_truth(tmp_path, contract=critical_flood()) as desk:
        desk.people()
        for name in ("user:ann", "user:ben", "user:cem"):
            desk.observe(name, claim_type="earth.flood.v2")
        desk.score(local_vision=0.95)
        desk.compile("12:40")
        assert tally_credits(desk.tools, TENANT).agents == ()
        desk.vote("user:eve", at="12:50")
        in_force(desk.vote("user:gus", at="12:55"))
        told = {one.agent_id: (int(one.credits), one.keys) for one in tally_credits(desk.tools, TENANT).agents}
        assert told == {
            **dict.fromkeys(("user:ann", "user:ben", "user:cem"), (20, 1)),
            "user:eve": (2, 1),
            "user:gus": (2, 1),
        }
        (only,) = tally_credits(desk.tools, TENANT, agents=["user:eve", "user:nobody"]).agents
        assert only.agent_id == "user:eve"


def test_the_operator_says_how_far_a_reporter_s_clock_may_be_ahead(desk: TruthDesk) -> None:
    """Of one observation and of a stream alike."""
    desk.tools = replace(desk.tools, reporter_skew=timedelta(minutes=2))
    assert desk.observe("user:ann", at="12:08", reported="12:10").is_new
    with raises(TruthFlowError.future_observation):
        desk.observe("user:ben", at="12:07", reported="12:10")
    lines = [orjson.dumps(desk.report("user:ben", reported="12:10"))]
    done = observe_many(desk.tools, lines, credential=desk.relay, now=lambda: desk.now("12:07"))
    assert (done.recorded, done.refused) == (0, 1)
