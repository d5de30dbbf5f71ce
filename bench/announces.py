"""Signed announces that are durable when they are answered: many services at once beside the same, one after another.

Each is parsed strictly, verified against a known key, held against its sequence, and committed with its ledger entry.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.flows.registry.receive_announce import receive_announce
from assay.flows.tools import Tools
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import key_id_of
from assay.registry.announce import AnnounceEvent, AnnouncePolicy, Origin, draft_announce, sign_announce
from assay.registry.manifest import Manifest
from assay.registry.open_manifest import open_manifest
from assay.wiring import init_node, open_node
from bench._frame import Figure, load, print_table
from tests.acting import register_service

__all__ = ["figures"]

_CALLERS = 64
_SERVICES = 64
_ROUNDS = 4
_TENANT = TenantId("default")
_CODEX = b'{"service":"%b","port":4080,"domain":"bench","version":"1.0.0","can_answer":["ping"],"can_do":[]}'


def figures() -> list[Figure]:
    with TemporaryDirectory() as folder:
        home = Path(folder) / "node"
        init_node(home)
        with open_node(home) as (tools, _):
            return [_figure(tools)]


def _figure(tools: Tools) -> Figure:
    signers = [_known(tools, _manifest(number)) for number in range(_SERVICES)]
    rates: list[tuple[float, float]] = []
    cpu = time.process_time()
    for number in range(_ROUNDS):
        at = tools.clock.now()
        rates.append(
            (
                _rate(tools, [sign(2 * number + 1, at) for sign in signers], _CALLERS),
                _rate(tools, [sign(2 * number + 2, at) for sign in signers], 1),
            )
        )
    together, alone = (sorted(one[side] for one in rates)[_ROUNDS // 2] for side in (0, 1))
    return Figure(
        name="signed announces, durable, 64 services at once",
        ours=together,
        peer=alone,
        peer_name="one after another",
        unit="announces/s",
        ratio=together / alone,
        target=2.0,
        cpu_seconds=time.process_time() - cpu,
        load=load(),
    )


def _manifest(number: int) -> Manifest:
    return open_manifest(_CODEX % f"service-{number}".encode()).manifest


def _known(tools: Tools, manifest: Manifest) -> Callable[[int, Instant], bytes]:
    """The service's key made known, and how it signs its announce of that number."""
    private = Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes_raw()
    operator = PrincipalId("operator:local")
    register_service(tools, _TENANT, manifest.service, public, by=operator, at=tools.clock.now())

    def sign(sequence: int, at: Instant) -> bytes:
        document = draft_announce(
            manifest,
            AnnounceEvent.ANNOUNCE,
            base_url="http://127.0.0.1:4080",
            instance_id="one",
            sequence=sequence,
            at=at,
        )
        return sign_announce(document, key_id=key_id_of(public), sign=private.sign)

    return sign


def _rate(tools: Tools, messages: list[bytes], callers: int) -> float:
    def receive(content: bytes) -> None:
        at = tools.clock.now()
        receive_announce(tools, _TENANT, content, origin=Origin.REMOTE, policy=AnnouncePolicy(), at=at)

    start = time.perf_counter()
    with ThreadPoolExecutor(max_workers=callers) as pool:
        list(pool.map(receive, messages))
    return len(messages) / (time.perf_counter() - start)


if __name__ == "__main__":
    print_table(figures())
