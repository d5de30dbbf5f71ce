"""The HTTP interface of a node that compiles truth, at a time that the test chooses."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
from litestar import Litestar
from litestar.testing import TestClient
from prometheus_client import CollectorRegistry

from assay.flows.tools import Tools
from assay.identity.principal import PrincipalKind
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.surfaces.http.app import create_app
from assay.surfaces.http.desk import Desk
from assay.wiring import load_config
from tests.flows._truth import TruthDesk, opened_truth

__all__ = ["OTHER", "House", "MovedClock", "opened_house", "refused"]

OTHER = TenantId("other")


@dataclass
class MovedClock:
    """It stands where it was put."""

    at: Instant

    def now(self) -> Instant:
        return self.at


@dataclass
class House:
    """`truth` prepares what the requests are about; requests are made at `clock`."""

    truth: TruthDesk
    clock: MovedClock
    client: TestClient[Litestar]
    relay: str

    @property
    def tools(self) -> Tools:
        return self.truth.tools

    @property
    def desk(self) -> Desk:
        found = self.client.app.state.desk
        assert isinstance(found, Desk)
        return found

    @property
    def registry(self) -> CollectorRegistry:
        return self.desk.metrics.registry

    def at(self, time: str) -> None:
        self.clock.at = self.truth.now(time)

    def get(self, path: str, *, key: str, **headers: str) -> httpx.Response:
        return self.client.get(path, headers={"x-api-key": key, **headers})

    def post(
        self,
        path: str,
        body: Any,  # noqa: ANN401  whatever JSON can hold, or bytes as they are
        *,
        key: str,
        media_type: str = "application/json",
    ) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(path, content=content, headers={"x-api-key": key, "content-type": media_type})

    def join(self, name: str, *roles: str) -> str:
        return self.truth.join(name, *roles, kind=PrincipalKind.SERVICE)

    def sample(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)


@contextmanager
def opened_house(folder: Path, **chosen: Any) -> Iterator[House]:  # noqa: ANN401  whatever a node may be opened with
    """A node with the flood contract, a policy, agents and voters; the time is 12:30."""
    with opened_truth(folder, **chosen) as truth:
        truth.people()
        clock = MovedClock(truth.now("12:30"))
        tools = replace(truth.tools, clock=clock)
        config = load_config(folder / "node")
        with TestClient(create_app(tools, config)) as client:
            yield House(truth=truth, clock=clock, client=client, relay=truth.relay)


def refused(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The response is a problem (RFC 9457) of this status and code."""
    problem: dict[str, Any] = response.json()
    assert (response.status_code, problem["status"], problem["code"]) == (status, status, code), problem
    assert response.headers["content-type"] == "application/problem+json"
    assert set(problem) == {"type", "title", "status", "detail", "code", "errors"}
    return problem
