"""The text of a regulation as the draft of a knowledge graph, by rules alone: for people to read, correct and accept.

text -> clauses -> sentences -> demands, definitions, exemptions, precedents -> typed graph, marked as a draft
Every node names its clause and its sentence; what is uncertain is listed with the reason. Nothing here is believed
before people have read it: the draft is refused by `load` until it is accepted and signed.
"""

from typing import Any

from msgspec import Struct, to_builtins

from assay.kernel.json_text import JsonValue
from assay.verdicts.graph.extract_drafting import Drafting, ExtractSettings
from assay.verdicts.graph.extract_sentence import Doubt, Origin, PassedOver, SentenceReader
from assay.verdicts.graph.extract_text import read_clauses, read_title, split_sentences
from assay.verdicts.graph.graph import DRAFT
from assay.verdicts.graph.hash import render_graph, stamp_versions

__all__ = ["ExtractedDraft", "extract_draft"]

_METHOD = "rules"
_UNNAMED = "regulation"


class ExtractedDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The draft as a document, and what is to be said about it; the document's metadata says the same."""

    document: dict[str, JsonValue]
    origins: tuple[Origin, ...]
    doubts: tuple[Doubt, ...]
    passed_over: tuple[PassedOver, ...]


def extract_draft(text: str, settings: ExtractSettings | None = None) -> ExtractedDraft:
    """Never raises for what a text says: what cannot be formalised is left to a person, and said so."""
    chosen = settings or ExtractSettings()
    title = chosen.document or read_title(text) or _UNNAMED
    drafting = Drafting(title, chosen)
    reader = SentenceReader(drafting)
    for clause in read_clauses(text):
        for sentence in split_sentences(clause):
            reader.read(sentence, title=clause.title)
    reader.finish()
    metadata = _metadata(title, chosen, reader)
    document = stamp_versions(render_graph(drafting.graph(metadata)))
    return ExtractedDraft(
        document=document,
        origins=tuple(reader.origins),
        doubts=tuple(reader.doubts),
        passed_over=tuple(reader.passed_over),
    )


def _metadata(title: str, settings: ExtractSettings, reader: SentenceReader) -> dict[str, JsonValue]:
    told: dict[str, Any] = {
        "method": _METHOD,
        "origins": [to_builtins(one) for one in reader.origins],
        "doubts": [to_builtins(one) for one in reader.doubts],
        "passed_over": [to_builtins(one) for one in reader.passed_over],
    }
    named: dict[str, JsonValue] = {"name": settings.name or title, "schema_version": "3.0", DRAFT: True}
    return {**named, "source_document": title, "extraction": told}
