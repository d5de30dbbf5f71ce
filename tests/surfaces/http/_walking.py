"""Requests to the routes of the specifications, kept with what was answered."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import msgspec

from assay.surfaces.http.document import Exchange

__all__ = ["Send", "Walk"]

Send = Callable[[str, str, object, str], httpx.Response]


@dataclass
class Walk:
    """`send` is method, path, body and credential; each route is kept once, by its name in the description."""

    send: Send
    kept: dict[str, Exchange] = field(default_factory=dict)

    def get(self, route: str, by: str, path: str | None = None) -> Any:  # noqa: ANN401  whatever it answers
        return self._keep(f"GET {route}", self.send("GET", path or route, None, by), msgspec.UNSET)

    def post(self, route: str, body: object, by: str, path: str | None = None) -> Any:  # noqa: ANN401  the same
        sent = msgspec.UNSET if body is None or isinstance(body, bytes) else body
        return self._keep(f"POST {route}", self.send("POST", path or route, body, by), sent)

    def _keep(self, route: str, response: httpx.Response, sent: object) -> Any:  # noqa: ANN401  the same
        assert response.is_success, (route, response.text)
        media_type = response.headers["content-type"].partition(";")[0]
        told = response.json() if media_type.endswith("json") else response.text
        status = str(response.status_code)
        self.kept[route] = Exchange(sent=sent, status=status, media_type=media_type, answered=told)
        return told

    def hide(self, route: str, **unreal: str) -> None:
        """Keep something else in the place of a secret."""
        kept = self.kept[route]
        self.kept[route] = msgspec.structs.replace(kept, answered={**kept.answered, **unreal})
