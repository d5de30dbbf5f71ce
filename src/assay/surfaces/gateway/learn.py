"""Draft a gateway's table from what servers say of their tools: a start for the person who releases it."""

from collections.abc import Mapping
from typing import Any

import anyio

from assay.identity.risk import RiskTier
from assay.surfaces.gateway.servers import Offered, Server


async def draft_rows(servers: Mapping[str, Server]) -> list[dict[str, Any]]:
    """One row for each tool that can be pinned. A tool that says nothing of itself is drafted as MODIFY."""
    rows: list[dict[str, Any]] = []
    async with anyio.create_task_group() as tasks:
        for server in servers.values():
            server.start(tasks)
            rows += [_row(one) for one in (await server.offered()).values() if one.definition_hash is not None]
        tasks.cancel_scope.cancel()
    return rows


def _row(offered: Offered) -> dict[str, Any]:
    names = sorted(offered.tool.input_schema.get("properties", {}))
    said = ", ".join(f"{name} {{{name}}}" for name in names if name in offered.tool.input_schema.get("required", ()))
    return {
        "tool": offered.name,
        "definition_hash": str(offered.definition_hash),
        "tier": _tier(offered).value,
        "says": f"call {offered.name}" + (f" with {said}" if said else ""),
    }


def _tier(offered: Offered) -> RiskTier:
    hints = offered.tool.annotations
    if hints is not None and hints.read_only_hint:
        return RiskTier.READ_ONLY
    if hints is not None and hints.destructive_hint:
        return RiskTier.DELETE
    return RiskTier.MODIFY
