"""What the model refuses.

ModelError                  model.refused
├── CaseFormError           model.case          a prompt whose case it cannot read
├── CaseSizeError           model.case_size     a case that is larger than it was trained for
├── GrammarFormError        model.grammar       a grammar that is not one of verdicts
└── WeightFormError         model.weights       weights that are not what their manifest says
"""

from assay.kernel.errors import Blame, Error

__all__ = ["CaseFormError", "CaseSizeError", "GrammarFormError", "ModelError", "WeightFormError"]


class ModelError(Error):
    """The model cannot be run on this."""

    code = "model.refused"
    blame = Blame.INPUT


class CaseFormError(ModelError):
    """A prompt has no case, or one with symbols that the model does not know."""

    code = "model.case"


class CaseSizeError(ModelError):
    """A case has more obligations, comparisons or symbols than the model reads; a person or a larger model judges."""

    code = "model.case_size"


class GrammarFormError(ModelError):
    """A grammar does not describe the answer to this case."""

    code = "model.grammar"


class WeightFormError(ModelError):
    """A weight file is damaged, substituted, or of another architecture."""

    code = "model.weights"
