"""Where the sample plays: an open node, a clock that was set back, and the credentials of everyone in it."""

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from assay.adapters.keyfile import KeyFileSigner
from assay.flows.identity.authenticate import authenticate
from assay.flows.identity.sessions import check_password
from assay.flows.tools import Tools
from assay.identity.caller import Caller, local_caller
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant, render_instant
from assay.operations.dispatch import Dispatcher
from assay.operations.parse import parse_request
from assay.operations.table import BY_NAME

DAY = timedelta(days=1)
TENANT = TenantId("default")
# Between two requests: entries of a week do not carry the same second.
_TICK = timedelta(seconds=7)
_SESSION = timedelta(minutes=20)


class Size(NamedTuple):
    """How much happens: rounds of reports, cells on the map, sectors, records of each, tickets, cases of the judge."""

    rounds: int
    cells: int
    sectors: int
    records: int | None
    tickets: int
    cases: int


WEEK = Size(rounds=8, cells=9, sectors=4, records=None, tickets=40, cases=12)
SMALL = Size(rounds=2, cells=2, sectors=1, records=20, tickets=9, cases=1)


class PastClock:
    """A clock that was set back and only moves forward, at most up to the present."""

    def __init__(self, start: Instant, *, until: Instant) -> None:
        self._now = start
        self._until = until

    def now(self) -> Instant:
        return self._now

    def advance(self, step: timedelta) -> None:
        self._now = min(Instant(self._now + step), self._until)

    def catch_up(self) -> None:
        self._now = self._until


@dataclass
class Stage:
    """Perform operations as the people and agents of the sample."""

    tools: Tools
    clock: PastClock
    folder: Path
    size: Size = WEEK
    passwords: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    graph_signer: KeyFileSigner | None = None
    _sessions: dict[str, tuple[str, Instant]] = field(default_factory=dict)

    def do(self, who: str, name: str, /, **given: Any) -> Any:  # noqa: ANN401 - an operation's own fields and result
        """Perform an operation as this principal: by API key, or in a session where the principal has a password."""
        return self._perform(authenticate(self.tools, self._credential(who), at=self._next()), name, given)

    def local(self, name: str, /, **given: Any) -> Any:  # noqa: ANN401 - as above
        """Perform an operation as the operator of the folder."""
        return self._perform(local_caller(TENANT, at=self._next()), name, given)

    def at(self, **ago: float) -> str:
        """Render the present of the sample, or a time before it."""
        return render_instant(Instant(self.clock.now() - timedelta(**ago)))

    def _perform(self, caller: Caller, name: str, given: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        operation = BY_NAME[name]
        return Dispatcher(tools=self.tools)(operation, caller, parse_request(operation, given)).value

    def _next(self) -> Instant:
        self.clock.advance(_TICK)
        return self.clock.now()

    def _credential(self, who: str) -> str:
        if who in self.keys:
            return self.keys[who]
        now = self.clock.now()
        token, until = self._sessions.get(who, ("", now))
        if now >= until:
            token, _ = check_password(self.tools, TENANT, PrincipalId(who), self.passwords[who], at=now)
            self._sessions[who] = (token, Instant(now + _SESSION))
        return token
