"""The HTTP interface of a node that judges telemetry, with a model that the test writes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from litestar import Litestar
from litestar.testing import TestClient

from assay.kernel.ids import TenantId
from assay.surfaces.http.app import create_app
from assay.surfaces.http.desk import Desk
from assay.wiring import load_config
from tests.flows._node import TENANT
from tests.flows._verdicts import VerdictDesk, opened_verdicts

__all__ = ["Court", "opened_court", "served_court"]


@dataclass
class Court:
    """`desk` prepares; requests go to the application that was made of its tools at that time."""

    desk: VerdictDesk
    client: TestClient[Litestar]

    @property
    def http(self) -> Desk:
        found = self.client.app.state.desk
        assert isinstance(found, Desk)
        return found

    def get(self, path: str, *, key: str | None = None) -> httpx.Response:
        return self.client.get(path, headers={"x-api-key": key or self.desk.operator})

    def post(
        self,
        path: str,
        body: Any,  # noqa: ANN401  whatever JSON can hold, or bytes as they are
        *,
        key: str | None = None,
        media_type: str = "application/json",
    ) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"x-api-key": key or self.desk.operator, "content-type": media_type}
        return self.client.post(path, content=content, headers=headers)

    def evaluate(self, measurement: dict[str, object], **more: Any) -> httpx.Response:  # noqa: ANN401  fields of a record
        record = self.desk.record(measurement, at=more.pop("at", self.desk.start), **more)
        return self.post("/api/evaluate", record, key=self.desk.sensor)

    def sample(self, name: str, **labels: str) -> float | None:
        figures = self.http.metrics
        counted = figures.registry.get_sample_value(name, labels)
        return figures.stored.get_sample_value(name, labels) if counted is None else counted

    @property
    def tenant(self) -> TenantId:
        return TENANT


@contextmanager
def served_court(desk: VerdictDesk, folder: Path) -> Iterator[Court]:
    """The application over the tools as they are now."""
    with TestClient(create_app(desk.tools, load_config(folder / "node"))) as client:
        yield Court(desk=desk, client=client)


@contextmanager
def opened_court(folder: Path, *rules: dict[str, Any]) -> Iterator[Court]:
    """A node that judges by these rules; with none, one without a graph and without a model."""
    with opened_verdicts(folder) as desk:
        if rules:
            desk.judge_by(*rules)
        with served_court(desk, folder) as court:
            yield court
