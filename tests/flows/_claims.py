"""A node that gates claims: an agent that submits, teams that approve, a reviewer, an operator."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.claims.bundle import Decision
from assay.flows.claims.approve_claims import Regated
from assay.flows.claims.decide_claims import GatedClaims
from assay.flows.claims.evidence import AttachedEvidence, AttachEvidence, attach_evidence
from assay.flows.claims.gate_claims import GateBundle, ResumeBundle, gate_document, resume
from assay.flows.claims.policies import PolicyRelease, ReleaseGatePolicy, release_gate_policy
from assay.flows.claims.show_claims import ClaimsView, ListClaims, ListedClaims, claims, show_claims
from assay.flows.review.answer_desk import answer_desk
from assay.flows.review.answer_review import Answered
from assay.identity.caller import Caller, Proof, Via, local_caller
from assay.identity.credential import EVERY_SCOPE
from assay.identity.principal import Principal, PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant, render_instant
from assay.review.draft import Reply
from assay.review.ticket import Ticket
from assay.wiring import open_node
from tests.acting import caller_of, issue_api_key
from tests.claims.making import CONTENT, claim, document, pointer
from tests.flows._node import TENANT, new_node
from tests.flows._people import ADMIN, Desk, quick_passwords

__all__ = ["AGENT", "ClaimsDesk", "copied_claims", "opened_claims"]

AGENT = "ai:surveyor"


@dataclass(frozen=True)
class DecidedClaims:
    """An answer, and the bundle as it was decided again."""

    answered: Answered
    regated: Regated

    @property
    def gated(self) -> GatedClaims | None:
        return self.regated.gated

    @property
    def code(self) -> str | None:
        return self.regated.code

    @property
    def problem(self) -> str | None:
        return self.regated.problem


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
        caller = self.calling(credential or self.agent, at or self.at(minutes=1))
        asks = more.pop("estimator", None)
        tools = replace(self.tools, estimator=None if asks is None else _asking(asks))
        return gate_document(tools, caller, given, GateBundle(bundle={}, **more.pop("submission", {}), **more))

    def resume(self, wanted: Digest, given: Any = None, *, at: Instant | None = None, **more: Any) -> GatedClaims:  # noqa: ANN401  a document in any form
        caller = self.calling(more.pop("credential", self.agent), at or self.at(minutes=5))
        return resume(self.tools, caller, ResumeBundle(bundle_hash=wanted, bundle=given, **more)).value

    def calling(self, credential: str, at: Instant) -> Caller:
        return caller_of(self.tools, credential, at=at)

    def attach(self, content: bytes, *, credential: str | None = None, at: Instant | None = None) -> AttachedEvidence:
        caller = self.calling(credential or self.agent, at or self.start)
        return attach_evidence(self.tools, caller, AttachEvidence(content=content)).value

    def listed(self, **asked: Any) -> tuple[ListedClaims, ...]:  # noqa: ANN401  any field of the request
        """What the operator of the folder is shown."""
        viewer = asked.pop("viewer", None)
        caller = local_caller(TENANT, at=self.at(hours=1))
        if viewer is not None:
            proof = Proof(via=Via.SESSION, credential_id="test", scopes=(EVERY_SCOPE,))
            caller = Caller(tenant_id=TENANT, principal=viewer, proof=proof, at=caller.at)
        return claims(self.tools, caller, ListClaims(**asked)).items

    def shown(self, wanted: Digest, *, viewer: Principal | None = None, at: Instant | None = None) -> ClaimsView:
        when = at or self.at(hours=1)
        return self.read(lambda unit: show_claims(unit, self.tools, TENANT, wanted, viewer, when))

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
    ) -> "DecidedClaims":
        body = canonicalize(more.pop("body", {})).decode()
        reply = Reply(choice=choice, seen=more.pop("seen", ticket.shown_hash), reason="looked at it", body=body)
        when = at or self.at(minutes=3)
        token = self.session(by, seconds=(when - self.start).total_seconds())
        done = answer_desk(self.tools, self.calling(token, when), ticket.id, reply, **more)
        assert done.regated is not None
        return DecidedClaims(done.answered, done.regated)

    def policy(self, text: str, *, at: Instant | None = None) -> PolicyRelease:
        """At the folder, where one person may also release a policy that asks for less."""
        caller = local_caller(TENANT, at=at or self.at(seconds=30))
        return release_gate_policy(self.tools, caller, ReleaseGatePolicy(document=text)).value

    def use(self, **changes: Any) -> None:  # noqa: ANN401  any field of the tools
        self.tools = replace(self.tools, **changes)


def _asking(asks: Callable[[str], Any]) -> Any:  # noqa: ANN401  an estimator
    """An estimator of one question, as the node's tools have it."""
    return lambda _tenant_id, question, **_how: asks(question)


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
        desk.attach(CONTENT, credential=key.read_text())
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
