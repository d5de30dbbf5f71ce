"""Permissions: whole numbers whose bits a named schema gives names to.

schema + value from outside -> parse_mask -> mask -> has_perm | has_all | describe
Bits 0-7 and 24-31 are the same in every schema; 8-23 are the domain's own, and a wider schema adds its bits above 31.
No bit implies another, SUPER included.
"""

import re
from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from types import MappingProxyType

from msgspec import Struct

from assay.identity.errors import MaskError
from assay.identity.mask import normalise_mask
from assay.identity.problem import shortened
from assay.registry.errors import RegistryError

_UNIVERSAL = ("READ", "QUERY", "WRITE", "EXECUTE", "APPROVE", "AUDIT", "ADMIN", "SUPER")
_AUTONOMY = ("AI_READ", "AI_QUERY", "AI_SUGGEST", "AI_EXECUTE", "AI_APPROVE", "AUTONOMOUS", None, None)
_DOMAIN_BITS = range(8, 24)
_NARROW = 32
_WIDEST = 1024
_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,62}", re.ASCII)
_SCHEMA_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}", re.ASCII)
_HEX = re.compile(r"0x[0-9a-f]{1,256}", re.ASCII)


class MaskSchema(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each bit is called, from bit 0 up; None is reserved. Released schemas only grow.

    INVARIANT: the width is a multiple of 32, names are unique, and the universal blocks are as the protocol says.
    """

    id: str
    names: tuple[str | None, ...]

    def __post_init__(self) -> None:
        _require(_SCHEMA_ID.fullmatch(self.id) is not None, f"expected an id `{_SCHEMA_ID.pattern}`", self.id)
        width = len(self.names)
        _require(
            _NARROW <= width <= _WIDEST and width % _NARROW == 0, "expected 32 to 1024 bits, in steps of 32", width
        )
        named = [name for name in self.names if name is not None]
        malformed = [name for name in named if _NAME.fullmatch(name) is None]
        _require(not malformed, f"expected names `{_NAME.pattern}`", ", ".join(malformed))
        twice = sorted({name for name in named if named.count(name) > 1})
        _require(not twice, "expected each name once", ", ".join(twice))
        _require(self.names[:8] == _UNIVERSAL, f"expected bits 0-7 as {', '.join(_UNIVERSAL)}", self.names[:8])
        _require(self.names[24:32] == _AUTONOMY, "expected the autonomy block in bits 24-31", self.names[24:32])

    @property
    def width(self) -> int:
        return len(self.names)

    @property
    def reserved(self) -> int:
        return sum(1 << bit for bit, name in enumerate(self.names) if name is None)


class MaskTable(Struct, frozen=True, kw_only=True):
    """Names of roles or of actions, each with its mask under one schema; what is not in it has no mask at all."""

    schema: MaskSchema
    masks: Mapping[str, int]

    def get(self, name: str) -> int:
        mask = self.masks.get(name)
        if mask is None:
            raise RegistryError.unknown_action(
                f"expected one of {', '.join(sorted(self.masks))[:200]}, got `{name[:80]}`"
            )
        return mask


def make_schema(id: str, domain: Mapping[int, str], *, width: int = _NARROW) -> MaskSchema:  # noqa: A002  the field's own name
    """A schema of one's own: names for bits 8-23 and, where it is wider, for those from 32 on; the rest is reserved."""
    _require(width >= _NARROW, f"expected at least {_NARROW} bits", width)
    foreign = [bit for bit in domain if bit not in _DOMAIN_BITS and not _NARROW <= bit < width]
    _require(not foreign, "expected bits 8-23, or from 32 up to the width", ", ".join(map(str, foreign)))
    block = tuple(domain.get(bit) for bit in _DOMAIN_BITS)
    wide = tuple(domain.get(bit) for bit in range(_NARROW, width))
    return MaskSchema(id=id, names=(*_UNIVERSAL, *block, *_AUTONOMY, *wide))


def _require(holds: bool, expected: str, got: object) -> None:  # noqa: FBT001  a condition, read as a sentence
    if not holds:
        raise RegistryError.mask_schema(f"{expected}, got `{shortened(got)}`")


ANKR_32BIT_V1 = make_schema(
    "ankr-32bit-v1",
    {
        8: "BOOK",
        9: "MANIFEST",
        10: "BL_ISSUE",
        11: "RATE_DESK",
        12: "FEEDER_OPS",
        13: "NETWORK_PLAN",
        14: "VESSEL_OPS",
        15: "COMPLIANCE_OVERRIDE",
        16: "GATE_IN",
        17: "TRACK",
        18: "FTA_CHECK",
        19: "ALERT_ACK",
        20: "PORT_OPS",
    },
)
DEFAULT_SCHEMAS: Mapping[str, MaskSchema] = MappingProxyType({ANKR_32BIT_V1.id: ANKR_32BIT_V1})


def parse_mask(value: object, schema: MaskSchema = ANKR_32BIT_V1) -> int:
    """The mask in its one form, unsigned; a signed number of the width is normalised, a wide one may be `0x…` text.

    Refuses a bool, a float, another text, what does not fit, and every reserved bit.
    """
    mask = _narrow(value) if schema.width == _NARROW else _wide(value, schema.width)
    if mask & schema.reserved:
        bits = ", ".join(str(bit) for bit in range(schema.width) if mask & schema.reserved & 1 << bit)
        raise RegistryError.reserved_bit(f"expected no reserved bit of `{schema.id}`, got bits {bits}")
    return mask


def has_perm(mask: int, permission: int) -> bool:
    """Whether this one bit is set; refuses a value that is not exactly one bit."""
    if not _is_unsigned(permission) or permission.bit_count() != 1:
        raise RegistryError.unknown_permission(f"expected exactly one bit, got `{shortened(permission)}`")
    return missing_bits(mask, permission) == 0


def has_all(mask: int, needed: int) -> bool:
    """Whether every needed bit is set; both are masks in their one form."""
    return missing_bits(mask, needed) == 0


def missing_bits(mask: int, needed: int) -> int:
    """The needed bits that are not set; both are masks in their one form, since a minus sign would set them all."""
    if not (_is_unsigned(mask) and _is_unsigned(needed)):
        raise RegistryError.mask_width(
            f"expected masks in their unsigned form, got `{shortened(mask)}`, `{shortened(needed)}`"
        )
    return needed & ~mask


def describe(mask: int, schema: MaskSchema = ANKR_32BIT_V1) -> tuple[str, ...]:
    """The names of the bits that are set, from bit 0 up."""
    valid = parse_mask(mask, schema)
    return tuple(name for bit, name in enumerate(schema.names) if name is not None and valid >> bit & 1)


def mask_of(names: Iterable[str], schema: MaskSchema = ANKR_32BIT_V1) -> int:
    """The mask with exactly these permissions."""
    bits = {name: bit for bit, name in enumerate(schema.names) if name is not None}
    wanted = tuple(names)
    unknown = sorted(set(wanted) - bits.keys())
    if unknown:
        raise RegistryError.unknown_permission(
            f"expected permissions of `{schema.id}`, got `{', '.join(unknown)[:80]}`"
        )
    return reduce(or_, (1 << bits[name] for name in wanted), 0)


def make_table(table: Mapping[str, int | Iterable[str]], schema: MaskSchema = ANKR_32BIT_V1) -> MaskTable:
    """Roles or actions with their bits, given as numbers or as names; one bad entry refuses all."""
    masks = {
        name: parse_mask(value, schema) if isinstance(value, int) else mask_of(value, schema)
        for name, value in table.items()
    }
    return MaskTable(schema=schema, masks=MappingProxyType(masks))


def _is_unsigned(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _narrow(value: object) -> int:
    try:
        return normalise_mask(value)
    except MaskError as error:
        raise RegistryError.mask_width(str(error)) from error


def _wide(value: object, width: int) -> int:
    number = int(value, 16) if isinstance(value, str) and _HEX.fullmatch(value) else value
    if isinstance(number, bool) or not isinstance(number, int):
        got = f"{type(value).__name__} `{shortened(value)}`"
        raise RegistryError.mask_width(f"expected a whole number of {width} bits or `0x` and lower-case hex, got {got}")
    if not -(1 << width - 1) <= number < 1 << width:
        raise RegistryError.mask_width(f"expected {width} bits, got `{shortened(number)}`")
    return number & (1 << width) - 1
