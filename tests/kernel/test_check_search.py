"""Search proofs: what was found is in the ledger, and nothing that was looked for is missing."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from assay.kernel.bundle import Bundle
from assay.kernel.canonical import canonicalize
from assay.kernel.check_bundle import CheckName, Finding, Outcome
from assay.kernel.check_search import check_search
from assay.kernel.digest import ZERO_DIGEST, digest_of
from assay.kernel.key import TrustAnchors
from assay.kernel.merkle import leaf_hash
from assay.kernel.search_proof import (
    MalformedSearchError,
    ProvenEntry,
    SearchProof,
    SegmentAnswers,
    parse_search,
    render_search,
)
from assay.kernel.term_index import TermTree, build_leaves, tree_of
from assay.kernel.tile import inclusion_path
from tests.kernel._signing import LOG, ORIGIN, head, signed
from tests.kernel._store import stored

ANCHORS = TrustAnchors(public_keys=frozenset({LOG.public}))


class Log:
    """A small ledger that is indexed twice, the second index over the rest and the first one's entry."""

    def __init__(self, tenant: str = "acme") -> None:
        self.tenant = tenant
        self.texts: list[bytes] = []
        self.trees: list[tuple[int, TermTree, int]] = []
        self._previous: int | None = None
        for number in range(1, 31):
            self.append("note", {"rule_id": f"R{number % 3}", "n": number})
            if number in {20, 30}:
                self.seal()

    def append(self, kind: str, body: object) -> None:
        previous = digest_of(self.texts[-1]) if self.texts else ZERO_DIGEST
        entry = {
            "body": body,
            "kind": kind,
            "previous_hash": previous,
            "profile": "ski-3.0",
            "schema_version": "3.0.0",
            "sequence_number": len(self.texts) + 1,
            "tenant_id": self.tenant,
            "timestamp": "2026-03-01T11:00:00Z",
        }
        self.texts.append(canonicalize(entry))

    def seal(self, **changes: object) -> None:
        first = self.trees[-1][2] + 1 if self.trees else 1
        last = len(self.texts)
        leaves = build_leaves(first, self.texts[first - 1 :])
        tree = tree_of(leaves, first=first)
        body = {"first": first, "last": last, "leaves": len(leaves), "root": tree.root, "previous": self._previous}
        self.append("index.sealed", body | {"format": "assay-term-index/1"} | changes)
        self._previous = len(self.texts)
        self.trees.append((self._previous, tree, last))

    def proven(self, number: int) -> ProvenEntry:
        tiles = stored([leaf_hash(text) for text in self.texts])
        path = inclusion_path(number - 1, len(self.texts), tiles.read)
        return ProvenEntry(entry=self.texts[number - 1].decode(), inclusion_path=path)

    def prove(self, *terms: str) -> SearchProof:
        segments = tuple(
            SegmentAnswers(index=self.proven(number), answers=tuple(tree.answer(term, page=0) for term in terms))
            for number, tree, _ in self.trees
        )
        answered = (set.intersection(*(set(one.numbers) for one in segment.answers)) for segment in segments)
        numbers = sorted(set().union(*answered))
        newest = self.proven(self.trees[-1][0])
        bundle = Bundle(
            entry=newest.entry,
            entry_hash=digest_of(newest.entry.encode()),
            leaf_index=self.trees[-1][0] - 1,
            tree_size=len(self.texts),
            inclusion_path=newest.inclusion_path,
            checkpoint=signed(head(self.texts)).note.received.decode(),
        )
        return SearchProof(terms=terms, newest=bundle, segments=segments, entries=tuple(map(self.proven, numbers)))


LOG_OF_ALL = Log()
PROOF = LOG_OF_ALL.prove("rule_id=R1", "kind=note")


def _check(proof: SearchProof) -> Finding:
    return check_search(proof, ANCHORS, origin=ORIGIN)


def _failed(finding: Finding) -> list[CheckName]:
    return [check.name for check in finding.checks if check.outcome is Outcome.FAILED]


def test_a_search_is_shown_to_be_complete_to_whoever_trusts_the_key() -> None:
    """Ten of thirty entries have the rule; the index's own entries are covered by the one that follows."""
    finding = _check(parse_search(render_search(PROOF)))
    assert finding.holds
    assert finding.signer == LOG.key_id
    assert len(PROOF.entries) == 10
    assert "entries 1 to 31" in next(check for check in finding.checks if check.name is CheckName.INDEX).message
    assert len(LOG_OF_ALL.prove("kind=index.sealed").entries) == 1


def test_nothing_is_found_and_that_is_shown_too() -> None:
    proof = LOG_OF_ALL.prove("rule_id=R9")
    assert proof.entries == ()
    assert _check(proof).holds


def _less(proof: SearchProof) -> SearchProof:
    return replace(proof, entries=proof.entries[1:])


def _more(proof: SearchProof) -> SearchProof:
    return replace(proof, entries=(*proof.entries, LOG_OF_ALL.proven(30)))


def _other_term(proof: SearchProof) -> SearchProof:
    return replace(proof, terms=("rule_id=R2", "kind=note"))


def _fewer_terms(proof: SearchProof) -> SearchProof:
    return replace(proof, terms=proof.terms[:1])


def _no_terms(proof: SearchProof) -> SearchProof:
    return replace(proof, terms=(), segments=tuple(replace(one, answers=()) for one in proof.segments), entries=())


def _no_first_index(proof: SearchProof) -> SearchProof:
    return replace(proof, segments=proof.segments[1:])


def _no_last_index(proof: SearchProof) -> SearchProof:
    return replace(proof, segments=proof.segments[:1])


def _no_index(proof: SearchProof) -> SearchProof:
    return replace(proof, segments=())


def _no_seal(proof: SearchProof) -> SearchProof:
    return replace(proof, segments=(replace(proof.segments[0], index=LOG_OF_ALL.proven(3)), proof.segments[1]))


def _another_ledger(proof: SearchProof) -> SearchProof:
    return replace(proof, entries=(Log("other").proven(1), *proof.entries[1:]))


def _untrusted(proof: SearchProof) -> SearchProof:
    return replace(proof, newest=replace(proof.newest, entry_hash=ZERO_DIGEST))


def _surrogate(proof: SearchProof) -> SearchProof:
    return replace(proof, entries=(replace(proof.entries[0], entry="\ud800"),))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (_less, "search.incomplete"),
        (_more, "search.incomplete"),
        (_other_term, "search.answer"),
        (_fewer_terms, "search.incomplete"),
        (_no_terms, "search.incomplete"),
        (_no_first_index, "search.incomplete"),
        (_no_last_index, "search.incomplete"),
        (_no_index, "search.incomplete"),
        (_no_seal, "search.incomplete"),
        (_another_ledger, "search.incomplete"),
        (_untrusted, "proof.entry_hash"),
        (_surrogate, "proof.entry_form"),
    ],
)
def test_what_was_left_out_or_put_in_is_found(change: Callable[[SearchProof], SearchProof], code: str) -> None:
    finding = _check(change(PROOF))
    assert not finding.holds
    assert finding.code == code


def test_a_key_that_nobody_trusts_proves_nothing() -> None:
    finding = check_search(PROOF, TrustAnchors())
    assert not finding.holds
    assert _failed(finding) == [CheckName.SIGNER]


@pytest.mark.parametrize(
    "changes", [{"first": 2}, {"previous": 3}, {"root": "x"}, {"leaves": 0}, {"last": 99}, {"root": 5}]
)
def test_an_index_that_leaves_a_gap_or_is_none_shows_nothing(changes: dict[str, object]) -> None:
    """Also when the operator logged it so: the ledger holds it, and it still covers nothing."""
    log = Log()
    log.seal(**changes)
    proof = log.prove("rule_id=R1")
    assert _failed(_check(proof)) == [CheckName.INDEX]


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.pop("format"),
        lambda document: document.update(format="assay-search-proof/2"),
        lambda document: document.update(extra=1),
        lambda document: document["newest"].pop("keys"),
        lambda document: document["entries"][0]["inclusion_path"].__setitem__(0, "AA"),
    ],
)
def test_a_file_of_another_form_is_refused(change: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads(render_search(PROOF))
    change(document)
    with pytest.raises(MalformedSearchError) as refused:
        parse_search(json.dumps(document).encode())
    assert refused.value.code == "search.form"
