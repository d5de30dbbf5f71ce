"""Every entry that a request writes carries its trace id, alone or in a commit that requests share."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pytest
from msgspec import Meta
from msgspec.structs import replace as with_fields

from assay.flows.delivery.count_outcome import Reported
from assay.flows.delivery.report_outcome import report_signal
from assay.flows.request import Request
from assay.flows.tools import Tools
from assay.flows.traced_database import TracedDatabase, trace_of
from assay.flows.verdicts.intake import Submission
from assay.flows.verdicts.judge_records import judge_record, judge_records
from assay.flows.verdicts.read_verdicts import Decided
from assay.identity.caller import Caller, local_caller
from assay.kernel.entry import parse_entry
from assay.kernel.errors import Error
from assay.kernel.ledger import EntryKind, Receipt, draft_entry
from assay.kernel.trace import TraceId, new_trace
from assay.operations.dispatch import Dispatcher
from assay.operations.kinds import Change, needs
from assay.ports.database import Unit
from tests.acting import caller_of
from tests.flows._delivery import opened_delivery
from tests.flows._node import TENANT, new_node, opened
from tests.flows._together import together
from tests.flows._verdicts import opened_verdicts, rule

TRACE = TraceId("4bf92f3577b34da6a3ce929d0e0e4736")


class Remark(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(description="What to note.")]


def remark(tools: Tools, caller: Caller, request: Remark) -> Receipt:
    """Note a text three times: by a unit of work, by an append, and by a submitted draft."""
    draft = draft_entry(caller.tenant_id, EntryKind.NOTE, {"text": request.text}, at=caller.at)
    tools.database.write(lambda unit: unit.record(draft))
    tools.database.append(draft)
    return tools.database.submit(draft).result()


REMARK = Change("note.remark", remark, "POST /remarks", needs=needs("log:write", "operator"))


def traces_of(tools: Tools, first: int) -> list[TraceId | None]:
    def read(unit: Unit) -> list[TraceId | None]:
        rows = list(unit.ledger.entries(TENANT, first=first))
        for row in rows:
            assert row.trace_id == parse_entry(row.text).trace_id
        return [None if row.trace_id is None else TraceId(row.trace_id) for row in rows]

    return tools.database.read(read)


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Tools]:
    with opened(new_node(tmp_path)) as found:
        yield found


def _size(tools: Tools) -> int:
    return tools.database.read(lambda unit: unit.ledger.head(TENANT)).sequence_number


@pytest.mark.parametrize("key", [None, "once"])
def test_what_a_change_writes_carries_the_trace_of_its_caller(tools: Tools, key: str | None) -> None:
    caller = local_caller(TENANT, at=tools.clock.now(), trace=TRACE)
    before = _size(tools)
    Dispatcher(tools=tools)(REMARK, caller, Remark(text="hello"), key=key)
    assert traces_of(tools, before + 1) == [TRACE] * 3


def test_what_is_written_for_no_request_has_no_trace(tools: Tools) -> None:
    before = _size(tools)
    Dispatcher(tools=tools)(REMARK, local_caller(TENANT, at=tools.clock.now()), Remark(text="hello"))
    assert traces_of(tools, before + 1) == [None] * 3


def test_the_trace_ends_with_its_unit_of_work(tools: Tools) -> None:
    """Also where the work is refused: the writer's thread serves the next caller with the same stores."""
    traced = TracedDatabase(tools.database, TRACE)

    def refuse(_unit: Unit) -> None:
        raise Error("no")

    with pytest.raises(Error):
        traced.write(refuse)
    before = _size(tools)
    draft = draft_entry(TENANT, EntryKind.NOTE, {"n": 1}, at=tools.clock.now())
    tools.database.write(lambda unit: unit.record(draft))
    assert traces_of(tools, before + 1) == [None]
    assert (trace_of(traced), trace_of(tools.database)) == (TRACE, None)


def _several(tools: Tools, count: int) -> list[Tools]:
    """The tools of so many requests, each with a trace of its own."""
    traces = [new_trace(bytes([number + 1]) * 16) for number in range(count)]
    return [replace(tools, database=TracedDatabase(tools.database, trace)) for trace in traces]


def test_records_that_share_a_commit_keep_the_traces_of_their_callers(tmp_path: Path) -> None:
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(rule("low", "low"))
        desk.decide({"so2": 5}, name="t-0")
        before, commits = _size(desk.tools), desk.tools.database.facts().commits
        several = _several(desk.tools, 6)

        def send(number: int) -> Callable[[], object]:
            given, tools = desk.record({"so2": 5}, name=f"t-{number + 1}"), several[number]
            caller = with_fields(
                caller_of(desk.tools, desk.sensor, at=desk.at(minutes=6)), trace=trace_of(tools.database)
            )
            return lambda: judge_record(tools, caller, given)

        done = together(desk.tools.database, None, [send(number) for number in range(len(several))])
        assert desk.tools.database.facts().commits - commits <= 2
        found = dict(zip(range(before + 1, before + 7), traces_of(desk.tools, before + 1), strict=True))
        for tools, decided in zip(several, done, strict=True):
            assert isinstance(decided, Decided)
            assert {found[one.sequence_number] for one in decided.verdicts} == {trace_of(tools.database)}
        caller = caller_of(desk.tools, desk.sensor, at=desk.at(minutes=6))
        sent = [
            Submission(desk.record({"so2": 5}, name=f"u-{n}"), with_fields(caller, trace=trace))
            for n, trace in enumerate([TRACE, None])
        ]
        judge_records(desk.tools, sent)
        assert traces_of(desk.tools, before + 7) == [TRACE, None]


def test_outcomes_that_share_a_commit_keep_the_traces_of_their_senders(tmp_path: Path) -> None:
    with opened_delivery(tmp_path) as delivery:
        node = delivery.ready()
        node.report(key="first")
        before = _size(node.tools)
        several = _several(node.tools, 6)

        def send(number: int) -> Callable[[], object]:
            content, at = json.dumps(node.signal("partial")).encode(), node.desk.at(minutes=4)
            tools = several[number]
            caller = with_fields(caller_of(node.tools, node.bell, at=at), trace=trace_of(tools.database))
            return lambda: report_signal(tools, caller, content, f"k{number}")

        done = together(node.tools.database, node.tools.delivery.reports, [send(n) for n in range(len(several))])
        found = traces_of(node.tools, before + 1)
        for tools, reported in zip(several, done, strict=True):
            assert isinstance(reported, Reported)
            assert found[reported.sequence_number - before - 1] == trace_of(tools.database)
