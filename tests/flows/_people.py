"""A desk with people: a real node, quick passwords, and a clock that the test moves."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from assay.adapters.argon2_password import Argon2Passwords
from assay.flows.review.answer_review import Answered, SignedElsewhere, answer_review
from assay.flows.review.open_review import open_review
from assay.flows.review.settle_review import NO_FOLLOW_UPS, FollowUps
from assay.flows.tools import Tools
from assay.identity.principal import Principal, PrincipalChange, PrincipalKind
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Database, Unit
from assay.ports.signer import Signer
from assay.review.draft import Reply
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket, TicketDraft
from assay.wiring import open_node
from tests.acting import add_principal, caller_of, log_in
from tests.flows._node import TENANT, new_node

__all__ = [
    "ADMIN",
    "PASSWORD",
    "TENANT",
    "Desk",
    "FailingAtTheEnd",
    "LostError",
    "Meddling",
    "at_once",
    "opened_desk",
    "quick_passwords",
]

T = TypeVar("T")
ADMIN = PrincipalId("user:admin")
PASSWORD = "correct horse battery"


def quick_passwords() -> Argon2Passwords:
    """Real argon2id, with costs that protect nothing and take no time."""
    return Argon2Passwords(memory_kib=64, time_cost=1, lanes=1)


class LostError(Exception):
    """What the failing database raises when everything was done but the commit."""


@dataclass
class FailingAtTheEnd:
    """A database whose writes do all their work and then fail: whatever remains was not part of the one commit."""

    inner: Database

    def write(self, work: Callable[[Unit], T]) -> T:
        def fail(unit: Unit) -> T:
            work(unit)
            raise LostError

        return self.inner.write(fail)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the real one has
        return getattr(self.inner, name)


@dataclass
class Meddling:
    """A database where somebody else comes in between: after the first read, and before the write that follows."""

    inner: Database
    meddle: Callable[[], object]
    is_done: bool = False

    def read(self, work: Callable[[Unit], T]) -> T:
        found = self.inner.read(work)
        if not self.is_done:
            self.is_done = True
            self.meddle()
        return found

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the real one has
        return getattr(self.inner, name)


@dataclass
class Desk:
    """One node at one time; `at(minutes=5)` is five minutes after it was opened."""

    tools: Tools
    start: Instant

    def at(self, **length: float) -> Instant:
        return Instant(self.start + timedelta(**length))

    def failing(self) -> "Desk":
        return replace(self, tools=replace(self.tools, database=FailingAtTheEnd(self.tools.database)))

    def interrupted_by(self, meddle: Callable[[], object]) -> "Desk":
        return replace(self, tools=replace(self.tools, database=Meddling(self.tools.database, meddle)))

    def add(
        self,
        name: str = "user:amira",
        *,
        kind: PrincipalKind = PrincipalKind.PERSON,
        password: str | None = PASSWORD,
        tenant: TenantId = TENANT,
        **granted: Any,  # noqa: ANN401  any field of a change
    ) -> Principal:
        return add_principal(
            self.tools,
            tenant,
            PrincipalId(name),
            kind=kind,
            name=f"The {name}",
            granted=PrincipalChange(**{"roles": ("ops_team",), **granted}),
            password=password if kind is PrincipalKind.PERSON else None,
            by=ADMIN,
            at=self.start,
        )

    def session(self, name: str = "user:amira", *, tenant: TenantId = TENANT, **length: float) -> str:
        token, _ = log_in(self.tools, tenant, PrincipalId(name), PASSWORD, at=self.at(**length))
        return token

    def ticket(self, **changes: Any) -> Ticket:  # noqa: ANN401  any field of a draft
        fields: dict[str, Any] = {
            "kind": TicketKind.APPROVAL,
            "title": "delete 40 records",
            "shown": '{"records":40}',
            "eligible_roles": ("ops_team",),
            "opened_by": PrincipalId("service:node"),
            "requested_by": PrincipalId("ai:planner"),
            "due_at": self.at(hours=1),
        }
        ticket, _ = open_review(self.tools, TENANT, TicketDraft(**(fields | changes)), at=self.start)
        return ticket

    def answer(
        self,
        ticket: Ticket,
        credential: str,
        choice: str = "approve",
        *,
        at: Instant | None = None,
        signing: Signer | SignedElsewhere | None = None,
        follow_ups: FollowUps = NO_FOLLOW_UPS,
        **reply: Any,  # noqa: ANN401  any field of a reply
    ) -> Answered:
        said = Reply(**{"choice": choice, "seen": ticket.shown_hash, **reply})
        return answer_review(
            self.tools,
            caller_of(self.tools, credential, at=at or self.at(minutes=1)),
            ticket.id,
            said,
            signing=signing,
            follow_ups=follow_ups,
        )

    def read(self, look: Callable[[Unit], T]) -> T:
        return self.tools.database.read(look)

    def head(self) -> int:
        return self.read(lambda unit: unit.ledger.head(TENANT)).sequence_number

    def entries(self, *kinds: EntryKind) -> list[dict[str, Any]]:
        """The bodies of the entries of these kinds, in order."""
        rows = self.read(lambda unit: list(unit.ledger.entries(TENANT)))
        return [json.loads(row.text)["body"] for row in rows if row.kind in kinds]


@contextmanager
def opened_desk(folder: Path) -> Iterator[Desk]:
    with open_node(new_node(folder)) as (tools, _):
        yield Desk(tools=replace(tools, passwords=quick_passwords()), start=tools.clock.now())


def at_once(jobs: list[Callable[[], object]]) -> list[object]:
    """Run all jobs at the same time; each gives its result or the error it was refused with."""
    start, results = threading.Barrier(len(jobs)), [object()] * len(jobs)

    def run(number: int) -> None:
        start.wait()
        try:
            results[number] = jobs[number]()
        except Error as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
