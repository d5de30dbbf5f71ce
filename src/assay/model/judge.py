"""The judge: one prompt and its grammar in, the answer and every token of it out.

prompt + grammar -> plan -> a row for each obligation, side by side -> the closing row -> Answer
"""

from collections.abc import Sequence

from msgspec import Struct

from assay.model.automaton import Plan, compile_plan, notation_of, render_answer
from assay.model.choice import Pick, Written, greedy
from assay.model.engine import Engine
from assay.model.program import Finding, run, write_closing, write_line

# What is written after a line: five tokens for each comparison and five at the end.
_PER_COMPARISON = 5
# `observed` and `satisfied`, the last two of a row that has an assertion.
ASSERTED = 2
# As the number of a row: no line has it.
_CLOSING = -1


class Answer(Struct, frozen=True, kw_only=True):
    """`text` is the JSON that the grammar describes; `written` are the tokens that were decided, in its order.

    `notation` is the reasoning in the symbols of the tokens, where the text has it in sentences.
    """

    text: str
    written: tuple[Written, ...]
    notation: str | None = None


def judge(engine: Engine, prompt: str, grammar: bytes, *, pick: Pick = greedy) -> Answer:
    """The same bytes on every machine for the same weights, prompt and grammar, unless `pick` says otherwise."""
    return judge_many(engine, [(prompt, grammar)], pick=pick)[0]


def judge_many(engine: Engine, asked: Sequence[tuple[str, bytes]], *, pick: Pick = greedy) -> list[Answer]:
    """Many at once, for less each; every answer is what it would be alone."""
    plans = [compile_plan(prompt, grammar) for prompt, grammar in asked]
    if not plans:
        return []
    places = [(number, line) for number, plan in enumerate(plans) for line in range(len(plan.lines))]
    found, written = _run_lines(engine, plans, places, pick)
    findings: list[list[Finding]] = [[] for _ in plans]
    tokens: list[list[list[Written]]] = [[] for _ in plans]
    for (number, _), finding, row in zip(places, found, written, strict=True):
        findings[number].append(finding)
        tokens[number].append(row)
    closings, closing_rows = run(
        engine,
        [write_closing(found, plan.roles, plan.verdicts) for found, plan in zip(findings, plans, strict=True)],
        [_CLOSING] * len(plans),
        [4 * len(plan.lines) + 2 * len(plan.roles) + 3 for plan in plans],
        pick,
    )
    return [
        Answer(
            text=render_answer(plan, findings[number], closings[number]),
            written=in_answer_order(findings[number], tokens[number], closing_rows[number]),
            notation=notation_of(plan, findings[number], closings[number]),
        )
        for number, plan in enumerate(plans)
    ]


def _run_lines(
    engine: Engine, plans: Sequence[Plan], places: Sequence[tuple[int, int]], pick: Pick
) -> tuple[list[Finding], list[list[Written]]]:
    lines = [plans[number].lines[line] for number, line in places]
    programs = [write_line(line, plans[number].observing(at)) for line, (number, at) in zip(lines, places, strict=True)]
    lengths = [len(line.tokens) + _PER_COMPARISON * (len(line.starts) + 1) for line in lines]
    return run(engine, programs, [at for _, at in places], lengths, pick)


def in_answer_order(
    findings: Sequence[Finding], rows: Sequence[Sequence[Written]], closing: Sequence[Written]
) -> tuple[Written, ...]:
    """As the answer has it: the reasoning about every line and where it leads, the assertions, citations, verdict."""
    reasoned: list[Written] = []
    asserted: list[Written] = []
    for finding, row in zip(findings, rows, strict=True):
        cut = len(row) if finding.observed is None else len(row) - ASSERTED
        reasoned += row[:cut]
        asserted += row[cut:]
    return (*reasoned, *closing[:1], *asserted, *closing[1:])
