"""What a classifier suggests to a reviewer, and how good that has been; it decides nothing (PRAMANA 10.2)."""

from msgspec import Struct

from assay.delivery.plugin import Category


class HeldOut(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Over pairs that were guessed before they were learnt: how many, how many right, and by the commonest alone."""

    pairs: int = 0
    right: int = 0
    commonest_right: int = 0


class CategorySuggestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For a person to read: the categories from the likeliest on, and how good such guesses have been."""

    ranking: tuple[Category, ...]
    learnt_from: int
    held_out: HeldOut
    note: str = "a guess from earlier conclusions, shown and deciding nothing"
