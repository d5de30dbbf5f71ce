"""The adapters with the real frameworks: no arguments run that were not gated; refusals and failures are told."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, Runner, Usage, UserError, function_tool, set_tracing_disabled
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import DeferredToolRequests, DeferredToolResults, ToolApproved
from pydantic_ai.messages import ModelResponse as PydanticResponse
from pydantic_ai.messages import TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.toolsets import FunctionToolset

import assay
from tests.surfaces.guarded_house import House

_TIERS = {"delete": "DELETE", "count": "MODIFY"}


@pytest.fixture(autouse=True)
def _traces_stay_here() -> None:
    """The framework would start a thread that sends them to its maker, and goes on in later tests."""
    set_tracing_disabled(disabled=True)


class _Chat(FakeMessagesListChatModel):  # type: ignore[misc] # the framework is not read by the type checker
    def bind_tools(self, _tools: object, **_kwargs: object) -> "_Chat":
        return self


class _Tool:
    """A tool that notes what it ran with."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.ran: list[str] = []
        self._fails = fails

    def delete(self, name: str) -> str:
        """Delete a thing."""
        self.ran.append(name)
        if self._fails is not None:
            raise self._fails
        return f"deleted {name}"

    def count(self, name: str) -> str:
        """Count a thing."""
        return self.delete(name)


def _graph(house: House, tool: Callable[..., Any], *calls: dict[str, Any], extra: tuple[Any, ...] = ()) -> Any:  # noqa: ANN401 - a graph
    said = [AIMessage("", tool_calls=[{**call, "id": f"call-{number}"}]) for number, call in enumerate(calls)]
    guard = house.guard("unused", tiers=_TIERS)
    return create_agent(
        _Chat(responses=[*said, AIMessage("that is all")]),
        tools=[tool],
        middleware=[assay.GuardMiddleware(guard), *extra],
        checkpointer=InMemorySaver(),
    )


def _thread(name: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


_ASK = {"messages": [("human", "go")]}
_DELETE = {"name": "delete", "args": {"name": "guests"}}


def test_langgraph_gates_an_edit_of_a_reviewer_anew(house: House) -> None:
    tool, config = _Tool(), _thread("edited")
    graph = _graph(house, tool.delete, _DELETE)
    guard = house.guard("unused")
    (first,) = graph.invoke(_ASK, config)["__interrupt__"]
    assert first.value["arguments"] == {"name": "guests"}
    (second,) = graph.invoke(Command(resume={"arguments": {"name": "rooms"}}), config)["__interrupt__"]
    assert second.value["arguments"] == {"name": "rooms"}
    assert second.value["tickets"] != first.value["tickets"]
    with pytest.raises(AssertionError, match=r"claims\.superseded"):
        house.approve(first.value["tickets"][0])
    assert assay.resume_langgraph(guard, graph, config) is None
    house.approve(second.value["tickets"][0])
    done = assay.resume_langgraph(guard, graph, config)
    assert (tool.ran, done["messages"][-2].content) == (["rooms"], "deleted rooms")


def test_langgraph_goes_on_after_an_event_of_the_node(house: House) -> None:
    tool, config = _Tool(), _thread("event")
    graph = _graph(house, tool.delete, _DELETE)
    (paused,) = graph.invoke(_ASK, config)["__interrupt__"]
    house.approve(paused.value["tickets"][0])
    with assay.Client(house.served.url, key=house.operator) as operator:
        decided = (event.subject for event in operator.events(after=0, types=["claims.decided"]))
        assert any(subject == paused.value["bundle_hash"] for subject in decided)
    assay.resume_langgraph(house.guard("unused"), graph, config)
    assert tool.ran == ["guests"]


def test_langgraph_tells_the_model_of_a_refusal_and_of_a_call_that_ran(house: House) -> None:
    tool, config = _Tool(), _thread("refused")
    counting = {"name": "count", "args": {"name": "guests"}}
    graph = _graph(house, tool.count, counting, counting)
    messages = graph.invoke(_ASK, config)["messages"]
    (first, second) = (one.content for one in messages if one.type == "tool")
    assert first == "deleted guests"
    assert "[guard.not_run]" in second
    assert tool.ran == ["guests"]
    graph = _graph(house, tool.delete, _DELETE)
    (paused,) = graph.invoke(_ASK, config := _thread("rejected"))["__interrupt__"]
    house.approve(paused.value["tickets"][0], "reject")
    messages = assay.resume_langgraph(house.guard("unused"), graph, config)["messages"]
    assert "[guard.refused]" in messages[-2].content
    assert tool.ran == ["guests"]


class _Changes(AgentMiddleware):  # type: ignore[misc] # the framework is not read by the type checker
    """Between guard and tool: asks for something else."""

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - the framework's types
        return handler(request.override(tool_call={**request.tool_call, "args": {"name": "everything"}}))


class _Repeats(AgentMiddleware):  # type: ignore[misc] # the framework is not read by the type checker
    """Between guard and tool: calls twice."""

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - the framework's types
        handler(request)
        return handler(request)


def test_langgraph_runs_no_arguments_that_were_changed_after_the_claim(house: House) -> None:
    tool = _Tool()
    call = {"name": "count", "args": {"name": "guests"}}
    with pytest.raises(assay.NothingHappened):
        _graph(house, tool.count, call, extra=(_Changes(),)).invoke(_ASK, _thread("changed"))
    assert tool.ran == []
    with pytest.raises(assay.Error, match="ran under its permit"):
        _graph(house, tool.count, call, extra=(_Repeats(),)).invoke(_ASK, _thread("repeated"))
    assert tool.ran == ["guests"]


def test_langgraph_reports_a_failing_tool_as_unknown_and_asks_nobody_about_wrong_arguments(house: House) -> None:
    tool, call = _Tool(OSError("line cut")), {"name": "count", "args": {"name": "lost"}}
    with pytest.raises(OSError, match="line cut"):
        _graph(house, tool.count, call).invoke(_ASK, _thread("failing"))
    newest = next(iter(house.client.permits(agent="ai:cleaner", limit=1)))
    assert (newest.state, newest.detail) == ("unknown", "OSError: line cut")
    before = len(list(house.client.claims()))
    wrong = {"name": "delete", "args": {"called": "guests"}}
    messages = _graph(house, tool.delete, wrong).invoke(_ASK, _thread("wrong"))["messages"]
    assert messages[-2].status == "error"
    assert len(list(house.client.claims())) == before


def test_langgraph_works_on_a_loop(house: House) -> None:
    tool = _Tool()

    async def count(name: str) -> str:
        """Count a thing."""
        return tool.delete(name)

    call = {"name": "count", "args": {"name": "guests"}}
    done = asyncio.run(_graph(house, count, call).ainvoke(_ASK, _thread("async")))
    assert (done["messages"][-2].content, tool.ran) == ("deleted guests", ["guests"])


class _Model(Model):  # type: ignore[misc] # the framework is not read by the type checker
    """A model that says what it is told to, in order."""

    def __init__(self, *said: Any) -> None:  # noqa: ANN401 - calls or texts
        self._said = list(said)

    async def get_response(self, *_args: object, **_kwargs: object) -> Any:  # noqa: ANN401 - the framework's types
        said = self._said.pop(0)
        if isinstance(said, str):
            text = ResponseOutputText(type="output_text", text=said, annotations=[])
            item: Any = ResponseOutputMessage(
                type="message", id="m", role="assistant", status="completed", content=[text]
            )
        else:
            item = ResponseFunctionToolCall(
                type="function_call",
                call_id=f"call-{len(self._said)}",
                name=said["name"],
                arguments=json.dumps(said["args"]),
            )
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *_args: object, **_kwargs: object) -> Any:  # noqa: ANN401 - the framework's types
        raise NotImplementedError


def test_openai_agents_runs_nothing_on_an_approval_of_the_sdk_alone(house: House) -> None:
    tool, guard = _Tool(), house.guard("openai alone", tiers=_TIERS)
    agent = Agent("a", model=_Model(_DELETE, "done"), tools=[assay.openai_tool(guard)(tool.delete)])

    async def work() -> None:
        result = await Runner.run(agent, "go")
        state = result.to_state()
        (item,) = result.interruptions
        state.approve(item)
        with pytest.raises(UserError) as caught:
            await Runner.run(agent, state)
        assert isinstance(caught.value.__cause__, assay.Waiting)

    asyncio.run(work())
    assert tool.ran == []


def test_openai_agents_gates_an_edit_anew_and_tells_refusals(house: House) -> None:
    tool, guard = _Tool(), house.guard("openai edit", tiers=_TIERS)
    rooms = {"name": "delete", "args": {"name": "rooms"}}
    agent = Agent("a", model=_Model(_DELETE, rooms, "done"), tools=[assay.openai_tool(guard)(tool.delete)])

    async def work() -> None:
        state = (await Runner.run(agent, "go")).to_state()
        (waiting,) = await assay.settle_interruptions(guard, state)
        (item,) = state.get_interruptions()
        assert await assay.settle_interruptions(guard, state, edits={item.raw_item.call_id: {"name": "rooms"}}) == ()
        result = await Runner.run(agent, state)
        state = result.to_state()
        (edited,) = await assay.settle_interruptions(guard, state)
        assert edited.bundle_hash != waiting.bundle_hash
        await asyncio.to_thread(house.approve, edited.tickets[0])
        assert await assay.settle_interruptions(guard, state) == ()
        assert (await Runner.run(agent, state)).final_output == "done"

    asyncio.run(work())
    assert tool.ran == ["rooms"]


def test_openai_agents_rejects_what_people_refused_and_reports_failures(house: House) -> None:
    tool, guard = _Tool(), house.guard("openai refused", tiers=_TIERS)
    agent = Agent("a", model=_Model(_DELETE, "done"), tools=[assay.openai_tool(guard)(tool.delete)])

    async def work() -> None:
        state = (await Runner.run(agent, "go")).to_state()
        (waiting,) = await assay.settle_interruptions(guard, state)
        await asyncio.to_thread(house.approve, waiting.tickets[0], "reject")
        assert await assay.settle_interruptions(guard, state) == ()
        result = await Runner.run(agent, state)
        assert any("refused" in str(item.get("output")) for item in result.to_input_list())
        failing = _Tool(OSError("line cut"))
        call = {"name": "count", "args": {"name": "openai lost"}}
        made = assay.openai_tool(guard)(failing.count)
        await Runner.run(Agent("a", model=_Model(call, "done"), tools=[made]), "go")
        assert failing.ran == ["openai lost"]

    asyncio.run(work())
    assert tool.ran == []
    newest = next(iter(house.client.permits(agent="ai:cleaner", limit=1)))
    assert (newest.state, newest.detail) == ("unknown", "OSError: line cut")


def test_openai_agents_guardrail_rejects_what_is_not_published(house: House) -> None:
    tool, guard = _Tool(), house.guard("openai guardrail", tiers=_TIERS)
    rail = assay.openai_guardrail(guard)
    tools = [function_tool(made, tool_input_guardrails=[rail]) for made in (tool.delete, tool.count)]
    count = {"name": "count", "args": {"name": "guests"}}
    agent = Agent("a", model=_Model(_DELETE, count, "done"), tools=tools)
    result = asyncio.run(Runner.run(agent, "go"))
    outputs = [str(item.output) for item in result.new_items if item.type == "tool_call_output_item"]
    assert outputs[0].startswith("not run, ESCALATE")
    assert (outputs[1], tool.ran) == ("deleted guests", ["guests"])


def _pydantic(house: House, run: str, tool: _Tool, *said: Any) -> tuple[assay.Guard, Any]:  # noqa: ANN401 - an agent
    guard = house.guard(run, tiers=_TIERS)
    left = list(said)

    def model(_messages: object, _info: object) -> Any:  # noqa: ANN401 - the framework's types
        one = left.pop(0)
        part = TextPart(one) if isinstance(one, str) else ToolCallPart(one["name"], one["args"], tool_call_id="c1")
        return PydanticResponse([part])

    tools = assay.guarded_toolset(guard, FunctionToolset([tool.delete, tool.count]))
    return guard, PydanticAgent(FunctionModel(model), toolsets=[tools], output_type=[str, DeferredToolRequests])


def test_pydantic_ai_runs_nothing_on_an_approval_of_the_framework_alone_and_gates_edits_anew(house: House) -> None:
    tool = _Tool()
    guard, agent = _pydantic(house, "pydantic edit", tool, _DELETE, "done")

    async def work() -> None:
        first = await agent.run("go")
        assert await assay.deferred_results(guard, first.output) is None
        history = first.all_messages()
        alone = await agent.run(
            message_history=history, deferred_tool_results=first.output.build_results(approve_all=True)
        )
        assert isinstance(alone.output, DeferredToolRequests)
        edit = DeferredToolResults(approvals={"c1": ToolApproved(override_args={"name": "all"})})
        changed = await agent.run(message_history=history, deferred_tool_results=edit)
        assert isinstance(changed.output, DeferredToolRequests)
        assert tool.ran == []
        edits = await assay.deferred_results(guard, first.output, edits={"c1": {"name": "rooms"}})
        again = await agent.run(message_history=history, deferred_tool_results=edits)
        assert again.output.metadata["c1"]["arguments"] == {"name": "rooms"}
        await asyncio.to_thread(house.approve, again.output.metadata["c1"]["tickets"][0])
        results = await assay.deferred_results(guard, again.output)
        done = await agent.run(message_history=again.all_messages(), deferred_tool_results=results)
        assert done.output == "done"

    asyncio.run(work())
    assert tool.ran == ["rooms"]


def test_pydantic_ai_tells_refusals_and_reports_failures(house: House) -> None:
    tool = _Tool()
    guard, agent = _pydantic(house, "pydantic refused", tool, _DELETE, "done")

    async def work() -> None:
        first = await agent.run("go")
        await asyncio.to_thread(house.approve, first.output.metadata["c1"]["tickets"][0], "reject")
        results = await assay.deferred_results(guard, first.output)
        done = await agent.run(message_history=first.all_messages(), deferred_tool_results=results)
        assert (done.output, tool.ran) == ("done", [])
        failing = _Tool(OSError("line cut"))
        _, other = _pydantic(house, "pydantic fails", failing, {"name": "count", "args": {"name": "x"}}, "done")
        with pytest.raises(OSError, match="line cut"):
            await other.run("go")

    asyncio.run(work())
    newest = next(iter(house.client.permits(agent="ai:cleaner", limit=1)))
    assert (newest.state, newest.detail) == ("unknown", "OSError: line cut")


def test_tools_without_a_tier_are_refused(house: House) -> None:
    guard = house.guard("no tier")
    with pytest.raises(assay.Error, match="expected a tier for `delete`"):
        assay.openai_tool(guard)(_Tool().delete)
    with pytest.raises(assay.Error, match="one of READ_ONLY"):
        house.guard("other", tiers={"delete": "HUGE"}).tool()(_Tool().delete)
