"""Permits on a real node: what was published is permitted, one claimer gets it, unknown effects reach people."""

import dataclasses
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from assay.adapters.clock import SystemClock
from assay.adapters.keyfile import KeyFileSigner
from assay.adapters.postgres.provision import provision
from assay.claims.bundle import Decision
from assay.flows.errors import NotFoundError
from assay.flows.errors.permits import NotClaimableError, PermitFlowError
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.permits.permits import (
    ClaimPermit,
    IssuePermit,
    ListPermits,
    PermitView,
    ReportEffect,
    RevokePermit,
    ShowPermit,
    SignedPermit,
    ask_about_overdue,
    claim_permit,
    issue_permit,
    permit,
    permits,
    report_effect,
    revoke_permit,
)
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.identity.caller import Caller
from assay.identity.errors import IdentityError
from assay.identity.principal import PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.digest import Digest, MalformedDigestError, digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.permits.errors import PermitError
from assay.permits.permit import Effect, Permit, PermitState, ToolCall, render_call
from assay.permits.seal import verify_permit
from assay.ports.database import Unit
from assay.review.kind import TicketKind
from tests.acting import caller_of
from tests.flows._claims import ClaimsDesk, opened_claims
from tests.flows._people import TENANT
from tests.postgres_cluster import PostgresCluster
from tests.raising import is_of, raises

CALL = ToolCall(tool="delete_record", arguments={"id": 41, "table": "guests"}, audience="service:records")


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClaimsDesk]:
    address = None
    if request.param == "postgres":
        cluster: PostgresCluster = request.getfixturevalue("postgres_cluster")
        name = cluster.create_database()
        provision(cluster.dsn(name), at=SystemClock().now())
        address = cluster.dsn(name, "assay_app")
    with opened_claims(tmp_path_factory.mktemp("permits"), database=address) as desk:
        yield desk


class Tool:
    """One published action, and the callers around it."""

    count = 0

    def __init__(self, desk: ClaimsDesk, tier: RiskTier = RiskTier.MODIFY, call: ToolCall = CALL) -> None:
        Tool.count += 1
        self.desk = desk
        self.call = call
        claim = desk.claim(tier, id=f"action-{Tool.count}", statement=f"delete record 41, reason {Tool.count}")
        given = desk.document(claim, id=f"bundle-{Tool.count}")
        submission = {"tool_arguments": (render_call(call),)}
        self.gated = desk.gate(given, submission=submission, at=desk.at(minutes=1))
        self.at = desk.at(minutes=2)

    def caller(self, credential: str | None = None, at: Instant | None = None) -> Caller:
        return caller_of(self.desk.tools, credential or self.desk.agent, at=at or self.at)

    def issue(self, at: Instant | None = None, seconds: int = 300) -> SignedPermit:
        request = IssuePermit(bundle_hash=self.gated.bundle_hash, seconds=seconds)
        return issue_permit(self.desk.tools, self.caller(at=at), request).value

    def claim(
        self,
        signed: SignedPermit,
        call: ToolCall | None = None,
        *,
        who: str | None = None,
        **more: Any,  # noqa: ANN401 - any field
    ) -> PermitView:
        used = call or self.call
        at = more.pop("at", None)
        request = ClaimPermit(
            permit_id=signed.permit.permit_id,
            tool=used.tool,
            audience=used.audience,
            arguments=used.arguments,
            **more,
        )
        return claim_permit(self.desk.tools, self.caller(who, at), request).value

    def report(self, signed: SignedPermit, effect: Effect, at: Instant | None = None, **more: Any) -> PermitView:  # noqa: ANN401 - any field
        request = ReportEffect(permit_id=signed.permit.permit_id, effect=effect, **more)
        return report_effect(self.desk.tools, self.caller(at=at), request).value

    def later(self, seconds: int) -> Instant:
        return Instant(self.at + timedelta(seconds=seconds))


def test_a_published_action_is_permitted_claimed_and_reported(place: ClaimsDesk) -> None:
    tool = Tool(place)
    assert tool.gated.decision is Decision.PUBLISH
    signed = tool.issue()
    assert tool.issue() == signed
    assert (signed.permit.tool, signed.permit.audience) == (CALL.tool, CALL.audience)
    claimed = tool.claim(signed, permit=signed.jwt)
    assert (claimed.state, claimed.claimed_by) == (PermitState.CLAIMED, "ai:surveyor")
    result = digest_of(b"deleted")
    done = tool.report(signed, Effect.DONE, result_hash=result, detail="1 row")
    assert (done.state, done.result_hash, done.detail) == (PermitState.DONE, result, "1 row")
    assert tool.report(signed, Effect.DONE, result_hash=result) == done
    with raises(PermitFlowError.used):
        tool.report(signed, Effect.FAILED)
    with raises(PermitFlowError.used):
        tool.claim(signed)
    with raises(PermitFlowError.used):
        tool.issue()


def test_both_forms_verify_offline_with_the_public_key_alone(place: ClaimsDesk) -> None:
    tool = Tool(place)
    signed = tool.issue()
    public = place.tools.review_signer.public_key or b""

    def find_key(key_id: KeyId, _permit: Permit) -> bytes:
        assert key_id == place.tools.review_signer.key_id
        return public

    cose = urlsafe_b64decode(signed.cose + "=" * (-len(signed.cose) % 4))
    assert verify_permit(signed.jwt, find_key) == verify_permit(cose, find_key) == signed.permit
    assert tool.claim(signed, permit=signed.cose).state is PermitState.CLAIMED


def test_what_is_not_published_is_not_permitted(place: ClaimsDesk) -> None:
    waiting = Tool(place, RiskTier.DELETE)
    assert waiting.gated.decision is Decision.ESCALATE
    with raises(PermitFlowError.not_published, match="ESCALATE"):
        waiting.issue()
    for asked in waiting.gated.tickets:
        place.decide(place.find(asked.ticket_id), "user:otto")
    signed = waiting.issue(at=place.at(minutes=4))
    assert waiting.claim(signed, at=place.at(minutes=4)).state is PermitState.CLAIMED


def test_a_bundle_without_one_call_or_of_somebody_else_is_refused(place: ClaimsDesk) -> None:
    tool = Tool(place)
    other = place.join("ai:other", kind=PrincipalKind.AGENT, risk_ceiling=RiskTier.PRIVILEGE)
    request = IssuePermit(bundle_hash=tool.gated.bundle_hash)
    with pytest.raises(NotFoundError):
        issue_permit(place.tools, tool.caller(other), request)
    with pytest.raises(NotFoundError):
        issue_permit(place.tools, tool.caller(), IssuePermit(bundle_hash=digest_of(b"no such bundle")))
    with pytest.raises(NotFoundError):
        issue_permit(place.tools, tool.caller(), IssuePermit(bundle_hash="x"))
    plain = place.gate(place.document(place.claim(RiskTier.MODIFY), id="plain"))
    with raises(PermitFlowError.no_call):
        issue_permit(place.tools, tool.caller(), IssuePermit(bundle_hash=plain.bundle_hash))
    loose = {"tool_arguments": ('{"tool": "x"}',)}
    odd = place.gate(place.document(place.claim(RiskTier.MODIFY), id="odd"), submission=loose)
    with raises(PermitError.use):
        issue_permit(place.tools, tool.caller(), IssuePermit(bundle_hash=odd.bundle_hash))


def test_other_arguments_tools_audiences_times_and_claimers_are_refused(place: ClaimsDesk) -> None:
    tool = Tool(place)
    signed = tool.issue()
    for other in (
        replace(CALL, arguments={"id": 42, "table": "guests"}),
        replace(CALL, arguments={}),
        replace(CALL, tool="drop_table"),
        replace(CALL, audience="service:other"),
    ):
        with raises(PermitError.use):
            tool.claim(signed, other)
    stranger = place.join("service:stranger", kind=PrincipalKind.SERVICE)
    with pytest.raises(NotFoundError):
        tool.claim(signed, who=stranger)
    another = Tool(place).issue()
    with pytest.raises(NotClaimableError):
        tool.claim(signed, permit=another.jwt)
    with pytest.raises(Error):
        tool.claim(signed, permit="!")
    with raises(PermitError.expired):
        tool.claim(signed, at=signed.permit.expires_at)
    audience = place.join("service:records", kind=PrincipalKind.SERVICE)
    assert tool.claim(signed, who=audience).claimed_by == "service:records"
    with pytest.raises(NotFoundError):
        tool.report(signed, Effect.DONE)


def test_of_many_claimers_one_gets_it(place: ClaimsDesk) -> None:
    tool = Tool(place)
    signed = tool.issue()

    def attempt(_: int) -> bool:
        try:
            tool.claim(signed)
        except PermitFlowError as refused:
            if not is_of(refused, PermitFlowError.used):
                raise
            return False
        return True

    with ThreadPoolExecutor(16) as threads:
        assert sum(threads.map(attempt, range(32))) == 1


def test_an_expired_or_failed_permit_may_be_followed_by_another(place: ClaimsDesk) -> None:
    tool = Tool(place)
    first = tool.issue(seconds=10)
    second = tool.issue(at=tool.later(20))
    assert first.permit.permit_id != second.permit.permit_id
    assert second.permit.arguments_hash == first.permit.arguments_hash
    with raises(PermitError.expired):
        tool.claim(first, at=tool.later(20))
    tool.claim(second, at=tool.later(21))
    tool.report(second, Effect.FAILED, at=tool.later(22))
    third = tool.issue(at=tool.later(23))
    assert tool.claim(third, at=tool.later(24)).state is PermitState.CLAIMED
    # It may be running: that is not the same as having run.
    with raises(PermitFlowError.running):
        tool.issue(at=tool.later(25))
    tool.report(third, Effect.DONE, at=tool.later(26))
    with raises(PermitFlowError.used):
        tool.issue(at=tool.later(27))


def test_a_permit_of_an_earlier_review_key_is_claimed_or_revoked_but_not_rendered_again(place: ClaimsDesk) -> None:
    tool = Tool(place)
    signed = tool.issue()
    rotated = dataclasses.replace(place.tools, review_signer=KeyFileSigner(Ed25519PrivateKey.generate()))
    request = IssuePermit(bundle_hash=tool.gated.bundle_hash)
    with raises(PermitFlowError.used, match="earlier review key"):
        issue_permit(rotated, tool.caller(), request)
    assert tool.issue() == signed
    revoke_permit(place.tools, tool.caller(), RevokePermit(permit_id=signed.permit.permit_id, reason="rotated"))
    assert issue_permit(rotated, tool.caller(), request).value.permit.permit_id != signed.permit.permit_id


def test_an_approval_is_about_now(place: ClaimsDesk) -> None:
    tool = Tool(place)
    with raises(PermitFlowError.not_published, match="new bundle"):
        tool.issue(at=tool.later(25 * 3600))


def test_a_revoked_permit_cannot_be_claimed(place: ClaimsDesk) -> None:
    tool = Tool(place)
    signed = tool.issue()
    request = RevokePermit(permit_id=signed.permit.permit_id, reason="changed my mind")
    reader = place.join("user:reader", "reviewer")
    with pytest.raises(NotFoundError):
        revoke_permit(place.tools, tool.caller(reader), request)
    assert revoke_permit(place.tools, tool.caller(), request).value.state is PermitState.REVOKED
    assert revoke_permit(place.tools, tool.caller(), request).is_new is False
    with raises(PermitFlowError.used):
        tool.claim(signed)
    used = Tool(place)
    taken = used.issue()
    used.claim(taken)
    with raises(PermitFlowError.used):
        revoke_permit(place.tools, used.caller(), RevokePermit(permit_id=taken.permit.permit_id, reason="too late"))


def test_an_effect_without_a_report_is_unknown_until_a_reviewer_reconciles_it(place: ClaimsDesk) -> None:
    tool = Tool(place)
    signed = tool.issue()
    tool.claim(signed, report_seconds=5)
    assert ask_about_overdue(place.tools, TENANT, at=tool.later(4)) == ()
    at = tool.later(6)
    shown = permit(place.tools, tool.caller(at=at), ShowPermit(permit_id=signed.permit.permit_id))
    assert shown.state is PermitState.UNKNOWN
    with raises(PermitFlowError.effect_unknown):
        tool.issue(at=at)
    (ticket_id,) = ask_about_overdue(place.tools, TENANT, at=at)
    assert ask_about_overdue(place.tools, TENANT, at=tool.later(7)) == ()
    ticket = place.find(ticket_id)
    assert (ticket.kind, ticket.about) == ("effect", signed.permit.permit_id)
    assert '"id\\":41' in ticket.shown
    late = tool.report(signed, Effect.DONE, at=tool.later(8))
    assert (late.state, late.effect) == (PermitState.UNKNOWN, Effect.DONE)
    _answer(place, ticket_id, "did_not_happen", tool.later(30))
    settled = permit(place.tools, tool.caller(at=tool.later(40)), ShowPermit(permit_id=signed.permit.permit_id))
    assert (settled.state, settled.ended_by) == (PermitState.FAILED, "user:rita")
    again = tool.issue(at=tool.later(41))
    assert again.permit.permit_id != signed.permit.permit_id


def test_an_effect_reported_as_unknown_asks_at_once_and_may_have_happened(place: ClaimsDesk) -> None:
    tool = Tool(place)
    signed = tool.issue()
    tool.claim(signed)
    assert tool.report(signed, Effect.UNKNOWN, detail="connection lost").state is PermitState.UNKNOWN
    (ticket,) = place.read(
        lambda unit: unit.review.open_tickets_about(TENANT, TicketKind.EFFECT, signed.permit.permit_id)
    )
    _answer(place, ticket.id, "happened", tool.later(30))
    shown = permit(place.tools, tool.caller(at=tool.later(40)), ShowPermit(permit_id=signed.permit.permit_id))
    assert (shown.state, shown.reconciled) == (PermitState.DONE, "happened")
    with raises(PermitFlowError.used):
        tool.issue(at=tool.later(41))


def _answer(place: ClaimsDesk, ticket_id: Any, choice: str, at: Instant) -> None:  # noqa: ANN401 - an id
    token = place.session("user:rita", seconds=(at - place.start).total_seconds())
    place.answer(place.find(ticket_id), token, choice, at=at, follow_ups=ROOM_FOLLOW_UPS)


def test_people_see_all_permits_and_agents_their_own(place: ClaimsDesk) -> None:
    tool = Tool(place)
    signed = tool.issue()
    stranger = place.join("ai:stranger", kind=PrincipalKind.AGENT)
    with raises(IdentityError.role):
        permit(place.tools, tool.caller(stranger), ShowPermit(permit_id=signed.permit.permit_id))
    assert permits(place.tools, tool.caller(stranger), ListPermits()).items == ()
    mine = permits(place.tools, tool.caller(), ListPermits(limit=2))
    assert mine.items[0].permit == signed.permit
    rest = permits(place.tools, tool.caller(), ListPermits(limit=2, cursor=mine.next))
    assert {one.sequence_number for one in mine.items}.isdisjoint(one.sequence_number for one in rest.items)
    issued = permits(place.tools, tool.caller(), ListPermits(limit=500, state=PermitState.ISSUED)).items
    assert signed.permit in [one.permit for one in issued]
    assert {one.state for one in issued} == {PermitState.ISSUED}


def test_the_audit_holds(place: ClaimsDesk) -> None:
    report = audit_ledger(place.tools, TENANT, full=True)
    assert report.holds, report.message


def test_what_a_tool_said_is_erasable_and_not_in_the_ledger(place: ClaimsDesk) -> None:
    """The entry holds a salted commitment; erased words are empty, and the audit still holds."""
    tool = Tool(place)
    signed = tool.issue()
    tool.claim(signed)
    secret = "no such guest: Amira Haddad"
    assert tool.report(signed, Effect.FAILED, detail=secret).detail == secret

    def look(unit: Unit) -> int:
        entries = [*unit.ledger.entries(TENANT, kinds=[EntryKind.PERMIT_REPORTED])]
        assert not any(secret.encode() in bytes(one.text) for one in entries)
        return entries[-1].sequence_number

    number = place.tools.database.read(look)
    seen = caller_of(place.tools, place.agent, at=place.at(minutes=9))
    wanted = ShowPermit(permit_id=signed.permit.permit_id)
    assert permit(place.tools, seen, wanted).detail == secret
    place.tools.database.write(lambda unit: unit.ledger.erase(TENANT, number, None))
    assert permit(place.tools, seen, wanted).detail == ""


def test_a_digest_is_needed_for_a_result(place: ClaimsDesk) -> None:
    tool = Tool(place)
    signed = tool.issue()
    tool.claim(signed)
    with pytest.raises(MalformedDigestError):
        tool.report(signed, Effect.DONE, result_hash=Digest("x"))
