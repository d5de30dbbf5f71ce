"""Pydantic AI: an agent whose tool calls are deferred while people decide; messages and requests are in a file.

pip install "assay[pydantic-ai]"
ASSAY_CREDENTIAL=key python examples/agents/with_pydantic_ai.py URL FOLDER RUN
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai import Agent, DeferredToolRequests, ModelMessagesTypeAdapter
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.toolsets import FunctionToolset
from records import AGENT, SAYS, TIERS, connect, delete_record, ended

import assay

__all__ = ["main"]

REQUESTS = TypeAdapter(DeferredToolRequests)


def scripted(messages: list[Any], _info: Any) -> ModelResponse:
    """Ask for the deletion, then say what the tool answered."""
    answers = [part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    if answers:
        return ModelResponse([TextPart(str(answers[-1]))])
    return ModelResponse([ToolCallPart("delete_record", {"name": "guests.txt"}, tool_call_id="call-1")])


async def work() -> int:
    client, folder, run = connect()
    guard = assay.guard(client, agent=AGENT, run=run, tiers=TIERS, says=SAYS)
    tools = FunctionToolset()
    tools.add_function(lambda name: delete_record(folder, name), name="delete_record")
    agent = Agent(
        FunctionModel(scripted), toolsets=[assay.guarded_toolset(guard, tools)], output_type=[str, DeferredToolRequests]
    )
    file = folder / f"{run}.messages.json"
    if file.exists():
        kept = json.loads(file.read_text())
        requests = REQUESTS.validate_python(kept["requests"])
        results = await assay.deferred_results(guard, requests)
        if results is None:
            return ended("", tickets(requests))
        history = ModelMessagesTypeAdapter.validate_python(kept["messages"])
        result = await agent.run(message_history=history, deferred_tool_results=results)
    else:
        result = await agent.run("delete the guests")
    if isinstance(result.output, DeferredToolRequests):
        store(file, result)
        return ended("", tickets(result.output))
    return ended(result.output)


def tickets(requests: DeferredToolRequests) -> list[str]:
    return [ticket for told in requests.metadata.values() for ticket in told["tickets"]]


def store(file: Path, result: Any) -> None:
    messages = json.loads(result.all_messages_json())
    file.write_text(json.dumps({"messages": messages, "requests": REQUESTS.dump_python(result.output, mode="json")}))


def main() -> int:
    return asyncio.run(work())


if __name__ == "__main__":
    sys.exit(main())
