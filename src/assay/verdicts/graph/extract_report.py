"""A draft as notes in Markdown: each passage with the nodes that were read in it, its doubts, and what was passed over.

A person reads it beside the text, ticks what is right and corrects the node of the draft that is not.
"""

from collections import defaultdict
from typing import Any

from assay.verdicts.graph.extract import ExtractedDraft
from assay.verdicts.graph.extract_sentence import NO_SUBJECT, Origin

_SIGNS = {
    "must_not_exceed": "≤",
    "must_be_at_least": "≥",
    "must_be_below": "<",
    "must_be_above": ">",
    "must_be_within": "within",
    "must_be_one_of": "one of",
    "must_not_be_one_of": "none of",
    "must_equal": "=",
    "must_be_recorded_within": "recorded within",
}
_KINDS = {"definition": "definition", "exemption": "exemption", "precedent": "earlier text"}


def render_report(draft: ExtractedDraft) -> str:
    """Every passage of the text once, in its order."""
    nodes: Any = draft.document["nodes"]
    known = {node["id"]: node for kind in nodes.values() for node in kind}
    metadata: Any = draft.document["metadata"]
    lines = [
        f"# Draft of a graph: {metadata['source_document']}",
        "",
        _counts(draft, nodes),
        "",
        *_without_subject(draft),
    ]
    if draft.facts:
        lines += ["## The text as a whole", ""]
        lines += [f"- {fact.clause}: “{fact.sentence}” → {fact.read_as}" for fact in draft.facts]
        lines.append("")
    lines += ["## Passages and their nodes", ""]
    lines += _passages(draft, known)
    if draft.passed_over:
        lines += ["## Passages without a node", ""]
        lines += [f"- {one.clause}, line {one.line}: “{one.sentence}” ({one.reason})" for one in draft.passed_over]
        lines.append("")
    return "\n".join(lines)


def _counts(draft: ExtractedDraft, nodes: dict[str, list[Any]]) -> str:
    kinds = ("obligations", "definitions", "exemptions", "precedents", "jurisdictions")
    counted = ", ".join(f"{len(nodes[kind])} {kind}" for kind in kinds)
    doubtful = len({doubt.node for doubt in draft.doubts if not doubt.about.startswith(NO_SUBJECT)})
    return (
        f"{counted}. {doubtful} nodes have notes to check; {len(draft.passed_over)} passages became no node and are"
        " listed at the end. Nothing here is in force before people accept and sign it."
    )


def _without_subject(draft: ExtractedDraft) -> list[str]:
    """Said once for all nodes: most texts name the thing they are about in their title alone."""
    found = [doubt for doubt in draft.doubts if doubt.about.startswith(NO_SUBJECT)]
    if not found:
        return []
    taken = found[0].about.partition(": ")[2]
    return [f"{len(found)} obligations do not say what they are about: {taken}. `--subject` names it.", ""]


def _passages(draft: ExtractedDraft, known: dict[str, dict[str, Any]]) -> list[str]:
    doubts: defaultdict[str, list[str]] = defaultdict(list)
    for doubt in draft.doubts:
        if not doubt.about.startswith(NO_SUBJECT):
            doubts[doubt.node].append(doubt.about)
    edges: Any = draft.document["edges"]
    grouped: dict[tuple[str, str], list[Origin]] = {}
    for origin in draft.origins:
        words = f"{origin.lead}: … {origin.sentence}" if origin.lead else origin.sentence
        grouped.setdefault((origin.clause, words), []).append(origin)
    lines: list[str] = []
    for (clause, words), origins in grouped.items():
        lines += [f"**{clause}** (line {origins[0].line}) “{words}”", ""]
        for origin in origins:
            lines.append(f"- [ ] `{origin.node}` {_said(known[origin.node], edges, known)}")
            lines += [f"  - check: {about}" for about in dict.fromkeys(doubts[origin.node])]
        lines.append("")
    return lines


def _said(node: dict[str, Any], edges: list[dict[str, str]], known: dict[str, dict[str, Any]]) -> str:
    kind = node["type"]
    if kind != "obligation":
        words = node.get("condition") or node.get("relation") or node.get("term")
        return f"{_KINDS[kind]}: {words}{_exempted(node, edges) if kind == 'exemption' else ''}"
    linked = [edge["to"] for edge in edges if edge["from"] == node["id"]]
    exempt = [known[to]["condition"] for to in linked if known[to]["type"] == "exemption"]
    places = [known[to]["name"] for to in linked if known[to]["type"] == "jurisdiction"]
    parts = [_demand(node), _span(node)]
    parts += [f"in {', '.join(places)}"] if places else []
    parts += [f"not: {'; '.join(exempt)}"] if exempt else []
    return "; ".join(part for part in parts if part)


def _demand(node: dict[str, Any]) -> str:
    kind, metric = node["obligation_type"], node.get("metric") or "(no metric)"
    value = node.get("value")
    shown = " to ".join(map(str, value)) if kind == "must_be_within" and isinstance(value, list) else value
    if kind not in _SIGNS:
        return f"{metric}: {kind}"
    members = ", ".join(map(str, shown)) if isinstance(shown, list) else shown
    return f"{metric} {_SIGNS[kind]} {members} {node.get('unit') or ''}".rstrip()


def _span(node: dict[str, Any]) -> str:
    start, end = node.get("effective_date_start"), node.get("effective_date_end")
    said = f"from {start[:10]}" if start else "no start date"
    return f"{said} until {end[:10]}" if end else said


def _exempted(node: dict[str, Any], edges: list[dict[str, str]]) -> str:
    of = [f"`{edge['from']}`" for edge in edges if edge["to"] == node["id"] and edge["type"] == "exempted_by"]
    return f" (of {', '.join(of)})" if of else " (of no node)"
