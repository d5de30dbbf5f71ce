"""A file of cases with their right answers: what models are measured on, and what they learn from.

One JSON object in each line, plain or gzipped: {"case": {...}, "expected": {"verdict": "FLAG"}}
"""

import zlib
from collections.abc import Iterator
from importlib.resources import files

import msgspec
from msgspec import Struct

from assay.flows.errors.model import CaseFileError
from assay.kernel.digest import Digest, digest_of
from assay.kernel.errors import Error
from assay.kernel.json_text import Limits, parse_json
from assay.verdicts.case import Case
from assay.verdicts.envelope import Verdict

_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31
_LARGEST = 64 * 1024 * 1024
_MOST = 100_000
# Numbers as a graph and a record read them: one that binary64 would change is refused.
_EXACT = Limits(exact_numbers=True)


class RightAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a person or the verifier says of a case; classes and truths are by obligation, and may be left out."""

    verdict: Verdict
    classes: tuple[str, ...] | None = None
    truths: tuple[bool | None, ...] | None = None


class LabelledCase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """`training_pair_id` names the pair of root-cause work that it came from, if it did."""

    case: Case
    expected: RightAnswer
    training_pair_id: str | None = None


class CaseFile(Struct, frozen=True, kw_only=True):
    """`hash` is that of the bytes as they were given."""

    hash: Digest
    cases: tuple[LabelledCase, ...]


def parse_case_file(content: bytes) -> CaseFile:
    """Refuses a file with a line that is no case, or with none at all; says which line."""
    cases = tuple(_cases(_plain(content)))
    if not 0 < len(cases) <= _MOST:
        raise CaseFileError(f"expected 1 to {_MOST} cases, got {len(cases)}")
    return CaseFile(hash=digest_of(content), cases=cases)


def render_case_file(cases: tuple[LabelledCase, ...]) -> bytes:
    return b"".join(msgspec.json.encode(one) + b"\n" for one in cases)


def load_sealed_cases() -> CaseFile:
    """The cases that ship with the package, which no training has seen."""
    return parse_case_file((files("assay") / "model" / "weights" / "sealed.jsonl.gz").read_bytes())


def _plain(content: bytes) -> bytes:
    if not content.startswith(_GZIP):
        text = content
    else:
        try:
            text = zlib.decompressobj(_GZIP_WINDOW).decompress(content, _LARGEST + 1)
        except zlib.error as error:
            raise CaseFileError(f"expected a whole gzip file, got {error}") from error
    if len(text) > _LARGEST:
        raise CaseFileError(f"expected at most {_LARGEST} bytes of cases, got more")
    return text


def _cases(text: bytes) -> Iterator[LabelledCase]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield msgspec.convert(parse_json(line, limits=_EXACT), LabelledCase)
            except (Error, msgspec.MsgspecError) as error:
                raise CaseFileError(f"expected a case with its answer in line {number}, got {error}") from error
