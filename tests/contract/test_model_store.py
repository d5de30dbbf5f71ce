"""Models in store: weights are known once, every measurement and activation stays, and each row has its entry."""

import msgspec
import pytest

from assay.flows.model.known_weights import find_activation
from assay.kernel.digest import digest_of
from assay.kernel.ids import TicketId
from assay.kernel.ledger import Draft
from assay.model.figures import Figures
from assay.model.manifest import parse_manifest
from assay.ports.database import Database, Unit
from assay.ports.model_store import ModelActivation, ModelEvaluation, RegisteredModel
from tests.contract._kit import AT, refused
from tests.contract._model import CHILD, OLGA, RITA, SEALED, SHIPPED, activated, evaluated, figures, manifest, model
from tests.contract._records import ACME, GLOBEX
from tests.contract._unchecked import put


def _record(database: Database, *drafts: Draft) -> None:
    for draft in drafts:
        database.write(lambda unit, draft=draft: unit.record(draft))  # type: ignore[misc]  # bound at once


def test_weights_are_registered_once_and_keep_their_parent(database: Database) -> None:
    """Lineage is a row that nobody can replace; another tenant may know the same weights for itself."""
    foreign = digest_of(b"foreign")
    _record(database, model(), model(foreign, parent=None), model(tenant_id=GLOBEX))
    with refused("store.conflict"):
        _record(database, model(parent=None))

    def look(unit: Unit) -> None:
        found = unit.models.find_model(ACME, CHILD)
        assert found is not None
        assert parse_manifest(found.manifest) == manifest()
        assert (found.by, found.added_at, found.sequence_number) == (OLGA, AT, 1)
        assert unit.models.find_model(ACME, SHIPPED) is None
        named = [(one.weight_hash, one.parent_hash, one.sequence_number) for one in unit.models.models(ACME)]
        assert named == [(CHILD, SHIPPED, 1), (foreign, None, 2)]
        assert [one.weight_hash for one in unit.models.models(GLOBEX)] == [CHILD]
        assert unit.ledger.head(ACME).sequence_number == 2

    database.read(look)


def test_every_evaluation_stays_and_the_latest_comes_first(database: Database) -> None:
    """Figures come back as they were measured, whole rates and others."""
    first, second = figures(3), figures(2, 1)
    _record(database, evaluated(found=first), evaluated(found=second), evaluated(SHIPPED))
    found = database.read(lambda unit: unit.models.evaluations(ACME, CHILD))
    assert [(one.sequence_number, one.cases, one.by) for one in found] == [(2, 3, OLGA), (1, 3, OLGA)]
    assert [msgspec.json.decode(one.figures, type=Figures) for one in found] == [second, first]
    assert [one.cases_hash for one in found] == [SEALED, SEALED]
    assert database.read(lambda unit: unit.models.evaluations(GLOBEX, CHILD)) == ()


def test_the_latest_activation_is_in_use_and_a_ticket_activates_once(database: Database) -> None:
    assert database.read(lambda unit: find_activation(unit, ACME)) is None
    _record(database, activated(), activated(SHIPPED, before=CHILD, ticket="tkt_2"))
    with refused("store.conflict"):
        _record(database, activated())
    rows = database.read(lambda unit: unit.models.activations(ACME))
    assert [(one.weight_hash, one.before_hash, one.ticket_id, one.by) for one in rows] == [
        (CHILD, SHIPPED, "tkt_1", RITA),
        (SHIPPED, CHILD, "tkt_2", RITA),
    ]
    assert database.read(lambda unit: find_activation(unit, ACME)) == rows[-1]
    assert database.read(lambda unit: find_activation(unit, GLOBEX)) is None


@pytest.mark.parametrize("kind", [RegisteredModel, ModelEvaluation, ModelActivation])
def test_a_row_that_its_entry_does_not_record_is_refused(
    database: Database, kind: type[RegisteredModel | ModelEvaluation | ModelActivation]
) -> None:
    """A row beside a true entry of another kind decides nothing."""
    _record(database, model(digest_of(b"other")), evaluated(digest_of(b"other")))
    made_up: dict[type, RegisteredModel | ModelEvaluation | ModelActivation] = {
        RegisteredModel: RegisteredModel(
            weight_hash=CHILD,
            name="assay-judge",
            version="1.0.1",
            parent_hash=None,
            size=1,
            manifest="{}",
            by=OLGA,
            added_at=AT,
            sequence_number=2,
        ),
        ModelEvaluation: ModelEvaluation(
            sequence_number=1, weight_hash=CHILD, cases_hash=SEALED, cases=9, figures="{}", by=OLGA, evaluated_at=AT
        ),
        ModelActivation: ModelActivation(
            sequence_number=1,
            weight_hash=CHILD,
            before_hash=SHIPPED,
            ticket_id=TicketId("tkt_9"),
            by=OLGA,
            activated_at=AT,
        ),
    }
    database.write(lambda unit: put(unit, ACME, made_up[kind]))
    reads = {
        RegisteredModel: lambda unit: unit.models.find_model(ACME, CHILD),
        ModelEvaluation: lambda unit: unit.models.evaluations(ACME, CHILD),
        ModelActivation: lambda unit: find_activation(unit, ACME),
    }
    with refused("store.damaged_record"):
        database.read(reads[kind])
