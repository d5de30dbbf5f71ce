"""A witness over HTTP (C2SP tlog-witness)."""

import httpx

from assay.kernel.errors import Blame, Error
from assay.ports.witness import WitnessReply

_TIMEOUT_SECONDS = 10.0
_LONGEST_ANSWER = 64 * 1024


class WitnessUnreachableError(Error):
    """A witness gave no answer."""

    code = "witness.unreachable"
    blame = Blame.ANSWER


class HttpWitness:
    """Implements `ports.witness.Witness`."""

    def __init__(self, *, name: str, url: str, public_key: bytes) -> None:
        self._url = url.rstrip("/") + "/add-checkpoint"
        self.name = name
        self.public_key = public_key

    def add_checkpoint(self, request: bytes) -> WitnessReply:
        try:
            # A proxy or redirect would be somebody else's word, so neither is followed.
            with (
                httpx.Client(timeout=_TIMEOUT_SECONDS, trust_env=False, follow_redirects=False) as client,
                client.stream("POST", self._url, content=request, headers={"content-type": "text/plain"}) as response,
            ):
                return WitnessReply(response.status_code, _beginning(response))
        except httpx.HTTPError as error:
            raise WitnessUnreachableError(f"`{self._url}` gave no answer: {error}") from error


def _beginning(response: httpx.Response) -> bytes:
    """Read no more than an answer can need, however much is sent."""
    received = b""
    for part in response.iter_raw():
        received += part
        if len(received) >= _LONGEST_ANSWER:
            break
    return received[:_LONGEST_ANSWER]
