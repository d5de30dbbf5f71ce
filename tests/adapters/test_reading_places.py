"""So many read at once: the next waits, is told no in the end, and nobody waits for a place that they hold."""

import threading

import pytest

from assay.adapters.reading_places import ReadingPlaces
from tests.contract._kit import refused

_SECONDS = 20.0


def _reading(places: ReadingPlaces, inside: threading.Event, go_on: threading.Event) -> threading.Thread:
    def read() -> None:
        with places.take():
            inside.set()
            assert go_on.wait(_SECONDS)

    thread = threading.Thread(target=read)
    thread.start()
    assert inside.wait(_SECONDS)
    return thread


def test_who_finds_every_place_taken_is_told_no_in_the_end() -> None:
    places, go_on = ReadingPlaces(1, patience=0.01), threading.Event()
    thread = _reading(places, threading.Event(), go_on)
    with refused("store.busy"):
        places.take().__enter__()
    go_on.set()
    thread.join()
    with places.take():
        pass


def test_who_waits_goes_on_when_a_place_is_free() -> None:
    places, go_on, done = ReadingPlaces(1), threading.Event(), threading.Event()
    first = _reading(places, threading.Event(), go_on)

    def wait() -> None:
        with places.take():
            done.set()

    second = threading.Thread(target=wait)
    second.start()
    assert not done.is_set()
    go_on.set()
    assert done.wait(_SECONDS)
    first.join()
    second.join()


def test_a_read_inside_a_read_takes_no_second_place() -> None:
    """Else all who hold a first one could wait for each other's second."""
    places = ReadingPlaces(1, patience=0.01)
    with places.take(), places.take(), places.take():
        pass
    with places.take():
        pass


def test_a_read_that_fails_gives_its_place_back() -> None:
    places = ReadingPlaces(1, patience=0.01)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), places.take():
            raise ZeroDivisionError
