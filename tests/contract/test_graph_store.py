"""Every knowledge graph is kept for ever, byte for byte; the latest activation is the one in use."""

import pytest

from assay.kernel.digest import digest_of
from assay.ports.database import Database
from tests.contract._kit import refused
from tests.contract._records import ACME, GLOBEX
from tests.contract._verdicts import activation, review, version

_TEXT = '{"b": 1.50, "a":"é\\u0000\U0001f30a"}\n'


@pytest.mark.clause("ski", "8.1")
def test_a_version_comes_back_byte_for_byte_by_its_hash(database: Database) -> None:
    database.write(lambda unit: unit.graphs.add_version(ACME, version(_TEXT)))
    found = database.read(lambda unit: unit.graphs.find_version(ACME, digest_of(_TEXT.encode())))
    assert found == version(_TEXT)
    assert database.read(lambda unit: unit.graphs.find_version(GLOBEX, digest_of(_TEXT.encode()))) is None


def test_of_documents_with_one_content_a_signed_one_is_found_first(database: Database) -> None:
    """A draft that was reviewed and the signed document that came of it say the same."""
    draft, signed = version("draft", number=1, signed=False), version("signed", number=2)
    database.write(lambda unit: unit.graphs.add_version(ACME, draft))
    assert database.read(lambda unit: unit.graphs.find_content(ACME, draft.content_hash)) == draft
    database.write(lambda unit: unit.graphs.add_version(ACME, signed))
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
def test_a_version_a_review_and_an_activation_have_one_place_each(database: Database) -> None:
    def fill() -> None:
        database.write(lambda unit: unit.graphs.add_version(ACME, version()))
        database.write(lambda unit: unit.graphs.add_review(ACME, review()))
        database.write(lambda unit: unit.graphs.activate(ACME, activation()))

    fill()
    with refused("store.conflict"):
        database.write(lambda unit: unit.graphs.add_version(ACME, version(number=9)))
    with refused("store.conflict"):
        database.write(lambda unit: unit.graphs.add_review(ACME, review(number=9)))
    with refused("store.conflict"):
        database.write(lambda unit: unit.graphs.activate(ACME, activation()))


@pytest.mark.clause("ski", "2.1.2")
def test_reviews_are_found_by_the_content_they_are_about(database: Database) -> None:
    mine, hers, other = review("user:a"), review("user:b"), review("user:c", content="other")
    for one in (mine, hers, other):
        database.write(lambda unit, one=one: unit.graphs.add_review(ACME, one))  # type: ignore[misc]  # bound at once
    assert set(database.read(lambda unit: unit.graphs.reviews(ACME, mine.content_hash))) == {mine, hers}
    assert database.read(lambda unit: unit.graphs.reviews(GLOBEX, mine.content_hash)) == ()


def test_the_latest_activation_is_in_force_and_the_earlier_stay_on_record(database: Database) -> None:
    assert database.read(lambda unit: unit.graphs.find_active(ACME)) is None
    first, second = activation(3), activation(8, downgrade_reason="the new limits came too early")
    for one in (second, first):
        database.write(lambda unit, one=one: unit.graphs.activate(ACME, one))  # type: ignore[misc]  # bound at once
    assert database.read(lambda unit: unit.graphs.find_active(ACME)) == second
    assert database.read(lambda unit: unit.graphs.activations(ACME)) == (first, second)
    assert database.read(lambda unit: unit.graphs.find_active(GLOBEX)) is None
