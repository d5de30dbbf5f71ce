"""Models in store: weights are known once, every measurement stays, and the latest activation is the one in use."""

from assay.kernel.digest import digest_of
from assay.ports.database import Database, Unit
from tests.contract._kit import refused
from tests.contract._model import CHILD, SHIPPED, activated, evaluated, model
from tests.contract._records import ACME, GLOBEX


def test_weights_are_registered_once_and_keep_their_parent(database: Database) -> None:
    """Lineage is a row that nobody can replace; another tenant may know the same weights for itself."""
    other = model(digest_of(b"foreign"), parent=None, entry=2)
    for one in (model(), other):
        database.write(lambda unit, one=one: unit.models.add_model(ACME, one))  # type: ignore[misc]  # bound at once
    with refused("store.conflict"):
        database.write(lambda unit: unit.models.add_model(ACME, model(entry=3, parent=None)))
    database.write(lambda unit: unit.models.add_model(GLOBEX, model(entry=1)))

    def look(unit: Unit) -> None:
        assert unit.models.find_model(ACME, CHILD) == model()
        assert unit.models.find_model(ACME, SHIPPED) is None
        assert unit.models.models(ACME) == (model(), other)
        assert unit.models.models(GLOBEX) == (model(),)

    database.read(look)


def test_every_evaluation_stays_and_the_latest_comes_first(database: Database) -> None:
    for entry, figures in ((1, '{"a":1}'), (4, '{"a":2}')):
        one = evaluated(entry=entry, figures=figures)
        database.write(lambda unit, one=one: unit.models.add_evaluation(ACME, one))  # type: ignore[misc]  # bound at once
    database.write(lambda unit: unit.models.add_evaluation(ACME, evaluated(SHIPPED, entry=5)))
    with refused("store.conflict"):
        database.write(lambda unit: unit.models.add_evaluation(ACME, evaluated(entry=4)))
    found = database.read(lambda unit: unit.models.evaluations(ACME, CHILD))
    assert [(one.sequence_number, one.figures) for one in found] == [(4, '{"a":2}'), (1, '{"a":1}')]
    assert database.read(lambda unit: unit.models.evaluations(GLOBEX, CHILD)) == ()


def test_the_latest_activation_is_in_use_and_a_ticket_activates_once(database: Database) -> None:
    assert database.read(lambda unit: unit.models.find_active(ACME)) is None
    back = activated(SHIPPED, entry=7, ticket="tkt_2")
    database.write(lambda unit: unit.models.activate(ACME, activated()))
    database.write(lambda unit: unit.models.activate(ACME, back))
    with refused("store.conflict"):
        database.write(lambda unit: unit.models.activate(ACME, activated(entry=9)))
    assert database.read(lambda unit: unit.models.find_active(ACME)) == back
    assert database.read(lambda unit: unit.models.activations(ACME)) == (activated(), back)
    assert database.read(lambda unit: unit.models.find_active(GLOBEX)) is None
