"""What changed between two graphs."""

from assay.verdicts.graph.diff import Change, FieldChange, diff_graphs
from tests.verdicts.graph.graphs import edge, obligation, read, sound


def test_a_graph_does_not_differ_from_itself() -> None:
    """Not in another order either."""
    document = sound()
    document["edges"].reverse()
    document["nodes"]["jurisdictions"].reverse()
    assert diff_graphs(read(sound()), read(document)).is_empty


def test_changed_nodes_are_told_field_by_field() -> None:
    """An absent field is nothing; true is not 1, though Python takes them for equal."""
    document = sound()
    document["nodes"]["obligations"][0].update(value=30, summary="tighter")
    document["nodes"]["subjects"][0].pop("name")
    document["metadata"]["draft"] = True
    before = sound()
    before["metadata"]["draft"] = 1
    found = diff_graphs(read(before), read(document))
    assert [(change.change, change.node, change.type.value) for change in found.nodes] == [
        (Change.CHANGED, "limit", "obligation"),
        (Change.CHANGED, "stack", "subject"),
    ]
    assert found.nodes[0].fields == (
        FieldChange(field="summary", before=None, after="tighter"),
        FieldChange(field="value", before=35, after=30),
    )
    assert found.nodes[1].fields == (FieldChange(field="name", before="Stack 1", after=None),)
    assert found.metadata == (FieldChange(field="draft", before=1, after=True),)
    assert not found.is_empty


def test_added_and_removed_nodes_and_edges_are_told() -> None:
    """And the other way round, the other way round."""
    document = sound()
    obligation(document, "more", "must_be_at_least", 0)
    edge(document, "scoped_to", "more", "de")
    there = diff_graphs(read(sound()), read(document))
    back = diff_graphs(read(document), read(sound()))
    [added], [removed] = there.nodes, back.nodes
    assert (added.change, removed.change) == (Change.ADDED, Change.REMOVED)
    assert FieldChange(field="value", before=None, after=0) in added.fields
    assert FieldChange(field="value", before=0, after=None) in removed.fields
    assert [each.target for each in there.edges_added] == ["cite", "more", "de"]
    assert there.edges_added == back.edges_removed
    assert there.edges_removed == back.edges_added == ()
