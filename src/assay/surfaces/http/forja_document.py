"""What the node serves of Forja, for the description: the protocol's endpoints are mounted as they are.

endpoints of `/api/v2/forja`, codex.json and the agent card -> operations -> added to the document
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from msgspec import Struct

from assay.flows.registry.switch import PeopleAsked
from assay.operations.problem import PROBLEM_TYPE
from assay.operations.schema import schema_of
from assay.registry.cards import AgentCard
from assay.registry.discover import Explanation, ServiceEntry
from assay.registry.documents import CodexState, ProofDocument, SenseDocument, StateDocument, TrustDocument, UserTrust
from assay.registry.fleet import FleetSnapshot
from assay.registry.lease import Lease, Presence
from assay.registry.manifest import DEFAULT_PREFIX
from assay.registry.network import NetworkState
from assay.registry.proof_scan import ProofPoint
from assay.registry.trip import Restored
from assay.surfaces.forja.app import (
    Accepted,
    Emitted,
    FireRequest,
    RestoreRequest,
    Ruled,
    RulingRequest,
    SelfTested,
    SwitchPulled,
    SwitchRestored,
)
from assay.surfaces.forja.registry_app import FiredTold, FoundServices, HeardAnnounce, RestoreTold

_JSON = "application/json"
_STREAM = "text/event-stream"
_ASKED = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY)
_CLOSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_OURS = (HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.SERVICE_UNAVAILABLE)


class _Wire(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As it is on the wire."""


class _StateQuery(_Wire, frozen=True, kw_only=True):
    shape: str | None = None


class _HistoryQuery(_Wire, frozen=True, kw_only=True):
    days: int = 90


class _NeedsQuery(_Wire, frozen=True, kw_only=True):
    needs: str | None = None
    tier: int = 0


class _ServicesQuery(_NeedsQuery, frozen=True, kw_only=True):
    answers: str | None = None
    does: str | None = None
    domain: str | None = None


class _AnnouncedService(_Wire, frozen=True, kw_only=True):
    id: str
    port: int
    domain: str
    version: str


class _AnnouncedCapabilities(_Wire, frozen=True, kw_only=True):
    can_answer: tuple[str, ...]
    can_do: tuple[str, ...]
    emits: tuple[str, ...]


class _Announce(_Wire, frozen=True, kw_only=True):
    forja: str
    event: str
    service: _AnnouncedService
    capabilities: _AnnouncedCapabilities
    announced_at: str
    ttl_hours: int
    base_url: str | None = None
    instance_id: str | None = None
    sequence: int | None = None
    signature: dict[str, Any] | None = None


class _Instance(_Wire, frozen=True, kw_only=True):
    lease: Lease
    presence: Presence
    announce: dict[str, Any]


class _Service(_Wire, frozen=True, kw_only=True):
    service_id: str
    listed: bool
    entry: ServiceEntry | None
    instances: tuple[_Instance, ...]


class Endpoint(NamedTuple):
    """`is_open` where no credential is asked for in a header: anybody reads, and some bodies prove themselves."""

    method: str
    path: str
    words: str
    answer: Any
    body: type[Struct] | None = None
    query: type[Struct] | None = None
    status: int = 200
    is_open: bool = True
    media_type: str = _JSON
    # Its answer in another form, for whoever asks for that.
    other: type[Struct] | None = None


def _at(path: str) -> str:
    return DEFAULT_PREFIX + path


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/codex.json", "The node's manifest, where a crawler looks for it.", dict[str, Any]),
    Endpoint("GET", "/.well-known/agent-card.json", "The node as an agent (A2A).", AgentCard),
    Endpoint("GET", _at("/codex"), "The node's manifest.", dict[str, Any]),
    Endpoint(
        "GET",
        _at("/state"),
        "STATE: what the node can answer and do; with `shape=codex` in the form of codex.json.",
        StateDocument,
        query=_StateQuery,
        other=CodexState,
    ),
    Endpoint("GET", _at("/trust"), "TRUST: the tier of each action, and the kill switch.", TrustDocument),
    Endpoint("GET", _at("/sense"), "SENSE: health, traffic and drift; also when the switch fired.", SenseDocument),
    Endpoint("GET", _at("/proof"), "PROOF: which certified rules have code.", ProofDocument),
    Endpoint(
        "GET", _at("/proof/history"), "Measurements of the last days.", tuple[ProofPoint, ...], query=_HistoryQuery
    ),
    Endpoint(
        "GET",
        _at("/trust/{user_id}"),
        "TRUST of one principal: one's own, or another's for whoever may look.",
        UserTrust,
        is_open=False,
    ),
    Endpoint(
        "POST",
        _at("/trust"),
        "What would be ruled about an action; nothing is run, and an escalation counts (FRJ-011).",
        Ruled,
        body=RulingRequest,
        is_open=False,
    ),
    Endpoint(
        "POST",
        _at("/trust/restore"),
        "A person with a session token restores the node's switch.",
        SwitchRestored,
        body=RestoreRequest,
    ),
    Endpoint(
        "POST",
        _at("/trust/fire"),
        "A person fires the node's switch by hand.",
        SwitchPulled,
        body=FireRequest,
        is_open=False,
    ),
    Endpoint("POST", _at("/trust/self-test"), "Fire a spare switch; nothing stops.", SelfTested, is_open=False),
    Endpoint(
        "POST",
        _at("/sense/emit"),
        "Hand in an event that the service says it emits.",
        Accepted,
        body=Emitted,
        status=202,
        is_open=False,
    ),
    Endpoint(
        "POST",
        _at("/announce"),
        "A service announces itself, updates its announce or goes offline; the signature proves it.",
        HeardAnnounce,
        body=_Announce,
        status=202,
    ),
    Endpoint(
        "POST",
        _at("/switch"),
        "A service tells that its switch fired: people are asked about it here.",
        PeopleAsked,
        body=FiredTold,
        status=202,
        is_open=False,
    ),
    Endpoint(
        "POST",
        _at("/switch/restore"),
        "A person with a session token restores the switch of a service.",
        Restored,
        body=RestoreTold,
    ),
    Endpoint(
        "GET", _at("/services"), "Ids of the services with all that is asked for.", FoundServices, query=_ServicesQuery
    ),
    Endpoint("GET", _at("/services/{service_id}"), "A service and its instances.", _Service),
    Endpoint(
        "GET",
        _at("/services/{service_id}/explain"),
        "Which bit or tier a service lacks.",
        Explanation,
        query=_NeedsQuery,
    ),
    Endpoint(
        "GET", _at("/network"), "How many services and instances there are, by domain and presence.", NetworkState
    ),
    Endpoint("GET", _at("/fleet"), "Every service that is listed; its revision is the ETag.", FleetSnapshot),
    Endpoint("GET", _at("/fleet/watch"), "Follow the changes of the fleet.", str, media_type=_STREAM),
)


def add_forja(document: dict[str, Any]) -> None:
    """Put each endpoint beside the routes that describe themselves."""
    for one in ENDPOINTS:
        document["paths"].setdefault(one.path, {})[one.method.lower()] = _operation(one)


def _operation(one: Endpoint) -> dict[str, Any]:
    name = "".join(part.capitalize() for part in _words_of(one.path))
    described: dict[str, Any] = {
        "summary": name,
        "description": one.words,
        "operationId": f"Forja{one.method.capitalize()}{name}",
        "responses": _responses(one),
    }
    parameters = [*_path_parameters(one.path), *_query_parameters(one.query)]
    if parameters:
        described["parameters"] = parameters
    if one.body is not None:
        described["requestBody"] = {"content": {_JSON: {"schema": schema_of(one.body)}}, "required": True}
    if one.is_open:
        described["security"] = [{}]
    return described


def _words_of(path: str) -> list[str]:
    text = "".join(letter if letter.isalnum() else " " for letter in path.removeprefix(DEFAULT_PREFIX))
    return text.split()


def _path_parameters(path: str) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _query_parameters(kind: type[Struct] | None) -> list[dict[str, Any]]:
    members = {} if kind is None else schema_of(kind)["properties"]
    return [{"name": name, "in": "query", "required": False, "schema": one} for name, one in members.items()]


def _responses(one: Endpoint) -> Mapping[str, Any]:
    refused = (*_ASKED, *(_CLOSED if one.method == "POST" or not one.is_open else ()), *_OURS)
    conflicts = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT) if one.method == "POST" else ()
    problem = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
    forms = [schema_of(form) for form in (one.answer, one.other) if form is not None]
    schema = forms[0] if len(forms) == 1 else {"anyOf": forms}
    good = {"description": "as it is", "content": {one.media_type: {"schema": schema}}}
    told = {str(int(status)): {"description": status.phrase, "content": problem} for status in (*refused, *conflicts)}
    return {str(one.status): good, **told}
