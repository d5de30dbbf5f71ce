"""Evidence that was seen before: copies, told by fingerprints and by resemblances that were made outside.

speakers, by receipt + fingerprints -> without copies + resemblances -> those whose evidence is their own, with flags
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from assay.truth.contract import EmbeddingSimilarity, EvidenceSimilarity, HashSimilarity, SimilarityAction
from assay.truth.evidence import Fingerprint, Resemblance
from assay.truth.flag import Flag
from assay.truth.ready import ReadyObservation
from assay.truth.weigh import Speakers

_BITS = 64


def drop_copies(
    rule: EvidenceSimilarity | None, speakers: Speakers, fingerprints: Collection[Fingerprint | Resemblance]
) -> tuple[Speakers, set[Flag]]:
    """Of two reporters with one piece of evidence, whose report reached us first keeps it; the other goes where the
    contract rejects. The time that a reporter gives to a report says nothing here.

    First by hashes and fingerprints, then by what the contract's model finds alike.
    """
    if rule is None:
        return speakers, set()
    own, copied = _by_hash(rule.hash, speakers, [one for one in fingerprints if isinstance(one, Fingerprint)])
    pairs = [one for one in fingerprints if isinstance(one, Resemblance)]
    apart, alike = _by_embedding(rule.embedding, own, pairs) if pairs else (own, set[Flag]())
    return apart, copied | alike


def near_pieces(
    rule: EvidenceSimilarity | None, pieces: Collection[str], prints: Collection[Fingerprint | Resemblance]
) -> Iterator[tuple[str, str]]:
    """Pairs of pieces that the contract calls the same: fingerprints within its threshold, or alike by its model."""
    if rule is None or not prints:
        return
    if rule.hash is not None:
        marked = _by_content(
            rule.hash, [one for one in prints if isinstance(one, Fingerprint) and one.sha256 in pieces]
        )
        seen = _Seen(rule.hash.duplicate_threshold)
        owners: dict[int, str] = {}
        for piece in sorted(marked):
            for mark in sorted(marked[piece]):
                yield from ((owners[other], piece) for other in sorted(seen.near(mark)))
                seen.add((), (mark,))
                owners.setdefault(mark, piece)
    for pair in prints:
        if isinstance(pair, Resemblance) and rule.embedding is not None and pair.model == rule.embedding.model:
            is_near = pair.similarity >= rule.embedding.similarity_threshold
            if is_near and pair.sha256 in pieces and pair.other in pieces:
                yield pair.sha256, pair.other


def _by_embedding(
    rule: EmbeddingSimilarity | None, speakers: Speakers, pairs: Iterable[Resemblance]
) -> tuple[Speakers, set[Flag]]:
    """Two pieces that the contract's model finds alike, from its threshold on; another model's word says nothing."""
    alike: dict[str, set[str]] = {}
    for pair in pairs:
        if rule is not None and pair.model == rule.model and pair.similarity >= rule.similarity_threshold:
            alike.setdefault(pair.sha256, set()).add(pair.other)
            alike.setdefault(pair.other, set()).add(pair.sha256)
    is_rejected = rule is not None and rule.action is SimilarityAction.REJECT
    similar = _similar(alike, speakers.said.rows, is_rejected=is_rejected) if alike else set[str]()
    if not similar:
        return speakers, set()
    if not is_rejected:
        return speakers, {Flag.SIMILAR_EVIDENCE}
    kept = speakers.only(hash_ not in similar for hash_ in speakers.said.observation_hashes)
    return kept, {Flag.SIMILAR_EVIDENCE}


def _similar(alike: Mapping[str, set[str]], rows: Iterable[ReadyObservation], *, is_rejected: bool) -> set[str]:
    """The hashes of observations that came after one with evidence like theirs; of a rejected one nothing was seen."""
    seen, similar = set[str](), set[str]()
    for row in sorted(rows, key=lambda one: one.arrival):
        evidence = row.evidence or ()
        is_similar = any(not seen.isdisjoint(alike.get(piece, ())) for piece in evidence)
        if is_similar:
            similar.add(row.observation_hash)
        if not (is_similar and is_rejected):
            seen.update(evidence)
    return similar


def _by_hash(
    rule: HashSimilarity | None, speakers: Speakers, fingerprints: Collection[Fingerprint]
) -> tuple[Speakers, set[Flag]]:
    if rule is None:
        return speakers, set()
    prints = _by_content(rule, fingerprints)
    copies = (
        set[str]() if not prints and speakers.said.is_each_piece_once else _copies(rule, speakers.said.rows, prints)
    )
    if not copies:
        return speakers, set()
    flags = {Flag.DUPLICATE_EVIDENCE}
    if not rule.immediate_reject_if_duplicate:
        return speakers, flags
    return speakers.only(hash_ not in copies for hash_ in speakers.said.observation_hashes), flags


def _copies(rule: HashSimilarity, rows: Iterable[ReadyObservation], prints: Mapping[str, set[int]]) -> set[str]:
    """The hashes of observations whose evidence was seen before; where copies are rejected, theirs was not seen."""
    seen, copies = _Seen(rule.duplicate_threshold), set[str]()
    for row in sorted(rows, key=lambda one: one.arrival):
        evidence = row.evidence or ()
        marks = {mark for piece in evidence for mark in prints.get(piece, ())}
        is_copy = seen.holds(evidence, marks)
        if is_copy:
            copies.add(row.observation_hash)
        if not (is_copy and rule.immediate_reject_if_duplicate):
            seen.add(evidence, marks)
    return copies


def _by_content(rule: HashSimilarity, fingerprints: Iterable[Fingerprint]) -> Mapping[str, set[int]]:
    prints: dict[str, set[int]] = {}
    for fingerprint in fingerprints:
        if fingerprint.method is rule.method:
            prints.setdefault(fingerprint.sha256, set()).add(int(fingerprint.bits, 16))
    return prints


class _Seen:
    """Evidence so far. Marks that differ in at most t bits agree in one of t + 1 parts, so only those are compared."""

    def __init__(self, threshold: int) -> None:
        self._threshold = threshold
        self._contents: set[str] = set()
        self._parts: dict[tuple[int, int], set[int]] = {}

    def holds(self, contents: Iterable[str], marks: Iterable[int]) -> bool:
        return not self._contents.isdisjoint(contents) or any(self.near(mark) for mark in marks)

    def near(self, mark: int) -> set[int]:
        """The marks so far that differ from this one in at most the threshold."""
        return {
            other
            for part in self._split(mark)
            for other in self._parts.get(part, ())
            if (mark ^ other).bit_count() <= self._threshold
        }

    def add(self, contents: Iterable[str], marks: Iterable[int]) -> None:
        self._contents.update(contents)
        for mark in marks:
            for part in self._split(mark):
                self._parts.setdefault(part, set()).add(mark)

    def _split(self, mark: int) -> Iterator[tuple[int, int]]:
        if self._threshold >= _BITS:
            yield 0, 0
            return
        count = self._threshold + 1
        for part in range(count):
            low, high = _BITS * part // count, _BITS * (part + 1) // count
            yield part, mark >> low & (1 << high - low) - 1
