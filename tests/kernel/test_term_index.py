"""Indexes whose roots are logged: they find what reading everything finds, and no answer can leave anything out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest
from assay.kernel.errors import Error
from assay.kernel.merkle import Frontier, leaf_hash
from assay.kernel.term import term_key, terms_of
from assay.kernel.term_index import (
    MAX_SEGMENT,
    PAGE_LEAVES,
    Leaf,
    Seal,
    TermAnswer,
    UnansweredTermError,
    build_leaves,
    find_numbers,
    page_root,
    paged,
    read_leaves,
    tree_of,
    verify_answer,
    verify_seal,
    write_leaves,
)

FIRST = 11


def _text(number: int) -> bytes:
    body = {"answer_id": f"a{number}", "level": number % 5, "rule_id": f"R{number % 7}"}
    return canonicalize({"body": body, "kind": "note", "timestamp": "2026-03-01T11:00:00Z"})


TEXTS = [_text(number) for number in range(FIRST, FIRST + 600)]
LEAVES = build_leaves(FIRST, TEXTS)
TREE = tree_of(LEAVES, first=FIRST)
_STORED = write_leaves(LEAVES, first=FIRST)
SEAL = Seal(first=FIRST, last=FIRST + 599, leaves=len(LEAVES), root=TREE.root, previous=None)


def _page(term: str) -> int:
    key = term_key(term)
    return max((place for place, page in enumerate(paged(LEAVES)) if page[0].key <= key), default=0)


def _answer(term: str) -> TermAnswer:
    return TREE.answer(term, page=_page(term))


def test_the_tree_is_the_plain_one_over_sorted_leaves() -> None:
    """Keys rise, and the root is that of RFC 9162 over key and hash of the numbers, whatever the pages are."""
    keys = [leaf.key for leaf in LEAVES]
    assert keys == sorted(set(keys))
    assert len(LEAVES) > 2 * PAGE_LEAVES
    proofs = [_answer(f"answer_id=a{number}").leaves[0] for number in range(FIRST, FIRST + 600)]
    known = {proof.key: proof.numbers_hash for proof in proofs}
    for term in (
        "kind=note",
        "day=2026-03-01",
        *(f"level={n}" for n in range(5)),
        *(f"rule_id=R{n}" for n in range(7)),
    ):
        [proof] = _answer(term).leaves
        known[proof.key] = proof.numbers_hash
    root = Frontier().extend([leaf_hash(key + known[key]) for key in keys]).root()
    assert Digest(f"sha256:{root.hex()}") == TREE.root


@given(st.one_of(st.integers(0, 1500).map(lambda n: f"answer_id=a{n}"), st.integers(-3, 9).map(lambda n: f"level={n}")))
def test_an_index_finds_what_reading_everything_finds_and_can_show_it(term: str) -> None:
    by_reading = tuple(number for number, text in enumerate(TEXTS, FIRST) if term in terms_of(text))
    answer = _answer(term)
    assert answer.numbers == find_numbers(_STORED, term, first=FIRST) == by_reading
    verify_answer(SEAL, term, answer)


@given(st.lists(st.integers(0, 40), max_size=60), st.integers(1, 2**40))
def test_leaves_are_read_as_they_were_written(numbers: list[int], first: int) -> None:
    leaves = [Leaf(bytes([at]) * 16, tuple(first + one for one in sorted(set(numbers[at:])))) for at in range(5)]
    assert read_leaves(write_leaves(leaves, first=first), first=first) == leaves


def test_leaves_that_were_cut_off_are_refused() -> None:
    with pytest.raises(UnansweredTermError) as refused:
        read_leaves(_STORED[:-1], first=FIRST)
    assert refused.value.code == "search.answer"


def test_a_small_index_answers_for_what_lies_before_between_and_after() -> None:
    """One, two and three leaves: absent terms fall into every gap, and each is shown with its neighbours."""
    for size in (1, 2, 3):
        leaves = LEAVES[:size]
        tree = tree_of(leaves, first=FIRST)
        seal = replace(SEAL, leaves=size, root=tree.root)
        gaps = set()
        for number in range(4000):
            answer = tree.answer(f"x={number}", page=0)
            verify_answer(seal, f"x={number}", answer)
            gaps.add(tuple(leaf.position for leaf in answer.leaves))
        assert tuple(range(size))[-1:] in gaps


_ABSENT = next(f"x={n}" for n in range(999) if 0 < _answer(f"x={n}").leaves[0].position < len(LEAVES) - 2)
_FIRST_KEY = next(f"x={n}" for n in range(99_999) if term_key(f"x={n}") < LEAVES[0].key)
_LAST_KEY = next(f"x={n}" for n in range(99_999) if term_key(f"x={n}") > LEAVES[-1].key)


@pytest.mark.parametrize("term", [_ABSENT, _FIRST_KEY, _LAST_KEY])
def test_a_term_that_is_nowhere_is_shown_to_be_nowhere(term: str) -> None:
    answer = _answer(term)
    assert answer.numbers == ()
    verify_answer(SEAL, term, answer)


_TRUE = _answer("level=3")
_OWN = _TRUE.leaves[0]
_BEFORE, _AFTER = TREE.prove_leaf(_OWN.position - 1), TREE.prove_leaf(_OWN.position + 1)
_FORGED = {
    "one entry less": replace(_TRUE, numbers=_TRUE.numbers[1:]),
    "an entry outside": replace(_TRUE, numbers=(*_TRUE.numbers, SEAL.last + 1)),
    "another order": replace(_TRUE, numbers=_TRUE.numbers[::-1]),
    "no leaf": TermAnswer(numbers=(), leaves=()),
    "its own leaf as though it were empty": replace(_TRUE, numbers=()),
    "neighbours with a leaf between them": TermAnswer(numbers=(), leaves=(_BEFORE, _AFTER)),
    "one neighbour": TermAnswer(numbers=(), leaves=(_BEFORE,)),
    "two on one side": TermAnswer(numbers=(), leaves=(TREE.prove_leaf(_OWN.position - 2), _BEFORE)),
    "another term's answer": _answer("level=4"),
    "its leaf twice": replace(_TRUE, leaves=(_OWN, _OWN)),
    "its leaf elsewhere": replace(_TRUE, leaves=(replace(_OWN, position=_OWN.position + 1),)),
}


@pytest.mark.parametrize("forged", _FORGED.values(), ids=_FORGED)
def test_no_answer_leaves_anything_out(forged: TermAnswer) -> None:
    """Whatever is taken from a true answer, or put in its place, does not follow from the root."""
    verify_answer(SEAL, "level=3", _TRUE)
    with pytest.raises(Error) as refused:
        verify_answer(SEAL, "level=3", forged)
    assert refused.value.code in {"search.answer", "merkle.root_mismatch", "merkle.path_length"}


@pytest.mark.parametrize(
    "seal",
    [
        replace(SEAL, first=0),
        replace(SEAL, last=SEAL.first - 1),
        replace(SEAL, last=SEAL.first + MAX_SEGMENT),
        replace(SEAL, leaves=0),
        replace(SEAL, root=Digest("sha256:short")),
    ],
)
def test_a_seal_that_could_be_none_is_refused(seal: Seal) -> None:
    verify_seal(SEAL)
    with pytest.raises(Error) as refused:
        verify_seal(seal)
    assert refused.value.code in {"search.answer", "form.digest"}


def test_a_page_s_root_is_that_of_its_leaves() -> None:
    assert page_root(LEAVES, first=FIRST).hex() == TREE.root.removeprefix("sha256:")
