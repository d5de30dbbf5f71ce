"""The case in a prompt: what a model was shown of a record and a rule, as a case that can be judged and taught again.

prompt, as the transcript has it -> obligations, exemptions, record, windows -> Case, if it shows the very same lines
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from assay.kernel.errors import Error
from assay.verdicts.case import Case, CaseObligation, open_case, parse_case
from assay.verdicts.graph.edge import EdgeType
from assay.verdicts.window_fact import WindowFact

_RECORD = re.compile(r"\n<record>\n(?P<record>\{.*\})\n</record>\n(?:windows\n(?P<windows>(?:\{.*\}\n)+))?case\n")
_NODE = re.compile(r"(?P<letter>[ox])\d+ (?P<node>\{.*\})")
_EDGES = "edges"


def find_case(prompt: str) -> Case | None:
    """None where no rule was shown, or where the case would not show a model what this prompt did.

    Nodes and records stand in lines of their own, and nothing in them can look like the frame around them.
    """
    frame = _RECORD.search(prompt)
    if frame is None:
        return None
    try:
        case = _case(prompt[: frame.start()].splitlines(), frame["record"], frame["windows"] or "")
        is_same = _lines(open_case(case).prompt) == _lines(prompt)
    except (Error, msgspec.MsgspecError, KeyError, TypeError, ValueError):
        # Whatever is in it that no case can hold, there is no case that says the same.
        return None
    return case if is_same and case.obligations else None


def _case(head: list[str], record: str, windows: str) -> Case:
    nodes = list(_nodes(head))
    conditions = {node["id"]: node["condition"] for letter, node in nodes if letter == "x"}
    facts = [msgspec.json.decode(line, type=WindowFact) for line in windows.splitlines()]
    plain = {
        "obligations": [_obligation(node) for letter, node in nodes if letter == "o"],
        "measurement": msgspec.json.decode(record)["measurement"],
        "exemptions": _exemptions(_edges(head), conditions),
    }
    case = parse_case(plain)
    return msgspec.structs.replace(case, facts=tuple(facts)) if facts else case


def _nodes(head: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for line in head:
        found = _NODE.fullmatch(line)
        if found is not None:
            yield found["letter"], msgspec.json.decode(found["node"])


def _edges(head: list[str]) -> Iterator[dict[str, str]]:
    if _EDGES in head:
        yield from (msgspec.json.decode(line) for line in head[head.index(_EDGES) + 1 :])


def _obligation(node: dict[str, Any]) -> CaseObligation:
    return CaseObligation(
        id=node["id"],
        type=node["obligation_type"],
        metric=node.get("metric"),
        value=node.get("value"),
        unit=node.get("unit"),
        window=node.get("window_seconds"),
        flat=node.get("predicate"),
    )


def _exemptions(edges: Iterable[dict[str, str]], conditions: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """The conditions of each obligation, in the order in which they were shown."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for edge in edges:
        if edge["type"] == EdgeType.EXEMPTED_BY and edge["to"] in conditions:
            found[edge["from"]].append(conditions[edge["to"]])
    return {name: tuple(texts) for name, texts in found.items()}


def _lines(prompt: str) -> str:
    return prompt[prompt.rindex("\ncase\n") :]
