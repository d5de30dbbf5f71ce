"""Dispatch: the one place that checks permissions, limits rates, applies idempotency keys and counts.

caller + operation -> permit: tenant, active, scope, role, tier, session -> limit: requests per principal
request + key      -> perform: the kept answer of the same key, else the flow, whose first commit notes the key
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import msgspec

from assay.flows.answer_once import KeyedRequest, Reply, RequestsInHand, answer_once
from assay.flows.identity.authenticate import refusal_of
from assay.flows.request import SECRET_FORMS, Done, FieldProblem, FieldsError
from assay.flows.tools import Tools
from assay.flows.traced_database import TracedDatabase
from assay.identity.access import Requirement, check_access, find_unmet
from assay.identity.caller import Caller
from assay.kernel.digest import digest_of
from assay.kernel.errors import Blame, Error
from assay.operations.kinds import Operation, Place
from assay.operations.problem import PROBLEM_TYPE, ProblemDetails, problem_of
from assay.operations.rate import RateLimit

_ENCODER = msgspec.json.Encoder(decimal_format="number")
_OK = "ok"
_JSON = "application/json"
_KEY = re.compile(r"[!-~]{1,255}")
# (operation, outcome code, seconds)
Count = Callable[[str, str, float], None]
# The operation, who asked and what was returned, for figures of a room's own.
Notice = Callable[[Operation, Caller, object], None]
# A permitted caller, their request, and the idempotency key that they sent.
Job = tuple[Caller, Any, str | None]


class KeptRefusalError(Error):
    """The same request was refused before under this idempotency key; the refusal, with its code, is repeated."""

    code = "request.refused_before"
    blame = Blame.ANSWER

    def __init__(self, problem: ProblemDetails) -> None:
        super().__init__(problem.detail)
        self.code = problem.code  # the code of the refusal that is repeated
        self.problem = problem
        self.problems = problem.errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an operation returned. `is_kept` where the answer of an earlier request with the same key is repeated."""

    value: Any
    is_new: bool = True
    is_kept: bool = False
    headers: dict[str, str] = field(default_factory=dict)


def _count_nothing(_operation: str, _code: str, _seconds: float) -> None:
    """For a node that publishes no metrics."""


def _notice_nothing(_operation: Operation, _caller: Caller, _value: object) -> None:
    """As above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatcher:
    """Performs operations on one open node; safe for threads."""

    tools: Tools
    rate: RateLimit | None = None
    count: Count = _count_nothing
    notice: Notice = _notice_nothing
    in_hand: RequestsInHand = field(default_factory=RequestsInHand)

    def requirements(self, operation: Operation, caller: Caller) -> tuple[Requirement, ...]:
        """Every requirement of the operation for this caller, met or not: what `why` shows and `permit` enforces."""
        if operation.is_open:
            return ()
        standing = caller.standing(self.tools.tier_left(caller.principal))
        return check_access(operation.needs, standing, tenant_id=caller.tenant_id, at=caller.at)

    def may(self, operation: Operation, caller: Caller) -> bool:
        """Whether `permit` would permit the caller now."""
        return find_unmet(self.requirements(operation, caller)) is None

    def permit(self, operation: Operation, caller: Caller) -> Caller:
        """Refuse a caller without permission; return the caller bound to what was required, for `confirm`."""
        unmet = find_unmet(self.requirements(operation, caller))
        if unmet is not None:
            raise refusal_of(unmet)
        return msgspec.structs.replace(caller, needs=operation.needs)

    def limit(self, caller: Caller) -> str | None:
        """Count a request against the caller's rate and return the `RateLimit` header; refuse past the limit."""
        if self.rate is None or caller.is_local:
            return None
        return self.rate.take((caller.tenant_id, caller.principal.id))

    def __call__(self, operation: Operation, caller: Caller, request: Any, *, key: str | None = None) -> Outcome:  # noqa: ANN401
        """Permit, limit and perform: what doors without an event loop call."""
        permitted = self.permit(operation, caller)
        self.limit(permitted)
        return self.perform(operation, permitted, request, key=key)

    def perform(self, operation: Operation, caller: Caller, request: Any, *, key: str | None = None) -> Outcome:  # noqa: ANN401
        """Do what a permitted caller asks for, once under a key."""
        started = perf_counter()
        code = _OK
        if key is not None and operation.key_field is not None:
            request = msgspec.structs.replace(request, **{operation.key_field: key})
        try:
            if key is None or not operation.writes:
                outcome = outcome_of(operation.flow(self.tools_for(operation, caller), caller, request))
            elif operation.many is not None and operation.shares.keys:
                outcome = self._alone(operation, (caller, request, key))
            else:
                outcome = self._once(operation, caller, request, key)
        except Error as error:
            code = error.code
            raise
        except BaseException:
            code = "http.internal"
            raise
        finally:
            self.count(operation.name, code, perf_counter() - started)
        if operation.writes and not outcome.is_kept:
            self.notice(operation, caller, outcome.value)
        return outcome

    def tools_for(self, operation: Operation, caller: Caller) -> Tools:
        """The tools of one request: every entry that a change writes with them carries the caller's trace id."""
        if caller.trace is None or not operation.writes:
            return self.tools
        return replace(self.tools, database=TracedDatabase(self.tools.database, caller.trace))

    def keyed(self, operation: Operation, caller: Caller, request: Any, key: str) -> KeyedRequest:  # noqa: ANN401
        """The same operation with the same request is the same request, through whichever door it comes."""
        if not _KEY.fullmatch(key):
            message = f"expected 1 to 255 visible ASCII characters, got `{ascii(key)[1:-1][:80]}`"
            raise FieldsError([FieldProblem(field="idempotency_key", message=message)])
        return KeyedRequest(
            tenant_id=caller.tenant_id,
            principal_id=caller.principal.id,
            request_key=key,
            fingerprint=digest_of(_asked(operation, caller, request)),
            is_repeatable=operation.may_repeat,
        )

    def _once(self, operation: Operation, caller: Caller, request: Any, key: str) -> Outcome:  # noqa: ANN401
        done: list[Outcome] = []
        tools = self.tools_for(operation, caller)

        def work(marked: Tools) -> Reply:
            # What finds its own effect again needs no note of the key in the commit, which others may share.
            result = operation.flow(tools if operation.may_repeat else marked, caller, request)
            done.append(outcome_of(result))
            return reply_of(result)

        keyed = self.keyed(operation, caller, request, key)
        reply = answer_once(tools, keyed, work, refused=refused_reply, in_hand=self.in_hand, at=caller.at)
        return done[-1] if not reply.is_kept else read_reply(operation, reply)

    def together(self, operation: Operation, jobs: Sequence[Job]) -> Sequence[Outcome | Error]:
        """Perform permitted requests that wait at the same time as one piece of work: one commit for all of them.

        The flow notes the key of each in that commit, and gives entries the trace id of their caller; see
        `Operation.many`.
        """
        started = perf_counter()
        answers = self._attempt_together(operation, jobs)
        seconds = (perf_counter() - started) / max(1, len(jobs))
        for answer in answers:
            self.count(operation.name, answer.code if isinstance(answer, Error) else _OK, seconds)
        return answers

    def _attempt_together(self, operation: Operation, jobs: Sequence[Job]) -> list[Outcome | Error]:
        assert operation.many is not None  # noqa: S101 - only doors of such operations gather
        keyed = [None if key is None else self.keyed(operation, who, asked, key) for who, asked, key in jobs]
        with _all_taken(self.in_hand, keyed):
            answers = operation.many(self.tools, [(who, asked) for who, asked, _ in jobs], keyed)
        return [self._answered(operation, answer) for answer in answers]

    def _alone(self, operation: Operation, job: Job) -> Outcome:
        """One keyed request of an operation whose `many` notes the key in its own commit."""
        [answer] = self._attempt_together(operation, [job])
        if isinstance(answer, Error):
            raise answer
        return answer

    def _answered(self, operation: Operation, answer: object) -> Outcome | Error:
        if isinstance(answer, Error):
            return answer
        if not isinstance(answer, Reply):
            return outcome_of(answer)
        try:
            return read_reply(operation, answer)
        except Error as error:
            return error


def _asked(operation: Operation, caller: Caller, request: Any) -> bytes:  # noqa: ANN401 - a request of the operation
    """What a key stands for. A hash of a password would be as good as the password to whoever guesses."""
    told: dict[str, object] = {field.info.name: "" for field in operation.fields if field.option.form in SECRET_FORMS}
    if operation.document is not None and operation.document.media_type == _JSON:
        name = next(field.info.name for field in operation.fields if field.place is Place.DOCUMENT)
        told[name] = _same_document(getattr(request, name))
    asked = operation.name.encode() + b"\n"
    asked += msgspec.json.encode(msgspec.structs.replace(request, **told) if told else request)
    return asked + b"\nfloor %d" % caller.principal.authenticity_level_floor if operation.by_floor else asked


def _same_document(content: bytes) -> bytes:
    """A document as every door spells it: a tool takes an object, where other doors take its text."""
    try:
        return msgspec.json.encode(msgspec.json.decode(content), order="sorted")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        # The flow refuses such a document with its own code.
        return content


@contextmanager
def _all_taken(in_hand: RequestsInHand, keyed: Sequence[KeyedRequest | None]) -> Iterator[None]:
    """Hold the key of every request; a key that is in hand already, here or elsewhere, refuses all of them.

    Who gathers requests performs each alone then, so that only the second of two twins is refused.
    """
    with ExitStack() as stack:
        for request in keyed:
            if request is not None:
                stack.enter_context(in_hand.take(request))
        yield


def outcome_of(result: object) -> Outcome:
    """A flow's result with what `Done` adds to it."""
    if not isinstance(result, Done):
        return Outcome(value=result)
    headers = dict(result.headers)
    if result.receipt is not None:
        headers |= {
            "assay-sequence-number": str(result.receipt.sequence_number),
            "assay-entry-hash": str(result.receipt.entry_hash),
        }
    return Outcome(value=result.value, is_new=result.is_new, headers=headers)


def reply_of(result: object) -> Reply:
    """What is kept under an idempotency key: the result as JSON, without a secret that is shown once."""
    outcome = outcome_of(result)
    kept = None if not isinstance(result, Done) or result.kept is None else _ENCODER.encode(result.kept)
    status = 201 if outcome.is_new else 200
    return Reply(status=status, body=_ENCODER.encode(outcome.value), kept=kept, headers=outcome.headers)


def refused_reply(error: Error) -> Reply:
    problem = problem_of(error)
    return Reply(status=problem.status, body=_ENCODER.encode(problem), headers={"content-type": PROBLEM_TYPE})


def read_reply(operation: Operation, reply: Reply) -> Outcome:
    """The outcome that was kept; a kept refusal is raised again."""
    if reply.headers.get("content-type") == PROBLEM_TYPE:
        raise KeptRefusalError(msgspec.json.decode(reply.body, type=ProblemDetails))
    value = msgspec.json.decode(reply.body, type=operation.gives)
    return Outcome(value=value, is_new=reply.status == 201, is_kept=True, headers=reply.headers)  # noqa: PLR2004
