"""Programs: in which order the model is asked, and between which symbols it may choose each time.

line -> write_line; conclusions of all lines -> write_closing; programs -> run -> what was written
Each line is a row of its own and the closing another: a token attends within its row. What is not a choice is read
without being decoded. The scores decide between choices; of equal ones the lower number wins.
"""

from collections.abc import Generator, Sequence
from typing import TypeAlias, TypeVar

from msgspec import Struct

from assay.model.choice import Pick, Written, weigh
from assay.model.engine import Engine, Position, Session, split_rows
from assay.model.tokenizer import ASKED, CLOSING, TAIL, Line
from assay.model.vocabulary import (
    CITING,
    CLASSES,
    DIFFERENCES,
    EXEMPTING,
    IDS,
    OBSERVING,
    RELATIONS,
    SATISFYING,
    TRUTHS,
    VOCABULARY,
)


class Ask(Struct, frozen=True, kw_only=True):
    """Read this, then choose one of these."""

    chunk: tuple[Position, ...]
    choices: tuple[int, ...]


class Finding(Struct, frozen=True, kw_only=True):
    """What was written about one obligation; `observed` and `satisfied` are None where it cannot be computed."""

    comparisons: tuple[tuple[str, str, str, str], ...]
    exempting: str
    outcome: str
    observed: str | None
    satisfied: str | None


class Closing(Struct, frozen=True, kw_only=True):
    """What was written about the whole: `reasoned` ends the reasoning, `verdict` the answer."""

    reasoned: str
    cited: tuple[bool, ...]
    cited_roles: tuple[bool, ...]
    verdict: str


_T = TypeVar("_T")
Program: TypeAlias = Generator[Ask, int, _T]
_STEPS = tuple(tuple(IDS[symbol] for symbol in group) for group in (DIFFERENCES, RELATIONS, TRUTHS, TRUTHS))
_EXEMPTING = tuple(IDS[symbol] for symbol in EXEMPTING)
_CLASSES = tuple(IDS[symbol] for symbol in CLASSES)
_SATISFYING = tuple(IDS[symbol] for symbol in SATISFYING)
_CITING = tuple(IDS[symbol] for symbol in CITING)


def write_line(line: Line, observing: Sequence[str] | None) -> Program[Finding]:
    """Write one line. `observing` are the choices for the observed value, None where it cannot be computed."""
    chunk = list(zip(line.tokens, line.comparisons, line.places, strict=True))
    comparisons = []
    for number, asked in enumerate(line.asked):
        chunk.append((IDS["compare"], number, asked))
        words = []
        for step, choices in enumerate(_STEPS, 1):
            token = yield Ask(chunk=tuple(chunk), choices=choices)
            chunk = [(token, number, asked + step)]
            words.append(VOCABULARY[token])
        comparisons.append((words[0], words[1], words[2], words[3]))
    chunk.append((IDS["conclude"], TAIL, ASKED))
    tail = [_EXEMPTING, _CLASSES]
    if observing is not None:
        tail += [tuple(IDS[symbol] for symbol in OBSERVING if symbol in observing), _SATISFYING]
    written = []
    for step, choices in enumerate(tail, 1):
        token = yield Ask(chunk=tuple(chunk), choices=choices)
        chunk = [(token, TAIL, ASKED + step)]
        written.append(VOCABULARY[token])
    return Finding(
        comparisons=tuple(comparisons),
        exempting=written[0],
        outcome=written[1],
        observed=None if observing is None else written[2],
        satisfied=None if observing is None else written[3],
    )


def write_closing(findings: Sequence[Finding], roles: Sequence[str], verdicts: Sequence[str]) -> Program[Closing]:
    """The verdict as reasoned, what is cited for it, and the verdict."""
    chunk: list[Position] = []
    for finding in findings:
        chunk += [(IDS[finding.outcome], CLOSING, 0), (IDS[finding.exempting], CLOSING, 1)]
    chunk.append((IDS["decide"], CLOSING, ASKED))
    open_verdicts = tuple(IDS[verdict] for verdict in verdicts)
    reasoned = yield Ask(chunk=tuple(chunk), choices=open_verdicts)
    chunk = [(reasoned, CLOSING, ASKED + 1)]
    asked = [(IDS[finding.outcome], ASKED + 2) for finding in findings] + [(IDS[role], ASKED + 4) for role in roles]
    cited = []
    for symbol, place in asked:
        chunk.append((symbol, CLOSING, place))
        token = yield Ask(chunk=tuple(chunk), choices=_CITING)
        chunk = [(token, CLOSING, place + 1)]
        cited.append(VOCABULARY[token] == CITING[0])
    chunk.append((IDS["decide"], CLOSING, ASKED + 6))
    verdict = yield Ask(chunk=tuple(chunk), choices=open_verdicts)
    return Closing(
        reasoned=VOCABULARY[reasoned],
        cited=tuple(cited[: len(findings)]),
        cited_roles=tuple(cited[len(findings) :]),
        verdict=VOCABULARY[verdict],
    )


def run(
    engine: Engine, programs: Sequence[Program[_T]], places: Sequence[int], lengths: Sequence[int], pick: Pick
) -> tuple[list[_T], list[list[Written]]]:
    """Run each program in a row of its own, in groups of rows; return each result and every token that was decided.

    `lengths` are the most tokens of each row. `places` say which row of its case each is: a draw of chance depends on
    that, and not on what runs beside it.
    """
    found: list[_T] = []
    written: list[list[Written]] = []
    for numbers in split_rows(lengths):
        session = engine.open(len(numbers), max(lengths[number] for number in numbers))
        group = [programs[number] for number in numbers]
        results, tokens = _run_group(engine, session, group, [places[number] for number in numbers], pick)
        found += results
        written += tokens
    return found, written


def _run_group(
    engine: Engine, session: Session, programs: Sequence[Program[_T]], places: Sequence[int], pick: Pick
) -> tuple[list[_T], list[list[Written]]]:
    found: dict[int, _T] = {}
    written: list[list[Written]] = [[] for _ in programs]
    asks = {number: next(program) for number, program in enumerate(programs)}
    while asks:
        numbers = list(asks)
        scores = engine.extend(session, numbers, [asks[number].chunk for number in numbers]).tolist()
        for number, row in zip(numbers, scores, strict=True):
            choices = asks[number].choices
            token = pick(row, choices, (places[number], len(written[number])))
            written[number].append(weigh(token, row, choices))
            try:
                asks[number] = programs[number].send(token)
            except StopIteration as stop:
                found[number] = stop.value
                del asks[number]
    return [found[number] for number in range(len(programs))], written
