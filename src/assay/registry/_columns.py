"""The arrays of an index: one packed column for each bit, slot n being bit n % 64 of word n // 64, on every machine.

numpy is imported where it is first needed: whoever only announces or judges a manifest does without it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Words: TypeAlias = "NDArray[np.uint64]"
Names: TypeAlias = "NDArray[np.object_]"
Slots: TypeAlias = "NDArray[np.intp]"
NARROW = 32
_WORD = 64


def pack(bits: Sequence[int]) -> Words:
    import numpy as np  # noqa: PLC0415  numpy is loaded with the first index, not with the package

    return _packed(np.array(bits, dtype=bool))


def pack_all(masks: Sequence[int], rows: Words, width: int) -> Words:
    """The columns of all bits; rows hold only the lowest 32 of each mask."""
    import numpy as np  # noqa: PLC0415  see above

    if width == NARROW:
        return np.stack([_packed((rows >> np.uint64(bit) & np.uint64(1)).astype(bool)) for bit in range(NARROW)])
    return np.stack([pack([mask >> bit & 1 for mask in masks]) for bit in range(width)])


def set_bits(words: Words, bit: int, are_set: Sequence[int]) -> None:
    """This bit of each word, in place."""
    import numpy as np  # noqa: PLC0415  see above

    one = np.uint64(1 << bit)
    words[:] = np.where(np.array(are_set, dtype=bool), words | one, words & ~one)


def grow(columns: Words, words: int) -> Words:
    import numpy as np  # noqa: PLC0415  see above

    wider = np.zeros((columns.shape[0], words), dtype=np.uint64)
    wider[:, : columns.shape[1]] = columns
    return wider


def positions(words: Words) -> Slots:
    """The slots whose bit is set."""
    import numpy as np  # noqa: PLC0415  see above

    octets = words.astype("<u8", copy=False).view(np.uint8)
    found: Slots = np.unpackbits(octets, bitorder="little").view(bool).nonzero()[0]
    return found


def count_bits(words: Words) -> int:
    import numpy as np  # noqa: PLC0415  see above

    return int(np.add.reduce(np.bitwise_count(words)))


def whole_numbers(*parts: Words) -> tuple[int, ...]:
    """Each column as one whole number, slot n being bit n."""
    return tuple(int.from_bytes(column.astype("<u8").tobytes(), "little") for part in parts for column in part)


def pick(ids: Names, left: int) -> list[str]:
    """The ids of the slots that are set in a whole number, one by one."""
    found: list[str] = []
    while left:
        lowest = left & -left
        found.append(ids[lowest.bit_length() - 1])
        left ^= lowest
    return found


def object_array(values: Sequence[str]) -> Names:
    """Fresh copies of the ids lie side by side in memory, so that naming many of them misses the cache less often."""
    import numpy as np  # noqa: PLC0415  see above

    array = np.empty(len(values), dtype=object)
    array[:] = [(value + " ")[:-1] for value in values]
    return array


def _packed(bits: "NDArray[np.bool_]") -> Words:
    import numpy as np  # noqa: PLC0415  see above

    octets = np.packbits(bits, bitorder="little")
    padded = np.zeros(-(-len(bits) // _WORD) * 8, dtype=np.uint8)
    padded[: len(octets)] = octets
    return padded.view("<u8").astype(np.uint64)
