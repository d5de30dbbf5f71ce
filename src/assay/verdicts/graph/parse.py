"""A knowledge graph from its document: every problem at once, both forms, nothing guessed.

bytes -> strict JSON with exact numbers -> NFC -> typed or flat form -> KnowledgeGraph
"""

from dataclasses import dataclass

from msgspec.structs import replace

from assay.kernel.canonical import canonicalize
from assay.kernel.errors import CanonicalError, JsonError
from assay.kernel.json_text import CANONICAL_LIMITS, JsonValue, Limits, parse_json
from assay.verdicts.errors import GraphFormError
from assay.verdicts.graph._flat import read_flat
from assay.verdicts.graph._read import Reader
from assay.verdicts.graph._typed import read_typed
from assay.verdicts.graph._units import read_units
from assay.verdicts.graph.graph import KnowledgeGraph
from assay.verdicts.graph.problem import Problem, ProblemCode
from assay.verdicts.rulings import CURRENT, Rulings

# Large regulations make large graphs; and a limit whose number changed on the way decides wrongly.
GRAPH_LIMITS = Limits(max_bytes=512 * 1024 * 1024, exact_numbers=True)
_READ_BACK = Limits(max_bytes=GRAPH_LIMITS.max_bytes * 2, binary64_integers=CANONICAL_LIMITS.binary64_integers)
_SUPPORTED = "3"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFinding:
    """The graph is there exactly when there are no problems."""

    graph: KnowledgeGraph | None
    problems: tuple[Problem, ...]


def parse_graph(document: bytes, *, rulings: Rulings = CURRENT) -> KnowledgeGraph:
    """The graph, or a `GraphFormError` with every problem; a text that is no strict JSON is a `json.*` error."""
    return read_graph(parse_document(document), rulings=rulings)


def parse_document(document: bytes) -> dict[str, JsonValue]:
    """The JSON of a document, its strings in NFC: texts that are signed alike are read alike."""
    value = parse_json(document, limits=GRAPH_LIMITS)
    if not isinstance(value, dict):
        message = f"expected an object, got {type(value).__name__}"
        raise GraphFormError([Problem(path="", code=ProblemCode.TYPE, message=message)])
    if document.isascii() and b"\\u" not in document:
        return value
    plain = parse_json(canonicalize(value), limits=_READ_BACK)
    return plain if isinstance(plain, dict) else {}


def read_graph(document: dict[str, JsonValue], *, rulings: Rulings = CURRENT) -> KnowledgeGraph:
    finding = _read(document, rulings)
    if finding.graph is None:
        raise GraphFormError(finding.problems)
    return finding.graph


def check_form(document: bytes) -> GraphFinding:
    """As `parse_graph`, but for an editor: problems as values, the JSON's own included."""
    try:
        return _read(parse_document(document), CURRENT)
    except GraphFormError as error:
        return GraphFinding(graph=None, problems=error.problems)
    except (JsonError, CanonicalError) as error:
        return GraphFinding(
            graph=None, problems=(Problem(path="", code=ProblemCode.SYNTAX, message=f"{error.code}: {error}"),)
        )


def check_value(document: dict[str, JsonValue]) -> GraphFinding:
    """As `check_form`, for a document that was parsed or made already."""
    return _read(document, CURRENT)


def _read(document: dict[str, JsonValue], rulings: Rulings) -> GraphFinding:
    reader = Reader(rulings)
    metadata = reader.members(document.get("metadata", {}), ("metadata",))
    is_typed, is_flat = "nodes" in document or "edges" in document, "rules" in document
    if is_typed is is_flat:
        got = "both" if is_typed else "neither"
        reader.complain((), ProblemCode.REQUIRED, f"expected `nodes` and `edges`, or `rules`, got {got}")
        return GraphFinding(graph=None, problems=tuple(reader.problems))
    if is_typed:
        _check_metadata(reader, metadata)
    graph = (read_typed if is_typed else read_flat)(document, metadata, reader)
    if rulings is not Rulings.FIRST:
        graph = replace(graph, units=read_units(reader, metadata))
    return GraphFinding(graph=None if reader.problems else graph, problems=tuple(reader.problems))


def _check_metadata(reader: Reader, metadata: dict[str, JsonValue]) -> None:
    reader.instant(metadata, "compiled_at", ("metadata",))
    written = reader.text(metadata, "schema_version", ("metadata",))
    if written is not None and written.partition(".")[0] != _SUPPORTED:
        message = f"expected 3.x for a typed graph, got `{written[:80]}`"
        reader.complain(("metadata", "schema_version"), ProblemCode.CHOICE, message)
