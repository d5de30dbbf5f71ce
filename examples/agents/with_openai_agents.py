"""OpenAI Agents SDK: an agent whose run stops while people decide, and goes on from its state in a file.

pip install "assay[openai-agents]"
ASSAY_CREDENTIAL=key python examples/agents/with_openai_agents.py URL FOLDER RUN
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, RunState, Usage, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from records import AGENT, SAYS, TIERS, connect, delete_record, ended

import assay

__all__ = ["main"]


class Scripted(Model):
    """A model that asks for the deletion, and says what the tool answered."""

    async def get_response(self, *_args: Any, **given: Any) -> ModelResponse:
        answers = [item["output"] for item in given["input"] if isinstance(item, dict) and "output" in item]
        if answers:
            text = ResponseOutputText(type="output_text", text=str(answers[-1]), annotations=[])
            said: Any = ResponseOutputMessage(
                type="message", id="m", role="assistant", status="completed", content=[text]
            )
        else:
            arguments = '{"name": "guests.txt"}'
            said = ResponseFunctionToolCall(
                type="function_call", call_id="call-1", name="delete_record", arguments=arguments
            )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_args: Any, **_kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


async def work() -> int:
    client, folder, run = connect()
    guard = assay.guard(client, agent=AGENT, run=run, tiers=TIERS, says=SAYS)

    @assay.openai_tool(guard, name_override="delete_record")
    def tool(name: str) -> str:
        """Delete a record."""
        return delete_record(folder, name)

    agent = Agent("cleaner", model=Scripted(), tools=[tool])
    file = folder / f"{run}.state.json"
    if file.exists():
        state = await RunState.from_string(agent, file.read_text())
        if waiting := await assay.settle_interruptions(guard, state):
            return ended("", [ticket for standing in waiting for ticket in standing.tickets])
        result = await Runner.run(agent, state)
    else:
        result = await Runner.run(agent, "delete the guests")
    if result.interruptions:
        state = result.to_state()
        file.write_text(state.to_string())
        waiting = await assay.settle_interruptions(guard, state)
        return ended("", [ticket for standing in waiting for ticket in standing.tickets])
    return ended(str(result.final_output))


def main() -> int:
    set_tracing_disabled(disabled=True)
    return asyncio.run(work())


if __name__ == "__main__":
    sys.exit(main())
