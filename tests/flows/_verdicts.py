"""A node that judges telemetry: a signed graph, a model that tells the truth or lies, and people who attest."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.adapters.egress.guard import ProcessEgressGuard
from assay.adapters.egress.perimeter import Perimeter
from assay.adapters.reasoning.scripted import ScriptedReasoner
from assay.flows.review.answer_review import Answered
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.tools import Tools
from assay.flows.verdicts.attest_verdict import attest_verdict
from assay.flows.verdicts.change_graphs import GraphInReview, LoadedGraph
from assay.flows.verdicts.read_verdicts import Decided
from assay.flows.verdicts.shelves import DocketShelf, SkiSettings
from assay.identity.principal import PrincipalKind
from assay.kernel.digest import Digest, digest_of
from assay.kernel.ids import KeyId, PrincipalId, TicketId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.key import SigningMethod, TrustAnchors, key_id_of
from assay.verdicts.envelope import ModelAnswer
from assay.verdicts.graph.hash import stamp_versions
from assay.verdicts.graph.index import build_index
from assay.verdicts.graph.parse import parse_graph
from assay.verdicts.reason import ReasonRequest
from assay.verdicts.sovereignty import Place, PlaceKind
from assay.verdicts.telemetry import parse_telemetry
from assay.verdicts.window_fact import WindowFact
from assay.wiring import open_node
from tests.acting import caller_of, issue_api_key
from tests.flows._node import TENANT, new_node
from tests.flows._people import ADMIN, Desk, quick_passwords
from tests.verdict_calls import Released, judge, load_graph, release_graph, review_graph
from tests.verdicts.judging import honest

__all__ = [
    "GRAPH_KEY",
    "WEIGHTS",
    "HonestModel",
    "KeyInHand",
    "VerdictDesk",
    "graph_document",
    "guarded",
    "opened_verdicts",
    "rule",
]

WEIGHTS = digest_of(b"weights of the tests")
_STARTS = "2016-01-01T00:00:00Z"
Lie = Callable[[ModelAnswer], ModelAnswer]


@dataclass(frozen=True)
class KeyInHand:
    """A signer whose key the test holds."""

    key: Ed25519PrivateKey
    method: SigningMethod = SigningMethod.ED25519

    @property
    def public_key(self) -> bytes:
        return self.key.public_key().public_bytes_raw()

    @property
    def key_id(self) -> KeyId:
        return key_id_of(self.public_key)

    def sign(self, message: bytes) -> bytes:
        return self.key.sign(message)


GRAPH_KEY = KeyInHand(Ed25519PrivateKey.from_private_bytes(b"G" * 32))


def rule(
    name: str,
    tier: str = "medium",
    *,
    kind: str = "must_not_exceed",
    metric: str = "so2",
    value: object = 35,
    subject: str = "stack",
    **fields: object,
) -> dict[str, Any]:
    """A rule with one obligation."""
    content = {"metric": metric, "value": value, "effective_date_start": _STARTS, **fields}
    kept = {key: part for key, part in content.items() if part is not None}
    return {
        "subject": subject,
        "rule": {"id": name, "type": "rule", "name": f"The {name} rule", "risk_tier": tier},
        "obligation": {"id": f"{name}.o", "type": "obligation", "obligation_type": kind, **kept},
    }


def graph_document(*rules: dict[str, Any], compiled_at: str = "2026-01-01T00:00:00Z", name: str = "test") -> bytes:
    """A typed graph with versions stamped, and every obligation cited."""
    subjects = sorted({one["subject"] for one in rules})
    document: dict[str, Any] = {
        "metadata": {"name": name, "schema_version": "3.0", "compiled_at": compiled_at},
        "nodes": {
            "subjects": [{"id": one, "type": "subject", "name": f"Subject {one}"} for one in subjects],
            "rules": [one["rule"] for one in rules],
            "obligations": [one["obligation"] for one in rules],
            "citations": [
                {"id": "cite", "type": "citation", "source_document": "2010/75/EU", "source_clause": "Annex V"}
            ],
        },
        "edges": [
            edge
            for one in rules
            for edge in (
                {"type": "applies_to", "from": one["rule"]["id"], "to": one["subject"]},
                {"type": "consists_of", "from": one["rule"]["id"], "to": one["obligation"]["id"]},
                {"type": "cited_by", "from": one["obligation"]["id"], "to": "cite"},
            )
        ],
    }
    return json.dumps(stamp_versions(document)).encode()


@lru_cache(maxsize=64)
def _known_rules(document: bytes) -> DocketShelf:
    """The graph that a model knows, opened once."""
    return DocketShelf(build_index(parse_graph(document)))


@dataclass
class HonestModel:
    """Reads the record and the windows from the prompt, and answers what follows; `lie` changes what it says."""

    document: bytes
    lie: Lie | None = None
    asked: list[ReasonRequest] = field(default_factory=list)

    def __call__(self, request: ReasonRequest) -> str:
        self.asked.append(request)
        lines = request.prompt.splitlines()
        telemetry = parse_telemetry(lines[lines.index("<record>") + 1])
        _, dockets = _known_rules(self.document).find(
            telemetry.subject, as_of=telemetry.timestamp, jurisdiction=telemetry.jurisdiction
        )
        docket = next(one for one in dockets if request.prompt.startswith(one.head.text))
        answer = honest(docket, telemetry, _facts(lines))
        return msgspec.json.encode(answer if self.lie is None else self.lie(answer)).decode()


def _facts(lines: list[str]) -> Mapping[str, WindowFact]:
    if "windows" not in lines:
        return {}
    between = lines[lines.index("windows") + 1 : lines.index("case")]
    facts = [msgspec.json.decode(line, type=WindowFact) for line in between]
    return {fact.obligation_id: fact for fact in facts}


@dataclass
class VerdictDesk(Desk):
    """A desk with an operator, a sensor that sends telemetry, and a reviewer; one graph may be in use."""

    operator: str = ""
    sensor: str = ""
    model: HonestModel | None = None

    def join(self, name: str, *roles: str, kind: PrincipalKind = PrincipalKind.PERSON) -> str:
        self.add(name, kind=kind, roles=roles)
        text, _ = issue_api_key(self.tools, TENANT, PrincipalId(name), by=ADMIN, at=self.start)
        return text

    def use(self, **changes: Any) -> None:  # noqa: ANN401 - any field of the tools
        self.tools = replace(self.tools, **changes)

    def settings(self, **changes: Any) -> None:  # noqa: ANN401 - any setting
        self.use(ski=msgspec.structs.replace(self.tools.ski, **changes))

    def thinks(self, script: Callable[[ReasonRequest], str], *, weights: Digest = WEIGHTS) -> None:
        self.use(reasoner=ScriptedReasoner(script, self.tools.clock, weight_hash=weights))

    def lies(self, lie: Lie | None) -> None:
        assert self.model is not None
        self.model.lie = lie

    def review(self, document: bytes, choice: str = "accept", reviewer: str = "user:rita") -> GraphInReview:
        asked = review_graph(self.tools, document, credential=self.operator, at=self.start)
        self.answer(
            asked.ticket,
            self.session(reviewer),
            choice,
            follow_ups=ROOM_FOLLOW_UPS,
            reason="read",
            at=self.at(minutes=1),
        )
        return asked

    def release(self, document: bytes) -> Released:
        asked = self.review(document)
        return release_graph(self.tools, asked.content_hash, GRAPH_KEY, credential=self.operator, at=self.at(minutes=2))

    def load(self, document: bytes, **options: Any) -> LoadedGraph:  # noqa: ANN401 - whatever loading takes
        return load_graph(self.tools, document, credential=self.operator, at=self.at(minutes=3), **options)

    def judge_by(self, *rules: dict[str, Any], **options: Any) -> LoadedGraph:  # noqa: ANN401 - fields of a graph
        """Review, sign and load a graph of these rules, and a model that knows it."""
        document = graph_document(*rules, **options)
        loaded = self.load(self.release(document).document)
        self.model = HonestModel(document)
        self.thinks(self.model)
        return loaded

    def record(
        self, measurement: Mapping[str, object], *, name: str = "t-1", at: Instant | None = None, **more: object
    ) -> dict[str, object]:
        return {
            "telemetry_id": name,
            "timestamp": render_instant(at or self.at(minutes=5)),
            "subject": "stack",
            "measurement": dict(measurement),
            **more,
        }

    def decide(self, measurement: Mapping[str, object], *, credential: str | None = None, **more: Any) -> Decided:  # noqa: ANN401 - fields of a record
        return self.decide_given(self.record(measurement, **more), credential=credential)

    def decide_given(self, given: bytes | str | Mapping[str, object], *, credential: str | None = None) -> Decided:
        return judge(self.tools, given, credential=credential or self.sensor, at=self.at(minutes=6))

    def attest(
        self,
        ticket_id: str | None,
        choice: str = "attest",
        *,
        by: str = "user:rita",
        at: Instant | None = None,
        **more: Any,  # noqa: ANN401
    ) -> Answered:
        assert ticket_id is not None
        when = at or self.at(minutes=10)
        caller = caller_of(self.tools, self.session(by), at=when)
        return attest_verdict(
            self.tools, caller, TicketId(ticket_id), choice, follow_ups=ROOM_FOLLOW_UPS, reason="looked at it", **more
        )


def guarded(opened: Tools, script: Callable[[ReasonRequest], str] | None = None) -> Tools:
    """Strict and guarded, with weights on the registry and the graph's key as the only anchor."""
    settings = SkiSettings(weights=(WEIGHTS,), is_backend_tagged=True, ledger_place=Place(kind=PlaceKind.LOCAL_FILE))
    return replace(
        opened,
        passwords=quick_passwords(),
        anchors=TrustAnchors(public_keys=frozenset({GRAPH_KEY.public_key})),
        guard=ProcessEgressGuard(Perimeter(), is_strict=True),
        ski=settings,
        reasoner=None if script is None else ScriptedReasoner(script, opened.clock, weight_hash=WEIGHTS),
    )


@contextmanager
def opened_verdicts(folder: Path, *, database: str | None = None, is_new: bool = True) -> Iterator[VerdictDesk]:
    """A node with its people, and no graph yet; or one that was made so before."""
    if is_new:
        new_node(folder, database=database)
    with open_node(folder / "node") as (opened, _):
        tools = guarded(opened)
        desk = VerdictDesk(tools=tools, start=tools.clock.now())
        if is_new:
            desk.operator = desk.join("user:olga", "operator")
            desk.sensor = desk.join("service:sensor", kind=PrincipalKind.SERVICE)
            desk.add("user:rita", roles=("reviewer",))
        yield desk
