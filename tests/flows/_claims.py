"""A node that gates claims: an agent that submits, teams that approve, a reviewer, an operator."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.claims.bundle import Decision
from assay.flows.claims.approve_claims import AnsweredClaims, answer_claims
from assay.flows.claims.attach_evidence import attach_evidence
from assay.flows.claims.decide_claims import GatedClaims
from assay.flows.claims.gate_claims import gate_claims
from assay.flows.claims.release_claims_policy import PolicyRelease, release_claims_policy
from assay.flows.claims.resume_claims import resume_claims
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.identity.principal import PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant, render_instant
from assay.review.draft import Reply
from assay.review.ticket import Ticket
from assay.wiring import open_node
from tests.acting import issue_api_key
from tests.claims.making import CONTENT, claim, document, pointer
from tests.flows._node import TENANT, new_node
from tests.flows._people import ADMIN, Desk, quick_passwords

__all__ = ["AGENT", "ClaimsDesk", "copied_claims", "opened_claims"]

AGENT = "ai:surveyor"


@dataclass
class ClaimsDesk(Desk):
    """`agent` is the API key of `ai:surveyor`, which may act at every tier."""

    agent: str = ""

    def join(self, name: str, *roles: str, kind: PrincipalKind = PrincipalKind.PERSON, **granted: Any) -> str:  # noqa: ANN401  any field of a change
        self.add(name, kind=kind, roles=roles, **granted)
        text, _ = issue_api_key(self.tools, TENANT, PrincipalId(name), by=ADMIN, at=self.start)
        return text

    def claim(self, tier: RiskTier = RiskTier.READ_ONLY, **changes: object) -> dict[str, object]:
        """Sound, with evidence from an hour before the desk was opened."""
        found = [pointer(retrieved_at=render_instant(self.at(hours=-1)))]
        return claim(risk_tier=tier.value, **{"evidence_pointers": found, **changes})

    def document(self, *claims: dict[str, object], **changes: object) -> dict[str, Any]:
        made = {"timestamp": render_instant(self.start), **changes}
        return document(*(claims or (self.claim(),)), **made)

    def gate(self, given: Any, *, credential: str | None = None, at: Instant | None = None, **more: Any) -> GatedClaims:  # noqa: ANN401  a document in any form
        when = at or self.at(minutes=1)
        return gate_claims(self.tools, given, credential=credential or self.agent, at=when, **more)

    def resume(self, wanted: Digest, given: Any = None, *, at: Instant | None = None, **more: Any) -> GatedClaims:  # noqa: ANN401  a document in any form
        more = {"credential": self.agent, **more}
        return resume_claims(self.tools, wanted, given, at=at or self.at(minutes=5), **more)

    def waiting(self, tier: RiskTier = RiskTier.DELETE, **changes: object) -> tuple[GatedClaims, list[Ticket]]:
        """A bundle that waits for approval, and its tickets in the order of their roles."""
        gated = self.gate(self.document(self.claim(tier), **changes))
        assert gated.decision is Decision.ESCALATE
        return gated, [self.find(one.ticket_id) for one in gated.tickets]

    def find(self, ticket_id: Any) -> Ticket:  # noqa: ANN401  an id
        found = self.read(lambda unit: unit.review.find_ticket(TENANT, ticket_id))
        assert found is not None
        return found

    def decide(
        self,
        ticket: Ticket,
        by: str,
        choice: str = "approve",
        *,
        at: Instant | None = None,
        **more: Any,  # noqa: ANN401
    ) -> AnsweredClaims:
        reply = Reply(choice=choice, seen=more.pop("seen", ticket.shown_hash), reason="looked at it")
        when = at or self.at(minutes=3)
        token = self.session(by, seconds=(when - self.start).total_seconds())
        return answer_claims(
            self.tools, ticket.id, reply, credential=token, follow_ups=ROOM_FOLLOW_UPS, at=when, **more
        )

    def policy(self, text: str, *, at: Instant | None = None) -> PolicyRelease:
        return release_claims_policy(
            self.tools, text, credential=self.session("user:olga"), at=at or self.at(seconds=30)
        )

    def use(self, **changes: Any) -> None:  # noqa: ANN401  any field of the tools
        self.tools = replace(self.tools, **changes)


@contextmanager
def opened_claims(folder: Path, *, database: str | None = None) -> Iterator[ClaimsDesk]:
    """The node in the folder with its people, made on its first opening; copies of a folder are nodes too."""
    key = folder / "agent.key"
    if not key.exists():
        _make(folder, key, database)
    with open_node(folder / "node") as (opened, _):
        tools = replace(opened, passwords=quick_passwords())
        yield ClaimsDesk(tools=tools, start=tools.clock.now(), agent=key.read_text())


def copied_claims(template: Path, folder: Path) -> Path:
    """A node of one's own for a test: making one anew takes ten times as long."""
    shutil.copytree(template, folder / "claims")
    (folder / "claims" / "node").chmod(0o700)
    return folder / "claims"


def _make(folder: Path, key: Path, database: str | None) -> None:
    new_node(folder, database=database)
    with open_node(folder / "node") as (opened, _):
        tools = replace(opened, passwords=quick_passwords())
        desk = ClaimsDesk(tools=tools, start=tools.clock.now())
        key.write_text(desk.join(AGENT, kind=PrincipalKind.AGENT, risk_ceiling=RiskTier.PRIVILEGE))
        attach_evidence(tools, CONTENT, credential=key.read_text(), at=desk.start)
        for name, roles in _PEOPLE.items():
            desk.add(name, roles=roles)


_PEOPLE = {
    "user:olga": ("operator",),
    "user:rita": ("reviewer",),
    "user:otto": ("ops_team",),
    "user:oda": ("ops_team",),
    "user:sam": ("security_team",),
    "user:both": ("ops_team", "security_team"),
}
