"""Knowledge graphs of any size for the benches: like real ones in what hangs on what, and without a defect."""

from typing import Any

__all__ = ["RULES_PER_SUBJECT", "typed_graph"]

RULES_PER_SUBJECT = 4
_STARTS = "2016-01-01T00:00:00Z"


def typed_graph(rules: int) -> dict[str, Any]:
    """Four rules for each subject, an obligation each; a third are scoped, some defined, some exempt, all cited."""
    shared = range(50)
    nodes: dict[str, list[dict[str, Any]]] = {
        "subjects": [_node("subject", number, name=f"stack {number}") for number in range(rules // RULES_PER_SUBJECT)],
        "rules": [_node("rule", number, name=f"limit {number}", risk_tier="medium") for number in range(rules)],
        "obligations": [_obligation(number) for number in range(rules)],
        "definitions": [_node("definition", number, term="t", definition_text="what it means") for number in shared],
        "exemptions": [_node("exemption", number, condition="startup == true") for number in shared],
        "precedents": [_node("precedent", number, summary="earlier", relation="amends") for number in shared],
        "jurisdictions": [
            {"id": "eu", "type": "jurisdiction", "name": "European Union"},
            *[_node("jurisdiction", number, name=f"land {number}", parent="eu") for number in range(20)],
        ],
        "citations": [
            _node("citation", number, source_document="Directive 2010/75/EU", source_clause=f"Annex V, point {number}")
            for number in range(rules // 10 + 1)
        ],
    }
    cited = [_edge("cited_by", f"{kind}{number}", "citation0") for kind in _CITED for number in shared]
    edges = [edge for number in range(rules) for edge in _edges(number)]
    return {"metadata": {"name": "bench", "schema_version": "3.0"}, "nodes": nodes, "edges": cited + edges}


_CITED = ("definition", "exemption", "precedent")


def _node(kind: str, number: int, **fields: str) -> dict[str, Any]:
    return {"id": f"{kind}{number}", "type": kind, **fields}


def _obligation(number: int) -> dict[str, Any]:
    return {
        "id": f"obligation{number}",
        "type": "obligation",
        "obligation_type": "must_not_exceed" if number % 2 else "must_be_at_least",
        "metric": f"air.metric{number // 2 % 2}",
        "value": 50 + number % 200 if number % 2 else number % 50,
        "unit": "mg/Nm3",
        "effective_date_start": _STARTS,
        "summary": "a limit of the concentration of something in waste gas",
    }


def _edge(kind: str, source: str, target: str) -> dict[str, str]:
    return {"type": kind, "from": source, "to": target}


def _edges(number: int) -> list[dict[str, str]]:
    rule, obligation = f"rule{number}", f"obligation{number}"
    found = [
        _edge("applies_to", rule, f"subject{number // RULES_PER_SUBJECT}"),
        _edge("consists_of", rule, obligation),
        _edge("cited_by", obligation, f"citation{number // 10}"),
    ]
    for every, kind, target in (
        (3, "scoped_to", f"jurisdiction{number % 20}"),
        (4, "defined_by", f"definition{number % 50}"),
        (5, "exempted_by", f"exemption{number % 50}"),
        (7, "interpreted_by", f"precedent{number % 50}"),
    ):
        if number % every == 0:
            found.append(_edge(kind, obligation, target))
    return found
