"""What flows about answers and their strands refuse."""

from assay.flows.errors import FlowError
from assay.kernel.errors import Blame, Code


class DeliveryFlowError(FlowError):
    """An answer cannot be completed, or an outcome recorded."""

    strand_check = Code(
        "delivery.strand_check",
        "A strand was registered twice, or its check said neither what it found nor that it found nothing.",
        Blame.OURS,
    )
    emitter = Code(
        "delivery.emitter", "A service tells events under its own name, and none that the node tells itself."
    )


class NoAnswererError(FlowError):
    """Nobody here answers questions of this kind."""

    code = "delivery.no_answerer"


class AnswererError(FlowError):
    """The answerer failed, was late or said nothing that can be marked: no answer was given, and that is on record."""

    code = "delivery.answerer"
    blame = Blame.OURS
    is_without_effect = True
