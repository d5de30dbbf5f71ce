"""The same journeys awaited: nothing is lost among many tasks, and the event loop goes on meanwhile."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

import assay
from assay.flows.errors import NotFoundError
from assay.flows.verdicts.read_verdicts import Decided
from assay.kernel.ledger import Receipt
from assay.node import AsyncNode, Node
from assay.node.errors import NodeError
from tests.node._home import RULE, SLUG, Home, record, signal
from tests.raising import is_of, raises


def test_sixty_four_tasks_append_and_judge_and_nothing_is_lost(home: Home) -> None:
    """Every acknowledged write is in the ledger, each once, and the ledger verifies."""

    async def story() -> tuple[list[int], list[int]]:
        sensor = home.keys["sensor"]
        async with assay.open_async(home.folder) as node:
            notes = [node.append({"n": number}) for number in range(32)]
            records = [node.acting(sensor).evaluate(record(f"r-{number}", so2=number, nox=1)) for number in range(32)]
            receipts, decided = await asyncio.gather(asyncio.gather(*notes), asyncio.gather(*records))
            assert len({one.telemetry_id for one in decided}) == 32
            return (
                [one.sequence_number for one in receipts],
                [verdict.sequence_number for one in decided for verdict in one.verdicts],
            )

    noted, judged = asyncio.run(story())
    assert len({*noted, *judged}) == 32 + 64
    with assay.open(home.folder, read_only=True) as node:
        kinds = {one.sequence_number: one.kind for one in node.entries(first=1, limit=500)}
        assert {kinds[number] for number in noted} == {"note"}
        assert {kinds[number] for number in judged} == {"verdict", "verdict.held"}
        assert node.audit(full=True).holds


def test_the_loop_goes_on_while_an_answerer_thinks(home: Home) -> None:
    """The answerer waits for the loop: were the loop held up, neither could go on."""

    async def story(node: AsyncNode) -> object:
        loop, asked = asyncio.get_running_loop(), asyncio.Event()

        @node.answers(SLUG, rules=[RULE])
        def slow(_question: object) -> object:
            loop.call_soon_threadsafe(asked.set)
            return asyncio.run_coroutine_threadsafe(asyncio.sleep(0, "the loop was free"), loop).result(30)

        answering = asyncio.ensure_future(node.acting(home.keys["amira"]).ask(SLUG))
        await asyncio.wait_for(asked.wait(), 30)
        answer = await answering
        told = await node.acting(home.keys["sensor"]).outcome(signal("success", answer_id=answer.answer_id))
        assert told.is_new
        return answer.body.output

    async def opened() -> object:
        async with assay.open_async(home.folder) as node:
            return await story(node)

    assert asyncio.run(opened()) == "the loop was free"


def test_records_come_back_one_by_one_and_reading_may_stop_early(home: Home) -> None:
    async def story() -> list[bool]:
        lines = [msgspec.json.encode(record(f"s-{number}")) for number in range(3)]
        async with assay.open_async(home.folder, credential=home.keys["sensor"]) as node:
            found = [one.status == "recorded" async for one in node.evaluate_many(lines)]
            async for one in node.evaluate_many([msgspec.json.encode(record("s-9")), b"x"]):
                assert one.status == "recorded"
                break
            assert (await node.acting(None).verdicts_of("s-9")).telemetry_id == "s-9"
            return found

    assert asyncio.run(story()) == [True, True, True]


def test_what_is_refused_is_refused_by_the_same_error(home: Home) -> None:
    async def story() -> None:
        async with assay.open_async(home.folder) as node:
            with pytest.raises(NotFoundError):
                await node.verdicts_of("nobody")

    asyncio.run(story())


def test_a_closed_node_says_so_to_whoever_awaits_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with assay.open_async(tmp_path / "node", create=True) as node:
            receipt = await node.append({"n": 1})
            assert (await node.verify(await node.prove_entry(receipt.sequence_number))).holds
            await node.close()
            await node.close()
            with raises(NodeError.closed):
                await node.append({"n": 2})
            with raises(NodeError.closed):
                async for _ in node.entries():
                    pass

    asyncio.run(story())


def test_closing_in_the_middle_loses_nothing_that_was_acknowledged(home: Home) -> None:
    """Each task either has its receipt, and its entry is there, or is told that the node is closed."""

    async def story() -> list[object]:
        sensor = home.keys["sensor"]
        async with assay.open_async(home.folder) as node:
            # The judge is running, and a record is on its way when the node is closed.
            await node.acting(sensor).evaluate(record("c-0"))
            tasks: list[asyncio.Future[Any]] = []
            sent = [node.acting(sensor).evaluate(record(f"c-{number}")) for number in range(1, 9)]
            tasks += [asyncio.ensure_future(one) for one in sent]
            tasks += [asyncio.ensure_future(node.append({"n": number})) for number in range(24)]
            await asyncio.sleep(0)
            closing = asyncio.ensure_future(node.close())
            found = await asyncio.gather(*tasks, return_exceptions=True)
            await closing
            return list(found)

    found = asyncio.run(story())
    refused = [one for one in found if isinstance(one, BaseException)]
    assert all(is_of(one, NodeError.closed) for one in refused)
    with assay.open(home.folder, read_only=True) as auditor:
        numbers = {one.sequence_number for one in auditor.entries(first=1, limit=500)}
        assert {one.sequence_number for one in found if isinstance(one, Receipt)} <= numbers
        for one in found:
            if isinstance(one, Decided):
                assert auditor.verdicts_of(one.telemetry_id).verdicts == one.verdicts
        assert auditor.audit(full=True).holds


def test_every_journey_can_be_awaited(node: Node) -> None:
    """What a node can do, it can do on an event loop too."""
    left_out = {"aio", "config", "is_closed", "submit_note", "tools", "unmet_sovereignty", "acting", "perform_named"}
    left_out |= {"dispatcher", "judging_tools", "answering_tools", "estimator", "engines"}
    journeys = {name for name in dir(Node) if not name.startswith("_")} - left_out
    assert {name for name in journeys if not hasattr(node.aio, name)} == set()
