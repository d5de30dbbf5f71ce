"""What verdicts refuse.

VerdictsError                   verdicts.refused
├── TelemetryError              telemetry.form              carries every problem at once
├── GrammarSizeError            verdicts.grammar_size
├── TemplateError               verdicts.template
├── AttestationError            attestation.refused
├── QuoteError                  quote.refused
├── ReceiptError                receipt.refused
│   └── NoReceiptError          receipt.none                there is none, and why
└── GraphError                  graph.refused
    ├── GraphFormError          graph.form                  carries every problem at once
    ├── UnsignedGraphError      graph.unsigned
    ├── GraphKeyError           graph.unknown_key
    ├── AlteredGraphError       graph.altered
    └── DowngradedGraphError    graph.downgraded
"""

from collections.abc import Sequence

from assay.kernel.errors import Blame, Code, Error
from assay.verdicts._problem import InputProblem, render_input_problems
from assay.verdicts.graph.problem import Problem, render_problems


class VerdictsError(Error):
    """A verdict cannot be reached, or not from this."""

    code = "verdicts.refused"
    blame = Blame.INPUT
    case = Code("verdicts.case", "A case of a file cannot be one of a rule and a record.")
    telemetry_skew = Code("telemetry.skew", "A record's timestamp is too far from our clock.")
    telemetry_conflict = Code("telemetry.conflict", "A telemetry id is known already, with another content.")
    agreement_setting = Code(
        "verdicts.agreement_setting", "A window or a threshold of the agreement rate makes no sense.", Blame.USAGE
    )


class QuoteError(VerdictsError):
    """A quote does not prove which weights were measured."""

    code = "quote.refused"
    malformed = Code("quote.malformed", "Bytes are not a quote over one SHA-256 register of a TPM.")
    signature = Code("quote.signature", "A quote was not signed by the attestation key that was given.")
    mismatch = Code("quote.mismatch", "A quote is about another register, other weights or another question.")


class ReceiptError(VerdictsError):
    """An inference receipt proves nothing."""

    code = "receipt.refused"
    form = Code("receipt.form", "A text is no inference receipt, or one that contradicts itself.")
    grammar = Code("receipt.grammar", "A receipt's grammar is not the one that the model was bound to.")
    root = Code("receipt.root", "The tokens and scores of a receipt are not those that its root commits to.")
    verdict = Code("receipt.verdict", "A receipt's verdict rests on another transcript than the receipt's.")


class NoReceiptError(ReceiptError):
    """A verdict has no receipt: its backend offers none, or no model answered."""

    code = "receipt.none"
    blame = Blame.ANSWER


class GraphError(VerdictsError):
    """A knowledge graph cannot be used."""

    code = "graph.refused"
    signature_form = Code("graph.signature_form", "The signature block of a knowledge graph is malformed.")
    algorithm = Code("graph.algorithm", "A knowledge graph is signed by another algorithm than Ed25519.")
    signed = Code("graph.signed", "A knowledge graph to be signed carries a signature already.", Blame.USAGE)
    prover_missing = Code("graph.prover_missing", "The solver is not installed.", Blame.USAGE)
    units_missing = Code("graph.units_missing", "pint is not installed.", Blame.USAGE)


class GraphFormError(GraphError):
    """A document is not a knowledge graph; `problems` lists everything that is wrong with it."""

    code = "graph.form"

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(render_problems(problems))
        self.problems = tuple(problems)


class UnsignedGraphError(GraphError):
    """A knowledge graph carries no signature (SKI 3.5)."""

    code = "graph.unsigned"


class GraphKeyError(GraphError):
    """A knowledge graph is signed by a key that is no anchor of the operator."""

    code = "graph.unknown_key"


class AlteredGraphError(GraphError):
    """A knowledge graph is not the one that was signed."""

    code = "graph.altered"


class DowngradedGraphError(GraphError):
    """A knowledge graph is older than the one in use, or vouched for less."""

    code = "graph.downgraded"


class TelemetryError(VerdictsError):
    """A telemetry record is not well formed; `problems` lists everything that is wrong with it."""

    code = "telemetry.form"

    def __init__(self, problems: Sequence[InputProblem]) -> None:
        super().__init__(render_input_problems(tuple(problems)))
        self.problems = tuple(problems)


class GrammarSizeError(VerdictsError):
    """A slice is too large to bind a model's output to."""

    code = "verdicts.grammar_size"
    blame = Blame.USAGE


class TemplateError(VerdictsError):
    """A prompt template is named that this version does not have."""

    code = "verdicts.template"
    blame = Blame.INPUT


class AttestationError(VerdictsError):
    """An attestation of a held verdict does not hold."""

    code = "attestation.refused"
    expired = Code("attestation.expired", "An attestation is not valid at this time.")
    reused = Code("attestation.reused", "An attestation was used before.")
    mismatch = Code("attestation.mismatch", "An attestation is about another envelope.")
