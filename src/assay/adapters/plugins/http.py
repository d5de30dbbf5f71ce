"""A plugin over HTTP (`pramana/slm-plugin/1.0`): one request of texts, one reply within a time, and nothing else.

It is inside the perimeter (loopback, a socket, or an address the operator tagged), is told no credential of ours, and
has no way back: what it proposes goes before a person.
"""

from collections.abc import Collection

import msgspec

from assay.adapters.inference.address import parse_address
from assay.adapters.inference.backend import Patience
from assay.adapters.inference.exchange import SMALL_REPLY, Exchange
from assay.delivery.plugin import PluginRequest, render_request


class HttpPlugin:
    """Implements `delivery.plugin.Plugin`; whatever goes wrong is an error of the exchange, and costs the hypothesis.

    `token` is for the plugin's own server, and is the operator's.
    """

    def __init__(
        self, url: str, *, seconds: float, deployment_local: Collection[str] = (), token: str | None = None
    ) -> None:
        self._exchange = Exchange(parse_address(url, deployment_local=deployment_local), token=token)
        self._seconds = seconds

    def infer(self, request: PluginRequest) -> bytes:
        body = msgspec.json.decode(render_request(request), type=dict[str, object])
        return self._exchange.post("", body, Patience(seconds=self._seconds), most_bytes=SMALL_REPLY)
