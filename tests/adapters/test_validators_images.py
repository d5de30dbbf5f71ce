"""Pictures: what their first bytes say, the bits by which they look alike, and what a hostile file cannot do."""

import struct
import sys
import zlib
from hashlib import sha256
from io import BytesIO
from math import cos, pi
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from assay.adapters.validators.examine import examine_evidence
from assay.adapters.validators.fingerprint import GRIDS, fingerprint_of
from assay.adapters.validators.image_header import read_image_header
from assay.adapters.validators.picture import decode_picture
from assay.ports.validator import ValidatorError
from assay.truth.contract import SimilarityMethod
from assay.truth.errors import TruthError
from assay.truth.evidence import EvidenceRef
from tests.raising import raises
from tests.truth.records import HASH_A

_PHASH, _DHASH, _AHASH = SimilarityMethod.PHASH, SimilarityMethod.DHASH, SimilarityMethod.AHASH


def _picture(size: tuple[int, int] = (640, 480), *, seed: int = 1) -> Image.Image:
    """Soft blobs, as in a photograph; the same for the same seed."""
    random = Random(seed)  # noqa: S311 - a picture is no secret
    small = Image.new("L", (6, 5))
    small.putdata([random.randrange(256) for _ in range(30)])
    return small.resize(size, Image.Resampling.BICUBIC).convert("RGB")


def _saved(image: Image.Image, kind: str, **options: object) -> bytes:
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def _bits(content: bytes, method: SimilarityMethod) -> int:
    return int(fingerprint_of(HASH_A, method, decode_picture(content, method)).bits, 16)


@pytest.mark.parametrize("size", [(1, 1), (640, 480), (333, 2000)])
@pytest.mark.parametrize(
    ("kind", "options"), [("PNG", {}), ("JPEG", {}), ("JPEG", {"progressive": True, "comment": b"x" * 3000})]
)
def test_the_header_says_what_an_independent_decoder_sees(
    size: tuple[int, int], kind: str, options: dict[str, object]
) -> None:
    content = _saved(_picture(size), kind, **options)
    assert read_image_header(content) == (f"image/{kind.lower()}", *size)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GIF89a" + bytes(20),
        b"\x89PNG\r\n\x1a\n",
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR" + struct.pack(">II", 0, 5),
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIDAT" + struct.pack(">II", 5, 5),
        b"\xff\xd8\xff",
        b"\xff\xd8\xff\xe0\x00\x00",
        b"\xff\xd8\xff\xe0\x00\x01",
        b"\xff\xd8\xff\xe0\xff\xff",
        b"\xff\xd8\xff\xda\x00\x08" + bytes(20),
        b"\xff\xd8\xff\xc0\x00\x11\x08\x00",
        b"\xff\xd8\xff\xc0\x00\x11\x08\x00\x00\x00\x05",
        b"\xff\xd8\xff\xe0\x00\x02\x00\xff",
        b"\xff\xd8" + b"\xff\x01" * 5000,
        b"\xff\xd8" + b"\xff" * 5000,
    ],
    ids=range(15),
)
def test_what_is_no_whole_header_of_a_picture_has_no_size(content: bytes) -> None:
    assert read_image_header(content) is None


@given(st.binary(max_size=300), st.sampled_from([b"", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"]))
def test_no_bytes_break_the_reader(tail: bytes, start: bytes) -> None:
    header = read_image_header(start + tail)
    assert header is None or (header.width > 0 and header.height > 0)


def _slow_phash(pixels: list[list[int]]) -> list[bool]:
    """The definition, in floats: the cosine transform of 32 x 32 pixels, its 8 x 8 lowest waves, their median."""
    waves = [
        sum(
            pixels[y][x] * cos((2 * x + 1) * u * pi / 64) * cos((2 * y + 1) * v * pi / 64)
            for y in range(32)
            for x in range(32)
        )
        for v in range(8)
        for u in range(8)
    ]
    middle = sum(sorted(waves)[31:33]) / 2
    return [wave > middle for wave in waves]


@pytest.mark.parametrize("seed", range(4))
def test_phash_is_the_sign_of_the_lowest_waves(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - a picture is no secret
    pixels = [[random.randrange(256) for _ in range(32)] for _ in range(32)]
    expected = "".join("1" if bit else "0" for bit in _slow_phash(pixels))
    assert fingerprint_of(HASH_A, _PHASH, pixels).bits == f"{int(expected, 2):016x}"


def test_dhash_compares_neighbours_and_ahash_the_mean() -> None:
    """Rows from the top, the first pixel's bit the highest; worked out by hand."""
    rising, flat = list(range(0, 90, 10)), [7] * 9
    assert fingerprint_of(HASH_A, _DHASH, [rising, *[flat] * 6, rising[::-1]]).bits == "ff00000000000000"
    assert fingerprint_of(HASH_A, _DHASH, [*[flat] * 7, [0, 1] * 4 + [0]]).bits == "00000000000000aa"
    bright = [[200] * 4 + [10] * 4] * 4 + [[10] * 8] * 4
    assert fingerprint_of(HASH_A, _AHASH, bright).bits == "f0f0f0f000000000"


@pytest.mark.parametrize("method", list(SimilarityMethod))
def test_only_the_methods_own_grid_of_grey_values_has_a_fingerprint(method: SimilarityMethod) -> None:
    columns, rows = GRIDS[method]
    good = [[0] * columns for _ in range(rows)]
    assert fingerprint_of(HASH_A, method, good).method is method
    for bad in (good[1:], [*good[1:], [0]], [*good[1:], [256] * columns], [*good[1:], [-1] * columns]):
        with raises(ValidatorError.pixels) as caught:
            fingerprint_of(HASH_A, method, bad)
        assert caught.value.code == "validator.pixels"


@pytest.mark.parametrize("method", list(SimilarityMethod))
def test_a_copy_looks_alike_and_another_picture_does_not(method: SimilarityMethod) -> None:
    """Saved again, smaller and a little brighter it is nearly the same; a picture of another place is far away."""
    original = _picture()
    copy = original.resize((321, 243)).point(lambda value: min(255, value + 6))
    first, second = _bits(_saved(original, "PNG"), method), _bits(_saved(copy, "JPEG", quality=60), method)
    other = _bits(_saved(_picture(seed=2), "JPEG"), method)
    assert (first ^ second).bit_count() <= 4
    assert (first ^ other).bit_count() >= 16


def _bomb() -> bytes:
    """A PNG that says it is 30,000 x 30,000."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    size = struct.pack(">IIBBBBB", 30_000, 30_000, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


def test_a_bomb_a_stump_and_another_format_are_not_decoded() -> None:
    whole = _saved(_picture(), "PNG")
    for content in (_bomb(), whole[: len(whole) // 2], _saved(_picture(), "GIF"), b"", whole[:30]):
        with raises(ValidatorError.picture) as caught:
            decode_picture(content, _PHASH)
        assert caught.value.code == "validator.picture"


def test_without_the_extra_pictures_cannot_be_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    content = _saved(_picture(), "PNG")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with raises(ValidatorError.unavailable) as caught:
        decode_picture(content, _PHASH)
    assert caught.value.code == "validator.unavailable"


def _ref(content: bytes) -> EvidenceRef:
    return EvidenceRef(uri="https://example.org/x", sha256=sha256(content).hexdigest())


def test_facts_come_from_the_bytes_of_the_evidence_and_of_nothing_else() -> None:
    content = _saved(_picture(), "PNG")
    fact = examine_evidence(_ref(content), content, method=_PHASH, decode=decode_picture)
    assert (fact.size, fact.media_type, fact.width, fact.height) == (len(content), "image/png", 640, 480)
    (mark,) = fact.fingerprints
    assert (mark.sha256, int(mark.bits, 16)) == (fact.sha256, _bits(content, _PHASH))
    assert examine_evidence(_ref(content), content).fingerprints == ()
    with raises(TruthError.evidence_mismatch):
        examine_evidence(_ref(content), content + b"x")


def test_what_cannot_be_decoded_has_no_fingerprint() -> None:
    """Nor has what is no picture; both still have a size."""
    for content in (_bomb(), b'{"level": 3}'):
        fact = examine_evidence(_ref(content), content, method=_PHASH, decode=decode_picture)
        assert (fact.fingerprints, fact.size) == ((), len(content))
