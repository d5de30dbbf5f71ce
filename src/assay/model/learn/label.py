"""Labels: what the model should write about a line and about the whole, read off the symbols alone.

line -> label_line -> for each comparison (difference, relation, truth, truth so far), then the conclusion
Whoever teaches by them must hold them against the verifier's own judgement (`flows/model/teach_cases`): a case that
does not show all that decides would be found out there. Nothing here runs when a verdict is reached.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.model.tokenizer import Line

_DENYING = frozenset({"must_not", "must_not_be_one_of", "must_not_equal"})
_MET = {
    "must_not_exceed": ("less", "equal"),
    "must_not_exceed_in_window": ("less", "equal"),
    "must_be_at_least": ("more", "equal"),
    "must_be_below": ("less",),
    "must_be_recorded_within": ("less",),
    "must_be_above": ("more",),
    "must_be_within": ("more", "equal"),
    "must_average_within": ("more", "equal"),
    "upper": ("less", "equal"),
    "must": ("equal",),
    "should": ("equal",),
    "must_equal": ("equal",),
    "must_be_one_of": ("equal",),
    "must_not": ("less", "more"),
    "must_not_equal": ("less", "more"),
    "must_not_be_one_of": ("less", "more"),
}


@dataclass(frozen=True, slots=True)
class Label:
    """What is right to write about one line."""

    comparisons: tuple[tuple[str, str, str, str], ...]
    exempting: str
    outcome: str
    observed: str
    satisfied: str


def label_line(line: Line) -> Label:
    parts = _parts(line)
    written: list[tuple[str, str, str, str]] = []
    for place, (start, part) in enumerate(zip(line.starts, parts, strict=True)):
        difference, relation, truth = _compare(start, part, parts[place - 1] if place else [])
        so_far = _both(written[-1][3], truth) if start in {";", "&"} else truth
        written.append((difference, relation, truth, so_far))
    return _conclude(line, tuple(written))


def _expected_of(classes: Sequence[str]) -> str:
    """The verdict that classes come to."""
    found = set(classes)
    if "judgement" in found:
        return "DISCRETIONARY"
    if "breached" in found:
        return "FLAG"
    if "stale" in found:
        return "NULL_STALE"
    return "CLEAR" if found <= {"satisfied", "exempt"} else "DISCRETIONARY"


def closing_labels(classes: Sequence[str], exempting: Sequence[str], roles: Sequence[str]) -> tuple[str, list[str]]:
    """The verdict, and for each obligation and each other role whether it is cited."""
    verdict = _expected_of(classes)
    deciding = _deciding(verdict, set(classes))
    cited = ["cite" if name in deciding else "skip" for name in classes]
    considered = any(
        name != "satisfied" and word != "no_exemption" for name, word in zip(classes, exempting, strict=True)
    )
    for role in roles:
        is_cited = role in {"definition_resolved", "jurisdiction_matched"} or (
            role == "exemption_considered" and considered
        )
        cited.append("cite" if is_cited else "skip")
    return verdict, cited


def _deciding(verdict: str, found: set[str]) -> set[str]:
    if verdict == "CLEAR":
        return {"satisfied", "exempt"}
    if verdict == "DISCRETIONARY":
        return {"judgement"} if "judgement" in found else {"undetermined", "unfollowed"}
    return {"breached"} if verdict == "FLAG" else {"stale"}


def _parts(line: Line) -> list[list[str]]:
    parts: list[list[str]] = [[] for _ in line.starts]
    for symbol, place in zip(line.symbols, line.comparisons, strict=True):
        parts[place].append(symbol)
    return parts


def _compare(start: str, part: list[str], before: list[str]) -> tuple[str, str, str]:
    symbols = part[1:] if start else part
    if symbols[-1] == "~" or symbols[0] == "unknown":
        return "person", "none", "open"
    if symbols[-1] == "?":
        return "doubt", "none", "open"
    demand = "upper" if start == ";" else _demand(symbols)
    if symbols[-1] == "_" and ":" not in symbols:
        return "missing", "none", _missing(start, symbols)
    if "u1" in symbols or (start == ";" and "u1" in before):
        return "foreign", "none", "open"
    if ":" in symbols:
        return _named(demand, symbols)
    difference, relation = _digits(symbols)
    truth = "holds" if relation in _MET[demand] else "fails"
    return difference, relation, "open" if "?" in symbols and truth == "holds" else truth


def _demand(symbols: list[str]) -> str:
    """After `w` another type may follow: what is demanded of the window."""
    return next((symbol for symbol in symbols[1:] if symbol in _MET), symbols[0])


def _missing(start: str, symbols: list[str]) -> str:
    """What is missing breaks a demand that something exists or is recent, and shows no exemption to hold."""
    is_fatal = start in {"x", "&"} or "e" in symbols or symbols[0] == "must_be_recorded_within"
    return "fails" if is_fatal else "open"


def _named(demand: str, symbols: list[str]) -> tuple[str, str, str]:
    at = symbols.index(":")
    observed, members = symbols[at - 1], symbols[at + 1 :]
    if members == ["_"]:
        difference = "denied" if observed == "f" else "present"
    elif observed in members:
        difference = "member"
    else:
        difference = "stranger" if _kind(observed) in map(_kind, members) else "kind"
    if difference == "kind":
        return "kind", "none", "open"
    is_met = (difference in {"member", "present"}) is not (demand in _DENYING)
    return difference, "none", "holds" if is_met else "fails"


def _kind(name: str) -> str:
    return "b" if name in {"t", "f"} else name[0]


def _digits(symbols: list[str]) -> tuple[str, str]:
    at = next(place for place, symbol in enumerate(symbols) if symbol[0] in "+-")
    signs, pairs = symbols[at], symbols[at + 1 :]
    if signs[0] != signs[1]:
        return signs, "less" if signs == "+-" else "more"
    for pair in pairs:
        limit, observed = pair[0], pair[1]
        if limit != observed:
            is_less = (observed < limit) is not (signs == "--")
            return limit + observed, "less" if is_less else "more"
    return "same", "equal"


def _both(one: str, other: str) -> str:
    return next((word for word in ("fails", "open") if word in {one, other}), "holds")


def _conclude(line: Line, written: tuple[tuple[str, str, str, str], ...]) -> Label:
    groups = [
        written[place][3] for place in range(len(written)) if place + 1 == len(written) or line.starts[place + 1] == "x"
    ]
    main, waivers = groups[0], groups[1:]
    exempting = _exempting(waivers)
    is_shown = written[0][0] != "missing"
    return Label(
        comparisons=written,
        exempting=exempting,
        outcome=_outcome(line.symbols[0], main, exempting),
        observed="value" if main != "open" and is_shown else "null",
        satisfied="true" if main == "holds" else "false",
    )


def _exempting(waivers: Sequence[str]) -> str:
    if not waivers:
        return "no_exemption"
    if "holds" in waivers:
        return "exempting"
    return "exempting_perhaps" if "open" in waivers else "not_exempting"


def _outcome(kind: str, main: str, exempting: str) -> str:
    if kind in {"discretionary", "unknown"}:
        return "judgement"
    if main == "holds":
        return "satisfied"
    if exempting == "exempting":
        return "exempt"
    if exempting == "exempting_perhaps" or main == "open":
        return "undetermined"
    return {"should": "unfollowed", "must_be_recorded_within": "stale"}.get(kind, "breached")
