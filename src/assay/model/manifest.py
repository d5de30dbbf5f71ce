"""The manifest of weights in a registry: which file, of which make, and from which weights and lessons it came."""

from typing import Annotated

from msgspec import Meta, MsgspecError, Struct, json

from assay.kernel.digest import Digest
from assay.model.errors import WeightFormError
from assay.model.learn.plan import Plan
from assay.model.weights import Shape, Weights


class Manifest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`parent_hash` and `training` say how the weights came about, where they were trained here; `held_out_hash` is
    that of the pairs that were kept away from that training, and which the weights must not be worse on.
    """

    name: Annotated[str, Meta(min_length=1, max_length=80, pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    version: Annotated[str, Meta(min_length=1, max_length=40, pattern=r"^[0-9A-Za-z][0-9A-Za-z.+-]*$")]
    weight_hash: Digest
    size: int
    shape: Shape
    parameters: int
    prompt_template_id: str
    parent_hash: Digest | None = None
    training: Plan | None = None
    held_out_hash: Digest | None = None


def manifest_of(
    weights: Weights,
    *,
    name: str,
    version: str,
    size: int,
    template_id: str,
    parent_hash: Digest | None = None,
    training: Plan | None = None,
    held_out_hash: Digest | None = None,
) -> Manifest:
    """The manifest of weights that were read whole; names are held to their form."""
    found = Manifest(
        name=name,
        version=version,
        weight_hash=weights.hash,
        size=size,
        shape=weights.shape,
        parameters=sum(part.size for part in weights.tensors.values()),
        prompt_template_id=template_id,
        parent_hash=parent_hash,
        training=training,
        held_out_hash=held_out_hash,
    )
    return parse_manifest(json.encode(found))


def parse_manifest(text: bytes | str) -> Manifest:
    """Refuses a text that is not exactly a manifest."""
    try:
        return json.decode(text, type=Manifest)
    except MsgspecError as error:
        raise WeightFormError(f"expected a manifest of weights, got {error}") from error
