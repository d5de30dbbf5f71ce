"""How good a model is on cases: each goes the way of a verdict, through prompt, grammar, strict reading and verifier.

cases -> requests -> an examinee -> replies -> marked cases -> figures; single answers are timed beside that
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from assay.flows.model.case_file import LabelledCase
from assay.model.engine import Engine
from assay.model.errors import CaseSizeError, JudgeError
from assay.model.figures import Figures, MarkedCase, Timing, count_cases
from assay.model.judge import judge_many
from assay.ports.model import ModelError
from assay.ports.reasoner import LocalReasoner
from assay.verdicts.case import Expected, OpenCase, expected_of, open_case
from assay.verdicts.envelope import ModelAnswer
from assay.verdicts.prompt import TEMPLATE_ID
from assay.verdicts.reason import ReasonRequest, build_request, template_of
from assay.verdicts.reply import parse_reply
from assay.verdicts.verify import Divergence, verify

_OBLIGATIONS = 2
_TIMED = 100
# What is said of a case in which something cannot be computed, whatever the model says.
_UNSURE = (Divergence.UNKNOWN_TYPE, Divergence.UNDETERMINED, Divergence.NOT_FORMAL)


@dataclass(frozen=True, slots=True)
class Heard:
    """A reply; `text` is None where none came, `tokens` where nobody counted.

    `is_refused`: the case is larger than the model reads.
    """

    text: str | None
    tokens: int | None = None
    is_refused: bool = False


class Examinee(Protocol):
    """Whoever is measured, so many questions at a time."""

    @property
    def together(self) -> int: ...

    @property
    def template_id(self) -> str:
        """By which template it is asked."""
        ...

    @property
    def clock(self) -> str:
        """`cpu` for a model in this process, else `wall`."""
        ...

    def answer(self, requests: Sequence[ReasonRequest]) -> list[Heard]: ...


@dataclass(frozen=True, slots=True)
class JudgeExaminee:
    """A judge of this architecture; many at once change no answer."""

    engine: Engine
    together: int = 32
    template_id: str = TEMPLATE_ID
    clock: str = "cpu"

    def answer(self, requests: Sequence[ReasonRequest]) -> list[Heard]:
        try:
            answers = judge_many(self.engine, [(one.prompt, bytes(one.grammar)) for one in requests])
        except JudgeError as error:
            if len(requests) == 1:
                return [Heard(None, is_refused=isinstance(error, CaseSizeError))]
            # One case that is too large must not cost the others their answers.
            return [heard for one in requests for heard in self.answer([one])]
        return [Heard(answer.text, len(answer.written)) for answer in answers]


@dataclass(frozen=True, slots=True)
class AskedReasoner:
    """Any other model behind the port; one that does not answer is wrong, and says nothing."""

    reasoner: LocalReasoner
    together: int = 1
    clock: str = "wall"

    @property
    def template_id(self) -> str:
        return template_of(self.reasoner.identify().backend_name)

    def answer(self, requests: Sequence[ReasonRequest]) -> list[Heard]:
        return [self._one(request) for request in requests]

    def _one(self, request: ReasonRequest) -> Heard:
        try:
            reply = self.reasoner.complete(request)
        except ModelError:
            return Heard(None)
        tokens = None if reply.token_ids is None else len(reply.token_ids)
        return Heard(reply.text if reply.is_complete else None, tokens)


@dataclass(frozen=True, slots=True)
class Measured:
    """`contested` are numbers of cases whose answer in the file is not what the verifier says."""

    figures: Figures
    timing: Timing
    wrong: tuple[int, ...]
    contested: tuple[int, ...]


def measure_model(
    examinee: Examinee,
    cases: Sequence[LabelledCase],
    *,
    report: Callable[[int, int], None] = lambda _done, _total: None,
    timed: int = _TIMED,
) -> Measured:
    """Everything that is promised of a judge, on these cases; `report` is told how far it is."""
    marked: list[MarkedCase] = []
    contested: list[int] = []
    stopwatch = _Stopwatch(examinee, timed)
    for first in range(0, len(cases), examinee.together):
        part = cases[first : first + examinee.together]
        opened = [open_case(one.case) for one in part]
        requests = [
            build_request(one.docket, one.telemetry, one.facts, seed=0, template_id=examinee.template_id)
            for one in opened
        ]
        heard = examinee.answer(requests)
        for place, (one, case, reply) in enumerate(zip(opened, part, heard, strict=True), first):
            found = expected_of(one)
            marked.append(_marked(one, found, case.expected.verdict.value, reply))
            contested += [place] if found.verdict is not case.expected.verdict else []
        stopwatch.time(opened, requests)
        report(min(first + examinee.together, len(cases)), len(cases))
    wrong = tuple(
        number
        for number, one in enumerate(marked)
        if not one.is_refused and (one.got != one.expected or not one.agreed)
    )
    return Measured(count_cases(marked), stopwatch.timing(), wrong, tuple(contested))


class _Stopwatch:
    """Times single answers about two obligations, up to so many."""

    __slots__ = ("_examinee", "_left", "_now", "_seconds", "_tokens")

    def __init__(self, examinee: Examinee, most: int) -> None:
        self._examinee = examinee
        self._left = most
        self._now = time.process_time if examinee.clock == "cpu" else time.perf_counter
        self._seconds: list[float] = []
        self._tokens: list[int] = []

    def time(self, opened: Sequence[OpenCase], requests: Sequence[ReasonRequest]) -> None:
        for one, request in zip(opened, requests, strict=True):
            if self._left and len(one.docket.checks) == _OBLIGATIONS:
                self._left -= 1
                start = self._now()
                (heard,) = self._examinee.answer([request])
                self._seconds.append(self._now() - start)
                self._tokens += [] if heard.tokens is None else [heard.tokens]

    def timing(self) -> Timing:
        taken, tokens = sorted(self._seconds), sum(self._tokens)
        seconds = math.fsum(taken)
        return Timing(
            clock=self._examinee.clock,
            timed=len(taken),
            p50_ms=_at(taken, 0.5),
            p95_ms=_at(taken, 0.95),
            tokens_per_second=round(tokens / seconds, 1) if tokens and seconds else None,
        )


def _at(taken: Sequence[float], share: float) -> float | None:
    return round(taken[min(int(len(taken) * share), len(taken) - 1)] * 1000, 2) if taken else None


def _marked(opened: OpenCase, found: Expected, expected: str, reply: Heard) -> MarkedCase:
    parsed = None if reply.text is None else parse_reply(reply.text, opened.docket.choices).answer
    if parsed is None:
        return MarkedCase(expected=expected, got=None, agreed=False, is_refused=reply.is_refused)
    said = {one.obligation_id: one.satisfied for one in parsed.formalizable_assertions}
    return MarkedCase(
        expected=expected,
        got=parsed.verdict.value,
        agreed=not _divergences(opened, parsed),
        assertions=tuple(
            (check.predicate, said[check.obligation_id] is (truth is True))
            for check, truth in zip(opened.docket.checks, found.truths, strict=True)
            if check.obligation_id in said
        ),
    )


def _divergences(opened: OpenCase, parsed: ModelAnswer) -> list[str]:
    result = verify(opened.docket, opened.telemetry, opened.facts, parsed).result
    return [line for line in result.divergences if not line.startswith(_UNSURE)]
