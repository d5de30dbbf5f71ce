"""Does a service conform: its documents and its lease are fetched, and with `active` it is really attacked.

URL -> documents -> lease at the registry -> attacks -> report by rule
"""

from typing import Any

import msgspec

from assay.flows.registry.gather_evidence import fetch_documents, manifest_of
from assay.identity.mask import MASK_MAX
from assay.kernel.canonical import canonicalize
from assay.kernel.conformance import Fetched, Report
from assay.kernel.instant import Instant
from assay.ports.service_client import ServiceClient
from assay.registry.announce import AnnounceEvent, ReceivedAnnounce, draft_announce, parse_announce
from assay.registry.conform import Attack, AttackResult, Profile
from assay.registry.conform import check_service as judge_service
from assay.registry.errors import InvalidAnnounceError
from assay.registry.lease import Lease
from assay.registry.manifest import DEFAULT_PREFIX, Manifest

_JSON = {"content-type": "application/json"}
_HIGHEST = 3
_UNDECLARED = "ASSAY_CHECK_UNDECLARED"
_FORGED = "st_" + "0" * 32 + "_" + "0" * 43
_UNREACHED = 0
_UNPROVED = 401


def check_service(
    client: ServiceClient,
    base_url: str,
    profile: Profile,
    *,
    registry_url: str | None = None,
    active: bool = False,
    agent_key: str | None = None,
    at: Instant,
) -> Report:
    """Never raises for a bad service. Without a registry nothing shows a lease, which the full profile asks for.

    With the API key of an agent it is attacked as that agent too, who asks for more than it was issued: give one whose
    tier is below 3.
    """
    root = base_url.rstrip("/")
    evidence = fetch_documents(client, root)
    manifest = manifest_of(evidence.codex)
    if manifest is not None:
        lease, announce = _leased(client, registry_url, manifest.service, root)
        evidence = msgspec.structs.replace(evidence, lease=lease, announce=announce)
        if active:
            attacks = _Attacks(client, root, registry_url, manifest, at).run(lease, agent_key)
            evidence = msgspec.structs.replace(evidence, attacks=attacks)
    return judge_service(evidence, profile, at=at)


def _leased(
    client: ServiceClient, registry_url: str | None, service_id: str, root: str
) -> tuple[Lease | None, ReceivedAnnounce | None]:
    """The lease of the instance at this address, and what it was given for."""
    for one in _instances(client, registry_url, service_id):
        try:
            lease = msgspec.convert(one["lease"], Lease)
            announce = parse_announce(msgspec.json.encode(one["announce"]))
        except (msgspec.ValidationError, InvalidAnnounceError, KeyError, TypeError):
            continue
        if lease.base_url is not None and lease.base_url.rstrip("/") == root and lease.offline_at is None:
            return lease, announce
    return None, None


def _instances(client: ServiceClient, registry_url: str | None, service_id: str) -> list[dict[str, Any]]:
    if registry_url is None:
        return []
    found = _document(client.request("GET", f"{registry_url.rstrip('/')}{DEFAULT_PREFIX}/services/{service_id}"))
    listed = found.get("instances", [])
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


class _Attacks:
    """Each is tried by nobody, with nothing in hand but what everybody can read, unless an agent's key is given.

    What changed is looked at after.
    """

    def __init__(
        self, client: ServiceClient, root: str, registry_url: str | None, manifest: Manifest, at: Instant
    ) -> None:
        self._client = client
        self._registry_url = registry_url
        self._manifest = manifest
        self._at = at
        self._root = root
        self._trust = root + manifest.forja_trust
        self._sense = root + manifest.forja_sense

    def run(self, lease: Lease | None, agent_key: str | None) -> tuple[AttackResult, ...]:
        results = [self._escalate(), self._forge_restore(), self._write(), self._undeclared()]
        if agent_key is not None:
            results += self._escalate_as({"x-api-key": agent_key})
        if lease is not None and self._registry_url is not None:
            results.append(self._spoof(lease, self._registry_url))
        return tuple(results)

    def _escalate(self) -> AttackResult:
        before = self._security()
        answer = self._post(self._trust, {"action_id": self._declared, "requested_tier": _HIGHEST})
        after = self._security()
        counted = _count(after) > _count(before)
        return _result(Attack.SELF_ESCALATION, answer, changed=_power(after) != _power(before), counted=counted)

    def _escalate_as(self, headers: dict[str, str]) -> list[AttackResult]:
        """By bits that nobody holds, and by the highest tier; what the agent may is looked at after."""
        issued = self._ask(headers, {})
        if issued is None or issued.status == _UNPROVED:
            # Whoever is not known attacks as nobody, which shows nothing about agents.
            return [_result(Attack.AGENT_ESCALATION, issued, counted=False)]
        wishes = ({"requested_mask": MASK_MAX}, {"requested_tier": _HIGHEST})
        return [self._escalated(headers, issued, wish) for wish in wishes]

    def _escalated(self, headers: dict[str, str], issued: Fetched, wish: dict[str, int]) -> AttackResult:
        before = self._security()
        answer = self._ask(headers, wish)
        after, still = self._security(), self._ask(headers, {})
        is_as_before = still is not None and (still.status, _code(still)) == (issued.status, _code(issued))
        changed = _power(after) != _power(before) or not is_as_before
        return _result(Attack.AGENT_ESCALATION, answer, changed=changed, counted=_count(after) > _count(before))

    def _ask(self, headers: dict[str, str], wish: dict[str, int]) -> Fetched | None:
        content = msgspec.json.encode({"action_id": self._declared, **wish})
        return self._client.request("POST", self._trust, content=content, headers={**_JSON, **headers})

    @property
    def _declared(self) -> str:
        names = (*self._manifest.can_do, *self._manifest.can_answer)
        return names[0] if names else _UNDECLARED

    def _forge_restore(self) -> AttackResult:
        before = self._security()
        answer = self._post(f"{self._trust}/restore", {"human_session_token": _FORGED})
        return _result(Attack.FORGED_RESTORE, answer, changed=_power(self._security()) != _power(before))

    def _write(self) -> AttackResult:
        kind = self._manifest.emits[0] if self._manifest.emits else "query.received"
        event = {"event_type": kind, "service": self._manifest.service, "timestamp": self._at, "payload": {}}
        return _result(Attack.UNAUTHENTICATED_WRITE, self._post(f"{self._sense}/emit", event))

    def _undeclared(self) -> AttackResult:
        return _result(Attack.UNDECLARED_ACTION, self._post(self._trust, {"action_id": _UNDECLARED}))

    def _spoof(self, lease: Lease, registry_url: str) -> AttackResult:
        document = draft_announce(
            self._manifest,
            AnnounceEvent.OFFLINE,
            base_url=lease.base_url or self._root,
            instance_id=lease.instance_id,
            sequence=(lease.sequence or 0) + 1,
            at=self._at,
        )
        url = f"{registry_url.rstrip('/')}{DEFAULT_PREFIX}/announce"
        answer = self._client.request("POST", url, content=canonicalize(document), headers=_JSON)
        still, _ = _leased(self._client, registry_url, self._manifest.service, self._root)
        return _result(Attack.SPOOFED_OFFLINE, answer, changed=still is None)

    def _post(self, url: str, document: dict[str, Any]) -> Fetched | None:
        return self._client.request("POST", url, content=msgspec.json.encode(document), headers=_JSON)

    def _security(self) -> dict[str, Any]:
        found = _document(self._client.request("GET", self._sense)).get("security")
        return found if isinstance(found, dict) else {}


def _result(
    attack: Attack, answer: Fetched | None, *, changed: bool = False, counted: bool | None = None
) -> AttackResult:
    return AttackResult(
        attack=attack,
        status=_UNREACHED if answer is None else answer.status,
        code=_code(answer),
        changed=changed,
        counted=counted,
    )


def _code(answer: Fetched | None) -> str | None:
    code = _document(answer).get("code")
    return code if isinstance(code, str) else None


def _document(answer: Fetched | None) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(b"" if answer is None else answer.content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _count(security: dict[str, Any]) -> int:
    found = security.get("self_escalation_attempt_count")
    return found if isinstance(found, int) else 0


def _power(security: dict[str, Any]) -> tuple[object, object]:
    return security.get("current_trust_tier"), security.get("kill_switch_active")
