"""A node with a graph in use, agents with and without bits, and tools over it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import assay
from assay.delivery.answerer import Question
from assay.flows.delivery.answerers import Answerers
from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import has_graph_in_use
from assay.identity.principal import LOCAL_OPERATOR
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.node import Node
from assay.registry.permission import mask_of
from assay.surfaces.mcp.call import Called, Toolbox
from assay.wiring import open_evaluation, open_node
from tests.acting import issue_api_key
from tests.node._home import RULE, SLUG, Home, copied

__all__ = ["ALL", "LAW", "SLUG", "Scene", "grown", "opened_scene", "peopled"]

LAW = "law.text"
READS = ("READ", "AI_READ")
ALL = (*READS, "QUERY", "AI_QUERY", "WRITE", "AI_EXECUTE")


@dataclass
class Scene:
    """An open node, its tools, and a key for each agent: `scout` reads, `pilot` may do all, `guest` nothing."""

    tools: Tools
    toolbox: Toolbox
    keys: dict[str, str]

    def call(self, who: str, tool: str, **arguments: Any) -> Called:  # noqa: ANN401 - a tool's own
        return self.toolbox.call(self.keys[who], tool, arguments)

    def code(self, who: str, tool: str, **arguments: Any) -> str:  # noqa: ANN401 - a tool's own
        called = self.call(who, tool, **arguments)
        assert called.is_error, called.text
        code: str = called.value["error"]["code"]
        return code


def peopled(folder: Path) -> Home:
    """The home, with agents of every sort."""
    home = copied(folder)
    keys = dict(home.keys)
    with assay.open(home.folder) as node:
        for name, bits, tier, roles in (
            ("scout", READS, 1, ()),
            ("pilot", ALL, 2, ("auditor",)),
            ("guest", (), 3, ("auditor", "operator", "admin")),
            ("clerk", ("READ", "QUERY", "WRITE"), 3, ("auditor",)),
            ("low", ALL, 1, ()),
        ):
            mask = mask_of(bits)
            node.add_principal(f"ai:{name}", kind="agent", trust_mask=mask, action_tier=tier, roles=roles)
            keys[name] = str(node.issue_key(f"ai:{name}").api_key)
        keys["narrow"], _ = issue_api_key(
            node.tools,
            node.tenant_id,
            PrincipalId("ai:pilot"),
            scopes=("truth:read",),
            by=LOCAL_OPERATOR,
            at=_now(node),
        )
        # The node itself answers it, also in a process of its own.
        node.acting(keys["olga"]).register_query(
            LAW, description="what a rule says", domain="maritime", answerer="rule"
        )
    return Home(home.folder, keys)


def _now(node: Node) -> Instant:
    return node.tools.clock.now()


@contextmanager
def opened_scene(home: Home, *, read_only: bool = False) -> Iterator[Scene]:
    with open_node(home.folder, writable=not read_only) as (opened, config):
        if read_only:
            yield Scene(opened, Toolbox(opened, read_only=True), home.keys)
            return
        with open_evaluation(home.folder, config, opened, may_wait=not has_graph_in_use(opened)) as evaluation:
            tools = _answering(evaluation.tools)
            yield Scene(tools, Toolbox(tools), home.keys)


def _answering(tools: Tools) -> Tools:
    table = Answerers()

    @table.answers(SLUG, rules=[RULE])
    def clearance(question: Question) -> dict[str, str]:
        return {"ship": str(question.question), "water": "enough"}

    answerers = {**tools.delivery.answerers, **table.freeze()}
    return replace(tools, delivery=replace(tools.delivery, answerers=answerers))


def grown(tools: Tools) -> int:
    """How many entries the ledger of the node's tenant has."""
    tenant_id = tools.database.read(lambda unit: unit.ledger.tenants())[0]
    return tools.database.read(lambda unit: unit.ledger.head(tenant_id)).sequence_number
