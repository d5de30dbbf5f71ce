"""Torn and flipped files: the log recovers to a valid prefix, start-up compares it with what was signed, and damage to
the database itself is reported with a code.
"""

import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.kernel.checkpoint import parse_checkpoint
from assay.kernel.errors import Error
from assay.kernel.ledger import EntryKind, draft_entry
from assay.ports.database import Unit
from assay.wiring import open_node
from tests.faults._children import Appender, chance, wait_until
from tests.faults._nodes import TENANT, SqlitePlace, entry_hashes
from tests.flows._node import append_notes
from tests.scale import scale

_PAGE_BYTES = 4096
_FRAME_BYTES = 24 + _PAGE_BYTES

Damage = Callable[[bytearray, random.Random], None]


def _truncate(content: bytearray, places: random.Random) -> None:
    del content[places.randrange(len(content)) :]


def _flip(content: bytearray, places: random.Random) -> None:
    content[places.randrange(len(content))] ^= 1 << places.randrange(8)


def _zero_a_page(content: bytearray, places: random.Random) -> None:
    first = places.randrange(0, len(content), _PAGE_BYTES)
    content[first : first + _PAGE_BYTES] = bytes(len(content[first : first + _PAGE_BYTES]))


def _lose_an_early_write(content: bytearray, places: random.Random) -> None:
    """As when the disk wrote a later part of the log and not an earlier one."""
    frame = places.randrange(len(content) // _FRAME_BYTES)
    content[frame * _FRAME_BYTES : (frame + 1) * _FRAME_BYTES] = places.randbytes(_FRAME_BYTES)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, str]]:
    """A node killed under load with a checkpoint in the middle of its log, and the entries it really had."""
    folder = tmp_path_factory.mktemp("killed")
    node = SqlitePlace(folder).found()
    with Appender(node, folder / "journal", "--checkpoints", "10") as appender:
        wait_until(lambda: len(appender.journal.checkpoints()) == 10, "the last checkpoint was signed")
        appender.wait_for(2 * appender.journal.count())
        appender.kill()
    assert (node / "assay.db-wal").stat().st_size > 100 * _FRAME_BYTES
    copy = Path(shutil.copytree(node, folder / "whole"))
    with open_node(copy) as (tools, _):
        return node, entry_hashes(tools)


def _signed_size(node: Path) -> int:
    return parse_checkpoint((node / "checkpoints" / TENANT).read_bytes()).checkpoint.size


@pytest.mark.parametrize("damage", [_truncate, _flip, _zero_a_page, _lose_an_early_write])
def test_a_damaged_log_recovers_to_a_prefix_and_start_up_compares_it(
    killed: tuple[Path, dict[int, str]], tmp_path: Path, damage: Damage
) -> None:
    """Shorter than the last signed checkpoint: refused. As long or longer: everything in it holds, and it goes on."""
    node, whole = killed
    places, seen = chance(4), set[bool]()
    for number in range(scale(30, 500)):
        copy = Path(shutil.copytree(node, tmp_path / str(number)))
        log = copy / "assay.db-wal"
        content = bytearray(log.read_bytes())
        damage(content, places)
        log.write_bytes(content)
        seen.add(_opens(copy, whole))
        shutil.rmtree(copy)
    assert seen == {True, False}, "the places of chance must show both sides of the rule"


def _opens(node: Path, whole: dict[int, str]) -> bool:
    """Whether start-up accepted the node; either answer is checked against what is really there."""
    refused: str | None = None
    try:
        with open_node(node) as (tools, _):
            report = audit_ledger(tools, TENANT, full=True)
            assert (report.holds, report.message) == (True, None)
            draft = draft_entry(TENANT, EntryKind.NOTE, {"after": "recovery"}, at=tools.clock.now())
            assert tools.database.append(draft).sequence_number == report.size + 1
    except Error as error:
        refused = error.code
    with open_node(node, writable=False) as (tools, _):
        there = entry_hashes(tools)
    kept = len(there) - (refused is None)
    assert {number: there[number] for number in range(1, kept + 1)}.items() <= whole.items()
    assert (refused == "ledger.rolled_back") == (kept < _signed_size(node))
    assert refused in (None, "ledger.rolled_back")
    return refused is None


@pytest.fixture(scope="module")
def at_rest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A node that was closed in order: everything is in the database file itself."""
    node = SqlitePlace(tmp_path_factory.mktemp("at_rest")).found()
    with open_node(node) as (tools, _):
        for number in range(297):
            draft = draft_entry(TENANT, EntryKind.NOTE, {"token": f"token-{number}."}, at=tools.clock.now())
            tools.database.submit(draft)
        tools.database.append(draft_entry(TENANT, EntryKind.NOTE, {"the": "last"}, at=tools.clock.now()))
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
    assert not (node / "assay.db-wal").exists()
    return node


def _verdict(node: Path) -> str | None:
    """The code under which damage was reported, or None when the ledger was said to hold."""
    try:
        with open_node(node) as (tools, _):
            report = audit_ledger(tools, TENANT, full=True)
    except Error as error:
        return error.code
    assert report.holds == (report.code is None)
    return report.code


def _content(node: Path) -> object:
    def look(unit: Unit) -> object:
        return list(unit.ledger.entries(TENANT)), list(unit.ledger.checkpoints(TENANT))

    with open_node(node, writable=False) as (tools, _):
        return tools.database.read(look)


def _scramble(content: bytearray, places: random.Random) -> None:
    first = places.randrange(len(content) - 16)
    content[first : first + 16] = places.randbytes(16)


@pytest.mark.parametrize("damage", [_flip, _scramble, _zero_a_page, _truncate])
def test_damage_to_the_database_file_is_reported_with_a_code(at_rest: Path, tmp_path: Path, damage: Damage) -> None:
    """Wherever it is: never an exception without a code, and never `holds` unless all that is proven is intact."""
    places, codes, whole = chance(5), set[str | None](), _content(at_rest)
    for number in range(scale(40, 600)):
        copy = Path(shutil.copytree(at_rest, tmp_path / str(number)))
        file = copy / "assay.db"
        content = bytearray(file.read_bytes())
        damage(content, places)
        file.write_bytes(content)
        code = _verdict(copy)
        codes.add(code)
        assert code is not None or _content(copy) == whole
        shutil.rmtree(copy)
    assert codes - {None}, "some damage must have mattered"


def test_a_flipped_bit_in_any_entry_is_never_said_to_hold(at_rest: Path, tmp_path: Path) -> None:
    """Aimed at the entries themselves, one at a time: the audit names the very entry."""
    places, original = chance(6), (at_rest / "assay.db").read_bytes()
    for number in places.sample(range(297), scale(20, 200)):
        copy = Path(shutil.copytree(at_rest, tmp_path / str(number)))
        at = original.index(f'"token-{number}."'.encode()) + 3
        content = bytearray(original)
        content[at] ^= 1 << places.randrange(8)
        (copy / "assay.db").write_bytes(content)
        with open_node(copy) as (tools, _):
            report = audit_ledger(tools, TENANT, full=True)
        assert (report.holds, report.code, report.first_bad_entry) == (False, "ledger.entry_hash", number + 4)
        shutil.rmtree(copy)


def test_a_schema_that_cannot_be_read_is_refused_with_a_code(at_rest: Path, tmp_path: Path) -> None:
    """SQLite quotes the damaged schema in its complaint, and the complaint is then no text either."""
    copy = Path(shutil.copytree(at_rest, tmp_path / "copy"))
    content = (copy / "assay.db").read_bytes()
    (copy / "assay.db").write_bytes(content.replace(b"CREATE TABLE ledger (", b"CREATE TABLE \xac\xac\xacger (", 1))
    assert _verdict(copy) == "store.cannot_open"


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("UPDATE ledger SET text = 'a text, not bytes' WHERE sequence_number = 9", "store.damaged_record"),
        ("UPDATE ledger SET text = 7 WHERE sequence_number = 9", "store.damaged_record"),
        ("UPDATE ledger SET sequence_number = 'x' WHERE sequence_number = 301", "ledger.damaged_head"),
        ("UPDATE checkpoint SET note = x'00'", "store.damaged_record"),
        ("UPDATE chain SET sequence_number = 'x'", "store.damaged_record"),
        ("UPDATE key_fact SET record = '{'", "store.damaged_record"),
        ("UPDATE key_fact SET record = 7", "store.damaged_record"),
        ("UPDATE tile SET hashes = 7", "ledger.tile_missing"),
    ],
)
def test_a_column_with_another_kind_of_value_is_reported_with_a_code(
    at_rest: Path, tmp_path: Path, statement: str, code: str
) -> None:
    """SQLite keeps any value in any column, and hands out what it finds."""
    copy = Path(shutil.copytree(at_rest, tmp_path / "copy"))
    SqlitePlace(tmp_path).tamper(copy, "PRAGMA ignore_check_constraints = ON", statement)
    assert _verdict(copy) == code


def test_an_entry_with_another_kind_of_value_is_named_with_the_last_good_checkpoint(tmp_path: Path) -> None:
    """Nobody has to guess how much of the ledger still holds."""
    node = SqlitePlace(tmp_path).found()
    with open_node(node) as (tools, _):
        append_notes(tools, 5)
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
        append_notes(tools, 5)
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
    SqlitePlace(tmp_path).tamper(node, "UPDATE ledger SET text = CAST(text AS TEXT) WHERE sequence_number = 11")
    with open_node(node) as (tools, _):
        report = audit_ledger(tools, TENANT, full=True)
    found = (report.holds, report.code, report.first_bad_entry, report.last_good_checkpoint)
    assert found == (False, "store.damaged_record", 11, 8)


def test_a_page_that_the_database_cannot_read_is_reported_with_the_place_where_reading_ended(
    at_rest: Path, tmp_path: Path
) -> None:
    """The entries before it were read and hold."""
    copy = Path(shutil.copytree(at_rest, tmp_path / "copy"))
    content = bytearray((copy / "assay.db").read_bytes())
    size = int.from_bytes(content[16:18], "big")
    page = content.index(b'"token-150."') // size * size
    first = min(int(number) for number in re.findall(rb'"token-([0-9]+)."', content[page : page + size]))
    content[page] = 0xFF  # no kind of page
    (copy / "assay.db").write_bytes(content)
    with open_node(copy, writable=False) as (tools, _):
        report = audit_ledger(tools, TENANT, full=True, leave_mark=False)
    assert (report.holds, report.code, report.first_bad_entry) == (False, "store.damaged_file", first + 4)
