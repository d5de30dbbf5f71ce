"""A prompt, read again: the slice that it shows is all that the verifier needs, so a third party needs no graph.

prompt -> the lines of its head -> typed graph -> RuleSlice -> Docket, whose head is the text that was read
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import TypeVar

from msgspec.structs import replace

from assay.kernel.errors import JsonError
from assay.kernel.json_text import JsonValue, parse_json
from assay.verdicts.docket import Docket, open_docket
from assay.verdicts.errors import GrammarSizeError, GraphFormError, ReceiptError
from assay.verdicts.graph._read import Reader
from assay.verdicts.graph._units import read_units
from assay.verdicts.graph.edge import EdgeType
from assay.verdicts.graph.graph import KnowledgeGraph, Node
from assay.verdicts.graph.parse import GRAPH_LIMITS, read_graph
from assay.verdicts.graph.unit import UNITS, Conversion
from assay.verdicts.prompt import (
    DOUBT,
    FIRST_TEMPLATE_ID,
    REQUIRED_UNITS,
    TEMPLATE_ID,
    UNIT_SECTION,
    render_head,
)
from assay.verdicts.rulings import CURRENT, Rulings
from assay.verdicts.slice import PlaceDoubt, RuleSlice

_N = TypeVar("_N", bound=Node)
_OPENING = "<record>"
_TEMPLATES = (TEMPLATE_ID, FIRST_TEMPLATE_ID)
_KNOWN = "subject: known"
_SECTIONS = ("rule", "obligations", "definitions", "exemptions", "precedents", "jurisdictions", "citations", "edges")
# `read_graph` asks for them; they are not in a prompt, and decide nothing.
_METADATA: dict[str, JsonValue] = {"schema_version": "3.0", "compiled_at": "2000-01-01T00:00:00Z"}


def reread_docket(prompt: str, *, rulings: Rulings = CURRENT) -> Docket:
    """INVARIANT: the rule that is returned has exactly this prompt's head; a prompt that is none of ours is refused."""
    head, fence, _ = prompt.partition(f"\n{_OPENING}\n")
    lines = head.split("\n")
    try:
        part = _part(dict(_sections(lines)), rulings)
        if part is not None:
            part = replace(part, doubt=_doubt(lines), units=_units(lines), requires_units=REQUIRED_UNITS in lines)
        docket = open_docket(part, is_mapped=_KNOWN in lines, rulings=rulings)
    except (JsonError, GraphFormError, GrammarSizeError) as error:
        raise ReceiptError.verdict(f"expected a prompt that shows one rule: {error}") from error
    if not fence or not any(_head(docket, template_id) == head + "\n" for template_id in _TEMPLATES):
        raise ReceiptError.verdict("expected a prompt that shows one rule, got a text that no rule is shown by")
    return docket


def _head(docket: Docket, template_id: str) -> str:
    return render_head(docket.part, is_mapped=docket.is_mapped, template_id=template_id).text


def _sections(lines: Sequence[str]) -> Iterator[tuple[str, list[JsonValue]]]:
    """Each title with the values of its lines; what a line starts with is only its name within the prompt."""
    starts = [at for at, line in enumerate(lines) if line in _SECTIONS]
    for start, end in pairwise([*starts, len(lines)]):
        texts = [line[line.find("{") :] for line in lines[start + 1 : end]]
        yield lines[start], [parse_json(text, limits=GRAPH_LIMITS) for text in texts]


def _doubt(lines: Sequence[str]) -> PlaceDoubt | None:
    told = next((line.removeprefix(DOUBT).partition(";")[0] for line in lines if line.startswith(DOUBT)), None)
    return next((doubt for doubt in PlaceDoubt if doubt.value == told), None)


def _units(lines: Sequence[str]) -> tuple[Conversion, ...]:
    """The conversions as they are shown, each in the direction in which it is used."""
    if UNIT_SECTION not in lines:
        return ()
    start = lines.index(UNIT_SECTION) + 1
    shown = list(takewhile(lambda line: line.startswith("{"), lines[start:]))
    listed: list[JsonValue] = [parse_json(line, limits=GRAPH_LIMITS) for line in shown]
    reader = Reader()
    table = read_units(reader, {UNITS: listed})
    if reader.problems:
        raise GraphFormError(reader.problems)
    pairs = [(one.get("from"), one.get("to")) for one in listed if isinstance(one, dict)]
    known = {(one.source, one.target): one for group in table.by_target.values() for one in group}
    return tuple(
        known[source, target] for source, target in pairs if isinstance(source, str) and isinstance(target, str)
    )


def _part(sections: dict[str, list[JsonValue]], rulings: Rulings) -> RuleSlice | None:
    if "rule" not in sections:
        return None
    edges = sections.pop("edges", [])
    nodes: dict[str, JsonValue] = {("rules" if name == "rule" else name): found for name, found in sections.items()}
    graph = read_graph({"metadata": _METADATA, "nodes": nodes, "edges": edges}, rulings=rulings)
    shown = [node for array in nodes.values() if isinstance(array, list) for node in array]
    return _only_rule(graph, {str(one["id"]): str(one.get("version")) for one in shown if isinstance(one, dict)})


def _only_rule(graph: KnowledgeGraph, versions: Mapping[str, str]) -> RuleSlice:
    """With the versions as they are shown: those of the nodes as the graph wrote them, which may be in other words."""

    def told(nodes: tuple[_N, ...]) -> tuple[_N, ...]:
        return tuple(replace(node, version=versions[node.id]) for node in nodes)

    if len(graph.rules) != 1:
        raise ReceiptError.verdict(f"expected a prompt that shows one rule, got {len(graph.rules)}")
    parts = {edge.target for edge in graph.edges if edge.type is EdgeType.CONSISTS_OF}
    if parts != {node.id for node in graph.obligations}:
        raise ReceiptError.verdict("expected the obligations that the rule consists of, got others")
    return RuleSlice(
        rule=told(graph.rules)[0],
        obligations=told(graph.obligations),
        definitions=told(graph.definitions),
        exemptions=told(graph.exemptions),
        precedents=told(graph.precedents),
        jurisdictions=told(graph.jurisdictions),
        citations=told(graph.citations),
        edges=graph.edges,
    )
