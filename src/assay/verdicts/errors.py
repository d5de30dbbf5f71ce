"""What verdicts refuse.

VerdictsError                   verdicts.refused
├── TelemetryError              telemetry.form              carries every problem at once
├── TelemetrySkewError          telemetry.skew
├── TelemetryConflictError      telemetry.conflict
├── CaseError                   verdicts.case
├── GrammarSizeError            verdicts.grammar_size
├── TemplateError               verdicts.template
├── AgreementSettingError       verdicts.agreement_setting
├── AttestationError            attestation.refused
│   ├── AttestationExpiredError attestation.expired
│   ├── AttestationReusedError  attestation.reused
│   └── AttestationMismatchError attestation.mismatch
├── QuoteError                  quote.refused
│   ├── MalformedQuoteError     quote.malformed
│   ├── QuoteSignatureError     quote.signature
│   └── QuoteMismatchError      quote.mismatch
├── ReceiptError                receipt.refused
│   ├── ReceiptFormError        receipt.form
│   ├── ReceiptGrammarError     receipt.grammar
│   ├── ReceiptRootError        receipt.root
│   ├── ReceiptVerdictError     receipt.verdict
│   └── NoReceiptError          receipt.none                there is none, and why
└── GraphError                  graph.refused
    ├── GraphFormError          graph.form                  carries every problem at once
    ├── UnsignedGraphError      graph.unsigned
    ├── GraphSignatureFormError graph.signature_form
    ├── GraphAlgorithmError     graph.algorithm
    ├── GraphKeyError           graph.unknown_key
    ├── AlteredGraphError       graph.altered
    ├── DowngradedGraphError    graph.downgraded
    └── SignedGraphError        graph.signed
"""

from collections.abc import Sequence

from assay.kernel.errors import Blame, Error
from assay.verdicts._problem import InputProblem, render_input_problems
from assay.verdicts.graph.problem import Problem, render_problems


class VerdictsError(Error):
    """A verdict cannot be reached, or not from this."""

    code = "verdicts.refused"
    blame = Blame.INPUT


class CaseError(VerdictsError):
    """A case of a file cannot be one of a rule and a record."""

    code = "verdicts.case"


class QuoteError(VerdictsError):
    """A quote does not prove which weights were measured."""

    code = "quote.refused"


class MalformedQuoteError(QuoteError):
    """Bytes are not a quote over one SHA-256 register of a TPM."""

    code = "quote.malformed"


class QuoteSignatureError(QuoteError):
    """A quote was not signed by the attestation key that was given."""

    code = "quote.signature"


class QuoteMismatchError(QuoteError):
    """A quote is about another register, other weights or another question."""

    code = "quote.mismatch"


class ReceiptError(VerdictsError):
    """An inference receipt proves nothing."""

    code = "receipt.refused"


class ReceiptFormError(ReceiptError):
    """A text is no inference receipt, or one that contradicts itself."""

    code = "receipt.form"


class ReceiptGrammarError(ReceiptError):
    """A receipt's grammar is not the one that the model was bound to."""

    code = "receipt.grammar"


class ReceiptRootError(ReceiptError):
    """The tokens and scores of a receipt are not those that its root commits to."""

    code = "receipt.root"


class ReceiptVerdictError(ReceiptError):
    """A receipt's verdict rests on another transcript than the receipt's."""

    code = "receipt.verdict"


class NoReceiptError(ReceiptError):
    """A verdict has no receipt: its backend offers none, or no model answered."""

    code = "receipt.none"
    blame = Blame.ANSWER


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


class DowngradedGraphError(GraphError):
    """A knowledge graph is older than the one in use, or vouched for less."""

    code = "graph.downgraded"


class SignedGraphError(GraphError):
    """A knowledge graph to be signed carries a signature already."""

    code = "graph.signed"
    blame = Blame.USAGE


class TelemetryError(VerdictsError):
    """A telemetry record is not well formed; `problems` lists everything that is wrong with it."""

    code = "telemetry.form"

    def __init__(self, problems: Sequence[InputProblem]) -> None:
        super().__init__(render_input_problems(tuple(problems)))
        self.problems = tuple(problems)


class TelemetrySkewError(VerdictsError):
    """A record's timestamp is too far from our clock."""

    code = "telemetry.skew"


class TelemetryConflictError(VerdictsError):
    """A telemetry id is known already, with another content."""

    code = "telemetry.conflict"


class GrammarSizeError(VerdictsError):
    """A slice is too large to bind a model's output to."""

    code = "verdicts.grammar_size"
    blame = Blame.USAGE


class TemplateError(VerdictsError):
    """A prompt template is named that this version does not have."""

    code = "verdicts.template"
    blame = Blame.INPUT


class AgreementSettingError(VerdictsError):
    """A window or a threshold of the agreement rate makes no sense."""

    code = "verdicts.agreement_setting"
    blame = Blame.USAGE


class AttestationError(VerdictsError):
    """An attestation of a held verdict does not hold."""

    code = "attestation.refused"


class AttestationExpiredError(AttestationError):
    """An attestation is not valid at this time."""

    code = "attestation.expired"


class AttestationReusedError(AttestationError):
    """An attestation was used before."""

    code = "attestation.reused"


class AttestationMismatchError(AttestationError):
    """An attestation is about another envelope."""

    code = "attestation.mismatch"
