"""Everything that can go wrong, as one tree; `code` is what tests, HTTP and the command line rely on.

    Error
    ├── CanonicalError      a value has no canonical bytes          canonical.*
    ├── JsonError           a text is not the JSON we accept        json.*
    ├── TypeFormError       an id, instant or digest is malformed   form.*
    ├── KeyUseError         a key cannot be used or trusted         key.*
    ├── SignatureError      a signature does not hold               signature.*
    ├── MerkleError         a tree or proof does not add up         merkle.*
    ├── CheckpointError     a signed note is malformed or untrue    checkpoint.*
    ├── ProofError          a proof bundle does not prove           proof.*
    ├── LedgerError         the ledger refuses or is damaged        ledger.*
    ├── CommitmentError     a disclosure does not match             commitment.*
    └── StoreError          a database cannot be used               store.*

Rooms add families of their own in their `errors.py`. A refusal has a class where somebody catches it by name, and is
a `Code` of its family otherwise.
"""

from collections.abc import Iterator
from enum import StrEnum


class Blame(StrEnum):
    """Whose move it is next; surfaces turn this into an exit code or an HTTP status."""

    ANSWER = "answer"  # an honest no: the question was fine, the answer is no
    USAGE = "usage"  # the caller asked in a way that cannot be answered
    INPUT = "input"  # what was given cannot be trusted
    OURS = "ours"  # our fault, or our machine's


class Error(Exception):
    """The root of every error we raise; `str(error)` is one line that says expected and got."""

    code: str = "error"
    blame: Blame = Blame.OURS


class Code:
    """A refusal of a family that nobody catches by name; called with a message, it makes the error to raise.

    class GraphError(Error):
        unsigned = Code("graph.unsigned", "A knowledge graph carries no signature.")

    raise GraphError.unsigned("expected a signature, got none")
    """

    family: type[Error] = Error

    def __init__(self, code: str, meaning: str, blame: Blame | None = None) -> None:
        self.code = code
        self.meaning = meaning
        self._blame = blame

    def __set_name__(self, family: type[Error], _name: str) -> None:
        self.family = family

    def __call__(self, message: str, *details: object) -> Error:
        """An error of the family that carries this code and its blame; details are what the family takes beside it."""
        error = self.family(message, *details)
        error.code, error.blame = self.code, self.blame
        return error

    @property
    def blame(self) -> Blame:
        """Its own, or else the family's."""
        return self._blame or self.family.blame


def codes_of(family: type[Error]) -> Iterator[Code]:
    """Every code that the family and the classes below it declare."""
    for name, value in vars(family).items():
        if isinstance(value, Code):
            yield value
        elif name == "code":
            own = Code(value, family.__doc__ or "")
            own.family = family
            yield own
    for child in family.__subclasses__():
        yield from codes_of(child)


class CanonicalError(Error):
    """A value has no canonical bytes."""

    code = "canonical.refused"
    blame = Blame.INPUT


class JsonError(Error):
    """A text is not the strict JSON we accept."""

    code = "json.refused"
    blame = Blame.INPUT


class TypeFormError(Error):
    """An id, an instant or a digest is malformed."""

    code = "form.refused"
    blame = Blame.INPUT


class KeyUseError(Error):
    """A key cannot be used, or is not trusted."""

    code = "key.refused"
    blame = Blame.INPUT


class SignatureError(Error):
    """A signature does not hold."""

    code = "signature.refused"
    blame = Blame.INPUT


class MerkleError(Error):
    """A tree or a proof does not add up."""

    code = "merkle.refused"
    blame = Blame.INPUT


class CheckpointError(Error):
    """A signed note is malformed or untrue."""

    code = "checkpoint.refused"
    blame = Blame.INPUT


class ProofError(Error):
    """A proof bundle does not prove what it says."""

    code = "proof.refused"
    blame = Blame.INPUT


class CommitmentError(Error):
    """A disclosed value does not match its commitment."""

    code = "commitment.refused"
    blame = Blame.INPUT


class LedgerError(Error):
    """The ledger refuses, or is damaged."""

    code = "ledger.refused"
    blame = Blame.OURS


class StoreError(Error):
    """A database cannot be used."""

    code = "store.refused"
    blame = Blame.OURS
