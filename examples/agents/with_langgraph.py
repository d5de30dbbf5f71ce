"""LangGraph: an agent whose graph is interrupted while people decide, and goes on from its checkpoint.

pip install "assay[langgraph]" langgraph-checkpoint-sqlite
ASSAY_CREDENTIAL=key python examples/agents/with_langgraph.py URL FOLDER RUN
"""

import sys
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from records import AGENT, SAYS, TIERS, connect, delete_record, ended

import assay

__all__ = ["main"]


class Scripted(FakeMessagesListChatModel):
    """A model that answers by the length of the conversation, so that a restart hears the same."""

    def bind_tools(self, _tools: Sequence[Any], **_kwargs: Any) -> "Scripted":
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        self.i = 0 if messages[-1].type == "human" else 1
        return super()._generate(messages, stop, run_manager, **kwargs)


def model() -> Scripted:
    call = {"name": "delete_record", "args": {"name": "guests.txt"}, "id": "call-1"}
    return Scripted(responses=[AIMessage("", tool_calls=[call]), AIMessage("that is all")])


def main() -> int:
    client, folder, run = connect()
    guard = assay.guard(client, agent=AGENT, tiers=TIERS, says=SAYS)

    def tool(name: str) -> str:
        """Delete a record."""
        return delete_record(folder, name)

    tool.__name__ = "delete_record"
    config = {"configurable": {"thread_id": run}}
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as checkpoints:
        agent = create_agent(model(), tools=[tool], middleware=[assay.GuardMiddleware(guard)], checkpointer=checkpoints)
        state = agent.get_state(config)
        if not state.values:
            agent.invoke({"messages": [("human", "delete the guests")]}, config, durability="sync")
        elif state.next:
            assay.resume_langgraph(guard, agent, config)
        state = agent.get_state(config)
        if state.interrupts:
            return ended("", [ticket for paused in state.interrupts for ticket in paused.value["tickets"]])
        return ended(" | ".join(str(message.content) for message in state.values["messages"][-2:]))


if __name__ == "__main__":
    sys.exit(main())
