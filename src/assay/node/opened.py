"""What every journey of an open node shares: its tools, a credential, and what is opened only when it is needed."""

import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from assay.config import Config
from assay.flows.delivery.answerers import Answerers
from assay.flows.delivery.strands import Strands
from assay.flows.errors.identity import NotSignedInError
from assay.flows.identity.authenticate import authenticate, require_scope
from assay.flows.tools import Tools
from assay.kernel.digest import Digest, digest_of
from assay.kernel.ids import TenantId, parse_tenant_id
from assay.kernel.instant import Instant
from assay.kernel.key import TrustAnchors, parse_anchors
from assay.node.acting import make_dispatcher
from assay.node.errors import NodeError
from assay.operations.dispatch import Dispatcher
from assay.wiring import Models, open_estimator, open_evaluation, open_models, open_node

if TYPE_CHECKING:
    from assay.flows.claims.estimate import Estimator
    from assay.ports.validator import Engines
    from assay.verdicts.sovereignty import SovereigntyFinding

_MOST_COVERED = 1000


class OpenedNode:
    """A node that is open until `close`, or the end of its `with`; safe to use from many threads."""

    def __init__(
        self,
        folder: Path,
        *,
        credential: str | None = None,
        tenant: str | None = None,
        trust: tuple[str, ...] = (),
        read_only: bool = False,
        database: str | None = None,
    ) -> None:
        self.folder = folder
        self.read_only = read_only
        self._credential = credential
        self._table = Answerers()
        self._strands = Strands()
        self._lock = threading.RLock()
        self._stack = ExitStack()
        opened, self._config = self._stack.enter_context(open_node(folder, writable=not read_only, database=database))
        self.tenant_id: TenantId = parse_tenant_id(tenant or self._config.node.tenant)
        anchors = parse_anchors([*self._config.trust.anchors, *trust])
        self._opened: Tools | None = replace(opened, anchors=anchors)
        self._asking: Tools | None = None
        self._judging: Tools | None = None
        self._models: Models | None = None
        self._asks: Estimator | None = None
        self._dispatcher: Dispatcher | None = None
        self._unmet: tuple[SovereigntyFinding, ...] = ()
        self._covered: set[tuple[Digest, str | None]] = set()

    @property
    def is_closed(self) -> bool:
        return self._opened is None

    @property
    def config(self) -> Config:
        return self._config

    @property
    def tools(self) -> Tools:
        """What flows work with, for a journey that has no method here."""
        found = self._opened
        if found is None:
            raise NodeError.closed(f"expected an open node, got `{self.folder}`, which was closed")
        return found

    @property
    def unmet_sovereignty(self) -> "tuple[SovereigntyFinding, ...]":
        """The checks of SKI 6.2 that an advisory node judges without; known once it has judged."""
        return self._unmet

    def close(self) -> None:
        """Let go of database, keys and models; what was acknowledged is on disk. Closing twice does nothing."""
        with self._lock:
            if self._opened is None:
                return
            self._opened = self._asking = self._judging = self._models = None
        # Without the lock, which threads that are to end first may still need.
        self._end_threads()
        self._stack.close()

    def _end_threads(self) -> None:
        """Before anything that a journey uses is let go of: what was begun on threads of our own ends."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def dispatcher(self) -> Dispatcher:
        """What permits and performs operations here; requests under one key are told apart by it."""
        with self._lock:
            if self._dispatcher is None:
                self._dispatcher = make_dispatcher(self.tools)
            return self._dispatcher

    def judging_tools(self, *, may_wait: bool) -> Tools:
        """The tools with the model that judges, opened for the first operation that needs it.

        Strict mode refuses to open it while a check of SKI 6.2 is unmet, unless that `may_wait`, as in a server without
        a graph: then each record is refused until the checks are met.
        """
        with self._lock:
            if self._judging is None:
                opened = open_evaluation(self.folder, self._config, self.tools, may_wait=may_wait)
                evaluation = self._stack.enter_context(opened)
                self._unmet = tuple(one for one in evaluation.findings if not one.is_met)
                self._judging = evaluation.tools
            return self._judging

    def answering_tools(self) -> Tools:
        """The tools with the answerers; from the first question on, none is added."""
        return self._answering()

    def engines(self) -> "Engines":
        """What judges observations, opened for the first operation that needs it."""
        return self._general().engines

    def _now(self) -> Instant:
        return self.tools.clock.now()

    def _writing(self) -> Tools:
        """The tools for what is recorded."""
        tools = self.tools
        if self.read_only:
            raise NodeError.read_only("expected a node that is open for writing, got one that is only read")
        return tools

    def _token(self, given: str | None, scope: str | None) -> str:
        """Return the credential to act with; raise where there is none, or it was issued for other operations."""
        token = given or self._credential
        if token is None:
            raise NotSignedInError("expected `credential`, an API key or session token, got none")
        known = (digest_of(token.encode()), scope)
        if scope is not None and known not in self._covered:
            require_scope(authenticate(self.tools, token, at=self._now()), scope)
            # What a credential was issued for never changes; whether it still holds is asked by every flow.
            if len(self._covered) >= _MOST_COVERED:
                self._covered.clear()
            self._covered.add(known)
        return token

    def _own_anchors(self) -> TrustAnchors:
        """Whom this node believes about its own ledger: the key it was founded with."""
        return parse_anchors([self.tools.founder])

    def _answering(self) -> Tools:
        """The tools with whoever answers; from the first question on, nobody is added."""
        with self._lock:
            if self._asking is None:
                tools = self.tools
                given = tools.delivery
                table = {**given.answerers, **self._table.freeze()}
                strands, checks = self._strands.freeze(given.strands, given.checks)
                self._asking = replace(tools, delivery=replace(given, answerers=table, strands=strands, checks=checks))
            return self._asking

    def _open_table(self) -> Answerers:
        self._require_unfrozen("answerers")
        return self._table

    def _open_strands(self) -> Strands:
        self._require_unfrozen("strands")
        return self._strands

    def _require_unfrozen(self, what: str) -> None:
        if self.is_closed:
            raise NodeError.closed(f"expected an open node, got `{self.folder}`, which was closed")
        if self._asking is not None:
            raise NodeError.table_frozen(f"expected {what} before the first question, got one after it")

    def _general(self) -> Models:
        with self._lock:
            if self._models is None:
                self.tools  # noqa: B018 - a closed node opens nothing
                self._models = self._stack.enter_context(open_models(self.folder, self._config))
            return self._models

    def estimator(self) -> "Estimator | None":
        """What asks the general model about claims; None, and nothing is opened, where the operator named no model."""
        if self._config.models.general is None:
            return None
        with self._lock:
            if self._asks is None:
                self._asks = open_estimator(self._config, self._general().general)
            return self._asks
