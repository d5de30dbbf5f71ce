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
from collections.abc import Callable, Generator, Mapping
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
from assay.kernel.errors import Blame, CanonicalError, Code, Error
from assay.kernel.instant import render_instant
from assay.permits.permit import Effect, ToolCall, render_call

P = ParamSpec("P")
T = TypeVar("T")
# One question to the node: the name of the method, and its arguments.
Step = Generator[tuple[str, dict[str, Any]], Any, T]
# A result as its failure, if it stands for one, and what it says.
Reads = Callable[[Any], tuple[BaseException | None, object]]
_WAITS = (Decision.DEFER, Decision.ESCALATE)
_SUPERSEDED = "claims.superseded"
_NOT_RESUMABLE = "claims.not_resumable"
_LONGEST_DETAIL = 500
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_RANDOM_BYTES = 16


class GuardError(Error):
    """A guarded call did not run."""

    code = "guard.not_permitted"
    blame = Blame.ANSWER
    not_installed = Code("guard.not_installed", "The framework of an adapter is not installed.", Blame.USAGE)


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
class Plan:
    """A call that is to be guarded, and the bundle that asks for it."""

    call: ToolCall
    text: str
    run: str
    bundle_id: str
    statement: str
    tier: RiskTier
    if_wrong: str
    uncertainty: float
    wait: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What holds for a planned call. `has_waited`: people were asked about it, now or in an earlier process."""

    bundle_hash: str
    decision: str
    reason: str
    tickets: tuple[str, ...]
    has_waited: bool

    @property
    def is_published(self) -> bool:
        return self.decision == Decision.PUBLISH

    @property
    def is_superseded(self) -> bool:
        return self.decision == _SUPERSEDED

    @property
    def is_waiting(self) -> bool:
        return self.decision in _WAITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Wraps functions so that each call is approved before it runs; `client` is a node or a client, async or not.

    `run` names the piece of work: within it the same call with the same arguments runs at most once, also after a
    crash. Without one, each guard is a run of its own, and a restart does not find it again. `tiers`, `says` and
    `if_wrong` describe tools by name; a tool without a tier is refused.
    """

    client: Any
    agent: str
    run: str = field(default_factory=lambda: OsEntropy().token(_RANDOM_BYTES).hex())
    audience: str | None = None
    tiers: Mapping[str, str] = field(default_factory=dict)
    says: Mapping[str, str] = field(default_factory=dict)
    if_wrong: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0.0
    report_seconds: int = 300
    claim_type: str = "DECISION"

    def tool(
        self,
        *,
        name: str | None = None,
        tier: str | None = None,
        says: str | None = None,
        audience: str | None = None,
        if_wrong: str | None = None,
        uncertainty: float = 0.0,
        wait: float | None = None,
    ) -> Callable[[Callable[P, T]], Callable[P, T]]:
        """Guard a function. `says` is what approvers read, with arguments in braces; `tier` else that of `tiers`.

        Arguments must be JSON: what was approved is what runs. A coroutine function does not block its loop, by an
        async client or, with a plain one, on threads.
        """

        def wrap(function: Callable[P, T]) -> Callable[P, T]:
            title = name or function.__name__
            self.require_tier(title, tier)
            signature = inspect.signature(function)

            def plan(*args: P.args, **kwargs: P.kwargs) -> Plan:
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                return self.plan(
                    title,
                    dict(bound.arguments),
                    audience=audience,
                    tier=tier,
                    says=says,
                    if_wrong=if_wrong,
                    uncertainty=uncertainty,
                    wait=wait,
                )

            if inspect.iscoroutinefunction(function):

                @functools.wraps(function)
                async def run_async(*args: P.args, **kwargs: P.kwargs) -> object:
                    return await self.perform_async(plan(*args, **kwargs), lambda: function(*args, **kwargs))

                return cast("Callable[P, T]", run_async)

            @functools.wraps(function)
            def run_sync(*args: P.args, **kwargs: P.kwargs) -> T:
                return self.perform(plan(*args, **kwargs), lambda: function(*args, **kwargs))

            return run_sync

        return wrap

    def require_tier(self, title: str, tier: str | None = None) -> RiskTier:
        """Return the tier of a tool; a tool without one is refused."""
        known = tier or self.tiers.get(title)
        if known is None:
            raise GuardError(f"expected a tier for `{title}`: name it in `tier=` or in the guard's `tiers`")
        try:
            return RiskTier(known)
        except ValueError as error:
            expected = ", ".join(RiskTier)
            raise GuardError(f"expected a tier for `{title}`, one of {expected}, got `{known}`") from error

    def plan(
        self,
        title: str,
        arguments: Mapping[str, Any],
        *,
        run: str | None = None,
        audience: str | None = None,
        tier: str | None = None,
        says: str | None = None,
        if_wrong: str | None = None,
        uncertainty: float = 0.0,
        wait: float | None = None,
    ) -> Plan:
        """Describe a call; the same call of the same run has the same bundle id, in every process."""
        made = msgspec.to_builtins(dict(arguments))
        call = ToolCall(tool=title, arguments=made, audience=audience or self.audience or self.agent)
        text = render_call(call)
        where = self.run if run is None else run
        name = sha256(canonicalize([self.agent, where, text])).digest()[:16]
        template = says if says is not None else self.says.get(title)
        return Plan(
            call=call,
            text=text,
            run=where,
            bundle_id=str(UUID(bytes=name, version=4)),
            statement=f"call {title} with {text}" if template is None else _filled(title, template, made),
            tier=self.require_tier(title, tier),
            if_wrong=self.if_wrong.get(title, "") if if_wrong is None else if_wrong,
            uncertainty=uncertainty,
            wait=self.wait if wait is None else wait,
        )

    def perform(self, plan: Plan, work: Callable[[], T]) -> T:
        """Run `work` as the planned call, once: gate, wait, permit, claim, run, report."""
        permit_id = self.ask(self.permitted(plan))
        return self.run_claimed(permit_id, work)

    def run_claimed(self, permit_id: str, work: Callable[[], T], read: "Reads | None" = None) -> T:
        """Run `work` under a permit that this guard has claimed, and report what became of it.

        `read` gives what the hash of a result is of, and the failure where a framework made a result of one.
        """
        try:
            result = work()
        except BaseException as error:
            self.ask(_report(permit_id, error))
            raise
        self.ask(_report(permit_id, *(read or _as_returned)(result)))
        return result

    async def perform_async(self, plan: Plan, work: Callable[[], Any]) -> Any:  # noqa: ANN401 - the tool's result
        """Run `work`, which returns an awaitable, as the planned call."""
        permit_id = await self.ask_async(self.permitted(plan))
        return await self.run_claimed_async(permit_id, work)

    async def run_claimed_async(self, permit_id: str, work: Callable[[], Any], read: "Reads | None" = None) -> Any:  # noqa: ANN401 - the tool's result
        """As `run_claimed`, for `work` that returns an awaitable."""
        try:
            result = await work()
        except BaseException as error:
            await self.ask_async(_report(permit_id, error))
            raise
        await self.ask_async(_report(permit_id, *(read or _as_returned)(result)))
        return result

    def permitted(self, plan: Plan) -> "Step[str]":
        """Gate, wait, ask for the permit and claim it; the result is the id under which the effect is reported."""
        standing = yield from self.gated(plan)
        pause, waited = _FIRST_PAUSE, 0.0
        while standing.is_waiting and waited < plan.wait:
            yield "", {"seconds": pause}
            waited, pause = waited + pause, min(2 * pause, _LONGEST_PAUSE)
            standing = yield from self.standing(standing.bundle_hash)
        return (yield from self.claimed(plan, standing))

    def gated(self, plan: Plan, *, replaces: str | None = None) -> "Step[Standing]":
        """Gate the call, or gate again the bundle that an earlier process sent for it.

        `replaces` is the bundle that waits for approval of other arguments: it is never published any more.
        """
        known = yield "find_claim", {"bundle_id": plan.bundle_id}
        if known is None:
            given = {"bundle": self._bundle(plan), "tool_arguments": (plan.text,), "thread": plan.run}
            if replaces is not None:
                try:
                    return _standing((yield "resume_claim", {"bundle_hash": replaces, **given}))
                except Exception as error:
                    # Decided meanwhile: the new call stands beside it, and needs its own decision all the same.
                    if getattr(error, "code", "") != _NOT_RESUMABLE:
                        raise
            return _standing((yield "gate", given))
        return (yield from self.standing(str(known.bundle_hash)))

    def is_known(self, plan: Plan) -> "Step[bool]":
        """Whether a bundle was sent for this call of this run."""
        return (yield "find_claim", {"bundle_id": plan.bundle_id}) is not None

    def standing(self, bundle_hash: str) -> "Step[Standing]":
        """What holds for a bundle that was sent, with what people answered since."""
        try:
            return _standing((yield "resume_claim", {"bundle_hash": bundle_hash}))
        except Exception as error:
            if getattr(error, "code", "") != _SUPERSEDED:
                raise
            reason = "another call was put in its place"
            return Standing(bundle_hash=bundle_hash, decision=_SUPERSEDED, reason=reason, tickets=(), has_waited=True)

    def claimed(self, plan: Plan, standing: Standing) -> "Step[str]":
        """Ask for the permit of a published call and claim it with the arguments that are about to run."""
        tool, bundle_hash = plan.call.tool, standing.bundle_hash
        if standing.is_waiting:
            told = f"`{tool}` waits for people ({standing.decision}): {standing.reason}"
            raise Waiting(told, bundle_hash=bundle_hash, tickets=standing.tickets)
        if not standing.is_published:
            raise Refused(f"`{tool}` was refused: {standing.reason}", bundle_hash=bundle_hash)
        try:
            signed = yield "issue_permit", {"bundle_hash": bundle_hash}
            permit_id = str(signed.permit.permit_id)
            claim = {
                "permit_id": permit_id,
                "tool": tool,
                "audience": plan.call.audience,
                "arguments": plan.call.arguments,
                "report_seconds": self.report_seconds,
            }
            yield "claim_permit", claim
        except Exception as error:
            raise _not_run(error, plan, bundle_hash) from error
        return permit_id

    def _bundle(self, plan: Plan) -> dict[str, Any]:
        """The bundle of a call: one DECISION claim, whose statement approvers read."""
        claim = {
            "id": "call",
            "statement": plan.statement,
            "claim_type": self.claim_type,
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

    def ask(self, steps: "Step[T]") -> T:
        """Take steps with a client that blocks."""
        answer: Any = None
        failure: BaseException | None = None
        while True:
            try:
                name, given = steps.send(answer) if failure is None else steps.throw(failure)
            except StopIteration as done:
                return cast("T", done.value)
            answer, failure = None, None
            try:
                answer = self._call(name, given)
            except Exception as error:  # noqa: BLE001 - the step decides what it means
                failure = error

    def _call(self, name: str, given: dict[str, Any]) -> Any:  # noqa: ANN401 - the node's answer
        if not name:
            return time.sleep(given["seconds"])
        if name == "find_claim":
            return next(iter(self.client.claims(bundle_id=given["bundle_id"])), None)
        return getattr(self.client, name)(**given)

    async def ask_async(self, steps: "Step[T]") -> T:
        """Take steps on a loop, with an async client, or with a plain one on threads."""
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
        if not inspect.iscoroutinefunction(self.client.gate):
            return await asyncio.to_thread(self._call, name, given)
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


def _report(permit_id: str, failure: BaseException | None, result: object = None) -> "Step[None]":
    """What became of a call. A tool may have done its work before it failed: only `NothingHappened` says otherwise."""
    if failure is None:
        yield "report_effect", {"permit_id": permit_id, "effect": Effect.DONE.value, "result_hash": hash_of(result)}
        return
    effect = Effect.FAILED if isinstance(failure, NothingHappened) else Effect.UNKNOWN
    detail = f"{type(failure).__name__}: {failure}"[:_LONGEST_DETAIL]
    yield "report_effect", {"permit_id": permit_id, "effect": effect.value, "detail": detail}


def _as_returned(result: object) -> tuple[BaseException | None, object]:
    return None, result


def _standing(gated: Any) -> Standing:  # noqa: ANN401 - the node's answer
    return Standing(
        bundle_hash=str(gated.bundle_hash),
        decision=str(gated.decision.value),
        reason=str(gated.outcome.reason),
        tickets=tuple(str(ticket.ticket_id) for ticket in gated.tickets),
        has_waited=gated.decision in _WAITS or gated.position > 1,
    )


def _filled(title: str, template: str, arguments: dict[str, Any]) -> str:
    try:
        return template.format_map(arguments)
    except (LookupError, ValueError, AttributeError) as error:
        raise GuardError(f"expected `says` of `{title}` to name its arguments in braces, got `{template}`") from error


def _not_run(error: Exception, plan: Plan, bundle_hash: str) -> Exception:
    """What a refusal of the node means for the call; any other failure stays what it is."""
    code = str(getattr(error, "code", ""))
    if not code.startswith("permit."):
        return error
    return NotRun(f"`{plan.call.tool}` is not run: {error}", bundle_hash=bundle_hash, reason=code)


def hash_of(result: object) -> Digest | None:
    """The hash of a result that is JSON; None where it is not, and then the report says that it is done, no more."""
    try:
        return digest_of(canonicalize(msgspec.to_builtins(result)))
    except (CanonicalError, TypeError, ValueError, NotImplementedError):
        return None
