"""What flows about models, their cases and their training refuse."""

from assay.flows.errors import FlowError
from assay.kernel.errors import Blame, Code


class ModelFlowError(FlowError):
    """Weights cannot be trained, evaluated or put in use."""

    unchanged = Code(
        "model.unchanged", "A training ended in the very integers it began with; give it more steps or a higher rate."
    )
    unknown = Code("model.unknown", "No weights with this hash are in the registry.")
    not_evaluated = Code(
        "model.not_evaluated", "A model was not measured here on the cases that decide whether it may be used."
    )
    moved = Code("model.moved", "Another model came into use after the question was asked; ask again.")
    no_folder = Code(
        "model.no_folder",
        "This node has no folder for weights, so it can neither keep nor run any but the shipped ones.",
        Blame.USAGE,
    )


class CaseFileError(FlowError):
    """A file is not one of cases with their right answers, one in each line."""

    code = "model.cases"
    blame = Blame.INPUT


class UnteachableCaseError(FlowError):
    """The verifier does not agree with what a model would learn from this case, so nothing is learnt from it."""

    code = "model.unteachable"
    blame = Blame.INPUT


class WorseModelError(FlowError):
    """A model is worse than the one in use; nobody is asked about it. `reasons` has every figure that fell."""

    code = "model.worse"

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__(f"expected a model that is no worse than the one in use, got {'; '.join(reasons)}")
        self.reasons = reasons
