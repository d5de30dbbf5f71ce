"""The sample node: every room is in use, the ledger holds, and its people can log in."""

from pathlib import Path

import pytest

from assay.flows.identity.sessions import check_password
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.kernel.ids import PrincipalId, TenantId
from assay.surfaces.sample import LOGINS, PASSWORD, SMALL, make_sample
from assay.wiring import open_node
from tests.postgres_cluster import PostgresCluster

# Tables that the sample leaves empty: what a served, failing or training node writes.
_EMPTY = {
    "egress_note",
    "gateway_call",
    "gateway_definition",
    "gateway_table",
    "kept_request",
    "login_failure",
    "model_activation",
    "request_nonce",
    "service_entry",
    "training_job",
    "training_result",
    "trust_mark",
    "webhook_attempt",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample") / "node"
    assert len(list(make_sample(folder, size=SMALL))) > 0
    return folder


def test_an_audit_of_the_sample_holds(home: Path) -> None:
    with open_node(home, writable=False) as (tools, _):
        report = audit_ledger(tools, TenantId("default"), full=True, leave_mark=False)
    assert report.holds, report.message


def test_every_table_but_a_few_has_rows(home: Path) -> None:
    with open_node(home, writable=False) as (tools, _):
        empty = tools.database.read(lambda unit: {name for name in unit.tables.names() if unit.tables.is_empty(name)})
    assert empty <= _EMPTY


def test_people_of_the_sample_log_in(home: Path) -> None:
    with open_node(home) as (tools, _):
        for name, _, _ in LOGINS:
            assert check_password(tools, TenantId("default"), PrincipalId(name), PASSWORD, at=tools.clock.now())[0]


def test_the_sample_is_made_on_postgresql_too(tmp_path: Path, postgres_cluster: PostgresCluster) -> None:
    from assay.adapters.clock import SystemClock
    from assay.adapters.postgres.provision import provision

    database = postgres_cluster.create_database()
    provision(postgres_cluster.dsn(database), at=SystemClock().now())
    dsn = postgres_cluster.dsn(database, user="assay_app")
    for _ in make_sample(tmp_path / "node", database=dsn, size=SMALL):
        pass
    with open_node(tmp_path / "node", writable=False) as (tools, _):
        report = audit_ledger(tools, TenantId("default"), full=True, leave_mark=False)
    assert report.holds, report.message
