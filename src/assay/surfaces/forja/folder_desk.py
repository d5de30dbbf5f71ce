"""A node's folder as the desk of a service on the same machine: read beside a running server, written through it.

Where no server runs, whoever restores takes the writer's place for that moment. What a server says is not believed by
itself: a restore counts when it stands in the node's own database.
"""

from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from assay.adapters.service_client import HttpServiceClient
from assay.flows.errors.identity import NotSignedInError
from assay.flows.registry.service_desk import NodeDesk
from assay.identity.principal import Principal
from assay.kernel.conformance import Fetched
from assay.kernel.ids import TenantId, parse_tenant_id
from assay.kernel.instant import Instant
from assay.ports.service_desk import Caller
from assay.registry.errors import RegistryError
from assay.registry.manifest import DEFAULT_PREFIX
from assay.registry.trip import Fired, Restored
from assay.review.errors import ReviewError
from assay.wiring import open_node

_DONE = 200
_ACCEPTED = 202


class FolderDesk:
    """Implements `ports.service_desk.ServiceDesk`; `close` it."""

    def __init__(
        self, folder: Path, *, tenant: str | None = None, url: str | None = None, key: str | None = None
    ) -> None:
        """`url` is where the node is served, and `key` the API key that it knows this service by."""
        self._folder = folder
        self._server = None if url is None else url.rstrip("/") + f"{DEFAULT_PREFIX}/switch"
        self._key = key
        self._stack = ExitStack()
        self._writing = Lock()
        tools, config = self._stack.enter_context(open_node(folder, writable=False))
        self._tenant: TenantId = parse_tenant_id(tenant or config.node.tenant)
        self._reading = NodeDesk(tools=tools, tenant_id=self._tenant)

    def close(self) -> None:
        self._stack.close()

    def find_caller(self, credential: str, *, at: Instant) -> Caller | None:
        return self._reading.find_caller(credential, at=at)

    def find_principal(self, principal_id: str, *, asked_by: Caller) -> Principal | None:
        return self._reading.find_principal(principal_id, asked_by=asked_by)

    def tell_fired(self, fired: Fired, *, at: Instant) -> None:
        if self._server is not None and self._key is not None:
            answer = self._post(self._server, {"fired": fired}, {"x-api-key": self._key})
            if answer is not None:
                _require(answer, _ACCEPTED)
                return
        with self._writing, open_node(self._folder) as (tools, _):
            NodeDesk(tools=tools, tenant_id=self._tenant).tell_fired(fired, at=at)

    def facts(self, service_id: str) -> tuple[Fired | Restored, ...]:
        return self._reading.facts(service_id)

    def find_restored(self, fired: Fired) -> Restored | None:
        return self._reading.find_restored(fired)

    def restore(self, fired: Fired, *, credential: str, at: Instant) -> Restored:
        if self._server is not None:
            said = {"fired": fired, "human_session_token": credential}
            answer = self._post(f"{self._server}/restore", said, {})
            if answer is not None:
                _require(answer, _DONE)
                return self._get_restored(fired)
        with self._writing, open_node(self._folder) as (tools, _):
            return NodeDesk(tools=tools, tenant_id=self._tenant).restore(fired, credential=credential, at=at)

    def _get_restored(self, fired: Fired) -> Restored:
        restored = self.find_restored(fired)
        if restored is None:
            raise RegistryError.restore(
                f"firing {fired.episode} of `{fired.service_id}` is not restored in the node's database"
            )
        return restored

    def _post(self, url: str, document: dict[str, Any], headers: dict[str, str]) -> Fetched | None:
        """None where no server answers."""
        with HttpServiceClient() as client:
            content = msgspec.json.encode(document)
            return client.request("POST", url, content=content, headers={"content-type": "application/json", **headers})


def _require(answer: Fetched, status: int) -> None:
    if answer.status == status:
        return
    try:
        detail = str(msgspec.json.decode(answer.content)["detail"])
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
        detail = f"expected status {status}, got {answer.status}"
    if answer.status == HTTPStatus.UNAUTHORIZED:
        raise NotSignedInError(detail)
    if answer.status == HTTPStatus.FORBIDDEN:
        raise ReviewError.not_eligible(detail)
    raise RegistryError.restore(detail)
