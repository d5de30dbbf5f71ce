"""Pages of answers, outcomes and bundles: the newest first, each once, whatever comes in between."""

from typing import Any

from assay.kernel.ids import PrincipalId, TenantId
from assay.ports.database import Database, Unit
from tests.contract._claims import received
from tests.contract._delivery import answer, concluded, item, signal
from tests.contract._records import ACME
from tests.contract._unchecked import put

_OTHER = TenantId("other")
_NOBODY = PrincipalId("user:nobody")


def _fill(unit: Unit) -> None:
    for number in range(1, 6):
        put(unit, ACME, answer(f"ans_{number}", place=number * 10))
        about = "ans_1" if number % 2 else None
        unit.delivery.add_signals(ACME, [signal(f"sig_{number}", place=number * 10 + 1, answer_id=about)])
        put(unit, ACME, received(f"b{number}", number))
    put(unit, _OTHER, answer("ans_x", place=10))


def test_each_page_goes_on_before_the_last(unchecked: Database) -> None:
    unchecked.write(_fill)

    def walk(unit: Unit) -> list[int]:
        found: list[int] = []
        before: int | None = None
        while page := unit.pages.answers(ACME, before=before, limit=2):
            found += [one.sequence_number for one in page]
            before = found[-1]
        return found

    assert unchecked.read(walk) == [50, 40, 30, 20, 10]


def test_a_page_is_of_one_tenant_and_of_whom_was_asked_for(unchecked: Database) -> None:
    unchecked.write(_fill)
    asker = answer().asked_by

    def look(unit: Unit) -> tuple[object, ...]:
        return (
            [one.answer_id for one in unit.pages.answers(_OTHER, limit=9)],
            len(unit.pages.answers(ACME, asked_by=asker, limit=9)),
            unit.pages.answers(ACME, asked_by=_NOBODY, limit=9),
            [one.signal_id for one in unit.pages.outcomes(ACME, answer_id="ans_1", limit=2)],
            [one.signal_id for one in unit.pages.outcomes(ACME, before=41, limit=9)],
            len(unit.pages.bundles(ACME, submitted_by=received().submitted_by, limit=9)),
            unit.pages.bundles(ACME, submitted_by=_NOBODY, limit=9),
        )

    told = unchecked.read(look)
    assert told == (["ans_x"], 5, (), ["sig_5", "sig_3"], ["sig_3", "sig_2", "sig_1"], 5, ())


def test_the_newest_bundle_comes_first(unchecked: Database) -> None:
    unchecked.write(_fill)
    pages = unchecked.read(lambda unit: unit.pages.bundles(ACME, limit=3))
    numbers = [one.sequence_number for one in pages]
    assert numbers == sorted(numbers, reverse=True)
    assert len(numbers) == 3


def test_root_causes_are_paged_with_or_without_those_that_are_concluded(unchecked: Database) -> None:
    def fill(unit: Unit) -> None:
        for number in range(1, 6):
            put(unit, ACME, item(f"rca_{number}", place=number * 10))
        for number in (2, 5):
            put(unit, ACME, concluded(f"rca_{number}", place=number * 10 + 1))
        put(unit, _OTHER, item("rca_x", place=15))

    def names(unit: Unit, **asked: Any) -> list[str]:  # noqa: ANN401  of the page
        return [one.item_id for one in unit.pages.root_causes(ACME, **asked)]

    unchecked.write(fill)
    assert unchecked.read(lambda unit: names(unit, limit=2)) == ["rca_5", "rca_4"]
    assert unchecked.read(lambda unit: names(unit, before=40, limit=9)) == ["rca_3", "rca_2", "rca_1"]
    assert unchecked.read(lambda unit: names(unit, open_only=True, limit=2)) == ["rca_4", "rca_3"]
    assert unchecked.read(lambda unit: names(unit, open_only=True, before=30, limit=2)) == ["rca_1"]
