"""Many keys at once: the same bytes whoever compiles them, and one bad key holds up no other."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from msgspec.structs import replace as changed

from assay.adapters.keyfile import create_key_file
from assay.adapters.process_pool import InlinePool, ProcessPool
from assay.flows.request import BulkLine
from assay.flows.truth.compile_all import compile_all
from assay.flows.truth.compile_job import compile_partition
from assay.flows.truth.compile_truth import compile_truth
from assay.flows.truth.replay_truth import replay_truth
from assay.kernel.ledger import EntryKind
from assay.ports.pool import Pool
from assay.wiring import open_node
from tests.acting_truth import observe, observe_many
from tests.flows._node import TENANT
from tests.flows._truth import BeforeWriting, TruthDesk, opened_truth

_HOURS = tuple(range(6, 12))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    """Six keys, one for each hour, with the same three reporters."""
    with opened_truth(tmp_path) as one:
        one.people()
        for hour in _HOURS:
            for name in ("user:ann", "user:ben", "user:eve"):
                one.observe(name, reported=f"{hour:02}:10", at="12:30")
        yield one


def _keys(desk: TruthDesk, *, stale_only: bool = False) -> list[str]:
    return desk.read(lambda unit: list(unit.truth.keys(TENANT, stale_only=stale_only)))


def _states(desk: TruthDesk) -> list[str]:
    return desk.read(lambda unit: [one.text for one in unit.truth.gold(TENANT)])


def _copied(desk: TruthDesk, tmp_path: Path, name: str) -> Path:
    """The same node once more, as it stands; a copy can be compiled by another way."""
    home = tmp_path / name
    shutil.copytree(tmp_path / "node", home)
    assert desk.tools.database.facts().engine == "sqlite"
    return home


def test_stale_keys_are_compiled_once(desk: TruthDesk) -> None:
    """Afterwards none is stale, and another run has nothing to do."""
    told: list[tuple[int, int]] = []
    done = compile_all(
        desk.tools,
        TENANT,
        InlinePool(),
        at=desk.now("12:40"),
        progress=lambda *seen: told.append(seen),
        part_size=4,
    )
    assert (done.compiled, done.unchanged, done.stuck) == (6, 0, ())
    assert told == [(4, 6), (6, 6)]
    assert _keys(desk, stale_only=True) == []
    again = compile_all(desk.tools, TENANT, InlinePool(), at=desk.now("12:41"), keys=_keys(desk))
    assert (again.compiled, again.unchanged) == (0, 6)
    assert all(replay_truth(desk.tools, TENANT, truthkey=key).holds for key in _keys(desk))


def test_one_by_one_in_one_process_and_in_two_gives_the_same_bytes(desk: TruthDesk, tmp_path: Path) -> None:
    """Three copies of one node, compiled three ways."""
    at, homes = desk.now("12:40"), [_copied(desk, tmp_path, name) for name in ("alone", "inline", "pooled")]
    head = desk.head()
    with open_node(homes[0]) as (tools, _):
        for key in _keys(desk):
            compile_truth(tools, TENANT, key, at=at, trust_through=head)
        alone = _states(replace(desk, tools=tools))
    with open_node(homes[1]) as (tools, _):
        compile_all(tools, TENANT, InlinePool(), at=at)
        inline = _states(replace(desk, tools=tools))
    with open_node(homes[2]) as (tools, _), ProcessPool(2) as pool:
        compile_all(tools, TENANT, pool, at=at, part_size=2)
        pooled = _states(replace(desk, tools=tools))
    assert len(alone) == 6
    assert alone == inline == pooled


def test_a_partition_is_a_plain_function_of_texts(desk: TruthDesk) -> None:
    """A job that cannot be compiled answers with its code, and the others are compiled."""
    seen: list[object] = []

    class Spoiling:
        def run(self, work: object, parts: Iterator[object]) -> Iterator[object]:
            for part in parts:
                assert work is compile_partition
                assert isinstance(part, list)
                bad = [replace_job(part[0]), *part[1:]]
                seen.append(bad)
                yield compile_partition(bad)

    def replace_job(job: object) -> object:
        return changed(job, snapshot="{}")  # type: ignore[type-var]  # a job

    spoiling: Pool = Spoiling()  # type: ignore[assignment]  # it answers otherwise
    done = compile_all(desk.tools, TENANT, spoiling, at=desk.now("12:40"))
    assert (done.compiled, [one.code for one in done.stuck]) == (5, ["truth.record"])
    assert len(_keys(desk, stale_only=True)) == 1


def test_a_key_that_moved_meanwhile_is_compiled_by_itself(desk: TruthDesk) -> None:
    """Nothing of what was recorded in between is missed, and the others are not held up."""
    late = BeforeWriting(desk.tools.database, lambda: desk.observe("user:cem", reported="06:20"))
    done = compile_all(replace(desk.tools, database=late), TENANT, InlinePool(), at=desk.now("12:40"))
    assert (done.compiled, done.stuck) == (6, ())
    assert _keys(desk, stale_only=True) == []


def test_a_key_without_a_contract_is_told_and_passed_over(desk: TruthDesk) -> None:
    done = compile_all(
        desk.tools,
        TENANT,
        InlinePool(),
        at=desk.now("12:40"),
        keys=[desk.truthkey.replace("flood", "fire"), *_keys(desk)],
    )
    assert (done.compiled, [one.code for one in done.stuck]) == (6, ["truth.not_released"])


def test_many_lines_are_recorded_and_each_bad_one_is_named(desk: TruthDesk) -> None:
    """Bad JSON, a future time, an unknown claim type, a second body for an id: the others are all there."""
    good = [desk.report("user:ann", reported=f"05:{minute:02}") for minute in range(40)]
    lines = [orjson.dumps(one) for one in good]
    future = desk.report("user:ben", reported="12:50")
    unknown = {**desk.report("user:ben", reported="05:00"), "claim_type": "earth.fire.v1"}
    twice = {**good[0], "payload": {"severity": "low", "water_level_meters": 0}}
    lines += [b"{", orjson.dumps(future), orjson.dumps(unknown), orjson.dumps(twice), b"", lines[0]]
    told: list[BulkLine] = []
    done = observe_many(desk.tools, lines, credential=desk.relay, now=lambda: desk.now("12:30"), report=told.append)
    assert (done.recorded, done.repeated, done.refused) == (40, 1, 4)
    codes = {line.line: line.code for line in told if line.code is not None}
    assert codes == {
        41: "json.malformed",
        42: "truth.future_observation",
        43: "truth.not_released",
        44: "truth.record_conflict",
    }
    assert [line.line for line in told] == [*range(1, 45), 46]
    assert len(desk.entries(EntryKind.OBSERVATION_RECORDED)) == 18 + 40


def test_a_stream_uses_few_commits(desk: TruthDesk) -> None:
    """Lines share the disk's time; one by one each would wait for it."""
    before = desk.tools.database.facts().commits
    lines = (
        orjson.dumps(desk.report(f"user:r{n % 60}", reported=f"05:{n % 60:02}", observation_id=f"o-{n}"))
        for n in range(600)
    )
    done = observe_many(desk.tools, lines, credential=desk.relay, now=lambda: desk.now("12:30"))
    assert done.recorded == 600
    assert desk.tools.database.facts().commits - before <= 6


def test_a_line_that_is_already_there_costs_no_entry(desk: TruthDesk) -> None:
    given = desk.report("user:ann", reported="06:10")
    head = desk.head()
    again = observe(desk.tools, given, credential=desk.relay, at=desk.now("12:35"))
    assert (again.is_new, desk.head()) == (False, head)


def test_a_state_that_is_too_large_for_an_entry_holds_up_no_other(
    desk: TruthDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One commit for many keys, and still each key is by itself."""
    for minute in range(20, 40):
        desk.observe("user:ann", reported=f"06:{minute}")
    monkeypatch.setattr("assay.kernel.ledger.MAX_STATE_BYTES", 3300)
    done = compile_all(desk.tools, TENANT, InlinePool(), at=desk.now("12:40"))
    assert (done.compiled, [one.code for one in done.stuck]) == (5, ["ledger.entry_size"])


def test_keys_that_cannot_be_signed_are_told(desk: TruthDesk, tmp_path: Path) -> None:
    """Nothing is written of them, and they stay stale."""
    stranger = replace(desk.tools, truth_signer=create_key_file(tmp_path / "other.key"))
    done = compile_all(stranger, TENANT, InlinePool(), at=desk.now("12:40"))
    assert (done.compiled, {one.code for one in done.stuck}) == (0, {"key.unknown"})
    assert len(_keys(desk, stale_only=True)) == 6


def test_a_key_that_moved_and_cannot_be_compiled_is_told(desk: TruthDesk) -> None:
    """Somebody compiled it for a later time meanwhile."""
    key = _keys(desk)[0]
    late = BeforeWriting(desk.tools.database, lambda: compile_truth(desk.tools, TENANT, key, at=desk.now("12:50")))
    done = compile_all(replace(desk.tools, database=late), TENANT, InlinePool(), at=desk.now("12:40"))
    assert (done.compiled, [(one.truthkey, one.code) for one in done.stuck]) == (5, [(key, "truth.compile_time")])
