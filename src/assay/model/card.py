"""The card: what a weight file is, where it came from, and how good it was found to be.

JSON text -> parse_card -> ModelCard; the card names the only bytes that may be loaded under it
"""

from msgspec import MsgspecError, Struct, json

from assay.kernel.digest import Digest
from assay.model.errors import WeightFormError
from assay.model.form import Limits
from assay.model.weights import Shape


class TypeFigures(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Assertions about obligations of one type, and how many of them were right."""

    asserted: int
    right: int


class ModelCard(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`sealed_hash` is that of the case file on which the figures were taken; rates are from 0 to 1.

    `training_hash` is that of the training's source files when the card was written. `limits` say how large a case may
    be; `refused` are sealed cases that are larger, which are in no rate.
    """

    name: str
    version: str
    weight_hash: Digest
    shape: Shape
    parameters: int
    prompt_template_id: str
    trained_steps: int
    training_hash: Digest
    sealed_hash: Digest
    cases: int
    verdict_accuracy: float
    assertion_accuracy: float
    flag_recall: float
    silent_clear: float
    agreement: float
    unparsable: int
    types: dict[str, TypeFigures]
    limits: Limits | None = None
    refused: int = 0


def parse_card(text: bytes | str) -> ModelCard:
    """Refuses a text that is not exactly a card."""
    try:
        return json.decode(text, type=ModelCard)
    except MsgspecError as error:
        raise WeightFormError(f"expected a model card, got {error}") from error
