"""Content hashes: of nodes, and of whole graphs."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.kernel.json_text import parse_json
from assay.verdicts.graph.hash import (
    graph_bytes,
    graph_hash,
    node_version,
    render_graph,
    render_node,
    stamp_versions,
    versioned,
)
from assay.verdicts.graph.node import Exemption, NodeId, Subject
from assay.verdicts.graph.parse import parse_graph
from tests.verdicts.graph.graphs import obligation, read, sound, written

_VECTORS = Path(__file__).parents[2] / "vectors" / "verdicts" / "graph"
_VERSIONS: list[dict[str, Any]] = json.loads((_VECTORS / "versions.json").read_text())["cases"]
_SIGNED: list[dict[str, Any]] = json.loads((_VECTORS / "signed.json").read_text())["cases"]


@pytest.mark.clause("ski", "3.1")
@pytest.mark.clause("ski", "7.3")
@pytest.mark.parametrize("case", _VERSIONS, ids=lambda case: case["name"])
def test_the_version_of_a_node_is_the_hash_of_its_content(case: dict[str, Any]) -> None:
    """SHA-256 of the canonical bytes, the version left out."""
    assert node_version(case["node"]) == case["version"]


@pytest.mark.clause("ski", "7.3")
@pytest.mark.parametrize("case", _SIGNED, ids=lambda case: case["name"])
def test_the_hash_of_a_graph_leaves_its_signature_out(case: dict[str, Any]) -> None:
    """What is signed is what is hashed."""
    document = case["document"]
    assert graph_bytes(document).decode() == case["signed_text"]
    assert graph_hash(document) == case["kg_version_hash"]


def test_the_version_of_our_own_node_is_that_of_what_we_write() -> None:
    """Absent fields are left out, what we derive ourselves too."""
    node = versioned(Subject(id=NodeId("s"), name="stack"))
    assert render_node(node) == {"type": "subject", "id": "s", "name": "stack", "version": node.version}
    assert node.version == node_version({"id": "s", "name": "stack", "type": "subject"})
    assert "formal" not in render_node(Exemption(id=NodeId("e"), condition="a == 1", formal=()))


def test_what_is_written_reads_back_as_the_same_graph() -> None:
    """Values, dates and predicates included."""
    document = sound()
    obligation(
        document, "a", "must_be_within", [0.5, 1e21], window_seconds=60, effective_date_end="2030-01-01T00:00:00Z"
    )
    obligation(document, "b", "must_be_one_of", ["x", True, 3])
    predicate = {"name": "window_sum", "op": "lte", "value": 10, "seconds": 3600}
    obligation(document, "c", "must", predicate=predicate)
    document["nodes"]["definitions"][0]["scope"] = ["eu", "de"]
    graph = read(document)
    again = parse_graph(json.dumps(stamp_versions(render_graph(graph))).encode())
    assert again == graph


def test_stamping_gives_each_node_its_version_and_voids_the_signature() -> None:
    """A document with no nodes stays as it is."""
    stamped = stamp_versions({**sound(), "signature": {"algorithm": "ed25519"}})
    assert "signature" not in stamped
    assert parse_graph(json.dumps(stamped).encode()).notices == ()
    assert stamp_versions({"rules": []}) == {"rules": []}
    assert stamp_versions({"nodes": {"rules": [1], "subjects": 2}}) == {"nodes": {"rules": [1], "subjects": []}}


def test_one_changed_character_is_another_hash() -> None:
    """White space between tokens is not."""
    document = written(sound())
    other = document.replace(b"Stack 1", b"Stack 2")
    spaced = document.replace(b'": ', b'" :\n')
    hashes = [graph_hash(parse_json(text)) for text in (document, other, spaced)]  # type: ignore[arg-type]  # objects
    assert hashes[0] == hashes[2] != hashes[1]
