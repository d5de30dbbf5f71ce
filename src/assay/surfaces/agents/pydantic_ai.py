"""Pydantic AI: a toolset whose calls are deferred while people decide.

tool call -> gate -> PUBLISH -> permit, claim -> the tool runs -> report
             ESCALATE, DEFER -> the run ends with `DeferredToolRequests`, whose metadata names the tickets
`pydantic_ai_answers` -> `DeferredToolResults` from what the node has on record -> the run goes on, in any process
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.surfaces.agents import missing
from assay.surfaces.guard import Guard, NothingHappened, NotRun, Refused, Waiting

try:
    from pydantic_ai import ApprovalRequired, ModelRetry
    from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
    from pydantic_ai.toolsets import WrapperToolset
    from pydantic_core import to_jsonable_python
except ImportError as error:
    raise missing("pydantic-ai", "pydantic-ai") from error

_ARGUMENTS = "arguments"


@dataclass
class GuardedToolset(WrapperToolset):  # type: ignore[misc] # the framework is not read by the type checker
    """Guards every call of the toolset that it wraps; each needs a tier in the guard's `tiers`.

    A call that waits is deferred; what a reviewer changed in it (`override_args`) is another call, gated anew.
    """

    guard: Guard = None  # type: ignore[assignment] # a field after one without a default cannot lack one

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:  # noqa: ANN401 - the framework's types
        guard, wrapped = self.guard, self.wrapped
        plan = guard.plan(name, to_jsonable_python(tool_args))
        try:
            permit_id = await guard.ask_async(guard.permitted(plan))
        except Waiting as waiting:
            told = {"bundle_hash": waiting.bundle_hash, "tickets": list(waiting.tickets), "reason": str(waiting)}
            raise ApprovalRequired(metadata={**told, _ARGUMENTS: plan.call.arguments}) from waiting
        except (Refused, NotRun) as error:
            return f"{error} [{error.code}]"
        try:
            return await guard.run_claimed_async(
                permit_id,
                lambda: wrapped.call_tool(name, tool_args, ctx, tool),
                lambda result: (None, to_jsonable_python(result, fallback=str)),
            )
        except NothingHappened as error:
            raise ModelRetry(str(error)) from error


def guarded_toolset(guard: Guard, toolset: Any) -> GuardedToolset:  # noqa: ANN401 - as above
    """Guard the tools of a toolset: `Agent(model, toolsets=[guarded_toolset(guard, FunctionToolset([...]))])`."""
    return GuardedToolset(toolset, guard=guard)


async def deferred_results(guard: Guard, requests: Any, edits: Mapping[str, dict[str, Any]] | None = None) -> Any:  # noqa: ANN401 - as above
    """Return `DeferredToolResults` from what the node decided, or None while a call still waits.

    `edits` gives other arguments by tool call id: they are put in the place of what waits, and gated anew.
    """
    assert isinstance(requests, DeferredToolRequests)  # noqa: S101 - the framework's own type
    approvals: dict[str, Any] = {}
    for part in requests.approvals:
        said = part.args_as_dict()
        waiting = requests.metadata.get(part.tool_call_id, {}).get(_ARGUMENTS, said)
        standing = await guard.ask_async(guard.gated(guard.plan(part.tool_name, waiting)))
        wanted = (edits or {}).get(part.tool_call_id, waiting)
        if wanted != waiting:
            plan = guard.plan(part.tool_name, wanted)
            standing = await guard.ask_async(guard.gated(plan, replaces=standing.bundle_hash))
        if standing.is_waiting and wanted == waiting:
            return None
        is_open = standing.is_waiting or standing.is_published
        approved = ToolApproved(override_args=None if wanted == said else wanted)
        approvals[part.tool_call_id] = approved if is_open else ToolDenied(standing.reason)
    return DeferredToolResults(approvals=approvals)
