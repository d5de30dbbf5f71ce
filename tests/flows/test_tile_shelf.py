"""Tiles kept between proofs give the proofs that reading everything anew would give."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assay.flows.ledger.prove_record import bundle_of, prove_record
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.ledger.tile_shelf import TileShelf
from assay.flows.tools import Tools
from assay.kernel.bundle import Bundle
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from tests.flows._node import TENANT, append_notes, new_node, opened

OTHERS = [TenantId(name) for name in ("acme", "bohm", "cato")]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return new_node(tmp_path)


def cold(tools: Tools, tenant_id: TenantId, sequence_number: int) -> Bundle:
    return tools.database.read(lambda unit: bundle_of(unit, tenant_id, sequence_number))


def grown(tools: Tools, count: int, tenant_id: TenantId = TENANT) -> None:
    append_notes(tools, count, tenant=tenant_id)
    sign_checkpoint(tools, tenant_id, at=tools.clock.now())


def test_a_warm_proof_equals_a_cold_one_while_the_ledger_grows(home: Path) -> None:
    """Each growth seals tiles that were partial before; what was kept of them must not be used again."""
    with opened(home) as tools:
        for count in (200, 100, 300, 700):
            grown(tools, count)
            for sequence_number in (1, 130, 203):
                assert prove_record(tools, TENANT, sequence_number) == cold(tools, TENANT, sequence_number)


def test_tenants_never_see_the_tiles_of_each_other(home: Path) -> None:
    with opened(home) as tools:
        for tenant_id in OTHERS:
            grown(tools, 300, tenant_id)
        for tenant_id in OTHERS * 2:
            assert prove_record(tools, tenant_id, 7) == cold(tools, tenant_id, 7)


def test_many_threads_may_prove_at_once(home: Path) -> None:
    with opened(home) as tools, ThreadPoolExecutor(8) as threads:
        grown(tools, 600)
        numbers = [1 + 37 * step % 600 for step in range(64)]
        proofs = list(threads.map(lambda number: prove_record(tools, TENANT, number), numbers))
        assert proofs == [cold(tools, TENANT, number) for number in numbers]


def test_a_sealed_tile_is_read_once_until_its_tenant_has_to_make_room(home: Path) -> None:
    with opened(home) as tools:
        for tenant_id in OTHERS:
            grown(tools, 300, tenant_id)
        shelf = TileShelf(tenants=2)
        first, second, third = OTHERS

        def path(unit: Unit, tenant_id: TenantId) -> tuple[bytes, ...]:
            with shelf.borrow(unit, tenant_id) as cache:
                return cache.inclusion_path(5, 256)

        warm = tools.database.read(lambda unit: path(unit, first))
        with shelf.borrow(None, first) as cache:  # type: ignore[arg-type]  # nothing is left to read
            assert cache.inclusion_path(5, 256) == warm
        tools.database.read(lambda unit: (path(unit, second), path(unit, third)))
        with (
            shelf.borrow(None, first) as cache,  # type: ignore[arg-type]  # it made room, so there is something to read
            pytest.raises(AssertionError, match="only while it is borrowed"),
        ):
            cache.inclusion_path(5, 256)
