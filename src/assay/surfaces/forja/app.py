"""The endpoints of the protocol, both dialects, as one ASGI application that any service or node mounts.

GET state trust sense proof[/history] trust/{userId} codex;   POST trust[/restore|/fire|/self-test] sense/emit
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs

import msgspec
import structlog
from msgspec import Struct

from assay.flows.registry.fire_switch import RESTORE_ROLES
from assay.flows.request import FieldProblem
from assay.identity.authorise import require_role
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.registry.cards import agent_card
from assay.registry.documents import (
    ProofDocument,
    codex_state_of,
    render_document,
    state_of,
    trust_of,
    user_trust_of,
)
from assay.registry.errors import RegistryError
from assay.registry.manifest import DEFAULT_PREFIX, Manifest
from assay.registry.proof_scan import prove
from assay.registry.tier import require
from assay.registry.trip import figures_of, pull
from assay.surfaces.forja.act import Gate
from assay.surfaces.forja.call import Call
from assay.surfaces.forja.errors import BadRequestError, ForjaError, NotProvedError
from assay.surfaces.forja.reply import (
    Receive,
    Reply,
    Scope,
    Send,
    answer_in_time,
    answer_other,
    parse_body,
    problem,
    send_reply,
)

_CODEX = "/codex.json"
_CARD = "/.well-known/agent-card.json"
_MOST_DAYS = 3650
_log = structlog.get_logger("assay.forja")


class Emitted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An event that a caller hands in; only events that the manifest says it emits are taken."""

    event_type: str
    service: str
    timestamp: Instant
    payload: dict[str, Any]


class RulingRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question for a ruling; nothing is run."""

    action_id: str
    requested_tier: int | None = None
    requested_mask: int | None = None


class RestoreRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    human_session_token: str


class FireRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    reason: str


class Ruled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The action may be run; with `log_first` it is logged before (FRJ-007)."""

    allowed: bool = True
    action_id: str
    log_first: bool


class SwitchRestored(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    restored: bool = True
    episode: int
    restored_by: tuple[PrincipalId, ...]


class SwitchPulled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    fired: bool = True
    episode: int


class SelfTested(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a spare switch fired as it should, and whether the real one would."""

    passes: bool
    enabled: bool


class Accepted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    accepted: bool = True


class ForjaApp:
    """Everything waits on threads of its own, so that a slow disk or desk never holds the service's own loop."""

    def __init__(
        self,
        gate: Gate,
        codex: bytes | Callable[[], bytes],
        *,
        prefix: str = DEFAULT_PREFIX,
        on_event: Callable[[Emitted], None] | None = None,
        find_proof: Callable[[], ProofDocument | None] = lambda: None,
        refresh: Callable[[], None] = lambda: None,
    ) -> None:
        """`refresh` is called before each answer, for a service whose manifest may change while it runs."""
        self._gate = gate
        self._service = gate.service
        self._codex = codex if callable(codex) else lambda: codex
        self._prefix = prefix
        self._on_event = on_event
        self._find_proof = find_proof
        self._refresh = refresh
        self._open: dict[tuple[str, str], Callable[[Call], Reply]] = {
            ("GET", "/state"): self._state,
            ("GET", "/trust"): self._trust,
            ("GET", "/sense"): self._sense,
            ("GET", "/proof"): self._proof,
            ("GET", "/proof/history"): self._proof_history,
            ("GET", "/codex"): self._show_codex,
        }
        self._posted: dict[str, Callable[[Call, bytes], Reply]] = {
            "/trust": self._rule,
            "/trust/restore": self._restore,
            "/trust/fire": self._fire,
            "/trust/self-test": self._self_test,
            "/sense/emit": self._emit,
        }

    def serves(self, scope: Scope) -> bool:
        return self._is_ours(scope["path"]) or self._is_ours(_below_root(scope))

    def _is_ours(self, path: str) -> bool:
        return path in {self._prefix, _CODEX, _CARD} or path.startswith(self._prefix + "/")

    def _path(self, scope: Scope) -> str:
        """As the application's own routes see it: below whatever it is itself mounted under."""
        path: str = scope["path"]
        return path if self._is_ours(path) else _below_root(scope)

    def has_endpoint(self, rest: str) -> bool:
        """Whether this, below the prefix, is one of a service's own endpoints."""
        return rest in self._posted or ("GET", rest) in self._open or rest.startswith("/trust/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = Call(scope)
        reply = await answer_in_time(receive, lambda body: self._answer(call, body))
        await send_reply(send, reply, with_content=scope["method"] != "HEAD")

    def _answer(self, call: Call, body: bytes | None) -> Reply:
        try:
            return self._dispatch(call, body)
        except Error as error:
            if error.blame is Blame.OURS:
                _log.error("fault", code=error.code, message=str(error))
            return problem(error)
        except Exception as error:  # noqa: BLE001 - an endpoint of ours must not look like a failure of the service
            _log.exception("fault")
            return problem(ForjaError.internal(f"{type(error).__name__}: {error}"))

    def _dispatch(self, call: Call, body: bytes | None) -> Reply:
        if body is None:
            raise BadRequestError("expected a smaller body")
        self._refresh()
        method = "GET" if call.scope["method"] == "HEAD" else call.scope["method"]
        path = self._path(call.scope)
        if method == "GET" and path == _CODEX:
            return self._show_codex(call)
        if method == "GET" and path == _CARD:
            return self._card(call)
        rest = path.removeprefix(self._prefix).rstrip("/")
        if (method, rest) in self._open:
            return self._open[method, rest](call)
        if method == "POST" and rest in self._posted:
            return self._posted[rest](call, body)
        if method == "GET" and self._is_of_user(rest):
            return self._trust_of_user(call, rest.removeprefix("/trust/"))
        return answer_other(call.scope, self._methods(path, rest))

    def _is_of_user(self, rest: str) -> bool:
        return rest.startswith("/trust/") and rest not in self._posted

    def _methods(self, path: str, rest: str) -> set[str]:
        reads = path in {_CODEX, _CARD} or ("GET", rest) in self._open or self._is_of_user(rest)
        return ({"GET"} if reads else set()) | ({"POST"} if rest in self._posted else set())

    def _state(self, call: Call) -> Reply:
        """The contract's shape, or with `?shape=codex` that of codex.json."""
        shape = parse_qs(call.scope.get("query_string", b"").decode("latin-1")).get("shape", [""])[0]
        manifest = self._service.manifest
        return _json(codex_state_of(manifest) if shape == "codex" else state_of(manifest))

    def _trust(self, _call: Call) -> Reply:
        return _json(trust_of(self._service.manifest, self._service.rule.switch))

    def _sense(self, _call: Call) -> Reply:
        """FRJ-013: open to everyone, also when the switch fired."""
        return _json(self._service.sense())

    def _proof(self, _call: Call) -> Reply:
        manifest = self._service.manifest
        names = (*manifest.can_answer, *manifest.can_do)
        found = self._find_proof()
        return _json(found or prove((), (), capabilities=names, threshold_pct=manifest.proof_threshold))

    def _proof_history(self, call: Call) -> Reply:
        """The last 90 days, or `?days=`."""
        text = parse_qs(call.scope.get("query_string", b"").decode("latin-1")).get("days", ["90"])[0]
        if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= _MOST_DAYS:
            raise BadRequestError(f"expected 1 to {_MOST_DAYS} days, got `{text[:20]}`")
        return _json(self._service.proof_history(timedelta(days=int(text))))

    def _show_codex(self, _call: Call) -> Reply:
        return Reply(content=self._codex())

    def _card(self, call: Call) -> Reply:
        host = (call.header(b"host") or b"localhost").decode("latin-1")
        base = self._service.manifest.base_url or f"{call.scope.get('scheme', 'http')}://{host}"
        return _json(agent_card(self._service.manifest, base_url=base))

    def _trust_of_user(self, call: Call, user_id: str) -> Reply:
        caller = self._gate.get_caller(call)
        found = self._service.desk.find_principal(user_id, asked_by=caller)
        if found is None:
            raise ForjaError.no_endpoint(f"there is no trust of `{user_id[:80]}` that `{caller.principal.id}` may see")
        tier = self._service.power().active_tier
        return _json(user_trust_of(self._service.manifest, found, active_tier=tier))

    def _rule(self, call: Call, body: bytes) -> Reply:
        """What would be ruled, for whoever asks before acting; an escalation counts here as everywhere."""
        asked = parse_body(body, RulingRequest)
        ruling = self._gate.rule(call, asked.action_id, tier=asked.requested_tier, mask=asked.requested_mask)
        require(ruling)
        return _json(Ruled(action_id=asked.action_id, log_first=ruling.log_first))

    def _restore(self, call: Call, body: bytes) -> Reply:
        """Who asks is proved by the person's own token; it is looked at before the switch is."""
        del call
        token = parse_body(body, RestoreRequest).human_session_token
        at = self._service.clock.now()
        caller = self._service.desk.find_caller(token, at=at)
        if caller is None or not caller.is_session or not caller.principal.is_person():
            raise NotProvedError("expected a person's session token, got none that is valid")
        fired = self._service.switch.fired
        if fired is None:
            raise RegistryError.restore(f"the switch of `{self._service.manifest.service}` is not fired")
        restored = self._service.desk.restore(fired, credential=token, at=at)
        self._service.adopt(restored)
        return _json(SwitchRestored(episode=restored.episode, restored_by=restored.restored_by))

    def _fire(self, call: Call, body: bytes) -> Reply:
        """By hand, by a person who is there and may also restore."""
        caller = self._gate.get_caller(call)
        if not caller.is_session or not caller.principal.is_person():
            raise NotProvedError("expected a person's session token, got none that is valid")
        require_role(caller.principal, RESTORE_ROLES)
        sense = self._service.sense()
        figures = figures_of(self._service.totals(), active_tier=sense.security.current_trust_tier)
        at, by = self._service.clock.now(), caller.principal.id
        fired = pull(self._service.switch, figures, reason=parse_body(body, FireRequest).reason, by=by, at=at)
        if fired is not None:
            self._service.adopt(fired)
        return _json(SwitchPulled(episode=self._service.switch.episode))

    def _self_test(self, call: Call, _body: bytes) -> Reply:
        """By whoever is known, since it writes; nothing fires by it."""
        self._gate.get_caller(call)
        passes = self._service.self_test()
        return _json(SelfTested(passes=passes, enabled=self._service.rule.switch.enabled))

    def _emit(self, call: Call, body: bytes) -> Reply:
        caller = self._gate.get_caller(call)
        event, manifest = parse_body(body, Emitted), self._service.manifest
        _require_own(event, manifest)
        if self._on_event is None:
            raise ForjaError.no_taker(f"`{manifest.service}` takes no events from outside; nothing was kept")
        self._on_event(event)
        _log.info("sense", event_type=event.event_type, by=caller.principal.id)
        return Reply(status=202, content=render_document(Accepted()))


def _require_own(event: Emitted, manifest: Manifest) -> None:
    """Only what the service says it emits, under its own name; both are looked at before anything is said."""
    wrong = []
    if event.service != manifest.service:
        told = f"expected `{manifest.service}`, got `{event.service[:80]}`"
        wrong.append(FieldProblem(field="service", message=told, pointer="/service"))
    if event.event_type not in manifest.emits:
        told = f"expected an event that `{manifest.service}` emits, got `{event.event_type[:80]}`"
        wrong.append(FieldProblem(field="event_type", message=told, pointer="/event_type"))
    if wrong:
        raise BadRequestError.of(wrong)


def _below_root(scope: Scope) -> str:
    path, root = str(scope["path"]), str(scope.get("root_path") or "")
    return path[len(root) :] if root and path.startswith(root + "/") else path


def _json(document: object) -> Reply:
    if isinstance(document, Struct):
        return Reply(content=render_document(document))
    return Reply(content=msgspec.json.encode(document))
