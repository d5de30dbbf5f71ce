"""A prompt, read again: the slice that it shows is all that the verifier needs, so a third party needs no graph.

prompt -> the lines of its head -> typed graph -> RuleSlice -> Docket, whose head is the very text that was read
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from assay.kernel.errors import JsonError
from assay.kernel.json_text import JsonValue, parse_json
from assay.verdicts.docket import Docket, open_docket
from assay.verdicts.errors import GrammarSizeError, GraphFormError, ReceiptVerdictError
from assay.verdicts.graph.graph import KnowledgeGraph
from assay.verdicts.graph.parse import GRAPH_LIMITS, read_graph
from assay.verdicts.slice import RuleSlice

__all__ = ["reread_docket"]

_OPENING = "<record>"
_KNOWN = "subject: known"
_SECTIONS = ("rule", "obligations", "definitions", "exemptions", "precedents", "jurisdictions", "citations", "edges")
# `read_graph` asks for them; they are not in a prompt, and decide nothing.
_METADATA: dict[str, JsonValue] = {"schema_version": "3.0", "compiled_at": "2000-01-01T00:00:00Z"}


def reread_docket(prompt: str) -> Docket:
    """INVARIANT: the head of what is returned is exactly the prompt's; a prompt that is none of ours is refused."""
    head, fence, _ = prompt.partition(f"\n{_OPENING}\n")
    lines = head.split("\n")
    try:
        part = _part(dict(_sections(lines)))
        docket = open_docket(part, is_mapped=_KNOWN in lines)
    except (JsonError, GraphFormError, GrammarSizeError) as error:
        raise ReceiptVerdictError(f"expected a prompt that shows one rule: {error}") from error
    if not fence or docket.head.text != head + "\n":
        raise ReceiptVerdictError("expected a prompt that shows one rule, got a text that no rule is shown by")
    return docket


def _sections(lines: Sequence[str]) -> Iterator[tuple[str, list[JsonValue]]]:
    """Each title with the values of its lines; what a line starts with is only its name within the prompt."""
    starts = [at for at, line in enumerate(lines) if line in _SECTIONS]
    for start, end in pairwise([*starts, len(lines)]):
        texts = [line[line.find("{") :] for line in lines[start + 1 : end]]
        yield lines[start], [parse_json(text, limits=GRAPH_LIMITS) for text in texts]


def _part(sections: dict[str, list[JsonValue]]) -> RuleSlice | None:
    if "rule" not in sections:
        return None
    edges = sections.pop("edges", [])
    nodes: dict[str, JsonValue] = {("rules" if name == "rule" else name): found for name, found in sections.items()}
    graph = read_graph({"metadata": _METADATA, "nodes": nodes, "edges": edges})
    return _only_rule(graph)


def _only_rule(graph: KnowledgeGraph) -> RuleSlice:
    if len(graph.rules) != 1:
        raise ReceiptVerdictError(f"expected a prompt that shows one rule, got {len(graph.rules)}")
    return RuleSlice(
        rule=graph.rules[0],
        obligations=graph.obligations,
        definitions=graph.definitions,
        exemptions=graph.exemptions,
        precedents=graph.precedents,
        jurisdictions=graph.jurisdictions,
        citations=graph.citations,
        edges=graph.edges,
    )
