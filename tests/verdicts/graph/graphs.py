"""Knowledge graphs that tests start from, as plain values anyone can read."""

import json
from collections.abc import Callable
from copy import deepcopy
from datetime import datetime
from typing import Any

from assay.kernel.instant import Instant
from assay.verdicts.graph.graph import KnowledgeGraph
from assay.verdicts.graph.hash import stamp_versions
from assay.verdicts.graph.parse import parse_graph

Document = dict[str, Any]
Change = Callable[[Document], object]

_STARTS = "2016-01-01T00:00:00Z"
_SOUND: Document = {
    "metadata": {"name": "stacks", "schema_version": "3.0", "sector": "energy"},
    "nodes": {
        "subjects": [{"id": "stack", "type": "subject", "name": "Stack 1"}],
        "rules": [{"id": "rule", "type": "rule", "name": "SO2", "risk_tier": "medium"}],
        "obligations": [
            {
                "id": "limit",
                "type": "obligation",
                "obligation_type": "must_not_exceed",
                "metric": "so2",
                "value": 35,
                "unit": "mg/Nm3",
                "effective_date_start": _STARTS,
            }
        ],
        "definitions": [{"id": "def", "type": "definition", "term": "SO2", "definition_text": "sulphur dioxide"}],
        "exemptions": [{"id": "exempt", "type": "exemption", "condition": "startup == true"}],
        "precedents": [{"id": "before", "type": "precedent", "summary": "the old limit", "relation": "amends"}],
        "jurisdictions": [
            {"id": "eu", "type": "jurisdiction", "name": "European Union"},
            {"id": "de", "type": "jurisdiction", "name": "Germany", "parent": "eu"},
        ],
        "citations": [{"id": "cite", "type": "citation", "source_document": "2010/75/EU", "source_clause": "Annex V"}],
    },
    "edges": [
        {"type": "applies_to", "from": "rule", "to": "stack"},
        {"type": "consists_of", "from": "rule", "to": "limit"},
        {"type": "defined_by", "from": "limit", "to": "def"},
        {"type": "exempted_by", "from": "limit", "to": "exempt"},
        {"type": "interpreted_by", "from": "limit", "to": "before"},
        {"type": "scoped_to", "from": "limit", "to": "eu"},
        {"type": "cited_by", "from": "limit", "to": "cite"},
        {"type": "cited_by", "from": "def", "to": "cite"},
        {"type": "cited_by", "from": "exempt", "to": "cite"},
        {"type": "cited_by", "from": "before", "to": "cite"},
    ],
}


def sound() -> Document:
    """A graph without a defect, with every kind of node and all edges but one."""
    return deepcopy(_SOUND)


def written(document: Document) -> bytes:
    """With its versions stamped, as an author would have it."""
    return json.dumps(stamp_versions(document)).encode()


def read(document: Document) -> KnowledgeGraph:
    return parse_graph(written(document))


def changed(change: Change) -> KnowledgeGraph:
    document = sound()
    change(document)
    return read(document)


def edge(document: Document, kind: str, source: str, target: str) -> None:
    document["edges"].append({"type": kind, "from": source, "to": target})


def obligation(document: Document, node: str, kind: str, value: object = None, **fields: object) -> None:
    """One more obligation of the rule, on the same metric, cited."""
    given = {"metric": "so2", "unit": "mg/Nm3", "effective_date_start": _STARTS, "value": value, **fields}
    content = {name: part for name, part in given.items() if part is not None}
    document["nodes"]["obligations"].append({"id": node, "type": "obligation", "obligation_type": kind, **content})
    edge(document, "consists_of", "rule", node)
    edge(document, "cited_by", node, "cite")


def at(text: str) -> Instant:
    return Instant(datetime.fromisoformat(text))
