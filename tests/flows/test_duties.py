"""Nobody widens their own power, and nobody publishes a DELETE alone: every way an administrator could try (HOUSE 6).

Each attempt is refused with a code that says what to do, and afterwards the node is as it was.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.claims.bundle import Decision
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.review.answer_desk import answer_desk
from assay.identity.caller import local_caller
from assay.identity.power import NO_POWER, POWERS
from assay.identity.principal import PrincipalChange
from assay.identity.risk import RiskTier
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import render_instant
from assay.kernel.ledger import EntryKind
from assay.operations.dispatch import Dispatcher
from assay.operations.table import BY_NAME
from assay.ports.database import Unit
from assay.review.draft import Reply
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket
from tests.acting import caller_of, log_in
from tests.flows._claims import AGENT, ClaimsDesk, opened_claims
from tests.flows._node import TENANT
from tests.flows._people import PASSWORD

ADA = "user:ada"  # the administrator who tries
BOB = "user:bob"  # a second administrator, where there is one
SOCK = "user:sock"
_PUBLIC_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
_ALL = ("admin", "operator", "reviewer", "ops_team", "security_team")


@dataclass
class Office(ClaimsDesk):
    """A node founded at its folder, with people who act through operations, as every door does."""

    minute: float = 10

    def act(self, name: str, operation: str, *, secret: str = PASSWORD, **fields: Any) -> Any:  # noqa: ANN401
        """Perform an operation as this person in a session of their own, a minute after the one before."""
        self.minute += 1
        token = self._token(name, secret)
        wanted = BY_NAME[operation]
        caller = caller_of(self.tools, token, at=self.at(minutes=self.minute))
        return Dispatcher(tools=self.tools)(wanted, caller, msgspec.convert(fields, wanted.takes)).value

    def change_password(self, name: str, old: str, new: str) -> None:
        self.act(name, "principal.password", secret=old, principal_id=name, password=new)

    def at_the_folder(self, operation: str, **fields: Any) -> Any:  # noqa: ANN401  a result of the operation
        self.minute += 1
        wanted = BY_NAME[operation]
        caller = local_caller(TENANT, at=self.at(minutes=self.minute))
        return Dispatcher(tools=self.tools)(wanted, caller, msgspec.convert(fields, wanted.takes)).value

    def person(self, name: str, *roles: str) -> None:
        self.at_the_folder("principal.add", principal_id=name, kind="person", password=PASSWORD, roles=roles)

    def answer_as(self, name: str, ticket_id: str, choice: str = "approve") -> Any:  # noqa: ANN401  a result
        shown = self.find(TicketId(ticket_id)).shown_hash
        return self.act(name, "ticket.answer", ticket_id=ticket_id, choice=choice, seen=shown, reason="read it")

    def deletion(self, agent: str | None = None, *, by: str = AGENT) -> Ticket:
        """A DELETE bundle that waits for `ops_team`."""
        self.minute += 1
        number = int(self.minute * 10)
        made = self.document(
            self.claim(RiskTier.DELETE), id=f"3f0c7d52-8f0e-4a38-9a53-0d8f3ad5{number:04d}", origin_agent=by
        )
        gated = self.gate(made, credential=agent, at=self.at(minutes=self.minute))
        assert gated.decision is Decision.ESCALATE, gated
        return self.find(gated.tickets[0].ticket_id)

    def approve_deletion(self, name: str, ticket: Ticket, *, password: str = PASSWORD) -> Decision | None:
        self.minute += 1
        token = self._token(name, password)
        reply = Reply(choice="approve", seen=ticket.shown_hash, reason="read it")
        when = self.at(minutes=self.minute)
        done = answer_desk(self.tools, self.calling(token, when), ticket.id, reply).regated
        return None if done is None or done.gated is None else done.gated.decision

    def sock_puppet(self, **granted: Any) -> str:  # noqa: ANN401  fields of a new principal
        """Add a person under another name, with a password that the administrator knows."""
        made = {"kind": "person", "password": PASSWORD, "roles": _ALL, "risk_ceiling": RiskTier.PRIVILEGE, **granted}
        return str(self.act(ADA, "principal.add", principal_id=SOCK, **made).id)

    def published(self) -> bool:
        return any(one["outcome"]["decision"] == Decision.PUBLISH for one in self.entries(EntryKind.CLAIMS_DECIDED))

    def _token(self, name: str, password: str) -> str:
        return log_in(self.tools, TENANT, PrincipalId(name), password, at=self.at(minutes=self.minute))[0]


@pytest.fixture
def office(database_place: str | None, tmp_path: Path) -> Iterator[Office]:
    """One administrator, who also runs the node; approvers and an agent that the operator of the folder added."""
    with opened_claims(tmp_path, database=database_place) as made:
        one = Office(tools=made.tools, start=made.start, agent=made.agent)
        one.person(ADA, "admin", "operator")
        yield one


@pytest.fixture
def offices(office: Office) -> Office:
    """The same with a second administrator."""
    office.person(BOB, "admin")
    return office


def _amend(**fields: Any) -> Callable[[Office], Any]:  # noqa: ANN401  fields of an amendment
    return lambda one: one.act(ADA, "principal.amend", principal_id=ADA, **fields)


# What an administrator may not give themselves, however many others there are.
_OWN_POWER: dict[str, Callable[[Office], object]] = {
    "an approver's role": _amend(roles=("admin", "operator", "ops_team")),
    "a role of one's own making": _amend(roles=("admin", "operator", "reviewer")),
    "a higher ceiling": _amend(risk_ceiling=RiskTier.PRIVILEGE),
    "permission bits": _amend(trust_mask=0xFF),
    "a tier": lambda one: one.act(ADA, "tier.request", principal_id=ADA, to_tier=3, reason="to act"),
}


@pytest.mark.parametrize("second", [False, True])
def test_nobody_widens_their_own_power(office: Office, *, second: bool) -> None:
    """Alone or with a second administrator: another administrator asks for it, or the operator of the folder."""
    one = office
    if second:
        one.person(BOB, "admin")
    before = one.read(lambda unit: unit.identity.find_principal(TENANT, PrincipalId(ADA)))
    codes = {name: _code(partial(attempt, one)) for name, attempt in _OWN_POWER.items()}
    assert set(codes.values()) == {"identity.own_power", "FRJ-015"}, codes
    assert one.read(lambda unit: unit.identity.find_principal(TENANT, PrincipalId(ADA))) == before


def test_a_lower_floor_of_ones_own_is_refused(office: Office) -> None:
    office.at_the_folder("principal.amend", principal_id=ADA, authenticity_level_floor=2)
    assert _code(lambda: _amend(authenticity_level_floor=0)(office)) == "identity.own_power"
    # Narrowing stays immediate, also of oneself.
    assert _amend(authenticity_level_floor=3)(office).authenticity_level_floor == 3
    assert _amend(roles=("admin",))(office).roles == ("admin",)


def test_a_sole_administrator_publishes_no_deletion(office: Office) -> None:
    """A second account, somebody else's password or key: nothing lets one person ask and approve."""
    ticket = office.deletion()
    sock = office.sock_puppet()
    codes = {
        # The role was granted after the ticket was opened.
        "a later role": _code(lambda: office.approve_deletion(sock, ticket)),
        "another's password": _code(
            lambda: office.act(ADA, "principal.password", principal_id="user:otto", password="another long secret")
        ),
        "another's signing key": _code(
            lambda: office.act(ADA, "principal.amend", principal_id="user:otto", public_key=_PUBLIC_KEY)
        ),
        "a key of the agent": _code(lambda: office.act(ADA, "key.issue", principal_id=AGENT)),
        "enabling": _code(lambda: _enable_again(office)),
    }
    assert codes == {
        "a later role": "review.role_granted_later",
        "another's password": "identity.second_administrator",
        "another's signing key": "identity.second_administrator",
        "a key of the agent": "identity.second_administrator",
        "enabling": "identity.second_administrator",
    }
    # An agent of one's own, and the second account to approve what it asks.
    office.act(ADA, "principal.add", principal_id="ai:mine", kind="agent", risk_ceiling=RiskTier.DELETE)
    key = office.act(ADA, "key.issue", principal_id="ai:mine").api_key
    own = office.deletion(key, by="ai:mine")
    assert _code(lambda: office.approve_deletion(sock, own)) == "review.not_independent"
    # Also after the second account was given another password, by itself, in a session of its own.
    office.change_password(sock, PASSWORD, "a password of its own")
    again = _code(lambda: office.approve_deletion(sock, own, password="a password of its own"))
    assert again == "review.not_independent"
    assert not office.published()
    assert office.approve_deletion("user:otto", own) is Decision.PUBLISH
    assert audit_ledger(office.tools, TENANT, full=True).holds


def _enable_again(office: Office) -> None:
    office.person("user:old", "ops_team")
    office.act(ADA, "principal.disable", principal_id="user:old")
    office.act(ADA, "principal.amend", principal_id="user:old", disabled_at=None)


def test_a_second_account_is_no_second_administrator(office: Office) -> None:
    """What one administrator asks for is approved by nobody whom that administrator made alone."""
    sock = office.sock_puppet()
    # Still alone: grants to others go on, each of them marked.
    added = office.act(ADA, "principal.add", principal_id="user:new", kind="person", roles=("reviewer",))
    assert (added.waiting, added.granted.solo, added.granted.asked_by) == (None, True, ADA)
    # The second account asks for the first one: it is the same person.
    asked = _code(lambda: office.act(sock, "principal.amend", principal_id=ADA, roles=_ALL))
    assert asked == "identity.own_power"
    assert _code(lambda: office.act(sock, "tier.request", principal_id=ADA, to_tier=3, reason="to act")) == ""
    ticket = _open_ticket(office, TicketKind.TIER_CHANGE)
    assert _code(lambda: office.answer_as(ADA, ticket.id, "authorise")) == "review.not_independent"
    ticket = office.act(ADA, "tier.request", principal_id="user:new", to_tier=3, reason="to act")
    assert _code(lambda: office.answer_as(sock, ticket.id, "authorise")) == "review.not_independent"


def test_removing_the_others_makes_nobody_the_only_administrator(offices: Office) -> None:
    """Narrowing is immediate, but who removed the second administrator does not grant power alone afterwards."""
    offices.act(ADA, "principal.disable", principal_id=BOB)

    def grant() -> Any:  # noqa: ANN401  a result
        return offices.act(ADA, "principal.add", principal_id=SOCK, kind="person", roles=("ops_team",))

    assert _code(grant) == "identity.second_administrator"
    offices.at_the_folder("principal.amend", principal_id=BOB, disabled_at=None)
    assert grant().waiting is not None
    offices.act(ADA, "principal.amend", principal_id=BOB, roles=())
    assert _code(lambda: offices.act(ADA, "principal.amend", principal_id="user:rita", roles=("ops_team",))) == (
        "identity.second_administrator"
    )


_FOR_OTHERS: dict[str, dict[str, Any]] = {
    "principal.add": {"principal_id": SOCK, "kind": "person", "roles": ("ops_team",), "password": PASSWORD},
    "principal.amend": {"principal_id": "user:rita", "roles": ("ops_team",)},
    "principal.password": {"principal_id": "user:otto", "password": "another long secret"},
    "key.issue": {"principal_id": AGENT},
    "public_key.add": {
        "principal_id": AGENT,
        "public_key": _PUBLIC_KEY,
    },
}


@pytest.mark.parametrize("operation", _FOR_OTHERS)
def test_power_for_others_waits_for_the_second_administrator(offices: Office, operation: str) -> None:
    """It waits on the desk, has no effect until the second administrator approves, and then has it at once."""
    asked = offices.act(ADA, operation, **_FOR_OTHERS[operation])
    assert asked.waiting is not None
    assert not _has_effect(offices, operation, asked)
    assert _code(lambda: offices.answer_as(ADA, asked.waiting)) == "review.own_request"
    assert _code(lambda: offices.answer_as("user:otto", asked.waiting)) == "review.not_eligible"
    offices.answer_as(BOB, asked.waiting)
    assert _has_effect(offices, operation, asked)
    assert audit_ledger(offices.tools, TENANT, full=True).holds


@pytest.mark.parametrize("operation", _FOR_OTHERS)
def test_what_was_refused_has_no_effect(offices: Office, operation: str) -> None:
    asked = offices.act(ADA, operation, **_FOR_OTHERS[operation])
    offices.answer_as(BOB, asked.waiting, "reject")
    assert not _has_effect(offices, operation, asked)
    assert offices.read(lambda unit: unit.desk.find_pending(TENANT, asked.waiting)) is None


def test_an_approved_password_is_still_known_to_its_maker(offices: Office) -> None:
    """Until the person sets one of their own, they approve nothing that its maker asked for."""
    asked = offices.act(ADA, "principal.password", principal_id="user:otto", password="another long secret")
    offices.answer_as(BOB, asked.waiting)
    mine = {"principal_id": "ai:mine", "kind": "agent", "risk_ceiling": RiskTier.DELETE}
    offices.answer_as(BOB, offices.act(ADA, "principal.add", **mine).waiting)
    issued = offices.act(ADA, "key.issue", principal_id="ai:mine")
    offices.answer_as(BOB, issued.waiting)
    ticket = offices.deletion(issued.api_key, by="ai:mine")
    refused = _code(lambda: offices.approve_deletion("user:otto", ticket, password="another long secret"))
    assert refused == "review.not_independent"
    assert not offices.published()
    offices.change_password("user:otto", "another long secret", "a password of my own")
    assert offices.approve_deletion("user:otto", ticket, password="a password of my own") is Decision.PUBLISH


_LAX = """
id: lax
version: "1"
approvals:
  by_tier:
    DELETE: [{role: operator, people: 1}]
    PRIVILEGE: [{role: operator, people: 1}]
"""


def test_nobody_loosens_the_gates_alone(office: Office) -> None:
    """A policy by which one's own role approves deletions, or by which nothing is held back, needs somebody else."""
    for text in (_LAX, 'id: lax\nversion: "2"\nmode: audit_only\n'):
        refused = _code(partial(office.act, ADA, "gate_policy.release", document=text))
        assert refused == "identity.second_administrator"
    stricter = office.act(ADA, "gate_policy.release", document='id: strict\nversion: "1"\nthreat_above: 0.5\n')
    assert stricter.waiting is None
    assert not office.published()


def test_a_looser_policy_waits_for_an_administrator(offices: Office) -> None:
    asked = offices.act(ADA, "gate_policy.release", document=_LAX)
    assert offices.deletion().eligible_roles == ("ops_team",)
    assert _code(lambda: offices.answer_as(ADA, asked.waiting)) == "review.own_request"
    offices.answer_as(BOB, asked.waiting)
    assert offices.deletion().eligible_roles == ("operator",)
    assert audit_ledger(offices.tools, TENANT, full=True).holds


def _tool(tier: RiskTier) -> dict[str, Any]:
    return {"tool": "files__write", "definition_hash": "sha256:" + "1" * 64, "tier": tier}


def test_nobody_opens_a_tool_of_the_gateway_alone(office: Office) -> None:
    """A table decides which calls are gated at all, and as what."""
    rows = [_tool(RiskTier.READ_ONLY)]
    assert _code(partial(office.act, ADA, "gateway.release", rows=rows)) == "identity.second_administrator"
    assert _code(partial(office.act, ADA, "gateway.table")) == "flow.not_found"


def test_a_lower_tier_of_a_tool_waits_for_an_administrator(offices: Office) -> None:
    offices.at_the_folder("gateway.release", rows=[_tool(RiskTier.DELETE)])
    asked = offices.act(ADA, "gateway.release", rows=[_tool(RiskTier.READ_ONLY)])
    assert (asked.table.version, asked.table.rows[0].tier) == (1, RiskTier.DELETE)
    assert _code(lambda: offices.answer_as(ADA, asked.waiting)) == "review.own_request"
    offices.answer_as(BOB, asked.waiting)
    table = offices.act(BOB, "gateway.table")
    assert (table.version, table.rows[0].tier, table.released_by) == (2, RiskTier.READ_ONLY, ADA)
    # A table that takes a tool away is in force at once.
    assert offices.act(ADA, "gateway.release", rows=[]).waiting is None
    assert audit_ledger(offices.tools, TENANT, full=True).holds


def test_a_role_counts_for_no_ticket_that_was_open_before(offices: Office) -> None:
    """Whoever granted it: also where two administrators agreed."""
    ticket = offices.deletion()
    offices.answer_as(BOB, offices.act(ADA, "principal.amend", principal_id="user:rita", roles=("ops_team",)).waiting)
    assert _code(lambda: offices.approve_deletion("user:rita", ticket)) == "review.role_granted_later"
    assert offices.approve_deletion("user:rita", offices.deletion()) is Decision.PUBLISH


def test_tickets_say_which_powers_were_granted_by_one_person(office: Office) -> None:
    sock = office.sock_puppet()
    shown = office.at_the_folder("desk.ticket", ticket_id=office.deletion().id).solo
    by = {(one.principal_id, one.granted_by) for one in shown if "role:ops_team" in one.powers}
    assert {(sock, ADA), ("user:otto", "operator:local")} <= by


def test_the_operator_of_the_folder_acts_alone_and_it_is_marked(office: Office) -> None:
    """They hold the keys, so no check could hold them back; the ledger says that nobody else agreed."""
    made = office.at_the_folder("principal.amend", principal_id="user:rita", roles=("reviewer", "ops_team"))
    assert (made.granted.solo, made.granted.asked_by) == (True, "operator:local")
    assert office.entries(EntryKind.PRINCIPAL_CHANGED)[-1]["granted"] == {
        "approved_by": [],
        "asked_by": "operator:local",
        "powers": ["role:ops_team", "role:reviewer"],
        "solo": True,
        "ticket_id": None,
    }


def _has_effect(offices: Office, operation: str, asked: Any) -> bool:  # noqa: ANN401  a result of the operation
    def look(unit: Any) -> object:  # noqa: ANN401  a unit
        match operation:
            case "principal.add":
                return unit.identity.find_principal(TENANT, PrincipalId(SOCK)) is not None
            case "principal.amend":
                return "ops_team" in unit.identity.find_principal(TENANT, PrincipalId("user:rita")).roles
            case "principal.password":
                return unit.identity.find_password(TENANT, PrincipalId("user:otto")).set_by == ADA
            case "key.issue":
                return unit.identity.find_api_key(asked.prefix) is not None
            case _:
                return unit.access.find_signing_key(asked.key_id) is not None

    return bool(offices.read(look))


def _open_ticket(office: Office, kind: TicketKind) -> Ticket:
    def look(unit: Unit) -> Ticket:
        return unit.review.tickets_after(TENANT, 0, unsettled_only=True, kind=kind, about=None, limit=9)[-1][1]

    return office.read(look)


def _code(attempt: Callable[[], object]) -> str:
    """The code of the refusal; empty where it was allowed."""
    try:
        attempt()
    except Error as error:
        return error.code
    return ""


def test_the_table_of_powers_names_every_field_that_can_be_amended() -> None:
    """A new field is a power, or is said to be none."""
    assert POWERS.keys() | NO_POWER == set(PrincipalChange.__struct_fields__)
    assert not POWERS.keys() & NO_POWER


def test_a_mandate_for_deletions_is_signed_by_nobody_whom_its_asker_made(office: Office) -> None:
    """A standing permission is an approval in advance: one administrator and their second account sign none."""
    sock = office.sock_puppet()
    office.act(ADA, "principal.add", principal_id="ai:mine", kind="agent", risk_ceiling=RiskTier.DELETE)
    made = office.act(
        ADA,
        "mandate.propose",
        agent="ai:mine",
        tool="delete_records",
        audience="service:crm",
        tier=RiskTier.DELETE,
        purpose="clean up",
        count=10,
        expires_at=render_instant(office.at(hours=24)),
    )
    reply = {"choice": "sign", "seen": made.shown_hash, "reason": "read it"}
    refused = _code(lambda: office.act(sock, "ticket.answer", ticket_id=made.ticket_id, **reply))
    assert refused == "review.not_independent"
    own = _code(lambda: office.act(ADA, "ticket.answer", ticket_id=made.ticket_id, **reply))
    assert own in ("review.own_request", "review.not_eligible"), own
    assert office.entries(EntryKind.MANDATE_SIGNED) == []
    office.act("user:otto", "ticket.answer", ticket_id=made.ticket_id, **reply)
    assert len(office.entries(EntryKind.MANDATE_SIGNED)) == 1
