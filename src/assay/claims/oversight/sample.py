"""A random sample that nobody can steer: its seed is committed to before the outputs exist, and revealed later.

seed -> `commit_seed` (published, signed) … output hash + rate -> drawn or not … seed revealed -> `verify_sample`
Whether an output is drawn depends on the seed and on its own hash alone, so the draw can be repeated by anybody.
"""

from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct

from assay.claims.errors import ClaimsError
from assay.identity.risk import RiskTier
from assay.kernel.canonical import canonical_digest
from assay.kernel.digest import Digest, digest_of
from assay.kernel.signature import SignedKind, signing_message

_SEED_BYTES = 32
_PLACES = 1 << 64


class SamplePlan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which share of the published outputs of each tier is reviewed blindly, and how often a ticket has a known answer.

    `seed_hash` commits to the seed; the plan is signed and on record before the first output that it covers.
    """

    id: str
    seed_hash: Digest
    rates: dict[RiskTier, float]
    known_answers: float = 0.0

    def __post_init__(self) -> None:
        shares = (*self.rates.values(), self.known_answers)
        if not all(0.0 <= one <= 1.0 for one in shares):
            raise ClaimsError.sample(f"expected shares of 0 to 1, got {', '.join(f'{one:g}' for one in shares)}")


class DrawnOutput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published output, and whether it was sent to blind review."""

    bundle_hash: Digest
    tier: RiskTier
    was_drawn: bool


def commit_seed(seed: bytes) -> Digest:
    """What is published in advance; the seed itself stays secret until the plan ends."""
    if len(seed) != _SEED_BYTES:
        raise ClaimsError.sample(f"expected a seed of {_SEED_BYTES} bytes, got {len(seed)}")
    return digest_of(b"assay.sample\0" + seed)


def plan_message(plan: SamplePlan) -> bytes:
    """The bytes of a plan that are signed."""
    return signing_message(SignedKind.SAMPLE_PLAN, canonical_digest(plan).encode())


def is_drawn(plan: SamplePlan, seed: bytes, bundle_hash: Digest, tier: RiskTier) -> bool:
    """Whether a published output goes to blind review; a tier without a rate is never drawn."""
    return _share(seed, "review", bundle_hash) < plan.rates.get(tier, 0.0)


def is_known_answer(plan: SamplePlan, seed: bytes, ticket: str) -> bool:
    """Whether the next ticket of the desk is one whose answer is known."""
    return _share(seed, "known", ticket) < plan.known_answers


def verify_sample(plan: SamplePlan, seed: bytes, outputs: Iterable[DrawnOutput]) -> None:
    """Raise unless exactly the outputs that the committed seed draws were sent to review."""
    if commit_seed(seed) != plan.seed_hash:
        raise ClaimsError.sample(f"expected the seed of {plan.seed_hash}, got that of {commit_seed(seed)}")
    wrong = [one.bundle_hash for one in outputs if is_drawn(plan, seed, one.bundle_hash, one.tier) is not one.was_drawn]
    if wrong:
        raise ClaimsError.sample(
            f"expected the sample that the seed draws, got another for {len(wrong)}, first `{wrong[0]}`"
        )


def _share(seed: bytes, purpose: str, name: str) -> float:
    """A number in [0, 1) that is fixed by seed and name, and looks drawn to whoever has not the seed."""
    drawn = sha256(b"assay.draw\0" + seed + purpose.encode() + b"\0" + name.encode()).digest()
    return int.from_bytes(drawn[:8]) / _PLACES
