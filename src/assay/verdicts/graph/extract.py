"""The text of a regulation as the draft of a knowledge graph, by rules alone: for people to read, correct and accept.

text -> clauses -> sentences -> demands, definitions, exemptions, precedents -> typed graph, marked as a draft
Every node names its clause and its sentence; what is uncertain is listed with the reason. Nothing here is believed
before people have read it: the draft is refused by `load` until it is accepted and signed.
"""

from typing import Any

from msgspec import Struct, to_builtins

from assay.kernel.json_text import JsonValue
from assay.verdicts.graph.extract_blocks import Block, read_blocks
from assay.verdicts.graph.extract_clauses import Table, read_clauses, read_title
from assay.verdicts.graph.extract_drafting import Drafting, ExtractSettings
from assay.verdicts.graph.extract_sentence import Doubt, Origin, PassedOver, SentenceReader, TextFact
from assay.verdicts.graph.graph import DRAFT
from assay.verdicts.graph.hash import render_graph, stamp_versions

_METHOD = "rules"
_UNNAMED = "regulation"


class ExtractedDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The draft as a document, and what is to be said about it; the document's metadata says the same."""

    document: dict[str, JsonValue]
    origins: tuple[Origin, ...]
    doubts: tuple[Doubt, ...]
    passed_over: tuple[PassedOver, ...]
    facts: tuple[TextFact, ...] = ()


def extract_draft(text: str | tuple[Block, ...], settings: ExtractSettings | None = None) -> ExtractedDraft:
    """Draft a graph from a text, or from the blocks of a document in another format.

    Never raises for the content of a text: what cannot be formalised is left to a person, and listed.
    """
    chosen = settings or ExtractSettings()
    blocks = read_blocks(text) if isinstance(text, str) else text
    title = chosen.document or read_title(blocks) or _UNNAMED
    drafting = Drafting(title, chosen)
    clauses = read_clauses(blocks)
    reader = SentenceReader(drafting, has_tables=any(isinstance(one, Table) for one in clauses))
    for clause in clauses:
        if isinstance(clause, Table):
            reader.read_table(clause)
        else:
            reader.read_clause(clause)
    reader.finish()
    metadata = _metadata(title, chosen, reader)
    document = stamp_versions(render_graph(drafting.graph(metadata)))
    return ExtractedDraft(
        document=document,
        origins=tuple(reader.origins),
        doubts=tuple(reader.doubts),
        passed_over=tuple(reader.passed_over),
        facts=tuple(reader.facts),
    )


def _metadata(title: str, settings: ExtractSettings, reader: SentenceReader) -> dict[str, JsonValue]:
    told: dict[str, Any] = {
        "method": _METHOD,
        "origins": [to_builtins(one) for one in reader.origins],
        "doubts": [to_builtins(one) for one in reader.doubts],
        "passed_over": [to_builtins(one) for one in reader.passed_over],
        "facts": [to_builtins(one) for one in reader.facts],
    }
    named: dict[str, JsonValue] = {"name": settings.name or title, "schema_version": "3.0", DRAFT: True}
    return {**named, "source_document": title, "extraction": told}
