"""One call of a tool, from a credential's text to JSON: deny first, then do."""

import traceback
from typing import Any

import msgspec
import structlog
from msgspec import Struct
from msgspec.structs import replace

from assay.flows.identity.admit_request import admit_request
from assay.flows.identity.authenticate import Authenticated, authenticate, authenticate_in
from assay.flows.registry.require_bits import require_bits
from assay.flows.registry.switch_facts import load_switch
from assay.flows.request import FieldsError
from assay.flows.tools import Tools
from assay.identity.access import find_unmet
from assay.identity.authorise import require_role
from assay.identity.principal import Principal
from assay.identity.signed_request import SignedRequest
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.trace import TRACE_BYTES, new_trace
from assay.operations.dispatch import Dispatcher
from assay.operations.kinds import Operation
from assay.operations.parse import parse_request
from assay.operations.table import BY_TOOL
from assay.registry.action import Tier
from assay.surfaces.mcp.catalogue import CATALOGUE, ToolSpec, Turn
from assay.surfaces.mcp.errors import ArgumentsError, InternalError, ReadOnlyError, ToolScopeError, UnknownToolError

_log = structlog.get_logger("assay.mcp")
_encoder = msgspec.json.Encoder(decimal_format="number")


class Called(Struct, frozen=True, kw_only=True):
    """What a call came to: JSON text, and whether it is a refusal with `code` and `message`."""

    text: str
    is_error: bool = False

    @property
    def value(self) -> Any:  # noqa: ANN401 - whatever the tool answers
        return msgspec.json.decode(self.text)


class Toolbox:
    """The tools of one open node; safe to use from many threads. One that only reads refuses whatever is recorded.

    `tenant_id` is the node's own, whose switch stands over the agents of every tenant.
    """

    def __init__(self, tools: Tools, tenant_id: TenantId, *, read_only: bool = False) -> None:
        self._tools = tools
        self._own = tenant_id
        self._read_only = read_only
        self._dispatcher = Dispatcher(tools=tools, tier_left=self._tier_left)

    def _tier_left(self, principal: Principal) -> int:
        """What the node's switch leaves; there is one switch, of the node's own tenant, and it is every tenant's."""
        service = self._tools.delivery.service
        switch = self._tools.database.read(lambda unit: load_switch(unit.registry, self._own, service))
        return Tier.FULL if principal.is_person() or not switch.is_fired else Tier.READ

    def sign_in(self, credential: str) -> Authenticated:
        """Raise `identity.not_signed_in` unless the credential is valid now; what it opens is asked with each call."""
        return authenticate(self._tools, credential, at=self._tools.clock.now())

    def admit(self, request: SignedRequest) -> Authenticated:
        """The principal that signed it, once: its nonce is used up, and that is recorded."""
        if self._read_only:
            raise ReadOnlyError(
                "expected a server that records, since the nonce of a signed request is; use an API key"
            )
        return admit_request(self._tools, request, at=self._tools.clock.now())

    def allowed(self, credential: str) -> tuple[ToolSpec, ...]:
        """The tools that this credential may call now; `identity.not_signed_in` for no valid one."""
        caller = self._prove(credential)
        return tuple(spec for spec in CATALOGUE.values() if self._may(caller, spec))

    def allowed_operations(self, credential: str) -> tuple[Operation, ...]:
        """The operations that this credential may perform now, as tools."""
        caller = self._prove(credential)
        return tuple(one for one in BY_TOOL.values() if self._may_perform(caller, one))

    def _may_perform(self, caller: Authenticated, operation: Operation) -> bool:
        return find_unmet(self._dispatcher.requirements(operation, caller)) is None and not (
            operation.writes and self._read_only
        )

    def call(self, credential: str, name: str, arguments: dict[str, Any] | None) -> Called:
        """Never raises: a refusal is an answer that the agent can read."""
        try:
            return Called(text=_encoder.encode(self._call(credential, name, arguments or {})).decode())
        except Error as error:
            return _refused(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is ours; the agent learns nothing of it
            _log.error("tool", tool=name[:80], traceback="".join(traceback.format_exception(error)))
            return _refused(InternalError("something went wrong here; the log says what"))

    def _call(self, credential: str, name: str, arguments: dict[str, Any]) -> object:
        at = self._tools.clock.now()
        # Who asks comes first: a stranger learns not even which tools there are.
        caller = self._prove(credential)
        operation = BY_TOOL.get(name)
        if operation is not None:
            return self._perform(caller, operation, arguments)
        spec = CATALOGUE.get(name)
        if spec is None:
            raise UnknownToolError(
                f"expected one of {', '.join((*BY_TOOL, *CATALOGUE))}, got `{ascii(name)[1:-1][:80]}`"
            )
        self._admit(caller, spec)
        given = _parsed(spec, arguments)
        return spec.run(Turn(tools=self._tools, caller=caller, credential=credential, at=at), given)

    def _perform(self, caller: Authenticated, operation: Operation, arguments: dict[str, Any]) -> object:
        traced = replace(caller, trace=new_trace(self._tools.entropy.token(TRACE_BYTES)))
        permitted = self._dispatcher.permit(operation, traced)
        if operation.writes and self._read_only:
            raise ReadOnlyError(f"expected a server that records, since `{operation.tool}` does; this one only reads")
        try:
            request = parse_request(operation, arguments)
        except FieldsError as error:
            raise ArgumentsError(f"expected the arguments of `{operation.tool}`: {error}") from error
        return self._dispatcher.perform(operation, permitted, request).value

    def _prove(self, credential: str) -> Authenticated:
        """Also by a request that was admitted by its signature; whoever names one from outside was not (`sign_in`)."""
        at = self._tools.clock.now()
        return self._tools.database.read(lambda unit: authenticate_in(unit, credential, at=at))

    def _admit(self, caller: Authenticated, spec: ToolSpec) -> None:
        if not caller.has_scope(spec.scope):
            raise ToolScopeError(f"expected a credential with scope `{spec.scope}`, got `{', '.join(caller.scopes)}`")
        if spec.roles is not None:
            require_role(caller.principal, spec.roles)
        require_bits(self._tools, caller.principal, spec.bit, tier=spec.tier, own=self._own)
        if spec.writes and self._read_only:
            raise ReadOnlyError(f"expected a server that records, since `{spec.name}` does; this one only reads")

    def _may(self, caller: Authenticated, spec: ToolSpec) -> bool:
        try:
            self._admit(caller, spec)
        except Error:
            return False
        return True


def _parsed(spec: ToolSpec, arguments: dict[str, Any]) -> Struct:
    try:
        return msgspec.convert(arguments, spec.takes)
    except msgspec.ValidationError as error:
        raise ArgumentsError(f"expected the arguments of `{spec.name}`: {error}") from error


def _refused(error: Error) -> Called:
    told = {"error": {"code": error.code, "message": str(error)}}
    return Called(text=_encoder.encode(told).decode(), is_error=True)
