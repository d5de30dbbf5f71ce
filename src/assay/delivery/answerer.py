"""The answerer: whoever turns a question of a registered type into an output, and says on which rules it rests."""

import re
from typing import Any, Protocol

from msgspec import Struct

from assay.delivery._read import is_text
from assay.delivery.annotate import ComponentLevel, SlmContribution
from assay.delivery.errors import InvalidQuestionError
from assay.delivery.rule import RuleId
from assay.delivery.twowrong import Step
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.kernel.json_text import JsonValue

_LONGEST_TYPE = 500
_LONGEST_SESSION = 200
_NONCE = re.compile(r"[!-~]{16,128}", re.ASCII)


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was asked, by whom; `query_type` is a slug of the query registry.

    `nonce` is the asker's own and new each time: an annotation that names it marks the answer to this very asking.
    """

    query_type: str
    # Any JSON; the recursive alias is one that msgspec cannot read back.
    question: Any
    asked_by: PrincipalId
    asked_at: Instant
    session_id: str | None = None
    nonce: str | None = None

    def __post_init__(self) -> None:
        if not is_text(self.query_type, _LONGEST_TYPE):
            raise InvalidQuestionError(f"expected a `query_type` of 1 to {_LONGEST_TYPE} printable characters")
        if self.session_id is not None and not is_text(self.session_id, _LONGEST_SESSION):
            raise InvalidQuestionError(f"expected a `session_id` of 1 to {_LONGEST_SESSION} printable characters")
        if self.nonce is not None and _NONCE.fullmatch(self.nonce) is None:
            raise InvalidQuestionError(f"expected a nonce of 16 to 128 visible ASCII characters, got {len(self.nonce)}")


class Reply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An output with what it rests on; `claims` are ClaimBundle claims for the gate, as data.

    The level is not the answerer's to say: strands are checked by the node that delivers.
    """

    output: Any
    rules: tuple[RuleId, ...] = ()
    steps: tuple[Step, ...] = ()
    claims: tuple[Any, ...] = ()
    slm: SlmContribution | None = None
    components: tuple[ComponentLevel, ...] = ()


class Answerer(Protocol):
    """It may be slow or fail; a failure is an answer that was not given, never a level."""

    def answer(self, question: Question) -> Reply: ...

    def replay(self, question: Question, repaired: tuple[str, ...]) -> JsonValue:
        """The output to the same question with these steps repaired, for the search of two wrong steps."""
        ...
