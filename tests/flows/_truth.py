"""A node that compiles truth: contracts, a trust policy, agents with a standing, people who vote."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import orjson
from msgspec import Struct

from assay.flows.errors.truth import TruthFlowError
from assay.flows.trust.policies import RegisterPolicy
from assay.flows.trust.record_signal import Signalled
from assay.flows.truth.climb_ladder import Scored, climb_key
from assay.flows.truth.compile_truth import CompiledTruth, compile_truth
from assay.flows.truth.contracts import ReleaseContract
from assay.flows.truth.observe import Observed, ObserveRequest
from assay.flows.truth.validation_ticket import find_validation_ticket
from assay.flows.truth.votes import ChangeWindow, VoteReceipt, VoteRequest, WindowReceipt
from assay.identity.caller import Caller
from assay.identity.principal import PrincipalKind
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant, parse_instant, render_instant
from assay.operations.dispatch import Dispatcher
from assay.operations.table import BY_NAME
from assay.ports.database import Database, Unit
from assay.ports.signer import Signer
from assay.ports.validator import Judgement, Question, ValidatorError
from assay.review.ticket import Ticket
from assay.trust.signal import AgentRegistered, RoleGranted, SignalBody, SignalKind, TrustSignal
from assay.truth.contract import VoteType
from assay.truth.status import TruthStatus
from assay.truth.window import WindowEventKind
from assay.wiring import open_node
from tests.acting import caller_of, issue_api_key, log_in
from tests.acting_truth import EVENTS, in_force, record_signal
from tests.flows._node import TENANT, new_node
from tests.flows._people import ADMIN, PASSWORD, Desk, quick_passwords
from tests.truth.records import OBSERVATION, changed, contract_text, document, hash_of_text, schema_bytes

__all__ = ["POLICY", "BeforeWriting", "Says", "TruthDesk", "critical_flood", "in_force", "opened_truth"]

T = TypeVar("T")
POLICY = (Path(__file__).parents[2] / "examples" / "trust" / "flow_v1.yaml").read_text()
# Of 4.175 north, 73.509 east at resolution 8.
_CELL = "886142a8e7fffff"


def critical_flood(**changes: object) -> str:
    """The flood contract in the critical lane, as `earth.flood.v2`."""
    value = document("flood_v1")
    value.update({"id": "earth.flood.v2", "version": 2, "risk_profile": "critical"})
    value["validation_flow"]["mode"] = "human_peer"
    for path, to in changes.items():
        value = changed(value, path.replace("__", "."), to)
    return orjson.dumps(value).decode()


@dataclass
class TruthDesk(Desk):
    """A desk on the day after the node was founded, since no key vouches for what was before it.

    `now("13:30")` is on that day, `now("2T08:00")` two days later.
    """

    operator: str = ""
    admin: str = ""
    relay: str = ""

    def now(self, text: str) -> Instant:
        days, _, time = text.rpartition("T")
        day = self.start + timedelta(days=int(days or 0))
        return parse_instant(f"{day:%Y-%m-%d}T{time}:00Z")

    @property
    def truthkey(self) -> str:
        """The hour after noon."""
        return f"earth:flood:h3:{_CELL}:surface:{self.start:%Y-%m-%d}T12:00Z"

    def key(self, name: str) -> str:
        """An API key, which everyone but voters uses."""
        text, _ = issue_api_key(self.tools, TENANT, PrincipalId(name), by=ADMIN, at=self.start)
        return text

    def join(self, name: str, *roles: str, kind: PrincipalKind = PrincipalKind.PERSON) -> str:
        self.add(name, kind=kind, roles=roles)
        return self.key(name)

    def release(self, name: str = "flood_v1", *, text: str | None = None, at: str = "12:00") -> None:
        schema = schema_bytes(name)
        wanted = ReleaseContract(
            document=contract_text(name) if text is None else text,
            schema_text=None if schema is None else schema.decode(),
        )
        self.perform("contract.release", wanted, self.operator, at)

    def signal(self, kind: SignalKind, body: SignalBody, *, credential: str, by: str, at: str = "12:00") -> Signalled:
        name = f"{kind.value.lower()}.{hash_of_text(repr(body) + by + at)[:16]}"
        signal = TrustSignal(signal_id=name, kind=kind, agent_id=by, occurred_at=self.now(at), object=body)
        return record_signal(self.tools, signal, credential=credential, at=self.now(at))

    def trust(self, name: str, role: str | None = None) -> None:
        """A known agent; a role gives it a standing class."""
        body = AgentRegistered(agent_id=name)
        self.signal(SignalKind.AGENT_REGISTERED, body, credential=self.admin, by="user:root")
        if role is not None:
            grant = RoleGranted(agent_id=name, role=role)
            self.signal(SignalKind.ROLE_GRANTED, grant, credential=self.admin, by="user:root")

    def report(
        self, reporter: str, payload: dict[str, object] | None = None, *, reported: str = "12:10", **members: object
    ) -> dict[str, Any]:
        """An observation of the key, with a picture of its own."""
        picture = {
            "uri": "gs://kaori-evidence/a.jpg",
            "sha256": hash_of_text(f"{reporter} {reported}"),
            "mime_type": "image/jpeg",
        }
        return {
            **OBSERVATION,
            "observation_id": f"obs-{reporter.replace(':', '-')}-{reported.replace(':', '')}",
            "reporter_id": reporter,
            "reported_at": render_instant(self.now(reported)),
            "payload": {"severity": "high", "water_level_meters": 1.25} if payload is None else payload,
            "evidence_refs": [picture],
            **members,
        }

    def observe(
        self,
        reporter: str,
        payload: dict[str, object] | None = None,
        *,
        at: str = "12:30",
        reported: str = "12:10",
        **members: object,
    ) -> Observed:
        given = self.report(reporter, payload, reported=reported, **members)
        return self.record(given, self.relay, at)

    def record(self, given: dict[str, Any] | bytes, credential: str, at: str) -> Observed:
        """Record an observation as this credential's principal."""
        content = given if isinstance(given, bytes) else orjson.dumps(given)
        done: Observed = self.perform("observation.record", ObserveRequest(observation=content), credential, at)
        return done

    def caller(self, credential: str, at: str) -> Caller:
        return caller_of(self.tools, credential, at=self.now(at))

    def perform(self, name: str, wanted: Struct, credential: str, at: str) -> Any:  # noqa: ANN401  the operation's result
        """Perform an operation as this credential's principal; its permission is checked."""
        return Dispatcher(tools=self.tools)(BY_NAME[name], self.caller(credential, at), wanted).value

    def compile(self, at: str = "12:40", **asked: Any) -> CompiledTruth:  # noqa: ANN401  whatever can be asked
        return compile_truth(self.tools, TENANT, self.truthkey, at=self.now(at), **asked)

    def window(
        self,
        kind: WindowEventKind,
        *,
        credential: str,
        at: str,
        closes: str | None = None,
        reason: str = "because",
    ) -> WindowReceipt:
        end = None if closes is None else render_instant(self.now(closes))
        wanted = ChangeWindow(truthkey=self.truthkey, event=EVENTS[kind], closes_at=end, reason=reason)
        done: WindowReceipt = self.perform("window.change", wanted, credential, at)
        return done

    def validation(self, at: str) -> Ticket:
        found = self.read(lambda unit: find_validation_ticket(unit, TENANT, self.truthkey))
        if found is None:
            raise TruthFlowError.no_open_ticket(f"nobody is asked at {at}")
        return found

    def vote(
        self,
        name: str,
        vote_type: VoteType = VoteType.RATIFY,
        *,
        at: str,
        seen: Digest | None = None,
        override_status: TruthStatus | None = None,
    ) -> VoteReceipt:
        wanted = VoteRequest(
            truthkey=self.truthkey,
            vote_type=vote_type,
            seen=seen or self.validation(at).shown_hash,
            reason="looked at it",
            override_status=override_status,
        )
        done: VoteReceipt = self.perform("vote.cast", wanted, self.signed_in(name, at), at)
        return done

    def signed_in(self, name: str, at: str) -> str:
        token, _ = log_in(self.tools, TENANT, PrincipalId(name), PASSWORD, at=self.now(at))
        return token

    def score(self, at: str = "12:35", **scores: float) -> tuple[Scored, ...]:
        """Every observation up the ladder, by engines that say these numbers of any observation."""
        return climb_key(self.tools, TENANT, self.truthkey, Says(scores), at=self.now(at))

    def people(self) -> None:
        """Three reporters, and voters of rising standing."""
        for name in ("user:ann", "user:ben", "user:cem"):
            self.trust(name)
        for name, role in (("user:eve", "specialist"), ("user:fay", "specialist"), ("user:gus", "official")):
            self.trust(name, role)
            self.add(name, roles=("reviewer",))


@dataclass
class BeforeWriting:
    """A database where somebody else comes in between what was read and what is then written."""

    inner: Database
    meddle: Callable[[], object]
    is_once: bool = True

    def write(self, work: Callable[[Unit], T]) -> T:
        meddle, self.meddle = self.meddle, (lambda: None) if self.is_once else self.meddle
        meddle()
        return self.inner.write(work)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the real one has
        return getattr(self.inner, name)


@dataclass
class Says:
    """Engines with one opinion each: `rules` lets everything pass unless told otherwise."""

    scores: dict[str, float]

    def find(self, name: str) -> "Says | None":
        self.name = name
        return self if name.replace("-", "_") in {"rules", *self.scores} else None

    def get(self, name: str) -> "Says":
        found = self.find(name)
        if found is None:
            raise ValidatorError.unavailable(f"no engine `{name}`")
        return found

    name: str = ""
    version: str = "1"

    def validate(self, question: Question) -> Judgement:
        score = self.scores.get(question.stage.engine.replace("-", "_"), 0.9)
        return Judgement(score=Decimal(str(score)), failed_checks=(), engine_version="1")


@contextmanager
def opened_truth(
    folder: Path,
    *,
    contract: str | None = None,
    policy: str | None = POLICY,
    accept: tuple[str, ...] = (),
    signer: Signer | None = None,
    database: str | None = None,
    is_founded: bool = False,
) -> Iterator[TruthDesk]:
    """A founded node with the flood contract released, the default policy registered, and its first principals."""
    if not is_founded:
        new_node(folder, database=database)
    with open_node(folder / "node") as (tools, _):
        tomorrow = (tools.clock.now() + timedelta(days=1)).replace(hour=11, minute=0, second=0, microsecond=0)
        # Stories are told in any order here, so the desk's clock may fall back.
        unhurried = replace(tools, passwords=quick_passwords(), clock_skew=timedelta(days=30))
        desk = TruthDesk(tools=unhurried, start=Instant(tomorrow))
        if signer is not None:
            desk.tools = replace(desk.tools, truth_signer=signer)
        desk.operator = desk.join("user:op", "operator")
        desk.admin = desk.join("user:root", "admin")
        desk.relay = desk.join("service:gateway", "relay", kind=PrincipalKind.SERVICE)
        desk.release(text=contract)
        if policy is not None:
            desk.perform("policy.register", RegisterPolicy(document=policy, accept=accept), desk.operator, "12:00")
        yield desk
