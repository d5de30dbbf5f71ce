"""Sequences: cases and their labels as rows of tokens, positions and targets.

Each obligation is a row of its own, and what closes a case is one more: the model attends within a row only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.model.cases.draw import Draw
from assay.model.learn.label import Label, closing_labels
from assay.model.tokenizer import ASKED, CLOSING, TAIL, Line
from assay.model.vocabulary import CLASSES, EXEMPTING, IDS, ROLES

_FORMAL_ONLY = frozenset({"unknown", "~"})


@dataclass(slots=True)
class Row:
    """One sequence; a target of 0 is none."""

    tokens: list[int]
    comparisons: list[int]
    places: list[int]
    targets: list[int]

    def add(self, symbol: str, comparison: int, place: int, target: str | None = None) -> None:
        self.tokens.append(IDS[symbol])
        self.comparisons.append(comparison)
        self.places.append(place)
        self.targets.append(0 if target is None else IDS[target])


def line_row(line: Line, label: Label) -> Row:
    row = Row(list(line.tokens), list(line.comparisons), list(line.places), [0] * len(line.tokens))
    for number, (words, asked) in enumerate(zip(label.comparisons, line.asked, strict=True)):
        for step, (symbol, target) in enumerate(zip(("compare", *words), (*words, None), strict=True)):
            row.add(symbol, number, asked + step, target)
    tail = ["conclude", label.exempting, label.outcome]
    if not _FORMAL_ONLY & {line.symbols[0], line.symbols[-1]} or line.starts[-1] == "x":
        tail += [label.observed, label.satisfied]
    for step, (symbol, target) in enumerate(zip(tail, (*tail[1:], None), strict=True)):
        row.add(symbol, TAIL, ASKED + step, target)
    return row


def closing_row(classes: Sequence[str], exempting: Sequence[str], roles: Sequence[str]) -> Row:
    verdict, cited = closing_labels(classes, exempting, roles)
    row = Row([], [], [], [])
    for name, word in zip(classes, exempting, strict=True):
        row.add(name, CLOSING, 0)
        row.add(word, CLOSING, 1)
    row.add("decide", CLOSING, ASKED, verdict)
    row.add(verdict, CLOSING, ASKED + 1)
    for asked, answer in zip((*classes, *roles), cited, strict=True):
        is_role = asked in ROLES
        row.add(asked, CLOSING, ASKED + (4 if is_role else 2), answer)
        row.add(answer, CLOSING, ASKED + (5 if is_role else 3))
    row.add("decide", CLOSING, ASKED + 6, verdict)
    return row


def draw_closing(rng: Draw) -> Row:
    """Any mixture of classes: the closing is learnt for itself, evenly over the verdicts."""
    count = rng.choice((1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, rng.randint(9, 24), rng.randint(9, 64)))
    kept = rng.sample(CLASSES, rng.choice((1, 2, 2, 3, 4, 7)))
    if rng.random() < 0.6:
        weights = [200 if name in {"satisfied", "exempt"} else 1 + 200 // count for name in kept]
    else:
        weights = [1] * len(kept)
    classes = rng.choices(kept, weights, k=count)
    exempting = [
        "exempting" if name == "exempt" else rng.choice(("no_exemption", "no_exemption", *EXEMPTING[1:3]))
        for name in classes
    ]
    roles = [role for role in ROLES[1:] if rng.random() < 0.4]
    return closing_row(classes, exempting, roles)
