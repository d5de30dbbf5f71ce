"""What flows about models, their cases and their training refuse."""

from assay.flows.errors import FlowError
from assay.kernel.errors import Blame


class CaseFileError(FlowError):
    """A file is not one of cases with their right answers, one in each line."""

    code = "model.cases"
    blame = Blame.INPUT


class UnteachableCaseError(FlowError):
    """The verifier does not agree with what a model would learn from this case, so nothing is learnt from it."""

    code = "model.unteachable"
    blame = Blame.INPUT


class NothingLearntError(FlowError):
    """A training ended in the very integers it began with; give it more steps or a higher rate."""

    code = "model.unchanged"


class UnknownWeightsError(FlowError):
    """No weights with this hash are in the registry."""

    code = "model.unknown"


class NotEvaluatedError(FlowError):
    """A model was not measured here on the cases that decide whether it may be used."""

    code = "model.not_evaluated"


class WorseModelError(FlowError):
    """A model is worse than the one in use; nobody is asked about it. `reasons` has every figure that fell."""

    code = "model.worse"

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__(f"expected a model that is no worse than the one in use, got {'; '.join(reasons)}")
        self.reasons = reasons


class ModelMovedError(FlowError):
    """Another model came into use after the question was asked; ask again."""

    code = "model.moved"


class NoWeightFilesError(FlowError):
    """This node has no folder for weights, so it can neither keep nor run any but the shipped ones."""

    code = "model.no_folder"
    blame = Blame.USAGE
