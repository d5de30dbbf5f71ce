"""A node where something of everything happened, served on loopback, and the people who look at it."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import uvicorn
from litestar import Litestar

from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.tools import Tools
from assay.identity.principal import PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.review.ticket import Ticket
from assay.surfaces.http.app import create_app
from assay.surfaces.http.desk import Desk as HttpDesk
from assay.surfaces.http.serve import address_of, listen
from assay.wiring import init_node, load_config, open_node
from tests.acting import issue_api_key, log_in
from tests.acting_truth import register_policy
from tests.flows._claims import AGENT, ClaimsDesk
from tests.flows._delivery import BELL, Delivery
from tests.flows._node import TENANT
from tests.flows._people import ADMIN, PASSWORD
from tests.flows._truth import POLICY, TruthDesk
from tests.flows._verdicts import VerdictDesk, opened_verdicts, rule
from tests.waiting import until

__all__ = ["HOSTILE", "PASSWORD", "Scene", "Served", "opened_ledger", "opened_scene"]

# What somebody may write who hopes that a page takes it for its own; each calls `pwned` if it ever runs.
HOSTILE = (
    "<script>pwned()</script>",
    "<img src=x onerror=pwned()>",
    '"><svg onload=pwned()>',
    "'-pwned()-'",
    "javascript:pwned()",
    "{{ 7 * 7 }}${pwned()}",
    "</pre></code><iframe srcdoc='<script>parent.pwned()</script>'>",
    '" autofocus onfocus=pwned() x="',
    "\u202e<a href=javascript:pwned()>x</a>",
    "<div hx-get=/console/logout hx-trigger=load data-hx-on:load=pwned()>",
)


@dataclass
class LaterClock:
    """The afternoon of the day after the node was founded, going on from there."""

    begins: Instant
    since: float = field(default_factory=time.monotonic)

    def now(self) -> Instant:
        return Instant(self.begins + timedelta(seconds=time.monotonic() - self.since))


@dataclass
class Served:
    """A node and where it is served."""

    url: str
    http: HttpDesk

    @property
    def tools(self) -> Tools:
        return self.http.tools

    def head(self) -> int:
        return self.tools.database.read(lambda unit: unit.ledger.head(TENANT).sequence_number)

    def checkpoint(self) -> None:
        sign_checkpoint(self.tools, TENANT, at=self.tools.clock.now())

    def session(self, person: str) -> str:
        return log_in(self.tools, TENANT, PrincipalId(person), PASSWORD, at=self.tools.clock.now())[0]


@dataclass
class Scene(Served):
    """What the tests look at; `desk` prepares more of it while the server runs."""

    desk: VerdictDesk
    truth: TruthDesk
    ticket: Ticket
    hostile: Ticket

    def ask(self, title: str, **changes: Any) -> Ticket:  # noqa: ANN401  any field of a draft
        """A new question to the reviewers, as of now."""
        at = self.tools.clock.now()
        desk = replace(self.desk, tools=self.tools, start=at)
        return desk.ticket(title=title, **{"eligible_roles": ("reviewer",), "due_at": desk.at(days=2), **changes})


@contextmanager
def opened_ledger(folder: Path) -> Iterator[Served]:
    """A node that nothing happened on but its founding."""
    init_node(folder / "node", tenant=TENANT)
    with open_node(folder / "node") as (tools, config):
        app = create_app(tools, config)
        with _served(app) as url:
            yield Served(url=url, http=app.state.desk)


@contextmanager
def opened_scene(folder: Path) -> Iterator[Scene]:
    with opened_verdicts(folder) as desk:
        desk.add("user:vera", roles=("reviewer", "auditor"))
        desk.add("user:otto", roles=("ops_team",))
        _judge(desk)
        _claim(desk)
        _deliver(desk)
        truth = _observe(desk)
        ticket = desk.ticket(
            title="Delete 40 records of last year",
            shown='{"records":40,"table":"visits"}',
            eligible_roles=("reviewer",),
            due_at=desk.at(days=3),
        )
        hostile = desk.ticket(
            title=HOSTILE[0],
            shown="\n".join(HOSTILE),
            about=HOSTILE[1],
            eligible_roles=("reviewer", "ops_team"),
            due_at=desk.at(days=3),
        )
        tools = replace(desk.tools, clock=LaterClock(truth.now("13:00")), clock_skew=timedelta(days=30))
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
        app = create_app(tools, load_config(folder / "node"))
        with _served(app) as url:
            yield Scene(url=url, desk=desk, truth=truth, http=app.state.desk, ticket=ticket, hostile=hostile)


def _judge(desk: VerdictDesk) -> None:
    """One of high risk, which is held, and others that are not; one record carries hostile text."""
    desk.judge_by(rule("so2-limit"), rule("dust-limit", "high", metric="dust", value=20, subject="filter"))
    desk.decide({"so2": 20}, name="r-clear")
    desk.decide({"so2": 60}, name="r-flag")
    desk.decide({"dust": 45}, name="r-held", subject="filter")
    desk.decide({"so2": 60}, name=HOSTILE[0])
    desk.decide({"so2": 1}, name="r-hostile-subject", subject=HOSTILE[1])


def _claim(desk: VerdictDesk) -> None:
    claims = ClaimsDesk(tools=desk.tools, start=desk.start)
    claims.agent = claims.join(AGENT, kind=PrincipalKind.AGENT, risk_ceiling=RiskTier.PRIVILEGE)
    claims.gate(claims.document(claims.claim()))
    hostile = claims.claim(RiskTier.DELETE, statement=HOSTILE[1], if_wrong_cost=HOSTILE[2])
    claims.gate(claims.document(hostile, id="5b0d0c1e-6d5c-4a3e-9b57-1f6f0c1d0099"))


def _deliver(desk: VerdictDesk) -> None:
    """A rule that failed until a root cause was opened."""
    desk.add(str(BELL), kind=PrincipalKind.SERVICE, roles=())
    bell, _ = issue_api_key(desk.tools, TENANT, BELL, by=ADMIN, at=desk.start)
    desk.add("user:amira", roles=())
    people = {name: desk.session(f"user:{name}") for name in ("olga", "amira", "rita")}
    delivery = Delivery(desk=desk, bell=bell, sam=people["rita"], **people)
    delivery.rule(text=HOSTILE[6])
    delivery.certify()
    delivery.grant("MAR-*")
    delivery.report("success", key="s-1")
    delivery.fail(3)


def _observe(desk: VerdictDesk) -> TruthDesk:
    tomorrow = (desk.start + timedelta(days=1)).replace(hour=11, minute=0, second=0, microsecond=0)
    tools = replace(desk.tools, clock_skew=timedelta(days=30))
    truth = TruthDesk(tools=tools, start=Instant(tomorrow), operator=desk.operator)
    truth.admin = truth.join("user:root", "admin")
    truth.relay = truth.join("service:gateway", "relay", kind=PrincipalKind.SERVICE)
    truth.release()
    register_policy(truth.tools, POLICY, credential=truth.operator, at=truth.now("12:00"))
    truth.people()
    for name in ("user:ann", "user:ben", "user:cem"):
        truth.observe(name)
    truth.compile()
    return truth


@contextmanager
def _served(app: Litestar) -> Iterator[str]:
    """In this process, on a thread: tests may look behind the pages."""
    bound: socket.socket = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, name="console-under-test")
    thread.start()
    try:
        until(lambda: server.started, seconds=30, what="the server")
        yield address_of(bound)
    finally:
        app.state.desk.fanout.close()
        server.should_exit = True
        thread.join(30)
        bound.close()
