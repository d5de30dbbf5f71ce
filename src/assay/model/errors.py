"""What the model refuses.

JudgeError                  judge.refused
├── CaseSizeError           judge.case_size     a case that is larger than it was trained for
├── CheckpointError         judge.checkpoint    a training that cannot be gone on with
├── GrammarFormError        judge.grammar       a grammar that is not one of verdicts
└── WeightFormError         judge.weights       weights that are not what their manifest says
"""

from assay.kernel.errors import Blame, Code, Error


class JudgeError(Error):
    """The model cannot be run on this."""

    code = "judge.refused"
    blame = Blame.INPUT
    temperature = Code("judge.temperature", "A temperature that is not above 0: for none at all there is `greedy`.")
    case = Code("judge.case", "A prompt has no case, or one with symbols that the model does not know.")
    scores = Code("judge.scores", "Recorded scores are not written as scores are.")
    tokens = Code(
        "judge.tokens",
        "Recorded tokens are too few, too many, or not among those that were open: no answer to this case has them.",
    )


class CaseSizeError(JudgeError):
    """A case has more obligations, comparisons or symbols than the model reads; a person or a larger model judges."""

    code = "judge.case_size"


class CheckpointError(JudgeError):
    """A checkpoint is damaged, or of another training than the one that would go on with it."""

    code = "judge.checkpoint"


class GrammarFormError(JudgeError):
    """A grammar does not describe the answer to this case."""

    code = "judge.grammar"


class WeightFormError(JudgeError):
    """A weight file is damaged, substituted, or of another architecture."""

    code = "judge.weights"
