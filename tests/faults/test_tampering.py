"""What somebody with every right changes, an audit finds: it names the first bad entry and the last good checkpoint.

The triggers are switched off first, so nothing in the database stands in the way. The ledger under attack has 600
entries: two full tiles, checkpoints over 200, 400 and 560 entries, and a tail of 40 that no checkpoint covers yet.
"""

import shutil
from pathlib import Path

import pytest

from assay.flows.ledger.audit_mark import AuditReport
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.kernel.errors import Error
from assay.kernel.ledger import EntryKind, draft_entry
from assay.wiring import open_node
from tests.faults._attacks import ATTACKS, Target, keep, only, rewrite_from, update
from tests.faults._nodes import TENANT, Place, PostgresPlace, SqlitePlace, append_notes, audit, open_when_free
from tests.flows._transcripts import add_transcript, verdict_on
from tests.postgres_cluster import PostgresCluster


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Target:
    folder = tmp_path_factory.mktemp("tampering")
    place: Place = SqlitePlace(folder)
    if request.param == "postgres":
        cluster: PostgresCluster = request.getfixturevalue("postgres_cluster")
        place = PostgresPlace(folder, cluster)
    node = place.found()
    _grow(node, 200, 400)
    older = place.copy(node)
    _grow(node, 560)
    with open_when_free(node) as tools:
        tools.database.append(verdict_on(tools, add_transcript(tools).transcript_id))
        append_notes(tools, up_to=600)
        rows = tools.database.read(lambda unit: {row.sequence_number: row for row in unit.ledger.entries(TENANT)})
    return Target(place, node, older, rows)


def _grow(node: Path, *sizes: int) -> None:
    """To each size in turn, with a checkpoint over it."""
    with open_when_free(node) as tools:
        for size in sizes:
            append_notes(tools, up_to=size)
            sign_checkpoint(tools, TENANT, at=tools.clock.now())


def _found(report: AuditReport) -> tuple[str | None, int | None, int | None]:
    assert report.holds == (report.code is None)
    return report.code, report.first_bad_entry, report.last_good_checkpoint


def _start_up(node: Path) -> str | None:
    """The code with which start-up refused, or None."""
    try:
        with open_node(node):
            return None
    except Error as error:
        return error.code


@pytest.mark.parametrize("name", ATTACKS)
def test_a_change_by_a_superuser_is_found_and_placed(target: Target, name: str) -> None:
    """Its code, the first bad entry where one can be named, and the last checkpoint that still holds."""
    attack, expected = ATTACKS[name]
    copy = target.copy()
    target.place.tamper(copy, *attack(target))
    assert _found(audit(copy)) == expected


@pytest.fixture
def replaced(target: Target) -> Path:
    """The database replaced by an older copy of itself; the node remembers what it has signed since."""
    node = target.place.copy(target.older)
    shutil.copytree(target.node / "checkpoints", node / "checkpoints", dirs_exist_ok=True)
    return node


def test_an_older_copy_of_the_database_is_refused_at_start_up(replaced: Path) -> None:
    """Everything in it holds by itself; only the checkpoint remembered outside tells that something is gone."""
    assert _start_up(replaced) == "ledger.rolled_back"
    assert _found(audit(replaced)) == ("ledger.rolled_back", 401, 400)


def test_a_cut_tail_is_refused_at_start_up(target: Target) -> None:
    """Also when the rows that tell of it were cut as well."""
    copy = target.copy()
    target.place.tamper(copy, *keep(target, 559))
    assert _start_up(copy) == "ledger.rolled_back"


def test_a_rewritten_history_is_refused_at_start_up(target: Target) -> None:
    """As many entries as before, each following the one before it, and not those the checkpoint was signed for."""
    copy = target.copy()
    target.place.tamper(copy, *rewrite_from(target, 520))
    assert _start_up(copy) == "ledger.forked"


def test_start_up_does_not_read_entries_and_leaves_that_to_the_audit(target: Target) -> None:
    """A single altered text does not change the stored tree: start-up is quick and goes on, the audit finds it."""
    copy = target.copy()
    target.place.tamper(copy, *only(target, "text", 300))
    assert _start_up(copy) is None
    assert _found(audit(copy)) == ("ledger.entry_hash", 300, 200)


def test_a_writer_refuses_to_continue_a_chain_whose_end_was_cut(target: Target) -> None:
    """Where no checkpoint covers the end yet, the first append finds that the kept head is not the last entry."""
    copy = target.copy()
    target.place.tamper(copy, "DELETE FROM ledger WHERE sequence_number > 590")
    with open_node(copy) as (tools, _), pytest.raises(Error) as caught:
        tools.database.append(draft_entry(TENANT, EntryKind.NOTE, {"n": 1}, at=tools.clock.now()))
    assert caught.value.code == "ledger.damaged_head"


@pytest.mark.parametrize("forgery", ["rewrite", "cut"])
def test_what_nobody_vouches_for_yet_can_be_replaced_unseen(target: Target, forgery: str) -> None:
    """The limit, stated: beyond the last checkpoint and the last audit, a careful superuser leaves no trace."""
    statements = list(rewrite_from(target, 590)) if forgery == "rewrite" else keep(target, 590)
    copy = target.copy()
    target.place.tamper(copy, *statements)
    assert _start_up(copy) is None
    assert audit(copy).holds


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(
    ("forgery", "expected"),
    [("rewrite", ("ledger.forked", None, 560)), ("cut", ("ledger.rolled_back", 591, 560))],
)
def test_an_earlier_audit_vouches_for_what_no_checkpoint_covers(
    target: Target, forgery: str, expected: tuple[str, int | None, int], *, full: bool
) -> None:
    """Its mark is signed and lies outside the database: the same forgeries are found after it, by either audit."""
    statements = list(rewrite_from(target, 590)) if forgery == "rewrite" else keep(target, 590)
    copy = _audited_copy(target)
    target.place.tamper(copy, *statements)
    assert _found(audit(copy, full=full)) == expected


def _audited_copy(target: Target) -> Path:
    copy = target.copy()
    assert audit(copy).holds
    return copy


def test_an_incremental_audit_reads_only_what_is_new(target: Target) -> None:
    """It finds a bad entry after the mark, and names it."""
    copy = _audited_copy(target)
    assert audit(copy, full=False).entries_checked == 0
    with open_node(copy) as (tools, _):
        append_notes(tools, up_to=620)
    target.place.tamper(copy, update(target, 610, kind="erasure"))
    report = audit(copy, full=False)
    assert _found(report) == ("ledger.column_altered", 610, 560)
    assert report.verified_from == 601


@pytest.mark.parametrize("name", ["text", "kind", "leaf_hash", "a full tile", "an entry deleted", "checkpoint: size"])
def test_a_change_before_the_mark_is_left_to_the_full_audit(target: Target, name: str) -> None:
    """The incremental audit does not claim to have read it: it says from where it verified. The full one finds it."""
    attack, expected = ATTACKS[name]
    copy = _audited_copy(target)
    target.place.tamper(copy, *attack(target))
    report = audit(copy, full=False)
    assert (report.holds, report.verified_from, report.entries_checked) == (True, 601, 0)
    assert _found(audit(copy, full=True)) == expected


@pytest.mark.parametrize("name", ["a finished subtree", "a finished subtree deleted"])
def test_a_change_of_the_tree_the_mark_names_makes_every_audit_read_everything(target: Target, name: str) -> None:
    """The stored tree no longer begins with what was verified, so nothing of it is believed."""
    attack, expected = ATTACKS[name]
    copy = _audited_copy(target)
    target.place.tamper(copy, *attack(target))
    report = audit(copy, full=False)
    assert (report.verified_from, report.entries_checked) == (1, 600)
    assert _found(report) == expected


def test_a_changed_leaf_in_the_unfinished_tile_is_found_by_an_incremental_audit(target: Target) -> None:
    """Its hash is part of the tree that the mark names."""
    copy = _audited_copy(target)
    target.place.tamper(copy, *only(target, "leaf_hash", 590))
    assert _found(audit(copy, full=False)) == ("ledger.leaf_hash", 590, 560)
