"""Support: whether the sources of a claim are held here, and say what it says.

claim + passages + contents -> quote located -> claim held against its sentences -> Support for each pointer
"""

from collections.abc import Collection, Iterator, Mapping
from hashlib import sha256

from msgspec import UNSET, Struct

from assay.claims.bundle import Claim, ClaimType, Decision, EvidencePointer, Recommendation, is_full_hash
from assay.claims.estimate.follow import follows
from assay.claims.finding import Finding, FindingCode
from assay.claims.locate import Location, Place, locate, readable_text, selected_context, sentences_around
from assay.claims.passage import Passage, SupportResult
from assay.claims.policy import EvidencePolicy, support_called
from assay.identity.problem import shortened

# A quote of fewer words stands in too many texts.
_SHORTEST = 3
# Among so many other sources a quote that is not in its own is looked for.
_MOST_BESIDE = 16

# Whatever a reviewer says, words that are not where a pointer says they are do not become evidence.
_NEVER_EVIDENCE = frozenset({SupportResult.NOT_FOUND, SupportResult.MISATTRIBUTED, SupportResult.STITCHED})
_DECISIONS = {Recommendation.DEFER: Decision.DEFER, Recommendation.REFUSE: Decision.REFUSE}


class Support(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was found about the pointer of that place, in one sentence."""

    place: int
    source: str
    result: SupportResult
    message: str


def check_support(
    claim: Claim,
    passages: tuple[Passage, ...],
    *,
    contents: Mapping[str, bytes],
    seen: Collection[str] = (),
    erased: Collection[str] = (),
) -> tuple[Support, ...]:
    """Every pointer whose evidence this node never saw, and every passage with what was found about it.

    A DECISION needs no evidence, so nothing is missed there; what it quotes is checked like everybody's. `seen` are
    hashes of what another room of this node holds; what was erased is told by the evidence check itself.
    """
    quoted = {one.place: one for one in passages if one.place < len(claim.evidence_pointers)}
    found: list[Support] = []
    for place, pointer in enumerate(claim.evidence_pointers):
        content = held_content(pointer, contents) if contents else None
        if place in quoted:
            found.append(check_passage(claim.statement, quoted[place], pointer, content, contents))
        elif content is None and claim.claim_type is not ClaimType.DECISION and _is_unseen(pointer, seen, erased):
            found.append(_support(place, pointer, SupportResult.ABSENT, "this node never saw the content of"))
    return tuple(found)


def check_passage(
    statement: str, passage: Passage, pointer: EvidencePointer, content: bytes | None, contents: Mapping[str, bytes]
) -> Support:
    """What one passage is worth; `content` is what the pointer names, `contents` all that is held beside it."""
    place = passage.place
    text = None if content is None else readable_text(content)
    if text is None:
        told = "never saw" if content is None else "cannot read"
        return _support(place, pointer, SupportResult.ABSENT, f"this node {told} the content of")
    at = locate(text, passage)
    if at.place is Place.ELSEWHERE:
        return _support(place, pointer, SupportResult.MISATTRIBUTED, "the quote is elsewhere than the pointer says in")
    if at.place is not Place.HERE:
        return _not_here(passage, pointer, at.place, contents)
    if len(passage.quote.split()) < _SHORTEST and passage.selector is UNSET:
        return _support(place, pointer, SupportResult.UNCLEAR, "the quote is too short to settle the claim, from")
    result, why = follows(statement, _sentences(text, passage, at))
    if result is SupportResult.SUPPORTED:
        return _support(place, pointer, result, "the claim is supported by")
    return Support(
        place=place,
        source=pointer.source,
        result=result,
        message=f"the passage quoted from `{shortened(pointer.source)}` {why}",
    )


def _not_here(passage: Passage, pointer: EvidencePointer, at: Place, contents: Mapping[str, bytes]) -> Support:
    """The quote is not in its source: it may be in another one that is held, or be made of fragments."""
    if at is Place.UNSEARCHED:
        return _support(passage.place, pointer, SupportResult.ABSENT, "this node cannot search so long a text as")
    bare = Passage(place=passage.place, quote=passage.quote)
    for source, content in sorted(contents.items())[:_MOST_BESIDE]:
        text = readable_text(content)
        if text is not None and locate(text, bare).place is Place.HERE:
            told = f"the quote is not in `{shortened(pointer.source)}`, it is in `{shortened(source)}`"
            return Support(place=passage.place, source=pointer.source, result=SupportResult.MISATTRIBUTED, message=told)
    if at is Place.FRAGMENTS:
        return _support(passage.place, pointer, SupportResult.STITCHED, "the quote is put together from fragments of")
    return _support(passage.place, pointer, SupportResult.NOT_FOUND, "the quote is not in")


def _sentences(text: str, passage: Passage, at: Location) -> tuple[str, ...]:
    """What the claim is held against: the sentences that the quote stands in, or the value with what it is of."""
    if passage.selector is not UNSET and passage.selector.page is UNSET:
        described = selected_context(text, passage.selector)
        return (described,) if described is not None else (passage.quote,)
    return sentences_around(text, at.start, at.end)


def _support(place: int, pointer: EvidencePointer, result: SupportResult, told: str) -> Support:
    return Support(place=place, source=pointer.source, result=result, message=f"{told} `{shortened(pointer.source)}`")


def support_findings(claim: Claim, policy: EvidencePolicy, supports: tuple[Support, ...]) -> Iterator[Finding]:
    """One finding for each result that keeps the claim from being published."""
    for one in supports:
        decision = _DECISIONS.get(support_called(policy, one.result, claim))
        if decision is not None:
            yield Finding(
                code=FindingCode(one.result),
                message=one.message,
                decision=decision,
                claim_id=claim.id,
                resumable=one.result not in _NEVER_EVIDENCE,
                about=one.source,
            )


def support_caveats(claim: Claim, policy: EvidencePolicy, supports: tuple[Support, ...]) -> tuple[str, ...]:
    """What belongs beside the output, one sentence for each kind of result."""
    told: dict[SupportResult, list[str]] = {}
    for one in supports:
        if support_called(policy, one.result, claim) is Recommendation.EXPLAIN:
            told.setdefault(one.result, []).append(one.message)
    return tuple(
        f"{claim.id}: {messages[0]}{f'; and {len(messages) - 1} more' if messages[1:] else ''}"
        for messages in told.values()
    )


def unsupported_places(supports: tuple[Support, ...]) -> frozenset[int]:
    """The pointers that count for nothing, since what they quote is not there."""
    return frozenset(one.place for one in supports if one.result in _NEVER_EVIDENCE)


def held_content(pointer: EvidencePointer, contents: Mapping[str, bytes]) -> bytes | None:
    """The content that a pointer names by its hash; None where it is not held."""
    for name in (f"{pointer.source}#{pointer.evidence_hash}", pointer.source):
        content = contents.get(name)
        if content is not None and sha256(content).hexdigest() == pointer.evidence_hash:
            return content
    return None


def _is_unseen(pointer: EvidencePointer, seen: Collection[str], erased: Collection[str]) -> bool:
    """What has no whole hash is held against the evidence rules, which defer it."""
    hashed = pointer.evidence_hash
    return hashed is not None and is_full_hash(hashed) and hashed not in seen and hashed not in erased
