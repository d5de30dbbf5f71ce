"""What every test shares: sealed rooms, repeatable examples, one PostgreSQL cluster per worker when asked for."""

import gc
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Never

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres_cluster import PostgresCluster, folder_in_memory
from tests.scale import LONG

# The pure packages: in their tests nothing may be reached but memory (and files of vectors).
_SEALED = frozenset(
    {
        "kernel",
        "identity",
        "review",
        "truth",
        "trust",
        "verdicts",
        "claims",
        "delivery",
        "registry",
        "model",
        "permits",
    }
)
_TESTS = Path(__file__).parent

# Each worker multiplies matrices with one thread: those of two workers wait for each other far longer than they work.
# It is read when numpy is loaded, which no plugin does; whoever asked for another number keeps it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Folders of tests lie in memory where there is room for them: most of a commit is waiting for the disk. The variable is
# pytest's own, read when the first folder is made; whoever named another place, or `--basetemp`, keeps it.
if (_IN_MEMORY := folder_in_memory()) is not None:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_IN_MEMORY))

# Short runs repeat the same examples, so that a red run is red again; long runs look for new ones.
settings.register_profile("short", derandomize=True, max_examples=50, deadline=None)
settings.register_profile(
    "long",
    max_examples=500,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("long" if LONG else "short")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, then whatever starts processes, rooms last: with two workers none is left alone at the end."""
    long = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: (item.path not in long, item.path.relative_to(_TESTS).parts[0] in _SEALED))


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: nobody need look through it again and again for garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _rooms_are_sealed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room and kernel tests open no socket and do not sleep."""
    if request.path.relative_to(_TESTS).parts[0] in _SEALED:
        monkeypatch.setattr(socket, "socket", _refuse)
        monkeypatch.setattr(time, "sleep", _refuse)


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[PostgresCluster]:
    """A running cluster with `fsync` on; make your own database in it with `create_database()`."""
    cluster = PostgresCluster(under=folder_in_memory())
    cluster.start()
    yield cluster
    cluster.close()


def _refuse(*_arguments: object, **_options: object) -> Never:
    message = "a room test may not open a socket or sleep"
    raise AssertionError(message)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Know `cache_dir` also where the cache is switched off, so that strict configuration holds there too."""
    if not pluginmanager.hasplugin("cacheprovider"):
        parser.addini("cache_dir", "where the cache lies; not used without its plugin")
