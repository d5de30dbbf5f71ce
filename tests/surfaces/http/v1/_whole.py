"""A node of which every room has something to say, and the requests that walk through all of `/api/v1`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import msgspec
from litestar import Litestar
from litestar.testing import TestClient

from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole, PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import render_instant
from assay.surfaces.http.app import create_app
from assay.wiring import load_config
from tests.acting import issue_api_key
from tests.acting_truth import register_policy, release_contract
from tests.claims.making import CONTENT, claim, document, pointer
from tests.flows._delivery import BELL, SLUG, Delivery
from tests.flows._node import TENANT
from tests.flows._people import ADMIN
from tests.flows._truth import POLICY
from tests.flows._verdicts import VerdictDesk, opened_verdicts, rule
from tests.surfaces.http._house import MovedClock
from tests.truth.records import OBSERVATION, contract_text, schema_bytes

__all__ = ["Whole", "opened_whole", "with_http"]

_ASKING: dict[str, Any] = {"trust_mask": 0b10, "action_tier": 2}


@dataclass
class Whole:
    """`keys` are credentials by who holds them; requests are made at `clock`."""

    desk: VerdictDesk
    delivery: Delivery
    clock: MovedClock
    client: TestClient[Litestar]
    folder: Path
    keys: dict[str, str] = field(default_factory=dict)

    @property
    def tools(self) -> Tools:
        return self.desk.tools

    def get(self, path: str, by: str = "operator", **headers: str) -> httpx.Response:
        return self.client.get(path, headers={"x-api-key": self.keys[by], **_named(headers)})

    def post(self, path: str, body: object, by: str = "operator", **headers: str) -> httpx.Response:
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        typed = {} if body is None else {"content-type": "application/json"}
        return self.client.post(path, content=content, headers={"x-api-key": self.keys[by], **typed, **_named(headers)})

    def approve(self, asked: Any, by: str = "omar") -> None:  # noqa: ANN401  the answer to a request
        """Approve what waits for a second administrator."""
        ticket = self.get(f"/api/v1/tickets/{asked.json()['waiting']}", by).json()["ticket"]
        answer = {"choice": "approve", "seen": ticket["shown_hash"], "reason": "it does"}
        done = self.post(f"/api/v1/tickets/{ticket['id']}/answers", answer, by)
        assert done.status_code == 201, done.text

    def entries(self) -> int:
        return self.tools.database.read(lambda unit: unit.ledger.head(TENANT).sequence_number)

    def later(self, **length: float) -> str:
        return render_instant(self.desk.at(**length))

    def observation(self, number: int = 1) -> dict[str, Any]:
        return {
            **OBSERVATION,
            "observation_id": f"obs-{number}",
            "reporter_id": "service:sensor",
            "reported_at": self.later(minutes=4),
            "evidence_refs": [],
        }

    def record(self, name: str = "t-1", **more: Any) -> dict[str, Any]:  # noqa: ANN401  fields of a record
        return dict(self.desk.record({"so2": 20}, name=name, at=self.desk.at(minutes=4), **more))

    def bundle(
        self, number: int = 1, tier: RiskTier = RiskTier.READ_ONLY, agent: str = "ai:surveyor"
    ) -> dict[str, Any]:
        """A bundle whose evidence the node holds."""
        kept = self.post("/api/v1/evidence", CONTENT, content_type="application/octet-stream")
        assert kept.is_success, kept.text
        found = [pointer(retrieved_at=self.later(hours=-1))]
        told = claim(risk_tier=tier.value, evidence_pointers=found)
        name = f"5b0d0c1e-6d5c-4a3e-9b57-1f6f0c1d{number:04}"
        return {"bundle": document(told, id=name, timestamp=self.later(), origin_agent=agent)}

    def terms(self, number: int) -> dict[str, Any]:
        """The terms of a mandate for a tool of its own."""
        limit = {"argument": "id", "minimum": "1", "maximum": "100"}
        made = {"agent": "ai:surveyor", "tool": f"purge_{number}", "audience": "ai:surveyor", "tier": "DELETE"}
        return {**made, "purpose": "old records", "count": 5, "expires_at": self.later(hours=1), "limits": [limit]}

    def mandate(self, number: int) -> str:
        """The id of a mandate that was signed."""
        made = self.post("/api/v1/mandates", self.terms(number), "agent").json()
        signature = {"choice": "sign", "seen": made["shown_hash"], "reason": "few and old"}
        signed = self.post(f"/api/v1/tickets/{made['ticket_id']}/answers", signature, "otto")
        assert signed.status_code == 201, signed.text
        return str(made["mandate_id"])

    def outcome(self, **chosen: Any) -> dict[str, Any]:  # noqa: ANN401  fields of a signal
        return self.delivery.signal("success", minute=3, **chosen)

    def question(self) -> dict[str, Any]:
        return {"query_type": SLUG, "question": {"ship": "Ada"}}


def _named(headers: dict[str, str]) -> dict[str, str]:
    """Headers as HTTP spells them, from names of Python."""
    return {name.replace("_", "-"): text for name, text in headers.items()}


@contextmanager
def opened_whole(folder: Path, *, database: str | None = None, **http: Any) -> Iterator[Whole]:  # noqa: ANN401  settings of the server
    """Truth, verdicts by one rule, claims, an answerer and its rule, people; five minutes after founding."""
    with opened_verdicts(folder, database=database) as desk:
        desk.use(clock_skew=desk.tools.clock_skew * 100)
        desk.judge_by(rule("r1"))
        keys = _people(desk)
        delivery = _delivering(desk, keys)
        desk.tools = delivery.tools
        release_contract(
            desk.tools, contract_text("flood_v1"), schema_bytes("flood_v1"), credential=keys["operator"], at=desk.start
        )
        register_policy(desk.tools, POLICY, credential=keys["operator"], at=desk.start)
        clock = MovedClock(desk.at(minutes=5))
        desk.use(clock=clock)
        sign_checkpoint(desk.tools, TENANT, at=clock.now())
        config = load_config(folder / "node")
        if http:
            config = with_http(config, http)
        with TestClient(create_app(desk.tools, config)) as client:
            yield Whole(desk=desk, delivery=delivery, clock=clock, client=client, folder=folder, keys=keys)


def with_http(config: Any, http: dict[str, Any]) -> Any:  # noqa: ANN401  a configuration

    return msgspec.structs.replace(config, http=msgspec.structs.replace(config.http, **http))


def _people(desk: VerdictDesk) -> dict[str, str]:
    agent = PrincipalKind.AGENT
    desk.add("ai:surveyor", kind=agent, roles=(), risk_ceiling=RiskTier.PRIVILEGE, **_ASKING)
    # Of one test alone: an agent that goes from reading to deleting is suspicious (`tier_hopping`), so what the gates
    # decide about one that all tests share depends on which of them were here before.
    desk.add("ai:walker", kind=agent, roles=(), risk_ceiling=RiskTier.PRIVILEGE, **_ASKING)
    desk.add("user:amira", roles=(), **_ASKING)
    desk.add("user:otto", roles=("ops_team",), **_ASKING)
    desk.add("user:ada", roles=("admin",), **_ASKING)
    desk.add("user:omar", roles=(*map(str, BuiltInRole), "ops_team"), **_ASKING)
    desk.add(str(BELL), kind=PrincipalKind.SERVICE, roles=(), **_ASKING)
    desk.add("service:nobody", kind=PrincipalKind.SERVICE, roles=(), **_ASKING)
    return {
        "operator": desk.operator,
        "sensor": desk.sensor,
        "agent": _key(desk, "ai:surveyor"),
        "walker": _key(desk, "ai:walker"),
        "bell": _key(desk, str(BELL)),
        "nobody": _key(desk, "service:nobody"),
        # The operator's, and good for nothing but a scope that no route has.
        "narrow": _key(desk, "user:olga", "nothing:read"),
        "amira": desk.session("user:amira"),
        "rita": desk.session("user:rita"),
        "otto": desk.session("user:otto"),
        "ada": desk.session("user:ada"),
        # Who has every role there is.
        "omar": desk.session("user:omar"),
    }


def _key(desk: VerdictDesk, name: str, *scopes: str) -> str:
    given = scopes or ("*",)
    return issue_api_key(desk.tools, TENANT, PrincipalId(name), scopes=given, by=ADMIN, at=desk.start)[0]


def _delivering(desk: VerdictDesk, keys: dict[str, str]) -> Delivery:
    """As `Delivery.ready`, with a rule that a person stands by."""
    people: dict[str, Any] = {"olga": keys["operator"], "amira": keys["amira"], "bell": keys["bell"]}
    made = Delivery(desk=desk, rita=keys["rita"], sam=keys["otto"], **people)
    made.rule()
    made.certify()
    made.query()
    made.grant("MAR-*")
    return made.answering(lambda _question: "clear")
