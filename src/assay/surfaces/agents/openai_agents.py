"""OpenAI Agents SDK: function tools that need approval while the node says so.

tool call -> `needs_approval` gates it -> PUBLISH -> permit, claim -> the function runs -> report
             ESCALATE, DEFER -> the run stops with an interruption; its state can be kept as JSON
`settle_interruptions` approves or rejects the interruptions as the node decided -> `Runner.run(agent, state)`

An approval in the SDK alone runs nothing: the permit is claimed with the arguments that are about to run.
"""

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from assay.surfaces.agents import FindRun, missing
from assay.surfaces.guard import Guard, GuardError, NotRun, Plan, Refused, Standing

try:
    from agents import ToolGuardrailFunctionOutput, ToolInputGuardrail, function_tool
except ImportError as error:
    raise missing("openai-agents", "openai-agents") from error


def openai_tool(guard: Guard, *, run: FindRun | None = None, **options: Any) -> Callable[[Callable[..., Any]], Any]:  # noqa: ANN401 - options of `function_tool`
    """Make a guarded function tool: `@openai_tool(guard)` in the place of `@function_tool`.

    `run` finds the piece of work in the context of the agents' run; otherwise it is the guard's.
    """

    def wrap(function: Callable[..., Any]) -> Any:  # noqa: ANN401 - the framework's types
        failures: ContextVar[list[BaseException]] = ContextVar("failures")
        made = function_tool(_noting(function, failures), **options)
        guard.require_tier(made.name)

        def plan(context: Any, arguments: dict[str, Any]) -> Plan:  # noqa: ANN401 - the framework's types
            return guard.plan(made.name, arguments, run=None if run is None else run(context))

        async def needs_approval(context: Any, arguments: dict[str, Any], _call_id: str) -> bool:  # noqa: ANN401 - as above
            standing = await guard.ask_async(guard.gated(plan(context, arguments)))
            return standing.is_waiting

        async def invoke(context: Any, text: str) -> Any:  # noqa: ANN401 - as above
            try:
                permit_id = await guard.ask_async(guard.permitted(plan(context, _parsed(made.name, text))))
            except (Refused, NotRun) as error:
                return f"{error} [{error.code}]"
            noted: list[BaseException] = []
            failures.set(noted)
            return await guard.run_claimed_async(
                permit_id,
                lambda: made.on_invoke_tool(context, text),
                lambda result: (noted[0] if noted else None, result),
            )

        return replace(made, on_invoke_tool=invoke, needs_approval=needs_approval)

    return wrap


def openai_guardrail(guard: Guard) -> Any:  # noqa: ANN401 - the framework's types
    """A tool input guardrail for function tools that somebody else made: what is not published is rejected.

    It asks the gates and claims nothing: a tool of your own is better guarded by `openai_tool`.
    """

    async def check(data: Any) -> Any:  # noqa: ANN401 - as above
        plan = guard.plan(data.context.tool_name, _parsed(data.context.tool_name, data.context.tool_arguments))
        standing = await guard.ask_async(guard.gated(plan))
        if standing.is_published:
            return ToolGuardrailFunctionOutput.allow(output_info=standing.bundle_hash)
        told = f"not run, {standing.decision}: {standing.reason}"
        return ToolGuardrailFunctionOutput.reject_content(told, output_info=list(standing.tickets))

    return ToolInputGuardrail(guardrail_function=check, name="assay")


async def settle_interruptions(
    guard: Guard,
    state: Any,  # noqa: ANN401 - the framework's types
    *,
    run: str | None = None,
    edits: Mapping[str, dict[str, Any]] | None = None,
) -> tuple[Standing, ...]:
    """Approve or reject each interruption of a run's state as the node decided; return those that still wait.

    `edits` gives other arguments by call id. They are gated in place of those that wait, and the model is told to call
    with them: the SDK runs what the model said.
    """
    waiting: list[Standing] = []
    for item in state.get_interruptions():
        name, raw = str(item.tool_name), item.raw_item
        plan = guard.plan(name, _parsed(name, str(raw.arguments)), run=run)
        standing = await guard.ask_async(guard.gated(plan))
        edited = (edits or {}).get(str(raw.call_id))
        if edited is not None:
            await guard.ask_async(guard.gated(guard.plan(name, edited, run=run), replaces=standing.bundle_hash))
            told = f"a reviewer asks for other arguments; call {name} with {json.dumps(edited)}"
            state.reject(item, rejection_message=told)
        elif standing.is_waiting:
            waiting.append(standing)
        elif standing.is_published:
            state.approve(item)
        else:
            state.reject(item, rejection_message=f"refused: {standing.reason}")
    return tuple(waiting)


def _noting(function: Callable[..., Any], failures: "ContextVar[list[BaseException]]") -> Callable[..., Any]:
    """The function, whose failure is noted before the SDK makes a text of it."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def noted_async(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the function
            try:
                return await function(*args, **kwargs)
            except BaseException as error:
                failures.get().append(error)
                raise

        return noted_async

    @functools.wraps(function)
    def noted(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the function
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            failures.get().append(error)
            raise

    return noted


def _parsed(name: str, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError as error:
        raise GuardError(f"expected the arguments of `{name}` as a JSON object, got other text") from error
    if not isinstance(found, dict):
        raise GuardError(f"expected the arguments of `{name}` as a JSON object, got {type(found).__name__}")
    return found
