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

Rooms add families of their own in their `errors.py`.
"""

from enum import StrEnum
from typing import ClassVar


class Blame(StrEnum):
    """Whose move it is next; surfaces turn this into an exit code or an HTTP status."""

    ANSWER = "answer"  # an honest no: the question was fine, the answer is no
    USAGE = "usage"  # the caller asked in a way that cannot be answered
    INPUT = "input"  # what was given cannot be trusted
    OURS = "ours"  # our fault, or our machine's


class Error(Exception):
    """The root of every error we raise; `str(error)` is one line that says expected and got."""

    code: ClassVar[str] = "error"
    blame: ClassVar[Blame] = Blame.OURS


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
