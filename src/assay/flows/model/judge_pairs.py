"""Training pairs of root-cause work (PRAMANA 10.4) as cases that the judge can learn from.

array of pairs -> those whose query is a case, with the verdict that the person concluded -> a file of cases
A pair about anything else than a case teaches other models, and is passed over here.
"""

import re
from collections.abc import Iterable
from contextlib import suppress

import msgspec

from assay.delivery.pair import TrainingPair
from assay.delivery.plugin import Category
from assay.flows.errors.model import CaseFileError, UnteachableCaseError
from assay.flows.model.case_file import CaseFile, LabelledCase, RightAnswer, parse_case_file, render_case_file
from assay.flows.model.teach_cases import teach_case
from assay.flows.model.train_model import agreed_prompt
from assay.kernel.digest import digest_of
from assay.model.errors import JudgeError
from assay.verdicts.case import Case, expected_of, open_case
from assay.verdicts.envelope import Verdict
from assay.verdicts.errors import VerdictsError

_VERDICTS = frozenset(one.value for one in Verdict)
_WORDS = re.compile(r"\w+")


def parse_pair_file(content: bytes) -> CaseFile:
    """Either form: lines of cases with their answers, or the specified array of pairs. The hash is of the bytes."""
    if not content.lstrip().startswith(b"["):
        return parse_case_file(content)
    try:
        pairs = msgspec.json.decode(content, type=tuple[TrainingPair, ...])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CaseFileError(f"expected an array of training pairs, got {error}") from error
    cases = tuple(found for pair in pairs if (found := _case(pair)) is not None)
    if not cases:
        raise CaseFileError(f"expected pairs whose query is a case, got none among {len(pairs)}")
    return msgspec.structs.replace(parse_case_file(render_case_file(cases)), hash=digest_of(content))


def teaching_cases(pairs: Iterable[TrainingPair]) -> tuple[LabelledCase, ...]:
    """Those of a batch that can teach the judge: a case, a verdict as its conclusion, and one that the verifier shares.

    A batch is of whatever people concluded. What concerns other models, or a rule that is itself wrong, teaches them.
    """
    found: list[LabelledCase] = []
    for pair in pairs:
        with suppress(CaseFileError, UnteachableCaseError, VerdictsError, JudgeError):
            case = _case(pair)
            if case is not None:
                agreed_prompt(len(found) + 1, case)
                # One that shows too little, or too much for a row, must not cost the others their training.
                teach_case(case.case)
                found.append(case)
    return tuple(found)


def _case(pair: TrainingPair) -> LabelledCase | None:
    """The query as a case, and the conclusion as its answer."""
    try:
        case = msgspec.json.decode(pair.input.query, type=Case)
    except msgspec.MsgspecError:
        return None
    return LabelledCase(case=case, expected=_answer(pair, case), training_pair_id=pair.training_pair_id)


def _answer(pair: TrainingPair, case: Case) -> RightAnswer:
    """The verdict that the person named, alone or in their words; JSON says more than a verdict.

    Whoever names none and finds the rule itself right (categories A and B, PRAMANA 10.1) says that what follows from
    the rule is right. Where the rule is wrong, or several verdicts are named, nothing follows for a judge.
    """
    told = pair.label.siddhanta.strip()
    with suppress(msgspec.MsgspecError):
        return msgspec.json.decode(told, type=RightAnswer)
    named = {Verdict(word) for word in _WORDS.findall(told) if word in _VERDICTS}
    if len(named) == 1:
        return RightAnswer(verdict=named.pop())
    if named or pair.label.failure_category is Category.RULE:
        raise CaseFileError(
            f"expected one verdict in the conclusion of pair `{pair.training_pair_id}`, got {len(named)}"
        )
    return RightAnswer(verdict=expected_of(open_case(case)).verdict)
