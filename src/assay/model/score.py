"""Scoring: tokens that are already there, read in one pass instead of written one by one.

prompt + grammar + tokens -> the rows they make -> one pass of the engine -> Answer, with today's scores of each token
Whoever holds the weights can so look at every position of a transcript for the price of reading it (SKI 7.5).
"""

from collections.abc import Sequence
from itertools import islice
from typing import TypeVar

from assay.model.automaton import Plan, compile_plan, notation_of, render_answer
from assay.model.choice import Written, weigh
from assay.model.engine import Engine, Position
from assay.model.errors import JudgeError
from assay.model.judge import ASSERTED, Answer, in_answer_order
from assay.model.program import Program, write_closing, write_line
from assay.model.vocabulary import VOCABULARY

_T = TypeVar("_T")
# Four words for each comparison, and for the line whether an exemption holds and its class.
_COMPARED, _CONCLUDED = 4, 2


class _Row:
    """One row as it must have been read, the places after which a token was chosen, and between which."""

    __slots__ = ("asked", "choices", "read", "tokens")

    def __init__(self, tokens: Sequence[int]) -> None:
        self.tokens = tokens
        self.read: list[Position] = []
        self.asked: list[int] = []
        self.choices: list[tuple[int, ...]] = []


def score(engine: Engine, prompt: str, grammar: bytes, tokens: Sequence[int]) -> Answer:
    """The answer that these tokens make, each with the scores it has; that the judge chose them is not said.

    Refuses tokens of which no answer to this case can consist.
    """
    plan = compile_plan(prompt, grammar)
    dealt = _deal(plan, tokens)
    rows = [_Row(part) for part in dealt]
    lines = zip(plan.lines, rows, strict=False)
    findings = [_follow(write_line(line, plan.observing(at)), row) for at, (line, row) in enumerate(lines)]
    closing = _follow(write_closing(findings, plan.roles, plan.verdicts), rows[-1])
    scored = engine.score_rows([row.read for row in rows], [row.asked for row in rows])
    written = [_weighed(row, part.tolist()) for row, part in zip(rows, scored, strict=True)]
    return Answer(
        text=render_answer(plan, findings, closing),
        written=in_answer_order(findings, written[:-1], written[-1]),
        notation=notation_of(plan, findings, closing),
    )


def _deal(plan: Plan, tokens: Sequence[int]) -> list[list[int]]:
    """The tokens of each line and of the closing, which is the last; an answer has them in another order."""
    asserts = [plan.observing(at) is not None for at in range(len(plan.lines))]
    counts = [_COMPARED * len(line.asked) + _CONCLUDED for line in plan.lines]
    closing = 1 + len(plan.lines) + len(plan.roles) + 1
    expected = sum(counts) + ASSERTED * sum(asserts) + closing
    if len(tokens) != expected:
        raise JudgeError.tokens(f"expected {expected} tokens, got {len(tokens)}")
    left = iter(tokens)
    rows = [list(islice(left, count)) for count in counts]
    last = list(islice(left, 1))
    for row, has_assertion in zip(rows, asserts, strict=True):
        row.extend(islice(left, ASSERTED if has_assertion else 0))
    return [*rows, [*last, *left]]


def _follow(program: Program[_T], row: _Row) -> _T:
    """What the program comes to when these tokens are chosen."""
    ask = next(program)
    for token in row.tokens:
        if token not in ask.choices:
            known = VOCABULARY[token] if 0 <= token < len(VOCABULARY) else "none"
            raise JudgeError.tokens(f"expected a token that was open, got {token} (`{known}`)")
        row.read += ask.chunk
        row.asked.append(len(row.read) - 1)
        row.choices.append(ask.choices)
        try:
            ask = program.send(token)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]  # what the program returns
    raise AssertionError("the tokens of a row were counted")


def _weighed(row: _Row, scores: list[list[int]]) -> list[Written]:
    return [weigh(token, at, open_) for token, at, open_ in zip(row.tokens, scores, row.choices, strict=True)]
