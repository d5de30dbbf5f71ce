"""Guard a tool: the call is gated, approved, permitted and claimed before it runs, and reported after it ran.

import assay

guard = assay.guard(assay.connect("https://node.example", key=key), agent="ai:clerk", run="order-17")

@guard.tool(tier="DELETE", says="delete record {id} of {table}")
def delete_record(table: str, id: int) -> int: ...

call -> canonical arguments -> bundle (the same one for the same call of the same run) -> gate -> PUBLISH
     -> permit -> claim -> the function runs -> report;   DEFER, ESCALATE -> wait, or raise `Waiting` with the tickets

The state is in the node. After a crash the same call of the same run goes on where it was: it waits for the same
approval, and a call that was claimed is never run again.
"""

import asyncio
import functools
import inspect
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, ParamSpec, TypeVar, cast
from uuid import UUID

import msgspec

from assay.adapters.clock import OsEntropy, SystemClock
from assay.claims.bundle import Decision
from assay.identity.risk import RiskTier
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest, digest_of
from assay.kernel.errors import Blame, CanonicalError, Error
from assay.kernel.instant import render_instant
from assay.permits.permit import Effect, ToolCall, render_call

P = ParamSpec("P")
T = TypeVar("T")
# One question to the node: the name of the method, and its arguments.
_Step = Generator[tuple[str, dict[str, Any]], Any, T]
_WAITS = (Decision.DEFER, Decision.ESCALATE)
_LONGEST_DETAIL = 500
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_RANDOM_BYTES = 16


class GuardError(Error):
    """A guarded call did not run."""

    code = "guard.not_permitted"
    blame = Blame.ANSWER


class Waiting(GuardError):  # noqa: N818 - not a failure: people are asked
    """The call waits for people; the same call of the same run goes on when they have answered."""

    code = "guard.waiting"

    def __init__(self, message: str, *, bundle_hash: str, tickets: tuple[str, ...]) -> None:
        super().__init__(message)
        self.bundle_hash = bundle_hash
        self.tickets = tickets


class Refused(GuardError):  # noqa: N818 - named by the decision
    """The gates or the reviewers refused the call; `bundle_hash` names the decision on record."""

    code = "guard.refused"

    def __init__(self, message: str, *, bundle_hash: str) -> None:
        super().__init__(message)
        self.bundle_hash = bundle_hash


class NotRun(GuardError):  # noqa: N818 - a state, not a failure
    """The call ran before in this run, or may have: it is not run again. `code` is the node's own."""

    code = "guard.not_run"

    def __init__(self, message: str, *, bundle_hash: str, reason: str) -> None:
        super().__init__(message)
        self.bundle_hash = bundle_hash
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """A call that is to be guarded, and the bundle that asks for it."""

    call: ToolCall
    text: str
    bundle_id: str
    statement: str
    tier: RiskTier
    if_wrong: str
    uncertainty: float
    wait: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Wraps functions so that each call is approved before it runs; `client` is a node or a client, async or not.

    `run` names the piece of work: within it the same call with the same arguments runs at most once, also after a
    crash. Without one, each guard is a run of its own, and a restart does not find it again.
    """

    client: Any
    agent: str
    run: str = field(default_factory=lambda: OsEntropy().token(_RANDOM_BYTES).hex())
    audience: str | None = None
    tiers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0.0
    report_seconds: int = 300

    def tool(
        self,
        *,
        name: str | None = None,
        tier: str | None = None,
        says: str | None = None,
        audience: str | None = None,
        if_wrong: str = "",
        uncertainty: float = 0.0,
        wait: float | None = None,
    ) -> Callable[[Callable[P, T]], Callable[P, T]]:
        """Guard a function. `says` is what approvers read, with arguments in braces; `tier` else that of `tiers`.

        A coroutine function needs an async client. Arguments must be JSON: what was approved is what runs.
        """

        def wrap(function: Callable[P, T]) -> Callable[P, T]:
            title = name or function.__name__
            known = tier or self.tiers.get(title)
            if known is None:
                raise GuardError(f"expected a tier for `{title}`: name it in `tier=` or in the guard's `tiers`")
            signature = inspect.signature(function)

            def plan(*args: P.args, **kwargs: P.kwargs) -> _Plan:
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                return self._plan(
                    title,
                    dict(bound.arguments),
                    audience=audience or self.audience or self.agent,
                    tier=RiskTier(known),
                    says=says,
                    if_wrong=if_wrong,
                    uncertainty=uncertainty,
                    wait=self.wait if wait is None else wait,
                )

            return self._wrapped(function, plan)

        return wrap

    def _wrapped(self, function: Callable[P, T], plan: Callable[P, _Plan]) -> Callable[P, T]:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run_async(*args: P.args, **kwargs: P.kwargs) -> object:
                made = plan(*args, **kwargs)
                permit_id = await self._ask_async(self._permitted(made))
                with_result = cast("Awaitable[object]", function(*args, **kwargs))
                try:
                    result = await with_result
                except BaseException as error:
                    await self._ask_async(self._reported(permit_id, _effect_of(error), None, _told(error)))
                    raise
                await self._ask_async(self._reported(permit_id, Effect.DONE, _hash_of(result), ""))
                return result

            return cast("Callable[P, T]", run_async)

        @functools.wraps(function)
        def run_sync(*args: P.args, **kwargs: P.kwargs) -> T:
            made = plan(*args, **kwargs)
            permit_id = self._ask(self._permitted(made))
            try:
                result = function(*args, **kwargs)
            except BaseException as error:
                self._ask(self._reported(permit_id, _effect_of(error), None, _told(error)))
                raise
            self._ask(self._reported(permit_id, Effect.DONE, _hash_of(result), ""))
            return result

        return run_sync

    def _plan(
        self,
        title: str,
        arguments: dict[str, Any],
        *,
        audience: str,
        tier: RiskTier,
        says: str | None,
        if_wrong: str,
        uncertainty: float,
        wait: float,
    ) -> _Plan:
        call = ToolCall(tool=title, arguments=msgspec.to_builtins(arguments), audience=audience)
        text = render_call(call)
        name = sha256(canonicalize([self.agent, self.run, text])).digest()[:16]
        statement = f"call {title} with {text}" if says is None else says.format_map(arguments)
        return _Plan(
            call=call,
            text=text,
            bundle_id=str(UUID(bytes=name, version=4)),
            statement=statement,
            tier=tier,
            if_wrong=if_wrong,
            uncertainty=uncertainty,
            wait=wait,
        )

    def _permitted(self, plan: _Plan) -> "_Step[str]":
        """Gate, wait, ask for the permit and claim it; the result is the id under which the effect is reported."""
        bundle_hash = yield from self._published(plan)
        try:
            signed = yield "issue_permit", {"bundle_hash": bundle_hash}
        except Exception as error:
            raise _not_run(error, plan, bundle_hash) from error
        permit_id = str(signed.permit.permit_id)
        claim = {
            "permit_id": permit_id,
            "tool": plan.call.tool,
            "audience": plan.call.audience,
            "arguments": plan.call.arguments,
            "report_seconds": self.report_seconds,
        }
        try:
            yield "claim_permit", claim
        except Exception as error:
            raise _not_run(error, plan, bundle_hash) from error
        return permit_id

    def _published(self, plan: _Plan) -> "_Step[str]":
        known = yield "find_claim", {"bundle_id": plan.bundle_id}
        if known is None:
            gated = yield "gate", {"bundle": self._bundle(plan), "tool_arguments": (plan.text,), "thread": self.run}
        else:
            gated = yield "resume_claim", {"bundle_hash": known.bundle_hash}
        pause, waited = _FIRST_PAUSE, 0.0
        while gated.decision in _WAITS and waited < plan.wait:
            yield "", {"seconds": pause}
            waited, pause = waited + pause, min(2 * pause, _LONGEST_PAUSE)
            gated = yield "resume_claim", {"bundle_hash": gated.bundle_hash}
        bundle_hash = str(gated.bundle_hash)
        if gated.decision in _WAITS:
            tickets = tuple(str(one.ticket_id) for one in gated.tickets)
            told = f"`{plan.call.tool}` waits for people ({gated.decision}): {gated.outcome.reason}"
            raise Waiting(told, bundle_hash=bundle_hash, tickets=tickets)
        if gated.decision is not Decision.PUBLISH:
            raise Refused(f"`{plan.call.tool}` was refused: {gated.outcome.reason}", bundle_hash=bundle_hash)
        return bundle_hash

    def _reported(self, permit_id: str, effect: Effect, result: Digest | None, detail: str) -> "_Step[None]":
        report = {"permit_id": permit_id, "effect": effect.value, "result_hash": result, "detail": detail}
        yield "report_effect", report

    def _bundle(self, plan: _Plan) -> dict[str, Any]:
        """The bundle of a call: one DECISION claim, whose statement approvers read."""
        claim = {
            "id": "call",
            "statement": plan.statement,
            "claim_type": "DECISION",
            "evidence_pointers": [],
            "uncertainty": {
                "method": "confidence_score",
                "value": plan.uncertainty,
                "interpretation": "stated for the tool by its guard",
                "gate_recommendation": "EXECUTE",
            },
            "risk_tier": plan.tier.value,
            "if_wrong_cost": plan.if_wrong,
        }
        return {
            "id": plan.bundle_id,
            "timestamp": render_instant(SystemClock().now()),
            "origin_agent": self.agent,
            "claims": [claim],
        }

    def _ask(self, steps: "_Step[T]") -> T:
        return _drive(steps, lambda name, given: time.sleep(given["seconds"]) if not name else self._call(name, given))

    def _call(self, name: str, given: dict[str, Any]) -> Any:  # noqa: ANN401 - the node's answer
        if name == "find_claim":
            return next(iter(self.client.claims(bundle_id=given["bundle_id"])), None)
        return getattr(self.client, name)(**given)

    async def _ask_async(self, steps: "_Step[T]") -> T:
        answer: Any = None
        failure: BaseException | None = None
        while True:
            try:
                name, given = steps.send(answer) if failure is None else steps.throw(failure)
            except StopIteration as done:
                return cast("T", done.value)
            answer, failure = None, None
            try:
                answer = await self._call_async(name, given)
            except Exception as error:  # noqa: BLE001 - the step decides what it means
                failure = error

    async def _call_async(self, name: str, given: dict[str, Any]) -> Any:  # noqa: ANN401 - the node's answer
        if not name:
            return await asyncio.sleep(given["seconds"])
        if name == "find_claim":
            async for one in self.client.claims(bundle_id=given["bundle_id"]):
                return one
            return None
        return await getattr(self.client, name)(**given)


class NothingHappened(Exception):  # noqa: N818 - what a tool promises
    """Raised by a guarded tool that failed before it changed anything: the call may be tried again."""


def guard(client: Any, *, agent: str, **settings: Any) -> Guard:  # noqa: ANN401 - a node or a client, and fields of `Guard`
    """Guard tools by a node; see `Guard`."""
    return Guard(client=client, agent=agent, **settings)


def _drive(steps: "_Step[T]", answer_to: Callable[[str, dict[str, Any]], Any]) -> T:
    answer: Any = None
    failure: BaseException | None = None
    while True:
        try:
            name, given = steps.send(answer) if failure is None else steps.throw(failure)
        except StopIteration as done:
            return cast("T", done.value)
        answer, failure = None, None
        try:
            answer = answer_to(name, given)
        except Exception as error:  # noqa: BLE001 - the step decides what it means
            failure = error


def _not_run(error: Exception, plan: _Plan, bundle_hash: str) -> Exception:
    """What a refusal of the node means for the call; any other failure stays what it is."""
    code = str(getattr(error, "code", ""))
    if not code.startswith("permit."):
        return error
    return NotRun(f"`{plan.call.tool}` is not run: {error}", bundle_hash=bundle_hash, reason=code)


def _hash_of(result: object) -> Digest | None:
    """The hash of a result that is JSON; None where it is not, and then the report says that it is done, no more."""
    try:
        return digest_of(canonicalize(msgspec.to_builtins(result)))
    except (CanonicalError, TypeError, ValueError, NotImplementedError):
        return None


def _effect_of(error: BaseException) -> Effect:
    """A tool may have done its work before it failed: only a person, or the tool itself, can tell."""
    return Effect.FAILED if isinstance(error, NothingHappened) else Effect.UNKNOWN


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:_LONGEST_DETAIL]
