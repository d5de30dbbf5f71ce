"""What is said to the judge's own process and back: frames of a length and a MessagePack value.

opening (the weights' bytes) -> ready; questions -> replies, as many and in their order
`answer_all` is what both that process and the judge in this one do with questions.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import IO, TypeVar

from msgspec import MsgspecError, Struct, msgpack

from assay.kernel.digest import Digest
from assay.model.choice import Written, greedy, sampler
from assay.model.engine import Engine
from assay.model.errors import JudgeError
from assay.model.judge import Answer, judge, judge_many
from assay.model.score import score

_T = TypeVar("_T")
FRAME_LENGTH = 4
# The largest weights with room to spare; no batch of questions or replies comes near it.
MAX_FRAME = 64 * 1024 * 1024


class Opening(Struct, frozen=True, kw_only=True):
    """The first frame: the very bytes that were hashed, so that no file put in their place is what runs."""

    weights: bytes
    expected: Digest


class Ready(Struct, frozen=True, kw_only=True):
    """The answer to it: whose weights are loaded, or why none are."""

    weight_hash: Digest | None
    problem: str = ""


class Question(Struct, frozen=True, kw_only=True):
    """`tokens` are to be read as if they had been written, in one pass; with None the judge writes its own.

    With `drawn`, a seed and a temperature, it draws each token instead of taking the best.
    """

    prompt: str
    grammar: bytes
    tokens: tuple[int, ...] | None = None
    drawn: tuple[int, Decimal] | None = None


class Reply(Struct, frozen=True, kw_only=True):
    """`problem` is why the judge cannot be run on this; then there is no text."""

    weight_hash: Digest
    text: str = ""
    written: tuple[Written, ...] = ()
    notation: str | None = None
    problem: str | None = None


def answer_all(engine: Engine, questions: Sequence[Question]) -> list[Reply]:
    """Those to be written side by side, which costs less and changes nothing; one that is refused stops no other."""
    asked = [(one.prompt, one.grammar) for one in questions]
    if any(one.tokens is not None or one.drawn is not None for one in questions):
        return [_answer(engine, one) for one in questions]
    try:
        return [_reply(engine, answer) for answer in judge_many(engine, asked)]
    except JudgeError:
        return [_answer(engine, one) for one in questions]


def _answer(engine: Engine, one: Question) -> Reply:
    try:
        if one.tokens is None:
            pick = greedy if one.drawn is None else sampler(*one.drawn)
            return _reply(engine, judge(engine, one.prompt, one.grammar, pick=pick))
        return _reply(engine, score(engine, one.prompt, one.grammar, one.tokens))
    except JudgeError as error:
        return Reply(weight_hash=engine.weight_hash, problem=f"{error.code}: {error}")


def _reply(engine: Engine, answer: Answer) -> Reply:
    return Reply(weight_hash=engine.weight_hash, text=answer.text, written=answer.written, notation=answer.notation)


def render_frame(value: object) -> bytes:
    content = msgpack.encode(value)
    return len(content).to_bytes(FRAME_LENGTH, "big") + content


def read_frame(stream: IO[bytes]) -> bytes | None:
    """The next frame's content; None where the stream ended, also within a frame, or where it is no frame."""
    size = int.from_bytes(head, "big") if len(head := stream.read(FRAME_LENGTH)) == FRAME_LENGTH else MAX_FRAME + 1
    if size > MAX_FRAME:
        return None
    content = stream.read(size)
    return content if len(content) == size else None


def read_value(content: bytes | None, kind: type[_T]) -> _T | None:
    """None where it is no such value: whoever wrote it is not to be believed."""
    try:
        return None if content is None else msgpack.decode(content, type=kind)
    except MsgspecError:
        return None
