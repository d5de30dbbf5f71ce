"""What journeys are run on."""

import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision


@pytest.fixture(params=["sqlite", "postgres"])
def database_place(request: pytest.FixtureRequest) -> str | None:
    """Where a node has its database: None is a file in its own folder, else it is the address of a server's."""
    if request.param == "sqlite":
        return None
    cluster = request.getfixturevalue("postgres_cluster")
    name = cluster.create_database()
    provision(cluster.dsn(name), at=SystemClock().now())
    address: str = cluster.dsn(name, "assay_app")
    return address
