"""What a permit costs around a tool call, beside the tool call alone; and how many permits 64 callers claim.

The guard asks a node of its own process: find, gate, issue, claim, report, four commits with `synchronous=FULL`.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import assay
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId, TenantId
from assay.wiring import init_node, open_node
from bench._frame import Aim, Figure, load
from tests.acting import add_principal, issue_api_key

__all__ = ["figures"]

_AGENT = "ai:clerk"
_CALLS = 200
_CALLERS = 64
# Below the 600 bundles a minute that the default policy allows an agent.
_PERMITS = 320
_WANTED_MS = 5.0
# No peer claims permits; a floor that four commits a call leave room for.
_WANTED_CLAIMS = 100.0


def figures() -> list[Figure]:
    with _opened() as client:
        return [_latency(client), _claims(client)]


@contextmanager
def _opened() -> Iterator[assay.Node]:
    with TemporaryDirectory() as folder:
        home, tenant = Path(folder) / "node", TenantId("bench")
        init_node(home, tenant=tenant, origin="example.org/bench")
        with open_node(home) as (tools, _):
            granted = PrincipalChange(risk_ceiling=RiskTier.DELETE)
            admin, agent = PrincipalId("user:admin"), PrincipalId(_AGENT)
            at = tools.clock.now()
            add_principal(tools, tenant, agent, kind=PrincipalKind.AGENT, name=_AGENT, granted=granted, by=admin, at=at)
            key = issue_api_key(tools, tenant, agent, scopes=("*",), by=admin, at=tools.clock.now())[0]
        with assay.open(home, credential=key) as node:
            yield node


def _latency(client: assay.Node) -> Figure:
    guard = assay.guard(client, agent=_AGENT, run="bench", tiers={"add": "MODIFY"})

    def add(number: int) -> int:
        return number + 1

    guarded = guard.tool()(add)
    cpu = time.process_time()
    with_permit = median(_milliseconds(guarded, number) for number in range(_CALLS))
    alone = median(_milliseconds(add, number) for number in range(_CALLS))
    return Figure(
        name="permit: gate, claim and report around a tool call, p50",
        ours=with_permit,
        peer=alone,
        peer_name="the tool call alone",
        unit="ms",
        ratio=with_permit - alone,
        target=_WANTED_MS,
        cpu_seconds=time.process_time() - cpu,
        load=load(),
        aim=Aim.AT_MOST,
        note="the ratio is the difference in ms",
    )


def _milliseconds(tool: Callable[[int], int], number: int) -> float:
    began = time.perf_counter()
    tool(number)
    return 1000 * (time.perf_counter() - began)


def _claims(client: assay.Node) -> Figure:
    guard = assay.guard(client, agent=_AGENT, run="claims", tiers={"add": "MODIFY"})
    plans = [guard.plan("add", {"number": number}) for number in range(_PERMITS)]
    with ThreadPoolExecutor(_CALLERS) as callers:
        standings = [guard.ask(guard.gated(plan)) for plan in plans]
        permits = list(callers.map(lambda one: client.issue_permit(bundle_hash=one.bundle_hash), standings))
        cpu, began = time.process_time(), time.perf_counter()
        list(
            callers.map(
                lambda pair: client.claim_permit(
                    pair[0].permit.permit_id,
                    tool="add",
                    audience=_AGENT,
                    arguments=pair[1].call.arguments,
                ),
                zip(permits, plans, strict=True),
            )
        )
        rate = _PERMITS / (time.perf_counter() - began)
    return Figure(
        name=f"permit: claims of {_CALLERS} callers",
        ours=rate,
        peer=None,
        peer_name="-",
        unit="claims/s",
        ratio=rate,
        target=_WANTED_CLAIMS,
        cpu_seconds=time.process_time() - cpu,
        load=load(),
    )
