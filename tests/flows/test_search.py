"""Searches over the ledger: what reading everything would find, and a file that shows that nothing is missing."""

from collections.abc import Sequence
from pathlib import Path
from threading import Barrier, Thread

import pytest

from assay.flows.errors.ledger import LedgerFlowError
from assay.flows.ledger import prove_search as proving
from assay.flows.ledger import seal_index as sealing
from assay.flows.ledger.append_record import append_record
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.ledger.check_proof import check_proof
from assay.flows.ledger.erase_record import erase_record
from assay.flows.ledger.prove_search import prove_search
from assay.flows.ledger.seal_index import seal_index
from assay.flows.ledger.search_entries import SearchAnswer, search_entries
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.tools import Tools
from assay.kernel.check_bundle import Finding
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId
from assay.kernel.key import TrustAnchors
from assay.kernel.ledger import EntryKind, draft_entry
from assay.kernel.search_proof import render_search
from assay.kernel.term import terms_of
from assay.kernel.term_index import build_leaves
from tests.flows._node import TENANT, append_notes, damage, new_node, opened
from tests.raising import raises

_SEGMENT = 20


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Segments are short here, so that a few notes fill several."""
    monkeypatch.setattr(sealing, "MAX_SEGMENT", _SEGMENT)
    return new_node(tmp_path)


def _note(tools: Tools, count: int) -> None:
    at = tools.clock.now()
    for number in range(count):
        body = {"rule_id": f"R{number % 3}", "n": number, "by": {"principal": f"user:{number % 5}"}}
        tools.database.append(draft_entry(TENANT, EntryKind.NOTE, body, at=at))


def _sealed(tools: Tools) -> None:
    seal_index(tools, TENANT, at=tools.clock.now())
    sign_checkpoint(tools, TENANT, at=tools.clock.now())


def _numbers(answer: SearchAnswer) -> list[int]:
    return [entry.sequence_number for entry in answer.entries]


def _read(tools: Tools, terms: Sequence[str]) -> list[int]:
    """What reading every entry finds."""
    rows = tools.database.read(lambda unit: list(unit.ledger.entries(TENANT)))
    return [row.sequence_number for row in rows if terms_of(row.text).issuperset(terms)]


def _judged(tools: Tools, content: bytes) -> Finding:
    """As a stranger does it: from the file's bytes and one key."""
    public_key = tools.ledger_signer.public_key
    assert public_key is not None
    return check_proof(content, TrustAnchors(public_keys=frozenset([public_key])))


_TERMS = (
    ["rule_id=R1"],
    ["rule_id=R1", "principal=user:2"],
    ["kind=key.added"],
    ["n=7"],
    ["n=999"],
    ["kind=index.sealed"],
)


@pytest.mark.parametrize("terms", _TERMS)
def test_indexed_or_not_the_same_entries_are_found(home: Path, terms: list[str]) -> None:
    """Before there is an index, with half of the entries indexed, and with all of them."""
    with opened(home) as tools:
        _note(tools, 30)
        assert _numbers(search_entries(tools, TENANT, terms, limit=999)) == _read(tools, terms)
        _sealed(tools)
        _note(tools, 30)
        half = search_entries(tools, TENANT, terms, limit=999)
        assert _numbers(half) == _read(tools, terms)
        assert 0 < half.covered < half.size
        _sealed(tools)
        whole = search_entries(tools, TENANT, terms, limit=999)
        assert _numbers(whole) == _read(tools, terms)


def test_a_long_answer_comes_in_pages(home: Path) -> None:
    """Also where a page ends within what no index covers yet."""
    with opened(home) as tools:
        _note(tools, 45)
        _sealed(tools)
        _note(tools, 45)
        seen: list[int] = []
        more = True
        while more:
            answer = search_entries(tools, TENANT, ["rule_id=R2"], after=seen[-1] if seen else 0, limit=7)
            seen += _numbers(answer)
            more = answer.more
        assert seen == _read(tools, ["rule_id=R2"])


def test_a_proof_shows_a_stranger_that_nothing_is_missing(home: Path) -> None:
    with opened(home) as tools:
        _note(tools, 50)
        _sealed(tools)
        proof = prove_search(tools, TENANT, ["rule_id=R1", "principal=user:1"])
        finding = _judged(tools, render_search(proof))
        found = _read(tools, ["rule_id=R1", "principal=user:1"])
    assert finding.holds, finding
    assert len(proof.segments) == 3
    assert len(proof.entries) == len(found) > 2


def test_what_nothing_was_found_of_is_proven_to_be_nowhere(home: Path) -> None:
    with opened(home) as tools:
        _note(tools, 50)
        _sealed(tools)
        proof = prove_search(tools, TENANT, ["rule_id=R77"])
        assert proof.entries == ()
        assert _judged(tools, render_search(proof)).holds


def test_an_index_follows_the_last_and_an_index_alone_is_not_indexed(home: Path) -> None:
    """Every entry is covered by one index, those of indexes too; a second time there is nothing to do."""
    with opened(home) as tools:
        assert seal_index(tools, TENANT, at=tools.clock.now(), at_least=99) == ()
        append_notes(tools, 50)
        first = seal_index(tools, TENANT, at=tools.clock.now())
        assert seal_index(tools, TENANT, at=tools.clock.now()) == first[:0]
        append_notes(tools, 1)
        [second] = seal_index(tools, TENANT, at=tools.clock.now())
    assert [(one.first, one.last) for one in first] == [(1, 20), (21, 40), (41, 53)]
    assert (second.first, second.previous) == (54, first[-1].sequence_number)


def test_two_at_once_index_everything_once(home: Path) -> None:
    with opened(home) as tools:
        append_notes(tools, 70)
        barrier = Barrier(4)

        def seal() -> None:
            barrier.wait()
            seal_index(tools, TENANT, at=tools.clock.now())

        threads = [Thread(target=seal) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        segments = tools.database.read(lambda unit: unit.index.segments(TENANT))
        assert [one.first for one in segments] == [1, *(one.last + 1 for one in segments[:-1])]
        assert audit_ledger(tools, TENANT, full=True).holds


def test_without_an_index_that_a_checkpoint_covers_nothing_is_proven(home: Path) -> None:
    with opened(home) as tools:
        append_notes(tools, 5)
        for step in (lambda: None, lambda: seal_index(tools, TENANT, at=tools.clock.now())):
            step()
            with raises(LedgerFlowError.search_no_index):
                prove_search(tools, TENANT, ["kind=note"])
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
        assert prove_search(tools, TENANT, ["kind=note"]).entries


def test_a_proof_of_too_much_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "MAX_PROVEN", 4)
    with opened(home) as tools:
        append_notes(tools, 5)
        _sealed(tools)
        with raises(LedgerFlowError.search_size):
            prove_search(tools, TENANT, ["kind=note"])


def test_erasing_a_value_changes_no_index(home: Path) -> None:
    """A personal value is in no index, so what was proven before it was erased is proven after it, byte for byte."""
    with opened(home) as tools:
        now = tools.clock.now()
        note = append_record(tools, TENANT, {"rule_id": "R9", "name": "Amira"}, personal=["/name"], at=now).result()
        _sealed(tools)
        assert search_entries(tools, TENANT, ["name=Amira"]).entries == ()
        before = prove_search(tools, TENANT, ["rule_id=R9"])
        erase_record(tools, TENANT, note.sequence_number, by=PrincipalId("operator:test"), reason="asked", at=now)
        assert prove_search(tools, TENANT, ["rule_id=R9"]) == before
        assert _judged(tools, render_search(before)).holds
        assert audit_ledger(tools, TENANT, full=True).holds


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("UPDATE index_segment SET root = 'sha256:' || hex(zeroblob(32)) WHERE first = 1", "ledger.row_differs"),
        ("DELETE FROM index_segment WHERE first = 21", "ledger.row_missing"),
        ("DELETE FROM index_page WHERE position = 0", "index.page"),
        ("UPDATE index_page SET content = substr(content, 1, 20) WHERE position = 0", "index.page"),
    ],
)
def test_an_audit_finds_an_index_that_was_changed(home: Path, statement: str, code: str) -> None:
    with opened(home) as tools:
        _note(tools, 50)
        _sealed(tools)
    damage(home, statement)
    with opened(home, writable=False) as tools:
        report = audit_ledger(tools, TENANT, full=True, leave_mark=False)
        assert (report.holds, report.code) == (False, code)
        with pytest.raises(Error):
            prove_search(tools, TENANT, ["rule_id=R1"])


def test_an_untrue_root_that_was_logged_is_found_by_the_audit(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator who leaves entries out of an index can sign it; whoever has the entries finds it."""
    built = build_leaves
    monkeypatch.setattr(sealing, "build_leaves", lambda first, texts: built(first, texts)[:-1])
    with opened(home) as tools:
        append_notes(tools, 5)
        _sealed(tools)
        report = audit_ledger(tools, TENANT, full=True, leave_mark=False)
    assert (report.holds, report.code) == (False, "index.root")


def test_a_search_does_not_pass_over_a_missing_index(home: Path) -> None:
    with opened(home) as tools:
        _note(tools, 50)
        _sealed(tools)
    damage(home, "DELETE FROM index_segment WHERE first = 21")
    with opened(home, writable=False) as tools, raises(LedgerFlowError.search_damaged_index):
        search_entries(tools, TENANT, ["rule_id=R1"], limit=999)


def test_a_newest_index_that_was_taken_away_is_not_made_twice(home: Path) -> None:
    with opened(home) as tools:
        _note(tools, 50)
        _sealed(tools)
    damage(home, "DELETE FROM index_segment WHERE first = 41")
    with opened(home) as tools, pytest.raises(Error) as refused:
        seal_index(tools, TENANT, at=tools.clock.now())
    assert refused.value.code == "store.damaged_record"


_ODD: tuple[dict[str, object], ...] = (
    {'quo"ted': 'a "word"', "back\\slash": "c:\\x", "line": "one\ntwo\ttab", "é": "ü – 漢字 🌊"},
    {"yes": True, "no": False, "zero": 0, "low": -5, "high": 2**53 - 1, "text_of_a_number": "12"},
    {"deep": {"list": [{"inner": "x"}, ["y", 3]]}, "day": "Monday", "equals": "a=b=c", "slash": "/a/b"},
)


def test_every_term_of_entries_without_an_index_is_found(home: Path) -> None:
    """Entries are passed over by their bytes before they are parsed, and none that has the term is."""
    with opened(home) as tools:
        for body in _ODD:
            tools.database.append(draft_entry(TENANT, EntryKind.NOTE, body, at=tools.clock.now()))
        rows = tools.database.read(lambda unit: list(unit.ledger.entries(TENANT)))
        terms = set().union(*(terms_of(row.text) for row in rows))
        assert len(terms) > len(_ODD) * 5
        for term in terms:
            found = search_entries(tools, TENANT, [term], limit=100)
            assert _numbers(found) == _read(tools, [term]), term
        assert _numbers(search_entries(tools, TENANT, ["inner=y"])) == []
