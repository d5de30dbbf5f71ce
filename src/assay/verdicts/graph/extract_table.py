"""Tables of limits: metric, unit and side of a limit are read from the header cells, the number from the row.

header cells -> roles of columns -> each row and each column of limits -> Demand
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct

from assay.verdicts.graph.extract_clauses import Table
from assay.verdicts.graph.extract_compare import comparisons_of, find_range
from assay.verdicts.graph.extract_statement import Demand
from assay.verdicts.graph.extract_terms import NUMBER, Quantity, quantities_of, read_quantity, slug
from assay.verdicts.graph.extract_units import match_unit
from assay.verdicts.graph.obligation_type import ObligationType


class RowDemand(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one cell of a table demands, with the words of its row."""

    row: int
    demand: Demand
    words: str


class SkippedRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row that became no obligation, and why."""

    row: int
    words: str
    reason: str


class _Role(StrEnum):
    METRIC = "metric"
    UNIT = "unit"
    LIMIT = "limit"
    UPPER = "upper"
    LOWER = "lower"
    CONTEXT = "context"
    ASIDE = "aside"


_METRIC = re.compile(
    r"\b(?:parameter|substance|pollutant|determinand|contaminant|analyte|compound|chemical|metric|indicator"
    r"|measure|property"
    r"|characteristic|variable|agent|component|constituent|item|category|type of|hazard|product|food|fuel|test"
    r"|species|record"
    r"|ratio|requirement|emission|quantity)",
    re.IGNORECASE,
)
_UNIT_HEAD = re.compile(r"\b(?:units?|dimension|expressed (?:in|as))\b", re.IGNORECASE)
_UPPER = re.compile(
    r"\b(?:max(?:imum|\.)?|upper|ceiling|not (?:to )?exceed|no more than|at most|elv|limit values?|twa|stel|tlv"
    r"|oel|mac|mcl"
    r"|permissible|≤|highest|latest)",
    re.IGNORECASE,
)
_LOWER = re.compile(r"\b(?:min(?:imum|\.)?|lower|floor|at least|not less than|lowest|≥)", re.IGNORECASE)
_LIMIT = re.compile(
    r"\b(?:limits?|thresholds?|values?|standards?|criteri(?:a|on)|range|target|concentration|levels?|requirement"
    r"|specification"
    r"|acceptance|tolerance|set ?point|period|speed|rate|capacity|retention|temperature)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:frequency|alarm|trigger|notification|averaging|method|monitoring|remarks?|notes?|comments?|reference"
    r"|source|standard method"
    r"|responsib|record"
    r"|corrective|verification|sampling|interval|reason|basis|legal|cas|^no\.?$|^number$|#|ccp|row|id|date"
    r"|legislation|owner"
    r"|action)\b",
    re.IGNORECASE,
)
_LONGEST_QUANTITY = 20
_OF_TABLE = re.compile(
    r"\b(?:table|limits?|values?|below|following|follows|periods?|criteria|levels?)\b", re.IGNORECASE
)
_LIMITS = frozenset({_Role.LIMIT, _Role.UPPER, _Role.LOWER})
# Words of a header that say that it limits, and not what.
_SIDES = re.compile(
    r"\b(?:max(?:imum|\.)?|min(?:imum|\.)?|limits?|limit values?|values?|critical|parametric|guideline|permitted"
    r"|permissible|allowed"
    r"|allowable|you must"
    r"|must|shall|not|to|be|exceed(?:ed)?|emission|thresholds?|standards?|upper|lower|target|elv|acceptance"
    r"|criteri(?:a|on)|range"
    r"|concentrations?|in|the|of|requirement|specification|slow response)\b",
    re.IGNORECASE,
)
_EMPTY = re.compile(r"(?:[-–—.·]|n/?a|none|not applicable|no limit|nil)?", re.IGNORECASE)
_PARENTHESIS = re.compile(
    r"[(\[](?P<inner>[^()\[\]]*(?:\([^()]*\))?[^()\[\]]*)[)\]]\s*$|,\s*(?P<tail>[^,]+)$|\bin (?P<in>[^ ]+)$"
)
# Units that stand in a header without brackets, and are no words besides.
_PLAIN_UNITS = frozenset(
    {"dBA", "dB(A)", "dB", "ppm", "ppb", "ppmv", "NTU", "°C", "°F", "kPa", "mg", "kg", "mm", "cm", "%", "lux"}
)
# `Days to fix`, `Hours until closure`: the header begins with the unit.
_TIME_HEAD = re.compile(r"(?P<unit>seconds|minutes|hours|days|weeks|months|years)\b(?! of\b)", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


def read_table(table: Table) -> Iterator[RowDemand | SkippedRow]:
    """Every limit of a table, row by row; a row without one is listed."""
    rows = table.rows
    if len(rows) < 2:  # noqa: PLR2004  a header and a row
        yield SkippedRow(row=1, words=_words((), rows[0] if rows else ()), reason="a table without rows")
        return
    heads, body = _heads(rows)
    # The sentence above a table counts where it speaks of the table.
    around = f"{table.title} {table.lead}" if _OF_TABLE.search(table.lead) else table.title
    roles, side = _roles(heads, body, around), _side(around)
    for index, row in enumerate(body, start=1):
        found = list(_row(heads, row, roles, side)) if roles else []
        words = _words(heads, row)
        yield from (RowDemand(row=index, demand=demand, words=words) for demand in found)
        if not found:
            yield SkippedRow(row=index, words=words, reason="no limit was read in this row of a table")


def _heads(rows: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """One header row, or two where the second has no numbers either and the first repeats its cells."""
    first, second = rows[0], rows[1]
    is_double = len(rows) > 2 and len(set(first)) < len(first) and not any(map(_has_number, second))  # noqa: PLR2004  two headers and a row
    if not is_double:
        return first, rows[1:]
    return tuple(
        top if top == low or not low else f"{top} {low}".strip() for top, low in zip(first, second, strict=True)
    ), rows[2:]


def _has_number(cell: str) -> bool:
    return re.search(r"[0-9]", cell) is not None


def _roles(heads: tuple[str, ...], body: tuple[tuple[str, ...], ...], around: str) -> dict[int, _Role]:
    """What each column holds; empty where no column has limits."""
    roles = {index: _role(head, is_numeric=_is_mostly_numeric(index, body)) for index, head in enumerate(heads)}
    _find_limits(roles, heads, body, around)
    thresholds = [index for index, role in roles.items() if role is _Role.LIMIT and "threshold" in heads[index].lower()]
    if len(thresholds) < sum(role in _LIMITS for role in roles.values()):
        # A threshold beside a limit says from where on the limit holds.
        roles |= dict.fromkeys(thresholds, _Role.ASIDE)
    if _LIMITS.isdisjoint(roles.values()):
        # One column of quantities with their units, beside a column of names.
        free = [index for index in range(1, len(heads)) if roles[index] is not _Role.ASIDE]
        quantities = [index for index in free if _has_units(index, body)]
        if len(quantities) != 1 or _has_units(0, body):
            return {}
        roles[quantities[0]] = _Role.LIMIT
    if _Role.METRIC not in roles.values():
        first = next((index for index, role in roles.items() if role is _Role.CONTEXT), 0)
        roles[first] = _Role.METRIC
    return roles


def _find_limits(
    roles: dict[int, _Role], heads: tuple[str, ...], body: tuple[tuple[str, ...], ...], around: str
) -> None:
    """Columns of numbers whose header does not say that they are limits, where the words around the table do."""
    has_limits = not _LIMITS.isdisjoint(roles.values())
    is_told = any(pattern.search(around) for pattern in (_LIMIT, _UPPER, _LOWER)) or "exceed" in around
    is_told = is_told or re.search(r"\b(?:with)?in the (?:following )?times\b", around) is not None
    for index in range(1, len(heads)):
        is_open = roles[index] not in {*_LIMITS, _Role.ASIDE, _Role.UNIT}
        if not is_open or not _is_numeric(index, body):
            continue
        is_measured = roles[index] is _Role.CONTEXT and _unit_of_head(heads[index]) is not None
        if (is_measured and (has_limits or is_told)) or (is_told and not has_limits):
            roles[index] = _Role.LIMIT


def _is_mostly_numeric(index: int, body: tuple[tuple[str, ...], ...]) -> bool:
    cells = [row[index] for row in body if _EMPTY.fullmatch(row[index].strip()) is None]
    return bool(cells) and sum(map(_is_limit_cell, cells)) * 2 >= len(cells)


def _is_numeric(index: int, body: tuple[tuple[str, ...], ...]) -> bool:
    cells = [row[index] for row in body if _EMPTY.fullmatch(row[index].strip()) is None]
    return bool(cells) and all(map(_is_limit_cell, cells))


def _has_units(index: int, body: tuple[tuple[str, ...], ...]) -> bool:
    cells = [row[index].strip() for row in body]
    return bool(cells) and all(
        len(cell) <= _LONGEST_QUANTITY and any(quantity.unit is not None for quantity in quantities_of(cell))
        for cell in cells
    )


def _role(head: str, *, is_numeric: bool) -> _Role:
    if _UNIT_HEAD.fullmatch(head.strip()) or (_UNIT_HEAD.search(head) and not is_numeric):
        return _Role.UNIT
    if is_numeric and not re.search(r"\b(?:frequency|averaging|date|year|ccp|no\.|cas)\b", head, re.IGNORECASE):
        return _numeric_role(head)
    if _METRIC.search(head):
        return _Role.METRIC
    return _Role.ASIDE if _ASIDE.search(head) or is_numeric else _Role.CONTEXT


def _numeric_role(head: str) -> _Role:
    if re.search(r"\b(?:alarm|trigger|action)\b", head, re.IGNORECASE):
        return _Role.ASIDE
    if _UPPER.search(head):
        return _Role.UPPER
    if _LOWER.search(head):
        return _Role.LOWER
    return _Role.LIMIT if _LIMIT.search(head) else _Role.ASIDE if _ASIDE.search(head) else _Role.CONTEXT


def _is_limit_cell(cell: str) -> bool:
    """A number, with an operator and a unit perhaps, and little else."""
    text = cell.strip()
    rest = re.sub(rf"{NUMBER}", "", text, flags=re.IGNORECASE) if _has_number(text) else text
    return _has_number(text) and len(rest) <= 40  # noqa: PLR2004  a cell, no sentence


def _side(around: str) -> ObligationType | None:
    """What the words above a table say of all its limits."""
    if re.search(
        r"\b(?:not exceed|maximum|upper limit|no more than|not be exceeded|no(?:t)? longer than|exceed"
        r"|within the (?:following )?(?:times?|periods?|days|hours))",
        around,
        re.IGNORECASE,
    ):
        return ObligationType.MUST_NOT_EXCEED
    if re.search(r"\b(?:at least|minimum|not less than|no less than)\b", around, re.IGNORECASE):
        return ObligationType.MUST_BE_AT_LEAST
    return None


def _row(
    heads: tuple[str, ...], row: tuple[str, ...], roles: dict[int, _Role], side: ObligationType | None
) -> Iterator[Demand]:
    """The limits of a row; a minimum and a maximum of the same thing are one range."""
    unit_cell = next((row[index].strip() for index, role in roles.items() if role is _Role.UNIT), "")
    bounds: dict[tuple[str | None, _Role], Demand] = {}
    limits = [index for index, role in roles.items() if role in _LIMITS]
    for index in limits:
        cell, role = _SPACES.sub(" ", row[index]).strip(), roles[index]
        if _EMPTY.fullmatch(cell):
            continue
        unit = _unit_of(unit_cell) or _unit_of_head(heads[index]) or _unit_of_name(row, roles)
        metric = _metric(heads, row, roles, index)
        if role is _Role.LIMIT and len(limits) > 1 and (metric, role) in bounds:
            metric = f"{metric}_{slug(_PARENTHESIS.sub('', heads[index]))}"
        demand = _cell(cell, role, unit, side, metric)
        if demand is not None:
            bounds[metric, role] = demand
    for metric, role in list(bounds):
        low, high = bounds.get((metric, _Role.LOWER)), bounds.get((metric, _Role.UPPER))
        if role is _Role.LIMIT:
            yield bounds[metric, role]
        elif role is _Role.LOWER or low is None:
            yield from _joined(low, high)


def _joined(low: Demand | None, high: Demand | None) -> Iterator[Demand]:
    """A minimum and a maximum of one row are a range."""
    ends = [one.value for one in (low, high) if one is not None and isinstance(one.value, Decimal)]
    if low is None or high is None or len(ends) != 2 or ends != sorted(ends):  # noqa: PLR2004  a range has two ends
        yield from (one for one in (low, high) if one is not None)
        return
    doubts = tuple(dict.fromkeys((*low.doubts, *high.doubts)))
    kind, unit = ObligationType.MUST_BE_WITHIN, low.unit or high.unit
    yield Demand(kind=kind, metric=low.metric, value=tuple(ends), unit=unit, doubts=doubts)


def _metric(heads: tuple[str, ...], row: tuple[str, ...], roles: dict[int, _Role], limit: int) -> str | None:
    """The cells that name the thing, those that say where in front of them, and what the column measures behind."""
    names: list[str] = []
    for kind in (_Role.CONTEXT, _Role.METRIC):
        for index, role in roles.items():
            cell = row[index].strip()
            if role is kind and _EMPTY.fullmatch(cell) is None:
                # A number says nothing without its header: `Duration per day, hours: 8`.
                is_number = _is_limit_cell(cell) and len(cell) <= 6  # noqa: PLR2004  a number
                names.append(f"{_plain(heads[index])} {cell}" if is_number else _plain(cell))
    name = slug(" ".join(names), most=8)
    words = [word for word in _SIDES.sub(" ", _plain(heads[limit])).split() if word not in _PLAIN_UNITS]
    measured = slug(" ".join(words), most=4)
    if measured and not set(measured.split("_")) <= set(name.split("_")):
        name = f"{name}_{measured}" if name else measured
    return name or None


def _plain(cell: str) -> str:
    """Without its unit in brackets."""
    return _PARENTHESIS.sub("", cell)


def _cell(cell: str, role: _Role, unit: str | None, side: ObligationType | None, metric: str | None) -> Demand | None:
    """`5`, `≤ 6 °C`, `min. 15 s`, `4.6 – 5.2`, `12 months`."""
    doubts: tuple[str, ...] = ()
    between = find_range(cell) or find_range(f"between {cell}")
    if between is not None:
        value = (between.low, between.high)
        return Demand(kind=ObligationType.MUST_BE_WITHIN, metric=metric, value=value, unit=between.unit or unit)
    found = comparisons_of(cell)
    if found:
        return _limit(found[0].plain, metric, found[0].quantity, unit, doubts)
    quantity = read_quantity(cell)
    if quantity is None:
        return None
    if role is _Role.UPPER or (role is _Role.LIMIT and side is ObligationType.MUST_NOT_EXCEED):
        kind = ObligationType.MUST_NOT_EXCEED
    elif role is _Role.LOWER or side is ObligationType.MUST_BE_AT_LEAST:
        kind = ObligationType.MUST_BE_AT_LEAST
    else:
        kind, doubts = (
            ObligationType.MUST_NOT_EXCEED,
            ("the table does not say on which side its limits are: upper was taken",),
        )
    return _limit(kind, metric, quantity, unit, doubts)


def _limit(
    kind: ObligationType, metric: str | None, quantity: Quantity, unit: str | None, doubts: tuple[str, ...]
) -> Demand:
    told = list(doubts)
    if quantity.is_doubtful:
        told.append("the comma in the number was read as a decimal point")
    return Demand(kind=kind, metric=metric, value=quantity.value, unit=quantity.unit or unit, doubts=tuple(told))


def _unit_of(cell: str) -> str | None:
    if _EMPTY.fullmatch(cell):
        return None
    found = match_unit(cell, 0)
    return found[0] if found is not None and found[1] >= len(cell) else cell


def _unit_of_head(head: str) -> str | None:
    """`Limit (mg/m3)`, `Limit value, mg/m3`, `Limit in mg/m3`."""
    decibels = re.search(r"\bdB ?\([AC]\)", head)
    if decibels is not None:
        return decibels.group().replace(" ", "")
    found = _PARENTHESIS.search(head)
    inner = "" if found is None else (found["inner"] or found["tail"] or found["in"]).strip().removeprefix("in ")
    unit = match_unit(inner, 0) if inner else None
    if unit is not None:
        return unit[0]
    timed = _TIME_HEAD.match(head)
    if timed is not None:
        known = match_unit(timed["unit"].lower(), 0)
        return None if known is None else known[0]
    for word in head.split():
        known = match_unit(word, 0)
        if known is not None and known[1] == len(word) and (word in _PLAIN_UNITS or "/" in word):
            return known[0]
    return None


def _unit_of_name(row: tuple[str, ...], roles: dict[int, _Role]) -> str | None:
    """`Plate count (per ml)`: the unit stands with the name."""
    cells = (row[index] for index, role in roles.items() if role is _Role.METRIC)
    return next((unit for cell in cells if (unit := _unit_of_head(cell)) is not None), None)


def _words(heads: tuple[str, ...], row: tuple[str, ...]) -> str:
    """The row in its own words, each cell behind its header."""
    pairs = zip(heads, row, strict=False) if heads else (("", cell) for cell in row)
    return "; ".join(f"{head}: {cell}" if head else cell for head, cell in pairs if cell.strip())
