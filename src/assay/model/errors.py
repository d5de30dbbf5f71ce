"""What the model refuses.

JudgeError                  judge.refused
├── CaseFormError           judge.case          a prompt whose case it cannot read
├── CaseSizeError           judge.case_size     a case that is larger than it was trained for
├── CheckpointError         judge.checkpoint    a training that cannot be gone on with
├── GrammarFormError        judge.grammar       a grammar that is not one of verdicts
├── ScoreFormError          judge.scores        scores of a receipt that are not written as scores are
├── TokenFormError          judge.tokens        tokens that no answer to this case consists of
└── WeightFormError         judge.weights       weights that are not what their manifest says
"""

from assay.kernel.errors import Blame, Error


class JudgeError(Error):
    """The model cannot be run on this."""

    code = "judge.refused"
    blame = Blame.INPUT


class CaseFormError(JudgeError):
    """A prompt has no case, or one with symbols that the model does not know."""

    code = "judge.case"


class CaseSizeError(JudgeError):
    """A case has more obligations, comparisons or symbols than the model reads; a person or a larger model judges."""

    code = "judge.case_size"


class CheckpointError(JudgeError):
    """A checkpoint is damaged, or of another training than the one that would go on with it."""

    code = "judge.checkpoint"


class GrammarFormError(JudgeError):
    """A grammar does not describe the answer to this case."""

    code = "judge.grammar"


class ScoreFormError(JudgeError):
    """Recorded scores are not written as scores are."""

    code = "judge.scores"


class TokenFormError(JudgeError):
    """Recorded tokens are too few, too many, or not among those that were open: no answer to this case has them."""

    code = "judge.tokens"


class WeightFormError(JudgeError):
    """A weight file is damaged, substituted, or of another architecture."""

    code = "judge.weights"
