"""One call through the gateway, from the agent's credential to the result that the agent is given."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol

import anyio
import mcp_types as types
import structlog
from mcp import MCPError
from msgspec import Struct

from assay.flows.permits.gateway import LONGEST_READ, GatewayTableView, definitions_of
from assay.identity.risk import RiskTier
from assay.identity.signed_request import SignedRequest
from assay.kernel.canonical import canonical_json, canonicalize
from assay.kernel.digest import Digest, digest_of
from assay.kernel.errors import CanonicalError, Error
from assay.operations.calls import Calls
from assay.permits.gateway import ToolRow, find_row
from assay.permits.permit import hash_arguments
from assay.surfaces.gateway.errors import GatewayError
from assay.surfaces.gateway.servers import SEPARATOR, Offered, Server
from assay.surfaces.guard import Guard, GuardError, NotRun, Plan, Standing, Waiting
from assay.surfaces.mcp.errors import InternalError

# How long a table is believed to be in force: one request to the node for many calls.
_TABLE_SECONDS = 1.0
_REPORT_SECONDS = 600
_FINISHED = "permit.used"
_MOST_NUMBERS = 10_000
_log = structlog.get_logger("assay.gateway")

# Asks the person at the client to go on; False where the client cannot be asked, or the person says no.
Elicit = Callable[[str], Any]


class GatewayNode(Protocol):
    """The node behind a gateway; safe to use from many threads."""

    def sign_in(self, credential: str) -> tuple[str, str]:
        """Return tenant and principal of the credential; raise unless it is valid now."""
        ...

    def admit(self, request: SignedRequest) -> tuple[str, str]:
        """Return who signed the request, once."""
        ...

    def calls(self, credential: str) -> Calls:
        """The node's operations for the principal of a credential."""
        ...


class Answered(Struct, frozen=True, kw_only=True):
    """What a gated call came to: its result, the permit it ran under."""

    result: types.CallToolResult
    permit_id: str | None = None


class Gateway:
    """The tools of several servers for the agents of one node."""

    def __init__(self, node: GatewayNode, servers: Mapping[str, Server]) -> None:
        self._node = node
        self._servers = servers
        self._tables: dict[str, tuple[float, GatewayTableView]] = {}
        # How many identical calls of an agent came to an end, as far as this process knows.
        self._numbers: dict[tuple[str, str], int] = {}
        self._told: set[str] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hold the connections to the servers; those that do not answer are tried again when they are needed."""
        async with anyio.create_task_group() as tasks:
            for server in self._servers.values():
                server.start(tasks)
            yield
            tasks.cancel_scope.cancel()

    async def tools(self, credential: str) -> list[types.Tool]:
        """The tools that may be called, under their names here; changed definitions are not shown to an agent."""
        _, table = await self._table(credential)
        shown: list[types.Tool] = []
        for server in self._servers.values():
            try:
                offered = await server.offered()
            except GatewayError:
                continue
            shown += [
                one.tool.model_copy(update={"name": one.name})
                for one in offered.values()
                if one.definition_hash in definitions_of(table, one.name)
            ]
        return shown

    async def call(
        self, credential: str, name: str, arguments: dict[str, Any], *, key: str | None, elicit: Elicit | None = None
    ) -> types.CallToolResult:
        """Make a call for an agent; a refusal is a result with a code."""
        try:
            return await self._call(credential, name, arguments, key, elicit)
        except Waiting as waiting:
            told = {"bundle_hash": waiting.bundle_hash, "tickets": list(waiting.tickets)}
            return refusal(GatewayError.pending(f"{waiting}; make the same call again after the answer"), told)
        except Error as error:
            return refusal(error)
        except Exception:  # noqa: BLE001 - whatever it is, it is ours; the agent learns nothing of it
            _log.exception("gateway call", tool=name[:80])
            return refusal(InternalError("something went wrong here; the log says what"))

    async def _call(
        self, credential: str, name: str, arguments: dict[str, Any], key: str | None, elicit: Elicit | None
    ) -> types.CallToolResult:
        agent, table = await self._table(credential)
        server = self._servers.get(name.partition(SEPARATOR)[0])
        row = find_row(table.rows, name, arguments)
        if server is None or row is None:
            raise GatewayError.unknown_tool(f"expected a call that the gateway's table takes, got `{name[:80]}`")
        is_read = row.tier is RiskTier.READ_ONLY
        offered = (await (server.offered() if is_read else server.offered(most_age=0.0))).get(name)
        if offered is None:
            raise GatewayError.unknown_tool(f"`{server.name}` offers no tool `{name}` now")
        pinned = offered.definition_hash
        if pinned is None or pinned not in definitions_of(table, name):
            raise GatewayError.definition_changed(
                f"`{name}` is now {pinned}: expected a definition that an operator has approved"
            )
        calls = self._node.calls(credential)
        if is_read:
            answered = Answered(result=await _forwarded(server, offered, arguments))
        else:
            guard = _guard(calls, agent, row, server)
            answered = await self._gated(guard, server, offered, arguments, key, elicit)
        return await _screened(calls, offered, pinned, arguments, answered)

    async def _table(self, credential: str) -> tuple[str, GatewayTableView]:
        """Who asks, and the table in force for them."""
        tenant_id, agent = await asyncio.to_thread(self._node.sign_in, credential)
        known = self._tables.get(tenant_id)
        if known is None or time.monotonic() - known[0] > _TABLE_SECONDS:
            asked_at = time.monotonic()
            table = await asyncio.to_thread(self._node.calls(credential).gateway_table)
            known = self._tables[tenant_id] = (asked_at, table)
        return agent, known[1]

    async def _gated(
        self,
        guard: Guard,
        server: Server,
        offered: Offered,
        arguments: dict[str, Any],
        key: str | None,
        elicit: Elicit | None,
    ) -> Answered:
        plan, permit_id = await self._permitted(guard, offered.name, arguments, key, elicit)
        read: Callable[[types.CallToolResult], tuple[BaseException | None, object]] = _read
        result = await guard.run_claimed_async(permit_id, lambda: _forwarded(server, offered, arguments), read)
        if key is None:
            self._count(guard, plan)
        return Answered(result=result, permit_id=permit_id)

    async def _permitted(
        self, guard: Guard, name: str, arguments: dict[str, Any], key: str | None, elicit: Elicit | None
    ) -> tuple[Plan, str]:
        """Gate a call and claim its permit. Under a key it runs once for ever; without one, once at a time."""
        ask = guard.ask_async
        while True:
            plan = await self._planned(guard, name, arguments, key)
            standing = await ask(guard.gated(plan))
            if standing.is_waiting and elicit is not None and await elicit(_question(plan, standing)):
                standing = await ask(guard.standing(standing.bundle_hash))
            if not standing.is_waiting and not standing.is_published and key is None and self._has_told(standing):
                self._count(guard, plan)
                continue
            try:
                return plan, await ask(guard.claimed(plan, standing))
            except NotRun as error:
                # It ran and was reported: the agent asks for another one, unless it said that it is the same.
                if key is not None or error.reason != _FINISHED:
                    raise
                self._count(guard, plan)

    def _count(self, guard: Guard, plan: Plan) -> None:
        """The next identical call is another one. What is forgotten here is found again in the node."""
        if len(self._numbers) >= _MOST_NUMBERS:
            self._numbers.clear()
        self._numbers[guard.agent, plan.text] = int(plan.run.rpartition(":")[2]) + 1

    def _has_told(self, standing: Standing) -> bool:
        """Whether the agent was told of a refusal before; the next call of the kind asks people again."""
        if standing.bundle_hash in self._told:
            return True
        if len(self._told) >= _MOST_NUMBERS:
            self._told.clear()
        self._told.add(standing.bundle_hash)
        return False

    async def _planned(self, guard: Guard, name: str, arguments: dict[str, Any], key: str | None) -> Plan:
        if key is not None:
            return guard.plan(name, arguments, run=f"gateway-key:{key}")
        first = guard.plan(name, arguments, run="gateway:0")
        known = self._numbers.get((guard.agent, first.text))
        if known is None:
            known = await self._last_number(guard, name, arguments)
        return guard.plan(name, arguments, run=f"gateway:{known}")

    async def _last_number(self, guard: Guard, name: str, arguments: dict[str, Any]) -> int:
        """The number of the newest bundle of this call that the node knows: doubled, then halved."""

        async def is_known(number: int) -> bool:
            plan = guard.plan(name, arguments, run=f"gateway:{number}")
            return await guard.ask_async(guard.is_known(plan))

        if not await is_known(0):
            return 0
        low, high = 0, 1
        while await is_known(high):
            low, high = high, high * 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if await is_known(middle) else (low, middle)
        return low


async def _forwarded(server: Server, offered: Offered, arguments: dict[str, Any]) -> types.CallToolResult:
    """The server's answer, also where that is an error of the protocol: it is recorded, and read by guardians."""
    try:
        return await server.call(offered, arguments)
    except MCPError as error:
        return types.CallToolResult(content=[types.TextContent(type="text", text=str(error.message))], is_error=True)


async def _screened(
    calls: Calls, offered: Offered, pinned: Digest, arguments: dict[str, Any], answered: Answered
) -> types.CallToolResult:
    """Record the call and have guardians read the result; what cannot be recorded is not given."""
    text = "\n".join(_words(answered.result))
    screened = await asyncio.to_thread(
        calls.record_gateway_call,
        tool=offered.name,
        definition_hash=str(pinned),
        arguments_hash=str(hash_arguments(arguments)),
        result_hash=str(_result_hash(answered.result)),
        text=text[:LONGEST_READ],
        is_whole=len(text) <= LONGEST_READ,
        permit_id=answered.permit_id,
    )
    if screened.is_withheld:
        error = GatewayError.withheld(
            f"the result of `{offered.name}` is withheld ({screened.reason}); entry {screened.sequence_number}"
        )
        return refusal(error, {"sequence_number": screened.sequence_number})
    return answered.result


def refusal(error: Error, more: Mapping[str, Any] | None = None) -> types.CallToolResult:
    """A refusal as the result of a call."""
    told = {"error": {"code": str(error.code), "message": str(error), **(more or {})}}
    text = types.TextContent(type="text", text=canonical_json(told))
    return types.CallToolResult(content=[text], is_error=True)


def _guard(calls: Calls, agent: str, row: ToolRow, server: Server) -> Guard:
    return Guard(
        client=calls,
        agent=agent,
        audience=f"gateway:{server.name}",
        tiers={row.tool: row.tier.value},
        says={row.tool: row.says} if row.says else {},
        if_wrong={row.tool: row.if_wrong},
        claim_type=row.claim_type,
        report_seconds=_REPORT_SECONDS,
    )


def _question(plan: Plan, standing: Standing) -> str:
    tickets = ", ".join(standing.tickets)
    return f"`{plan.statement}` needs approval ({tickets}). Accept when it was answered on the review desk."


def _read(result: types.CallToolResult) -> tuple[BaseException | None, object]:
    if result.is_error:
        return GuardError("the server answered with an error"), None
    return None, result.model_dump(mode="json", by_alias=True, exclude_none=True)


def _result_hash(result: types.CallToolResult) -> Digest:
    document = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    try:
        return digest_of(canonicalize(document))
    except (CanonicalError, TypeError, ValueError):
        # Numbers that have no canonical form: the hash is of the text as the server gave it.
        return digest_of(result.model_dump_json(by_alias=True, exclude_none=True).encode())


def _words(result: types.CallToolResult) -> list[str]:
    """Every text of a result that an agent would read."""
    words = [block.text for block in result.content if isinstance(block, types.TextContent)]
    for block in result.content:
        if isinstance(block, types.EmbeddedResource):
            words.append(str(getattr(block.resource, "text", "")))
        elif isinstance(block, types.ResourceLink):
            words.append(f"{block.name} {block.description or ''} {block.uri}")
    if result.structured_content is not None:
        words.append(str(result.structured_content))
    return words
