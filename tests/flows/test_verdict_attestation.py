"""A verdict of high risk waits for a person, and for nothing else."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.review.settle_reviews import settle_reviews
from assay.flows.verdicts.attest_verdict import prepare_token
from assay.flows.verdicts.read_verdicts import show_verdict
from assay.flows.verdicts.verdict_entry import get_verdict_entry
from assay.kernel.canonical import canonical_json
from assay.kernel.ids import TicketId
from assay.kernel.ledger import EntryKind
from assay.review.ticket import Ticket
from assay.verdicts.envelope import HumanAttestation, Verdict, attested_hash
from assay.verdicts.govern import Standing, verify_attestation
from tests.acting import caller_of
from tests.contract._kit import refused
from tests.flows._node import TENANT
from tests.flows._verdicts import KeyInHand, VerdictDesk, opened_verdicts, rule
from tests.verdict_calls import list_held


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VerdictDesk]:
    with opened_verdicts(tmp_path) as opened:
        opened.judge_by(rule("limit", "high", unit="mg"))
        yield opened


def _ticket(desk: VerdictDesk, name: str = "t-1", **more: object) -> Ticket:
    (one,) = desk.decide({"so2": {"value": 40, "unit": "mg"}, **more}, name=name).verdicts
    ticket = desk.read(lambda unit: unit.review.find_ticket(TENANT, TicketId(one.ticket_id or "")))
    assert ticket is not None
    return ticket


@pytest.mark.clause("ski", "5.4")
@pytest.mark.clause("ski", "5.4")
def test_nothing_hides_or_turns_around_what_a_person_attests(desk: VerdictDesk) -> None:
    """Neither the model's words nor a text of the record: such characters are shown by their numbers."""
    desk.lies(lambda answer: msgspec.structs.replace(answer, reasoning="fine \u202e\u2066enif\u200b"))
    shown = _ticket(desk, note="ok \u202eko").shown
    assert all(one.isprintable() or one == "\n" for one in shown)
    assert r"the model's reasons: fine \u202e\u2066enif\u200b" in shown
    assert r'"note":"ok \u202eko"' in shown


@pytest.mark.clause("ski", "9.3")
def test_an_attested_verdict_becomes_final_and_carries_the_token(desk: VerdictDesk) -> None:
    ticket = _ticket(desk)
    desk.attest(ticket.id)
    decided = show_verdict(desk.tools, TENANT, "t-1")
    (one,) = decided.verdicts
    assert (one.standing, one.verdict, decided.overall.verdict) == (Standing.FINAL, Verdict.FLAG, Verdict.FLAG)
    assert one.envelope is not None
    token = one.envelope.human_attestation
    assert token is not None
    assert (token.reviewer, token.envelope_hash) == ("user:rita", attested_hash(one.envelope))
    key = desk.tools.review_signer.public_key
    assert key is not None
    verify_attestation(token, one.envelope, key, at=desk.at(minutes=11))
    assert desk.entries(EntryKind.VERDICT_FINAL)[0]["held_entry"].startswith("sha256:")
    assert audit_ledger(desk.tools, TENANT, full=True).holds
    assert list_held(desk.tools, TENANT, at=desk.at(minutes=11)) == ()


@pytest.mark.clause("ski", "5.4")
@pytest.mark.clause("ski", "9.3")
def test_a_declined_verdict_is_discretionary(desk: VerdictDesk) -> None:
    desk.attest(_ticket(desk).id, "decline")
    (one,) = show_verdict(desk.tools, TENANT, "t-1").verdicts
    assert (one.standing, one.verdict) == (Standing.FINAL, Verdict.DISCRETIONARY)
    assert one.envelope is not None
    assert one.envelope.human_attestation is None
    assert one.envelope.notes[-1].startswith("verdict.governed: the model said FLAG")


def test_what_the_person_sees_can_be_read(desk: VerdictDesk) -> None:
    """The rule, its clause, what was measured, what follows from each choice, and the hash of what is attested."""
    shown = _ticket(desk).shown
    for words in (
        "subject: stack",
        "rule: The limit rule (limit)",
        "the model says: FLAG",
        "computed from the rule itself: FLAG",
        "the verifier: AGREED, 1 assertions checked",
        "limit.o: so2 must_not_exceed 35 mg: breached [2010/75/EU, Annex V]",
        'measured: {"so2":{"unit":"mg","value":40}}',
        "if you attest: FLAG becomes final",
        "if you decline: DISCRETIONARY",
    ):
        assert words in shown
    assert shown.splitlines()[-1].startswith("envelope hash: sha256:")


def test_a_model_cannot_forge_lines_of_what_is_shown(desk: VerdictDesk) -> None:
    desk.lies(lambda answer: msgspec.structs.replace(answer, reasoning="fine\nthe verifier: AGREED\nif you attest: x"))
    lines = _ticket(desk).shown.splitlines()
    assert sum(line.startswith("the verifier:") for line in lines) == 1
    assert sum(line.startswith("if you attest:") for line in lines) == 1


@pytest.mark.clause("ski", "9.3")
def test_nobody_attests_their_own_record_and_no_machine_does(desk: VerdictDesk) -> None:
    key = desk.join("user:eve", "reviewer")
    ticket = desk.decide({"so2": {"value": 40, "unit": "mg"}}, credential=key).verdicts[0].ticket_id
    with refused("review.own_request"):
        desk.attest(ticket, by="user:eve")
    desk.add("user:carl", roles=("ops_team",))
    with refused("review.not_eligible"):
        desk.attest(ticket, by="user:carl")
    desk.attest(ticket)


@pytest.mark.clause("ski", "9.3")
def test_an_answer_without_a_token_attests_nothing(desk: VerdictDesk) -> None:
    ticket = _ticket(desk)
    with refused("review.body"):
        desk.answer(ticket, desk.session("user:rita"), "attest", follow_ups=ROOM_FOLLOW_UPS, at=desk.at(minutes=10))
    with refused("review.body"):
        desk.answer(
            ticket,
            desk.session("user:rita"),
            "decline",
            follow_ups=ROOM_FOLLOW_UPS,
            reason="no",
            body='{"a":1}',
            at=desk.at(minutes=10),
        )
    assert len(list_held(desk.tools, TENANT, at=desk.at(minutes=11))) == 1


def _token(desk: VerdictDesk, ticket: Ticket, **changes: object) -> HumanAttestation:
    signer = desk.tools.review_signer
    unsigned = prepare_token(
        desk.tools,
        caller_of(desk.tools, desk.session("user:rita"), at=desk.at(minutes=9)),
        ticket.id,
        key_id=signer.key_id,
    )
    changed = msgspec.structs.replace(unsigned, attestation=msgspec.structs.replace(unsigned.attestation, **changes))
    return msgspec.structs.replace(changed.attestation, signature_hex=signer.sign(changed.message).hex())


@pytest.mark.clause("ski", "5.4")
@pytest.mark.clause("ski", "9.3")
def test_a_token_is_good_for_one_verdict_one_person_and_its_time(desk: VerdictDesk) -> None:
    first, second = _ticket(desk), _ticket(desk, "t-2")
    session = desk.session("user:rita")

    def answer(ticket: Ticket, token: HumanAttestation, minutes: int = 10) -> None:
        desk.answer(
            ticket,
            session,
            "attest",
            body=canonical_json(token),
            follow_ups=ROOM_FOLLOW_UPS,
            at=desk.at(minutes=minutes),
        )

    with refused("attestation.mismatch"):
        answer(second, _token(desk, first))
    with refused("attestation.expired"):
        answer(first, _token(desk, first, expires_at=desk.at(minutes=10)))
    with refused("attestation.refused"):
        answer(first, _token(desk, first, reviewer="user:olga"))
    forged = msgspec.structs.replace(_token(desk, first), signature_hex="ab" * 64)
    with refused("signature.invalid"):
        answer(first, forged)
    answer(first, _token(desk, first))
    with refused("review.settled", "attestation.reused"):
        answer(first, _token(desk, first))


@pytest.mark.clause("ski", "5.4")
@pytest.mark.clause("ski", "9.3")
def test_expiry_leaves_it_held(desk: VerdictDesk) -> None:
    """It is overdue, and still nobody's verdict; a late answer still ends it."""
    ticket = _ticket(desk)
    late = desk.at(days=30)
    settle_reviews(desk.tools, TENANT, follow_ups=ROOM_FOLLOW_UPS, at=late)
    (held,) = list_held(desk.tools, TENANT, at=late)
    assert (held.is_overdue, held.ticket.id) == (True, ticket.id)
    assert desk.entries(EntryKind.VERDICT_FINAL) == []


def test_a_person_with_a_key_signs_the_token_with_it(desk: VerdictDesk) -> None:
    mine = KeyInHand(Ed25519PrivateKey.from_private_bytes(b"R" * 32))
    desk.add("user:kim", roles=("reviewer",), public_key=mine.public_key.hex())
    ticket = _ticket(desk)
    with refused("review.reviewer_key"):
        desk.attest(ticket.id, by="user:kim")
    desk.attest(ticket.id, by="user:kim", signing=mine)
    (one,) = show_verdict(desk.tools, TENANT, "t-1").verdicts
    assert one.envelope is not None
    assert one.envelope.human_attestation is not None
    assert one.envelope.human_attestation.key_id == mine.key_id


def test_a_ticket_of_something_else_is_no_held_verdict(desk: VerdictDesk) -> None:
    with refused("verdict.not_held"):
        desk.attest(desk.ticket().id)


def test_the_held_entry_itself_stays_as_it_was(desk: VerdictDesk) -> None:
    ticket = _ticket(desk)
    row = desk.read(lambda unit: unit.verdicts.find_by_ticket(TENANT, ticket.id))
    assert row is not None
    before = desk.read(lambda unit: get_verdict_entry(unit, TENANT, row.sequence_number))
    desk.attest(ticket.id)
    after = desk.read(lambda unit: get_verdict_entry(unit, TENANT, row.sequence_number))
    assert (before.entry_hash, before.envelope) == (after.entry_hash, after.envelope)
    assert before.envelope.human_attestation is None
