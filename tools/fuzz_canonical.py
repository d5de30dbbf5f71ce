"""Fuzz canonical bytes: `python tools/fuzz_canonical.py --documents 1000000 --seed 1 --jobs 2`.

For each document of a seeded generator: the fast path equals the exact one in both profiles, byte for byte or by the
code of the refusal; and in `ski-3.0` both equal rfc8785 over a copy in NFC. Exit 0 when all agree, 1 with the first
document that does not, 2 for wrong usage. Document number N depends on the seed and N alone, so that `--first N
--documents 1` shows it again.
"""

import argparse
import math
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from random import Random
from typing import NamedTuple
from unicodedata import normalize

import rfc8785
from rich.console import Console
from rich.progress import track

from assay.kernel.canonical import MAX_DEPTH, MAX_SAFE_INTEGER, Profile, canonicalize, canonicalize_exact
from assay.kernel.errors import Error

__all__ = ["Batch", "check_batch", "check_document", "main", "make_document"]

_BATCH = 2000
_TOO_DEEP = MAX_DEPTH + 3
_MAX_WIDTH = 6
# Ends of ranges, and their neighbours, where orders, escapes, normal forms and encodings change.
_RANGES = (
    (0x20, 0x7E),
    (0x00, 0x1F),
    (0x7F, 0x2FF),
    (0x300, 0x36F),
    (0x370, 0x7FF),
    (0x800, 0xD7FF),
    (0xAC00, 0xD7A3),
    (0x1100, 0x11FF),
    (0xE000, 0xFFFF),
    (0xF900, 0xFB4F),
    (0x10000, 0x1FFFF),
    (0x10FFF0, 0x10FFFF),
)
_NASTY = (
    *(
        "e\u0301",
        "\u212b",
        "\ufb33",
        "\u0344",
        "\u0f73",
        "\u1e9b\u0323",
        "a\u0315\u0300",
        "\U0001d15e",
        "\U00011099\U000110ba",
    ),
    *(
        "  ",
        " ",
        "\u00a0",
        "\u3000",
        "\x85",
        "\u2028",
        "\t",
        "\x1f",
        "\x7f",
        '"',
        "\\",
        "/",
        "\ufeff",
        "\u200b",
        "\u180e",
    ),
)
_KEYS = ("id", "name", "value", "a", "b", "é", "e\u0301", "\U0001f600", "\ue000", "\uffff", "", " a", "a ")
_FLOATS = (0.0, -0.0, 1.0, 1e15, 1e16, 1e21, 1e-6, 1e-7, 1e-3, 5e-324, 0.1, 2.5000005, 2.0**53, 999999999.9999995)
_EDGES = (0, 2**31, 2**32, 10**15, 10**16, MAX_SAFE_INTEGER)
# Values that must be refused are rare, so that most documents are compared as bytes.
_BROKEN = (math.nan, math.inf, MAX_SAFE_INTEGER + 1, -(2**53), 2**64, b"", "\ud800", "a\udfff", {1: 2}, {"\udc00": 1})
_BROKEN_RATE = 0.004


class _CollisionError(Exception):
    """Two keys of one object are the same in NFC."""


class Batch(NamedTuple):
    """What one run of documents came to."""

    checked: int
    refused: int
    failure: str | None


def make_document(seed: int, number: int) -> object:
    """Document `number`; the same for the same seed on every machine."""
    random = Random(f"{seed}/{number}")  # noqa: S311 - a seeded generator of tests is no secret
    if random.random() < 0.01:  # noqa: PLR2004 - one in a hundred is deep
        return _deep(random)
    return _value(random, random.randrange(5))


def check_document(value: object) -> tuple[bool, str | None]:
    """Whether it was refused, and how the paths or the peer disagree, if they do."""
    results = {profile: _outcome(canonicalize, value, profile) for profile in Profile}
    for profile, result in results.items():
        exact = _outcome(canonicalize_exact, value, profile)
        if result != exact:
            return False, f"{profile}: fast {result!r}, exact {exact!r}"
    ours, peer = results[Profile.SKI], _peer(value)
    # Only the depth limit is our own: the peer has none.
    agree = ours == peer if isinstance(ours, bytes) else peer is None or ours == "canonical.depth"
    return isinstance(ours, str), None if agree else f"ski-3.0: ours {ours!r}, rfc8785 {peer!r}"


def check_batch(seed: int, batch: range) -> Batch:
    refusals = 0
    for count, number in enumerate(batch):
        value = make_document(seed, number)
        refused, failure = check_document(value)
        if failure is not None:
            return Batch(count, refusals, f"document {number} of seed {seed}: {value!a}\n{failure}")
        refusals += refused
    return Batch(len(batch), refusals, None)


def main(argv: list[str] | None = None) -> int:
    options = _options(argv)
    last = options.first + options.documents
    batches = [range(start, min(start + _BATCH, last)) for start in range(options.first, last, _BATCH)]
    checked = refused = 0
    for batch in _shown(_run(options.seed, batches, options.jobs), len(batches)):
        checked, refused = checked + batch.checked, refused + batch.refused
        if batch.failure is not None:
            print(batch.failure)
            return 1
    print(f"canonical: {checked} documents of seed {options.seed} agree, {refused} of them by refusal")
    return 0


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="compare the fast path, the exact path and rfc8785")
    parser.add_argument("--documents", type=int, default=1_000_000, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the generator (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first document (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    options = parser.parse_args(argv)
    if options.documents < 1 or options.jobs < 1 or options.first < 0:
        parser.error("expected --documents and --jobs of at least 1, and --first of at least 0")
    return options


def _run(seed: int, batches: list[range], jobs: int) -> Iterator[Batch]:
    check = partial(check_batch, seed)
    if jobs == 1:
        yield from map(check, batches)
        return
    with ProcessPoolExecutor(jobs) as pool:
        waiting = iter(batches)
        running = [pool.submit(check, batch) for batch in islice(waiting, 2 * jobs)]
        while running:  # a few at a time: after a failure there is little left to wait for
            yield running.pop(0).result()
            running.extend(pool.submit(check, batch) for batch in islice(waiting, 1))


def _shown(results: Iterable[Batch], total: int) -> Iterable[Batch]:
    """With a progress bar on standard error when that is a terminal."""
    if not sys.stderr.isatty():
        return results
    return track(results, "canonical", total=total, console=Console(stderr=True), transient=True)


def _outcome(path: Callable[[object, Profile], bytes], value: object, profile: Profile) -> bytes | str:
    try:
        return path(value, profile)
    except Error as error:
        return error.code


def _peer(value: object) -> bytes | None:
    """None for a refusal; keys that collide under NFC are refused here, since the peer does not see them."""
    try:
        return rfc8785.dumps(_nfc(value))  # type: ignore[arg-type]  # what it refuses is part of the test
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, _CollisionError):
        return None


def _nfc(value: object) -> object:
    if isinstance(value, str):
        return normalize("NFC", value)
    if isinstance(value, list):
        return [_nfc(item) for item in value]
    if isinstance(value, dict):
        copy = {_nfc(key): _nfc(item) for key, item in value.items()}
        if len(copy) != len(value):
            raise _CollisionError
        return copy
    return value


def _value(random: Random, depth: int) -> object:
    if depth > 0:
        width = random.randrange(_MAX_WIDTH)
        if random.random() < 0.5:  # noqa: PLR2004 - as many arrays as objects
            return [_value(random, depth - random.randint(1, 2)) for _ in range(width)]
        return {_key(random): _value(random, depth - random.randint(1, 2)) for _ in range(width)}
    if random.random() < _BROKEN_RATE:
        return random.choice(_BROKEN)
    return random.choice((_text, _text, _float, _float, _integer, _literal))(random)


def _deep(random: Random) -> object:
    """Around the limit; half of them so plain that nothing but their depth can be wrong."""
    plain = random.random() < 0.5  # noqa: PLR2004 - as the docstring says
    value = random.choice((None, [], {})) if plain else _value(random, 1)
    for _ in range(random.choice((random.randrange(MAX_DEPTH), MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, _TOO_DEEP))):
        value = [value] if random.random() < 0.5 else {"a" if plain else _key(random): value}  # noqa: PLR2004 - either
    return value


def _literal(random: Random) -> object:
    return random.choice((None, True, False))


def _integer(random: Random) -> int:
    near = random.choice(_EDGES) + random.randint(-2, 0)
    whole = random.choice((near, random.randint(0, 10 ** random.randint(1, 15))))
    return random.choice((whole, -whole))


def _float(random: Random) -> float:
    return random.choice((_bits, _decimal, _integral, _known))(random)


def _bits(random: Random) -> float:
    """Any bit pattern that is a number."""
    while True:
        (value,) = struct.unpack(">d", random.randbytes(8))
        if math.isfinite(value):
            return float(value)


def _decimal(random: Random) -> float:
    """Few digits around the sixth decimal, ties included."""
    digits = random.randint(-(10 ** random.randint(1, 16)), 10 ** random.randint(1, 16))
    return float(f"{digits}{random.choice(('', '5', '0'))}e-{random.randint(0, 12)}")


def _integral(random: Random) -> float:
    return float(random.choice((-1, 1)) * random.randint(0, 10 ** random.randint(0, 25)))


def _known(random: Random) -> float:
    value = random.choice((-1, 1)) * random.choice(_FLOATS)
    return random.choice((value, math.nextafter(value, math.inf), math.nextafter(value, -math.inf)))


def _key(random: Random) -> str:
    return random.choice(_KEYS) if random.random() < 0.5 else _text(random)  # noqa: PLR2004 - half of them known


def _text(random: Random) -> str:
    if random.random() < 0.5:  # noqa: PLR2004 - half of them plain, as in records
        return "".join(random.choices("abcdefgh -_.:/0123456789", k=random.randrange(12)))
    return "".join(_piece(random) for _ in range(random.randrange(6)))


def _piece(random: Random) -> str:
    if random.random() < 0.3:  # noqa: PLR2004 - a third of them known to be nasty
        return random.choice(_NASTY)
    low, high = random.choice(_RANGES)
    return chr(random.randint(low, high))


if __name__ == "__main__":
    raise SystemExit(main())
