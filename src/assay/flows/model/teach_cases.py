"""Cases become what a model learns from: rows whose every word the verifier agrees with.

case -> docket and prompt -> lines -> labels, held against the verifier -> rows, and one that closes the case
"""

from collections.abc import Iterator, Sequence

from assay.flows.errors.model import UnteachableCaseError
from assay.model.automaton import compile_plan
from assay.model.cases.draw import Draw
from assay.model.cases.draw_case import case_lines, draw_case, is_sealed
from assay.model.cases.extent import DEEP, MIXED, USUAL, WIDE
from assay.model.errors import CaseSizeError
from assay.model.learn.label import Label, label_line
from assay.model.learn.row import Row, closing_row, draw_closing, line_row
from assay.model.tokenizer import Line, read_case
from assay.verdicts.case import Case, OpenCase, expected_of, open_case, parse_case
from assay.verdicts.reason import build_request

# Of every so many replayed cases one closing is drawn for itself, evenly over the verdicts.
closing_share = 0.42
_EXTENTS = ((USUAL, WIDE, MIXED, DEEP), (55, 10, 20, 15))
_SIGNS = ("++", "+-", "-+", "--")


def teach_case(case: Case) -> list[Row]:
    """A row for each obligation and the closing one; refuses a case that does not show all that decides it."""
    opened = open_case(case)
    lines = read_case(opened.prompt)
    labels = _labels(opened, lines)
    request = build_request(opened.docket, opened.telemetry, opened.facts, seed=0)
    roles = compile_plan(request.prompt, bytes(request.grammar)).roles
    closing = closing_row([one.outcome for one in labels], [one.exempting for one in labels], roles)
    return [*map(line_row, lines, labels), closing]


def draw_replay(rng: Draw, hidden: frozenset[str]) -> Iterator[Row]:
    """Rows of one drawn case, so that what was learnt before is not forgotten.

    None of a case that is sealed or too large, nor of a line with digits that a sealed case has (`hidden`).
    """
    if rng.random() < closing_share:
        yield draw_closing(rng)
    opened = open_case(parse_case(draw_case(rng, rng.choices(*_EXTENTS)[0])))
    texts = case_lines(opened.prompt)
    if is_sealed(texts):
        return
    try:
        lines = read_case(opened.prompt)
    except CaseSizeError:
        return
    for line, text in zip(lines, texts, strict=True):
        if text.partition(" ")[2] not in hidden:
            yield line_row(line, label_line(line))


def digit_lines(cases: Sequence[Case]) -> frozenset[str]:
    """Lines with digits, without their number; others are so few that both sides of a split have them all."""
    found = {line.partition(" ")[2] for case in cases for line in case_lines(open_case(case).prompt)}
    return frozenset(line for line in found if any(sign in line for sign in _SIGNS))


def _labels(opened: OpenCase, lines: Sequence[Line]) -> list[Label]:
    labels = [label_line(line) for line in lines]
    told, found = tuple(one.outcome for one in labels), expected_of(opened).classes
    if told != found:
        raise UnteachableCaseError(f"expected a case that shows why it comes to {found}, got one that shows {told}")
    return labels
