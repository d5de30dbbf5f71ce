"""Names and values as a line of `divergences` tells them: short, on one line, in ASCII, with escapes as JSON has them.

Entries of the first rulings are told in Python's own escapes and names of types, and replay to these.
"""

import json

from assay.identity.problem import shortened
from assay.verdicts.comparison import PlainOperand
from assay.verdicts.rulings import Rulings
from assay.verdicts.telemetry import Scalar

_LONGEST = 80
_SHOWN_PARTS = 8
_KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}


class Teller:
    """How one set of rulings tells; a stateless choice, shared by all."""

    def __init__(self, rulings: Rulings) -> None:
        self._is_first = rulings is Rulings.FIRST

    def text(self, text: str) -> str:
        return ascii(text)[1:-1] if self._is_first else json.dumps(text)[1:-1]

    def name(self, identity: str) -> str:
        return f"`{self.text(identity)[:_LONGEST]}`"

    def value(self, value: PlainOperand | Scalar) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, tuple):
            return f"[{', '.join(self.value(part) for part in value[:_SHOWN_PARTS])}]"
        return "nothing" if value is None else f"`{shortened(self.text(value) if isinstance(value, str) else value)}`"

    def kind(self, value: object) -> str:
        """What sort of JSON value it is."""
        if value is None:
            return "nothing"
        return type(value).__name__ if self._is_first else _KINDS.get(type(value), "something else")

    def json(self, value: object) -> str:
        """Any JSON value, cut where it is long."""
        return shortened(ascii(value) if self._is_first else json.dumps(value, default=str))


_TELLERS = {rulings: Teller(rulings) for rulings in Rulings}


def teller_of(rulings: Rulings) -> Teller:
    return _TELLERS[rulings]
