"""Every knowledge graph is kept for ever, byte for byte; the latest activation is the one in use."""

import pytest
from msgspec.structs import replace

from assay.facts.verdicts import GraphActivated, graph_activated, graph_added
from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Database
from assay.ports.graph_store import GraphVersion
from tests.contract._kit import AT, Kit, SqliteKit, refused
from tests.contract._records import ACME, GLOBEX
from tests.contract._verdicts import version

_TEXT = '{"b": 1.50, "a":"é\\u0000\U0001f30a"}\n'


def _add(database: Database, given: GraphVersion) -> GraphVersion:
    """Record a version; the answer has the number of its entry."""
    receipt = database.write(lambda unit: unit.record(graph_added(ACME, given), given))
    return replace(given, sequence_number=receipt.sequence_number)


def _activate(database: Database, given: GraphVersion, *, downgrade_reason: str | None = None) -> int:
    body = GraphActivated(
        document_hash=given.document_hash,
        content_hash=given.content_hash,
        kg_version_hash=given.content_hash,
        mode="strict",
        signed_by=given.signed_by,
        reviewed_by=(PrincipalId("user:rita"),),
        downgrade_reason=downgrade_reason,
        activated_by=given.by,
    )
    return database.write(lambda unit: unit.record(graph_activated(ACME, body, at=AT))).sequence_number


@pytest.mark.clause("ski", "8.1")
def test_a_version_comes_back_byte_for_byte_by_its_hash(database: Database) -> None:
    kept = _add(database, version(_TEXT))
    found = database.read(lambda unit: unit.graphs.find_version(ACME, digest_of(_TEXT.encode())))
    assert found == kept
    assert database.read(lambda unit: unit.graphs.find_version(GLOBEX, digest_of(_TEXT.encode()))) is None


def test_of_documents_with_one_content_a_signed_one_is_found_first(database: Database) -> None:
    """A draft that was reviewed and the signed document that came of it say the same."""
    draft = _add(database, version("draft", signed=False))
    assert database.read(lambda unit: unit.graphs.find_content(ACME, draft.content_hash)) == draft
    signed = _add(database, version("signed"))
    assert database.read(lambda unit: unit.graphs.find_content(ACME, draft.content_hash)) == signed
    assert [head.document_hash for head in database.read(lambda unit: unit.graphs.heads(ACME))] == [
        draft.document_hash,
        signed.document_hash,
    ]
    head = database.read(lambda unit: unit.graphs.find_head(ACME, signed.document_hash))
    assert head is not None
    assert (head.signed_by, head.by) == (signed.signed_by, signed.by)
    assert database.read(lambda unit: unit.graphs.find_head(ACME, "sha256:none")) is None
    assert database.read(lambda unit: unit.graphs.find_content(ACME, "sha256:none")) is None


@pytest.mark.clause("ski", "7.2")
def test_a_version_has_one_place(database: Database) -> None:
    _add(database, version())
    with refused("store.conflict"):
        _add(database, version())


def test_other_bytes_than_the_entry_commits_to_are_not_written(database: Database) -> None:
    given = version()
    other = replace(given, document="{}")
    with refused("store.damaged_record", "store.unrecorded_row"):
        database.write(lambda unit: unit.record(graph_added(ACME, given), other))
    assert database.read(lambda unit: unit.graphs.heads(ACME)) == ()


def test_bytes_that_were_changed_are_refused_with_both_hashes(kit: Kit) -> None:
    database = kit.open()
    kept = _add(database, version("a graph"))
    database.close()
    if isinstance(kit, SqliteKit):
        kit.force("DROP TRIGGER graph_version_no_update")
    else:
        kit.force("ALTER TABLE assay.graph_version DISABLE TRIGGER ALL")
    kit.force("UPDATE graph_version SET document = 'another'")
    database = kit.open()
    with pytest.raises(DamagedRecordError) as caught:
        database.read(lambda unit: unit.graphs.find_version(ACME, kept.document_hash))
    assert kept.document_hash in str(caught.value)
    assert digest_of(b"another") in str(caught.value)
    database.close()


def test_the_latest_activation_is_in_force_and_the_earlier_stay_on_record(database: Database) -> None:
    assert database.read(lambda unit: unit.graphs.find_active(ACME)) is None
    first = _activate(database, version())
    second = _activate(database, version(), downgrade_reason="the new limits came too early")
    active = database.read(lambda unit: unit.graphs.find_active(ACME))
    assert active is not None
    assert (active.sequence_number, active.reviewers) == (second, 1)
    assert active.downgrade_reason == "the new limits came too early"
    kept = database.read(lambda unit: unit.graphs.activations(ACME))
    assert [one.sequence_number for one in kept] == [first, second]
    assert database.read(lambda unit: unit.graphs.find_active(GLOBEX)) is None
