"""What verdicts refuse.

VerdictsError                   verdicts.refused
└── GraphError                  graph.refused
    ├── GraphFormError          graph.form                  carries every problem at once
    ├── UnsignedGraphError      graph.unsigned
    ├── GraphSignatureFormError graph.signature_form
    ├── GraphAlgorithmError     graph.algorithm
    ├── GraphKeyError           graph.unknown_key
    ├── AlteredGraphError       graph.altered
    └── SignedGraphError        graph.signed
"""

from collections.abc import Sequence

from assay.kernel.errors import Blame, Error
from assay.verdicts.graph.problem import Problem, render_problems

__all__ = [
    "AlteredGraphError",
    "GraphAlgorithmError",
    "GraphError",
    "GraphFormError",
    "GraphKeyError",
    "GraphSignatureFormError",
    "SignedGraphError",
    "UnsignedGraphError",
    "VerdictsError",
]


class VerdictsError(Error):
    """A verdict cannot be reached, or not from this."""

    code = "verdicts.refused"
    blame = Blame.INPUT


class GraphError(VerdictsError):
    """A knowledge graph cannot be used."""

    code = "graph.refused"


class GraphFormError(GraphError):
    """A document is not a knowledge graph; `problems` lists everything that is wrong with it."""

    code = "graph.form"

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(render_problems(problems))
        self.problems = tuple(problems)


class UnsignedGraphError(GraphError):
    """A knowledge graph carries no signature (SKI 3.5)."""

    code = "graph.unsigned"


class GraphSignatureFormError(GraphError):
    """The signature block of a knowledge graph is malformed."""

    code = "graph.signature_form"


class GraphAlgorithmError(GraphError):
    """A knowledge graph is signed by another algorithm than Ed25519."""

    code = "graph.algorithm"


class GraphKeyError(GraphError):
    """A knowledge graph is signed by a key that is no anchor of the operator."""

    code = "graph.unknown_key"


class AlteredGraphError(GraphError):
    """A knowledge graph is not the one that was signed."""

    code = "graph.altered"


class SignedGraphError(GraphError):
    """A knowledge graph to be signed carries a signature already."""

    code = "graph.signed"
    blame = Blame.USAGE
