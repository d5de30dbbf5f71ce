"""Compare drafts with the graphs that a person reads in the same texts: precision, recall, tables.

`python -m tests.verdicts.graph.extraction_score tuning --failures` lists what differs; `sealed` prints totals alone.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from assay.adapters.documents import read_document
from assay.verdicts.graph.extract import ExtractedDraft, extract_draft
from assay.verdicts.graph.extract_drafting import ExtractSettings

TEXTS = Path(__file__).resolve().parents[2] / "vectors" / "extraction"
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "week": 604_800, "month": 2_678_400, "quarter": 7_948_800}
_SECONDS |= {"year": 31_622_400}
_UNCOMPARED = frozenset({"must", "must_not", "should", "discretionary"})
_UNITS = {"knot": "kn", "/ml": "per ml", "character": None, "unit": None}
_WORDS = frozenset({"article", "section", "regulation", "paragraph", "part", "subsection", "the", "row"})
_ENOUGH = 0.5


class Score(Struct, kw_only=True):
    """Counts of one text or of a set of texts."""

    expected: int = 0
    found: int = 0
    matched: int = 0
    matched_anywhere: int = 0  # the clause not compared
    quoted: int = 0
    others_expected: int = 0
    others_found: int = 0
    others_matched: int = 0
    dated: int = 0
    rows_expected: int = 0
    rows_matched: int = 0
    tables_expected: int = 0
    tables_read: int = 0

    @property
    def precision(self) -> float:
        return self.matched / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        return self.matched / self.expected if self.expected else 0.0

    def add(self, other: "Score") -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def texts_of(name: str) -> list[Path]:
    return sorted(path for path in (TEXTS / name).iterdir() if path.suffix != ".json" and path.name != "README.md")


def draft_of(path: Path, settings: ExtractSettings | None = None) -> ExtractedDraft:
    return extract_draft(read_document(path.read_bytes(), name=path.name), settings)


def score_text(path: Path, failures: list[str] | None = None) -> Score:
    """Score one text; `failures` collects what differs."""
    draft = draft_of(path)
    expected = json.loads(path.with_suffix(".expected.json").read_text())
    told: list[str] = [] if failures is None else failures
    score = Score(expected=len(expected["obligations"]), tables_expected=expected["tables"])
    _obligations(draft, expected, score, told)
    _others(draft, expected, score, told)
    return score


def score_set(name: str) -> Score:
    total = Score()
    for path in texts_of(name):
        total.add(score_text(path))
    return total


def _obligations(draft: ExtractedDraft, expected: dict[str, Any], score: Score, told: list[str]) -> None:
    free = {node["id"]: node for node in _nodes(draft, "obligations")}
    clauses = {origin.node: origin.clause for origin in draft.origins}
    score.found = len(free)
    score.matched_anywhere = _anywhere(expected, list(free.values()))
    rows: dict[str, list[bool]] = {}
    for wanted in expected["obligations"]:
        fits = [node for node in free.values() if _fits(wanted, node, clauses.get(node["id"], ""))]
        best = max(fits, key=lambda node: _overlap(wanted["metric"], node.get("metric")), default=None)
        if "table" in wanted:
            rows.setdefault(wanted["clause"], []).append(best is not None)
        if best is None:
            told.append(f"missing {wanted}")
            continue
        del free[best["id"]]
        score.matched += 1
        score.quoted += wanted["words"] in best["summary"]
        if wanted["words"] not in best["summary"]:
            told.append(f"words {wanted['words']!r} not in {best['summary']!r}")
        is_dated = _dates(best) == (_wanted(wanted, expected, "from"), _wanted(wanted, expected, "to"))
        score.dated += is_dated
        if not is_dated:
            told.append(f"dates {_dates(best)} of {wanted['clause']}")
    score.rows_expected, score.rows_matched = sum(map(len, rows.values())), sum(map(sum, rows.values()))
    score.tables_read = sum(all(found) for found in rows.values())
    told += [f"surplus {clauses.get(key)}: {node}" for key, node in free.items()]


def _anywhere(expected: dict[str, Any], free: list[dict[str, Any]]) -> int:
    """How many obligations are read rightly, wherever the draft says that they stand."""
    matched = 0
    for wanted in expected["obligations"]:
        fits = [
            node for node in free if _fits({**wanted, "clause": ""}, node, "") and wanted["words"] in node["summary"]
        ]
        best = max(fits, key=lambda node: _overlap(wanted["metric"], node.get("metric")), default=None)
        if best is not None:
            free.remove(best)
            matched += 1
    return matched


def _others(draft: ExtractedDraft, expected: dict[str, Any], score: Score, told: list[str]) -> None:
    """Compare definitions, exemptions with their clause, precedents, jurisdictions; citations by recall alone."""
    wanted, found = list(_wanted_others(expected)), list(_found_others(draft))
    score.others_expected, score.others_found = len(wanted), len(found)
    for kind, where, words in wanted:
        fit = next((one for one in found if _same_other((kind, where, words), one)), None)
        if fit is None:
            told.append(f"missing {kind} {where} {words!r}")
            continue
        found.remove(fit)
        score.others_matched += 1
    told += [f"surplus {one}" for one in found]
    cited = {(node["source_document"], node["source_clause"].lower()) for node in _nodes(draft, "citations")}
    metadata: Any = draft.document["metadata"]
    title = metadata["source_document"]
    for citation in expected["citations"]:
        key = (citation["document"] or title, citation["clause"].lower())
        score.others_expected += 1
        score.others_found += 1
        score.others_matched += key in cited
        if key not in cited:
            told.append(f"missing citation {key}")


_Other = tuple[str, str, str]


def _wanted_others(expected: dict[str, Any]) -> Iterator[_Other]:
    for term in expected["definitions"]:
        yield "definition", "", term
    for exemption in expected["exemptions"]:
        yield "exemption", exemption["of"], exemption["condition"]
    for precedent in expected["precedents"]:
        yield "precedent", precedent["relation"], precedent["of"]
    for place in expected["defaults"]["in"]:
        yield "jurisdiction", "", place


def _found_others(draft: ExtractedDraft) -> Iterator[_Other]:
    clauses = {origin.node: origin.clause for origin in draft.origins}
    edges: Any = draft.document["edges"]
    targets: dict[str, list[str]] = {}
    for edge in edges:
        if edge["type"] == "exempted_by":
            targets.setdefault(edge["to"], []).append(clauses[edge["from"]])
    for node in _nodes(draft, "definitions"):
        yield "definition", "", node["term"]
    for node in _nodes(draft, "exemptions"):
        of = targets.get(node["id"], [])
        yield "exemption", "|".join(of), node["condition"]
    for node in _nodes(draft, "precedents"):
        yield "precedent", node["relation"], node["summary"]
    for node in _nodes(draft, "jurisdictions"):
        yield "jurisdiction", "", node["name"]


def _same_other(wanted: _Other, found: _Other) -> bool:
    if wanted[0] != found[0]:
        return False
    if wanted[0] == "definition":
        return wanted[2].lower() == found[2].lower()
    if wanted[0] == "jurisdiction":
        return wanted[2].removeprefix("the ") == found[2].removeprefix("the ")
    if wanted[0] == "precedent":
        return wanted[1] == found[1] and wanted[2] in found[2]
    clauses = found[1].split("|")
    is_there = len(clauses) > 1 if wanted[1] == "*" else any(_is_clause(wanted[1], one) for one in clauses)
    return is_there and _overlap(wanted[2], found[2]) >= _ENOUGH


def _fits(wanted: dict[str, Any], node: dict[str, Any], clause: str) -> bool:
    kinds = wanted["type"] if isinstance(wanted["type"], list) else [wanted["type"]]
    if node["obligation_type"] not in kinds or not _is_clause(wanted["clause"], clause):
        return False
    is_judged = node["obligation_type"] == "discretionary"
    if wanted["metric"] is not None and not is_judged and _overlap(wanted["metric"], node.get("metric")) < _ENOUGH:
        return False
    if node["obligation_type"] in _UNCOMPARED or len(kinds) > 1:
        return True
    return _quantity(wanted["value"], wanted["unit"]) == _quantity(node.get("value"), node.get("unit"))


def _quantity(value: object, unit: str | None) -> tuple[object, str | None]:
    known = _UNITS.get(unit or "", unit)
    if isinstance(value, int | float) and known in _SECONDS:
        return round(float(value) * _SECONDS[known], 6), "s"
    if isinstance(value, list):
        return tuple(str(float(one)) if isinstance(one, int | float) else str(one) for one in value), known
    return (float(value) if isinstance(value, int | float) else value), known


def _is_clause(wanted: str, found: str) -> bool:
    want, got = _clause_words(wanted), _clause_words(found)
    return got[: len(want)] == want


def _clause_words(label: str) -> list[str]:
    return [word for word in re.findall(r"[0-9]+(?:\.[0-9]+)*|[a-z]+", label.lower()) if word not in _WORDS]


def _overlap(wanted: str | None, found: str | None) -> float:
    want, got = ({word[:5] for word in re.findall(r"[a-z0-9]+", (text or "").lower())} for text in (wanted, found))
    return len(want & got) / len(want) if want else 1.0


def _dates(node: dict[str, Any]) -> tuple[str | None, str | None]:
    start, end = node.get("effective_date_start"), node.get("effective_date_end")
    return start and start[:10], end and end[:10]


def _wanted(wanted: dict[str, Any], expected: dict[str, Any], name: str) -> str | None:
    found = wanted.get(name, expected["defaults"].get(name))
    return None if found is None else str(found)


def _nodes(draft: ExtractedDraft, kind: str) -> list[dict[str, Any]]:
    nodes: Any = draft.document["nodes"]
    return list(nodes[kind])


def render_score(name: str, score: Score) -> str:
    return (
        f"{name}: precision {score.precision:.2f} ({score.matched} of {score.found}), recall {score.recall:.2f} "
        f"({score.matched} of {score.expected}), {score.matched_anywhere} in any clause, words {score.quoted}, "
        f"dates {score.dated}; definitions, exemptions, precedents, places, references: {score.others_matched} of "
        f"{score.others_expected} expected and {score.others_found} found; tables {score.tables_read} of "
        f"{score.tables_expected}, rows {score.rows_matched} of {score.rows_expected}"
    )


def main(arguments: list[str]) -> None:
    name = arguments[0]
    for path in texts_of(name):
        failures: list[str] = []
        score = score_text(path, failures)
        print(render_score(path.name, score))  # noqa: T201  a tool for the terminal
        if "--failures" in arguments and name != "sealed":
            print(*(f"    {one}" for one in failures), sep="\n")  # noqa: T201  a tool for the terminal
    print(render_score(name, score_set(name)))  # noqa: T201  a tool for the terminal


if __name__ == "__main__":
    main(sys.argv[1:])
