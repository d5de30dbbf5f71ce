"""The unit conversions of a document: every mistake with its path, both directions of each declaration."""

import re
from collections.abc import Mapping
from fractions import Fraction

from assay.kernel.json_text import JsonValue
from assay.verdicts.graph._read import Fields, Reader
from assay.verdicts.graph.problem import Path, ProblemCode
from assay.verdicts.graph.unit import UNITS, Conversion, UnitTable

_REQUIRED = "require_units"
_FIELDS = frozenset({"from", "to", "factor", "offset"})
_FRACTION = re.compile(r"-?\d{1,30}(?:\.\d{1,30})?(?:/[1-9]\d{0,29})?", re.ASCII)
_MOST = 1000


def read_units(reader: Reader, metadata: Mapping[str, JsonValue]) -> UnitTable:
    """The table, or problems of the document where a declaration is not one."""
    listed = metadata.get(UNITS)
    required = metadata.get(_REQUIRED)
    if required is not None and not isinstance(required, bool):
        reader.complain(("metadata", _REQUIRED), ProblemCode.TYPE, "expected true or false, got something else")
    path: Path = ("metadata", UNITS)
    found: dict[tuple[str, str], Conversion] = {}
    items = [] if listed is None else reader.items(listed, path)
    if len(items) > _MOST:
        reader.complain(path, ProblemCode.FORM, f"expected at most {_MOST} conversions, got {len(items)}")
    for number, item in enumerate(items[:_MOST]):
        fields = reader.members(item, (*path, number))
        one = _conversion(reader, fields, (*path, number)) if isinstance(item, dict) else None
        for way in () if one is None else (one, one.inverted()):
            if found.setdefault((way.source, way.target), way) != way:
                message = f"expected one conversion of `{way.source[:80]}` to `{way.target[:80]}`, got another"
                reader.complain((*path, number), ProblemCode.FORM, message)
                break
    by_target: dict[str, list[Conversion]] = {}
    for pair in sorted(found):
        by_target.setdefault(pair[1], []).append(found[pair])
    return UnitTable(
        by_target={target: tuple(group) for target, group in by_target.items()}, is_required=required is True
    )


def _conversion(reader: Reader, fields: Fields, path: Path) -> Conversion | None:
    reader.refuse_unknown(fields, _FIELDS, path)
    source, target = reader.required(fields, "from", path), reader.required(fields, "to", path)
    factor = _fraction(reader, fields, "factor", path)
    offset = _fraction(reader, fields, "offset", path) if "offset" in fields else Fraction(0)
    if factor is not None and factor <= 0:
        reader.complain((*path, "factor"), ProblemCode.FORM, "expected a factor above zero, got another")
        return None
    if source == target:
        reader.complain((*path, "to"), ProblemCode.FORM, f"expected two units, got `{source[:80]}` twice")
        return None
    if not source or not target or factor is None or offset is None:
        return None
    return Conversion(source=source, target=target, factor=factor, offset=offset)


def _fraction(reader: Reader, fields: Fields, name: str, path: Path) -> Fraction | None:
    """A number, or a text such as `1000`, `0.3048` or `5/9`."""
    value = fields.get(name)
    if isinstance(value, str):
        if _FRACTION.fullmatch(value) is None:
            message = f"expected a fraction such as 1000, 0.3048 or 5/9, got `{value[:80]}`"
            reader.complain((*path, name), ProblemCode.FORM, message)
            return None
        top, _, bottom = value.partition("/")
        return Fraction(top) / int(bottom or 1)
    number = reader.number(fields, name, path)
    if number is None and name not in fields:
        reader.complain((*path, name), ProblemCode.REQUIRED, f"expected `{name}`, got nothing")
    return None if number is None else Fraction(number)
