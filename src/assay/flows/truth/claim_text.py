"""What people read before they vote, and what of it can be read back: the key and the claim that the text is about.

state + observations + trust -> text, its first line the key, its last the hash of the claim
"""

from collections.abc import Iterable, Sequence
from itertools import islice

from assay.kernel.canonical import Profile, canonical_json
from assay.kernel.instant import Instant, render_instant
from assay.truth.observation import Observation
from assay.truth.snapshot import TrustSnapshot
from assay.truth.state import TruthState, shown_hash

_MOST_OBSERVATIONS = 200
# Of the claim, and of the observations: a vote's entry holds the text, quotes escaped, and may have one MiB.
_MOST_BYTES = 192 * 1024
_KEY_LINE = "truth key: "
_HASH_LINE = "claim hash: "


def render_claim(state: TruthState, observations: Iterable[Observation], snapshot: TrustSnapshot) -> str:
    """What a voter reads, the same for the same state; what does not fit is counted, and the hash covers all of it."""
    heard = frozenset(state.observation_ids)
    said = sorted((one for one in observations if one.observation_id in heard), key=_order)
    claim = [f"  {name}: {canonical_json(value, Profile.KAORI)}" for name, value in sorted(state.claim.items())]
    lines = [
        f"{_KEY_LINE}{state.truthkey}",
        f"claim type: {state.claim_type}",
        "claim:",
        *_fitting(claim, len(claim)),
        f"status: {state.status}",
        f"confidence: {state.confidence} (machines: {state.ai_confidence})",
        f"flags: {', '.join(state.transparency_flags) or 'none'}",
        f"observations: {len(said)}",
        *_fitting((_said(one, snapshot) for one in islice(said, _MOST_OBSERVATIONS)), len(said)),
        f"compiled at: {render_instant(state.compile_inputs.compile_time)}",
        f"{_HASH_LINE}{shown_hash(state)}",
    ]
    return "\n".join(lines)


def claim_hash_in(text: str) -> str:
    """The hash in the last line, which a vote is bound to; whoever hashes the text has covered that line."""
    return text.rpartition(_HASH_LINE)[2]


def truthkey_in(text: str) -> str:
    return text.partition("\n")[0].removeprefix(_KEY_LINE)


def _fitting(lines: Iterable[str], total: int) -> Sequence[str]:
    """The lines that there is room for, each whole, and how many of the total are not among them."""
    kept: list[str] = []
    room = _MOST_BYTES
    for line in lines:
        size = len(line.encode()) + 1
        if size <= room:
            kept.append(line)
            room -= size
    return kept if len(kept) == total else [*kept, f"  and {total - len(kept)} more"]


def _order(observation: Observation) -> tuple[Instant, str]:
    return observation.reported_at, observation.observation_id


def _said(observation: Observation, snapshot: TrustSnapshot) -> str:
    trust = snapshot.find(observation.reporter_id)
    standing = "unknown" if trust is None else f"{trust.standing}, trust {trust.trust_score}"
    evidence = ", ".join(sorted({ref.sha256 for ref in observation.evidence_refs})) or "none"
    payload = canonical_json(observation.payload, Profile.KAORI)
    when = render_instant(observation.reported_at)
    return f"  {when} {observation.reporter_id} ({standing}): {payload} evidence: {evidence}"
