"""Knowledge: the rules and obligations of a graph by subject, jurisdiction and day; versions, changes and reviewers."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from litestar import Request, get
from litestar.response import Response
from msgspec import Struct

from assay.flows.request import MOST_ITEMS
from assay.flows.verdicts.inspect_graphs import GraphState, ListGraphHistory, ListGraphs, ShowGraph
from assay.surfaces.console.page import render_page
from assay.surfaces.console.session import GivenVisit, Visit, needs
from assay.surfaces.http.query import parse_query

_HISTORY = 20
_ROW, _COLUMN, _BOX, _LONGEST = 30, 330, 250, 34


class KnowledgeQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`graph` is a content hash; without it, the graph in use. `on` is a day: obligations in force then."""

    graph: str = ""
    subject: str = ""
    jurisdiction: str = ""
    on: str = ""


class Line(NamedTuple):
    """One obligation with what belongs to it."""

    rule: Mapping[str, Any]
    obligation: Mapping[str, Any]
    subjects: list[str]
    jurisdictions: list[str]
    clauses: list[Mapping[str, Any]]
    exemptions: list[Mapping[str, Any]]


class Drawn(NamedTuple):
    """Boxes and lines of the picture: subjects, rules and obligations in three columns."""

    boxes: list[tuple[int, int, str, str, str]]
    lines: list[tuple[int, int, int, int]]
    height: int


@get("/knowledge", opt=needs("graphs.list"))
async def show_knowledge(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """The obligations of one graph as a picture and as a table, and how graphs changed."""
    wanted = parse_query(KnowledgeQuery, request)
    values = await visit.desk.run(lambda: _look(visit, wanted))
    return render_page("knowledge.html", visit, wanted=wanted, **values)


def _look(visit: Visit, wanted: KnowledgeQuery) -> dict[str, Any]:
    graphs = visit.perform("graphs.list", ListGraphs(limit=MOST_ITEMS)).items
    history = visit.perform("graphs.history", ListGraphHistory(limit=_HISTORY)).items
    in_use = next((one for one in graphs if one.state is GraphState.IN_USE), None)
    usual = in_use or (graphs[0] if graphs else None)
    chosen = next((one for one in graphs if one.content_hash == wanted.graph), usual)
    document: dict[str, Any] = {"nodes": {}, "edges": [], "metadata": {}}
    if chosen is not None:
        content = visit.perform("graph.document", ShowGraph(graph=chosen.documents[-1].document_hash))
        document = msgspec.json.decode(content.body)
    lines = _lines(document)
    shown = [line for line in lines if _is_wanted(line, wanted)]
    return {
        "graphs": graphs,
        "history": history,
        "chosen": chosen,
        "about": document.get("metadata") or {},
        "lines": shown,
        "all_lines": lines,
        "drawn": _draw(shown),
    }


def _lines(document: Mapping[str, Any]) -> list[Line]:
    nodes = {node["id"]: node for group in _groups(document) for node in group if isinstance(node, dict)}
    out: dict[tuple[str, str], list[str]] = defaultdict(list)
    for edge in document.get("edges") or []:
        out[edge["from"], edge["type"]].append(edge["to"])

    def of(source: str, kind: str) -> list[Mapping[str, Any]]:
        return [nodes[target] for target in out[source, kind] if target in nodes]

    lines = []
    for rule in (node for node in nodes.values() if node.get("type") == "rule"):
        subjects = [str(one.get("name") or one["id"]) for one in of(rule["id"], "applies_to")]
        for obligation in of(rule["id"], "consists_of"):
            name = obligation["id"]
            places = [str(one["id"]) for one in of(name, "scoped_to")]
            lines.append(Line(rule, obligation, subjects, places, of(name, "cited_by"), of(name, "exempted_by")))
    return lines


def _groups(document: Mapping[str, Any]) -> list[Any]:
    nodes = document.get("nodes") or {}
    return list(nodes.values()) if isinstance(nodes, dict) else [nodes]


def _is_wanted(line: Line, wanted: KnowledgeQuery) -> bool:
    start = str(line.obligation.get("effective_date_start") or "")[:10]
    end = str(line.obligation.get("effective_date_end") or "")[:10]
    return (
        (not wanted.subject or wanted.subject in line.subjects)
        and (not wanted.jurisdiction or wanted.jurisdiction in line.jurisdictions)
        and (not wanted.on or ((not start or start <= wanted.on) and (not end or wanted.on <= end)))
    )


def _draw(lines: list[Line]) -> Drawn:
    """Each name once in its column, in the order of the table."""
    columns: list[dict[str, tuple[str, str]]] = [{}, {}, {}]
    links: set[tuple[int, str, str]] = set()
    for line in lines:
        rule, obligation = str(line.rule["id"]), str(line.obligation["id"])
        columns[1][rule] = (str(line.rule.get("name") or rule), "hold")
        columns[2][obligation] = (str(line.obligation.get("summary") or obligation), "accent")
        links.add((1, rule, obligation))
        for subject in line.subjects:
            columns[0][subject] = (subject, "good")
            links.add((0, subject, rule))
    places = [{name: row for row, name in enumerate(column)} for column in columns]
    boxes = [
        (place * _COLUMN, row * _ROW, words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…", words, tone)
        for place, column in enumerate(columns)
        for row, (words, tone) in enumerate(column.values())
    ]
    half = _ROW // 2 - 2
    drawn = [
        (at * _COLUMN + _BOX, places[at][a] * _ROW + half, (at + 1) * _COLUMN, places[at + 1][b] * _ROW + half)
        for at, a, b in sorted(links)
    ]
    return Drawn(boxes, drawn, max(map(len, columns), default=0) * _ROW)
