"""LangGraph and LangChain agents: a middleware that interrupts the graph while people decide.

tool call -> gate -> PUBLISH -> permit, claim -> the tool runs with exactly what was claimed -> report
             ESCALATE, DEFER -> interrupt({tickets, bundle_hash, ...}); Command(resume=...) goes on after the answer
             Command(resume={"arguments": {...}}) -> another call, gated in place of the first

The thread of the graph is the run: within it the same call runs at most once.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from assay.kernel.canonical import canonicalize
from assay.surfaces.agents import missing
from assay.surfaces.guard import Guard, GuardError, NothingHappened, NotRun, Plan, Refused, Standing

try:
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.messages import ToolMessage
    from langgraph.types import Command, interrupt
    from pydantic import BaseModel, ValidationError
except ImportError as error:
    raise missing("langgraph", "langgraph") from error

EDITED = "arguments"


class GuardMiddleware(AgentMiddleware):  # type: ignore[misc] # the framework is not read by the type checker
    """Guards every tool call of an agent; of several middlewares it is best the last, next to the tool.

    Refusals, and calls that ran before, are told to the model as the tool's answer.
    """

    def __init__(self, guard: Guard) -> None:
        super().__init__()
        self._guard = guard

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - the framework's types
        guard, ask = self._guard, self._guard.ask
        invalid = _invalid(request)
        if invalid is not None:
            return invalid
        plan, standing = self._plan(request), None
        replaces: str | None = None
        try:
            while True:
                standing = ask(guard.gated(plan, replaces=replaces))
                edited = _interrupted(plan, standing)
                if edited is None:
                    break
                plan, replaces = self._plan(request, edited), standing.bundle_hash
            permit_id = ask(guard.claimed(plan, standing))
        except (Refused, NotRun) as error:
            return _told(request, error)
        once = _Once(request.tool, plan)
        return guard.run_claimed(permit_id, lambda: handler(_approved(request, plan, once)), once.read)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:  # noqa: ANN401 - as above
        guard, ask = self._guard, self._guard.ask_async
        invalid = _invalid(request)
        if invalid is not None:
            return invalid
        plan, standing = self._plan(request), None
        replaces: str | None = None
        try:
            while True:
                standing = await ask(guard.gated(plan, replaces=replaces))
                edited = _interrupted(plan, standing)
                if edited is None:
                    break
                plan, replaces = self._plan(request, edited), standing.bundle_hash
            permit_id = await ask(guard.claimed(plan, standing))
        except (Refused, NotRun) as error:
            return _told(request, error)
        once = _Once(request.tool, plan)
        return await guard.run_claimed_async(permit_id, lambda: handler(_approved(request, plan, once)), once.read)

    def _plan(self, request: Any, arguments: dict[str, Any] | None = None) -> Plan:  # noqa: ANN401 - as above
        call = request.tool_call
        config = getattr(request.runtime, "config", None) or {}
        thread = config.get("configurable", {}).get("thread_id")
        return self._guard.plan(
            call["name"], call["args"] if arguments is None else arguments, run=None if thread is None else str(thread)
        )


class _Once:
    """The tool of one claimed call: it runs once, with the arguments that were claimed, hashed again here."""

    def __init__(self, tool: Any, plan: Plan) -> None:  # noqa: ANN401 - as above
        self._tool = tool
        self._plan = plan
        self._ran = False
        self._failure: BaseException | None = None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the tool
        return getattr(self._tool, name)

    def invoke(self, call: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: ANN401 - as the tool
        self._begin(call)
        try:
            return self._tool.invoke(call, config, **kwargs)
        except BaseException as error:
            self._failure = error
            raise

    async def ainvoke(self, call: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: ANN401 - as the tool
        self._begin(call)
        try:
            return await self._tool.ainvoke(call, config, **kwargs)
        except BaseException as error:
            self._failure = error
            raise

    def _begin(self, call: Any) -> None:  # noqa: ANN401 - as the tool
        title, approved = self._plan.call.tool, self._plan.call.arguments
        if self._ran:
            raise GuardError(f"`{title}` ran under its permit: expected one run, got another")
        visible = {name: value for name, value in call["args"].items() if name in approved or name in self._tool.args}
        try:
            is_same = canonicalize(visible) == canonicalize(approved)
        except (TypeError, ValueError):
            is_same = False
        if not is_same or call["name"] != title:
            self._failure = NothingHappened("expected the call that was approved, got another")
            raise self._failure
        self._ran = True

    def read(self, result: Any) -> tuple[BaseException | None, object]:  # noqa: ANN401 - as the tool
        """The failure that the framework made a message of, and the content."""
        if self._failure is not None:
            return self._failure, None
        if not self._ran:
            return GuardError("another middleware answered in the tool's place"), None
        if getattr(result, "status", None) == "error":
            return GuardError("the tool answered with an error"), None
        return None, getattr(result, "content", None)


def _interrupted(plan: Plan, standing: Standing) -> dict[str, Any] | None:
    """Pause while the call waits; return other arguments where the one who resumes gives some.

    Also called when the answer is known: the graph takes its interrupts in the same order each time.
    """
    while standing.has_waited:
        answer = interrupt(_asked(plan, standing))
        edited = answer.get(EDITED) if isinstance(answer, dict) else None
        if isinstance(edited, dict):
            return edited
        if not standing.is_waiting and not standing.is_superseded:
            return None
    return None


def _asked(plan: Plan, standing: Standing) -> dict[str, Any]:
    return {
        "assay": standing.decision,
        "tool": plan.call.tool,
        EDITED: plan.call.arguments,
        "statement": plan.statement,
        "reason": standing.reason,
        "bundle_hash": standing.bundle_hash,
        "tickets": list(standing.tickets),
    }


def _invalid(request: Any) -> Any:  # noqa: ANN401 - as above
    """A message for arguments that the tool does not take: nobody is asked to approve them."""
    call, tool = request.tool_call, request.tool
    if tool is None:
        return ToolMessage(f"there is no tool `{call['name']}`", tool_call_id=call["id"], status="error")
    schema = tool.tool_call_schema
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        try:
            schema.model_validate(call["args"])
        except ValidationError as error:
            return ToolMessage(str(error), name=call["name"], tool_call_id=call["id"], status="error")
    return None


def _approved(request: Any, plan: Plan, once: _Once) -> Any:  # noqa: ANN401 - as above
    return request.override(tool_call={**request.tool_call, "args": dict(plan.call.arguments)}, tool=once)


def _told(request: Any, error: Refused | NotRun) -> Any:  # noqa: ANN401 - as above
    call = request.tool_call
    return ToolMessage(f"{error} [{error.code}]", name=call["name"], tool_call_id=call["id"], status="error")


def resume_langgraph(
    guard: Guard,
    graph: Any,  # noqa: ANN401 - as above
    config: Any,  # noqa: ANN401 - as above
    edits: Mapping[str, dict[str, Any]] | None = None,
) -> Any:  # noqa: ANN401 - as above
    """Go on with a paused graph once the node has decided: after an event of the node, or asked from time to time.

    While every call waits, nothing is run and None is returned. `edits` gives other arguments by bundle hash: they are
    gated anew. The guard's client must be one that blocks.
    """
    given, resume = edits or {}, dict[str, object]()
    paused = graph.get_state(config).interrupts
    for one in paused:
        bundle_hash = str(one.value.get("bundle_hash", "")) if isinstance(one.value, dict) else ""
        if bundle_hash in given:
            resume[one.id] = {EDITED: given[bundle_hash]}
        elif bundle_hash and not guard.ask(guard.standing(bundle_hash)).is_waiting:
            resume[one.id] = True
    if paused and not resume:
        return None
    return graph.invoke(Command(resume=resume) if resume else None, config)
