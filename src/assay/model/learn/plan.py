"""What a training is, so that it can be run again."""

from typing import Annotated

from msgspec import Meta, Struct

from assay.kernel.digest import Digest


class Plan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From which weights, by which pairs, and how far.

    `replay_seed` is what cases of the old kinds are drawn from, `tokens` how many are read in a step, and `pair_share`
    how many of these are of the pairs.
    """

    parent_hash: Digest
    pairs_hash: Digest
    replay_seed: int
    steps: Annotated[int, Meta(ge=1, le=100_000)]
    rate: Annotated[float, Meta(gt=0, le=0.1)]
    tokens: Annotated[int, Meta(ge=100, le=100_000)]
    pair_share: Annotated[float, Meta(gt=0, lt=1)]
