"""Rows of drawn cases with their types: what the training in torch reads, by the types it reports on."""

import random
from collections.abc import Iterator

from assay.model.cases.draw_case import case_lines, draw_case, is_sealed
from assay.model.cases.extent import DEEP, MIXED, USUAL, WIDE
from assay.model.errors import CaseSizeError
from assay.model.learn.label import label_line
from assay.model.learn.row import Row, line_row
from assay.model.tokenizer import read_case
from assay.verdicts.case import open_case, parse_case

__all__ = ["draw_rows"]


def draw_rows(rng: random.Random, sealed_lines: frozenset[str]) -> Iterator[tuple[Row, str]]:
    """Rows of one case with their types; none of a case that is sealed or too large, nor a sealed line with digits."""
    case = draw_case(rng, rng.choices((USUAL, WIDE, MIXED, DEEP), (45, 10, 15, 30))[0])
    prompt = open_case(parse_case(case)).prompt
    texts = case_lines(prompt)
    if is_sealed(texts):
        return
    try:
        lines = read_case(prompt)
    except CaseSizeError:
        return
    for line, text in zip(lines, texts, strict=True):
        if text.partition(" ")[2] not in sealed_lines:
            yield line_row(line, label_line(line)), line.symbols[0]
