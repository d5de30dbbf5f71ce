"""A refusal that nobody catches by name is a code of its family."""

import pickle

import pytest

from assay.kernel.errors import Blame, Code, Error, codes_of
from tests.raising import raises


class LampError(Error):
    """A lamp cannot be used."""

    code = "lamp.refused"
    blame = Blame.INPUT
    dark = Code("lamp.dark", "A lamp gives no light.")
    switched = Code("lamp.switched", "A lamp was switched twice.", Blame.USAGE)


class BurntLampError(LampError):
    """A lamp has burnt out."""

    code = "lamp.burnt"


class GroupedLampError(LampError):
    """Lamps of a group; only its codes are raised."""

    unequal = Code("lamp.unequal", "Lamps of a group differ.")


def test_a_code_makes_an_error_of_its_family() -> None:
    """The family catches it; code and blame are its own, and the family's where it declares none."""
    with pytest.raises(LampError, match="expected light") as caught:
        raise LampError.dark("expected light, got none")
    assert (caught.value.code, caught.value.blame) == ("lamp.dark", Blame.INPUT)
    error = LampError.switched("expected one switch, got two")
    assert (error.code, error.blame, str(error)) == ("lamp.switched", Blame.USAGE, "expected one switch, got two")
    assert (LampError.code, LampError("no lamp").code) == ("lamp.refused", "lamp.refused")


def test_a_code_that_is_not_declared_cannot_be_raised() -> None:
    with pytest.raises(AttributeError, match="flickers"):
        raise LampError.flickers("no such code")  # type: ignore[attr-defined]  # that is what is tested


def test_an_error_keeps_its_code_between_processes() -> None:
    error = pickle.loads(pickle.dumps(LampError.switched("twice")))  # noqa: S301 - bytes of our own
    assert (type(error), error.code, error.blame, str(error)) == (LampError, "lamp.switched", Blame.USAGE, "twice")


def test_every_declared_code_of_a_family_is_listed_once() -> None:
    """With its meaning and the class that catches it; a family that declares no code of its own lists none."""
    assert [(one.code, one.meaning, one.family, one.blame) for one in codes_of(LampError)] == [
        ("lamp.refused", "A lamp cannot be used.", LampError, Blame.INPUT),
        ("lamp.dark", "A lamp gives no light.", LampError, Blame.INPUT),
        ("lamp.switched", "A lamp was switched twice.", LampError, Blame.USAGE),
        ("lamp.burnt", "A lamp has burnt out.", BurntLampError, Blame.INPUT),
        ("lamp.unequal", "Lamps of a group differ.", GroupedLampError, Blame.INPUT),
    ]


def test_a_test_that_expects_a_code_fails_for_another_of_the_family() -> None:
    with raises(LampError.dark, match="dark"):
        raise LampError.dark("dark")
    with raises(BurntLampError):
        raise BurntLampError("burnt")
    with pytest.raises(AssertionError), raises(LampError.dark):
        raise LampError.switched("twice")
