"""A served node with people who have passwords, and a clock that the test moves."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
from litestar import Litestar
from litestar.testing import TestClient

from assay.flows.identity.oidc_settings import OidcSettings
from assay.flows.tools import Tools
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.surfaces.http.app import create_app
from assay.wiring import open_node
from tests.acting import add_principal
from tests.flows._people import PASSWORD, quick_passwords
from tests.surfaces.http._house import MovedClock
from tests.surfaces.http.served import ACME, ADMIN, make_node

__all__ = ["AMIRA", "Door", "opened_door"]

AMIRA = "user:amira"


@dataclass
class Door:
    """Requests are made at `clock`; `browser` keeps its cookies."""

    tools: Tools
    clock: MovedClock
    browser: TestClient[Litestar]
    operator: str

    def wait(self, **length: float) -> None:
        self.clock.at = Instant(self.clock.at + timedelta(**length))

    def add(
        self,
        name: str = AMIRA,
        *,
        kind: PrincipalKind = PrincipalKind.PERSON,
        tenant: TenantId = ACME,
        **granted: Any,  # noqa: ANN401  any field of a change
    ) -> None:
        add_principal(
            self.tools,
            tenant,
            PrincipalId(name),
            kind=kind,
            name=name,
            granted=PrincipalChange(**{"roles": ("operator",), **granted}),
            password=PASSWORD if kind is PrincipalKind.PERSON else None,
            by=ADMIN,
            at=self.clock.at,
        )

    def log_in(self, name: str = AMIRA, password: str = PASSWORD, **more: object) -> httpx.Response:
        return self.browser.post("/auth/login", json={"principal_id": name, "password": password, **more})

    def forget(self) -> None:
        """As if nobody had come yet: no failures, and a browser without cookies."""
        later = Instant(self.clock.at + timedelta(days=1))
        self.tools.database.write(lambda unit: unit.access.forget_failures(before=later))
        self.browser.cookies.clear()

    @contextmanager
    def elsewhere(self) -> Iterator[TestClient[Litestar]]:
        """Another browser, which has no cookies of this one and leaves it none."""
        kept = list(self.browser.cookies.jar)
        self.browser.cookies.clear()
        yield self.browser
        self.browser.cookies.clear()
        for cookie in kept:
            self.browser.cookies.jar.set_cookie(cookie)

    def who(self, token: str) -> httpx.Response:
        """What the bearer of a token is told, from elsewhere."""
        with self.elsewhere() as browser:
            return browser.get("/whoami", headers={"authorization": f"Bearer {token}"})


@contextmanager
def opened_door(
    folder: Path,
    *,
    settings: str = "",
    oidc: OidcSettings | None = None,
    base_url: str = "http://testserver.local",
    at: Instant | None = None,
) -> Iterator[Door]:
    """A node that is made, or opened again where it is there; `at` is the time then."""
    home = folder / "node"
    operator = "" if home.exists() else make_node(home, settings=settings)
    with open_node(home) as (opened, config):
        clock = MovedClock(at or opened.clock.now())
        tools = replace(opened, passwords=quick_passwords(), clock=clock, oidc=oidc or opened.oidc)
        with TestClient(create_app(tools, config), base_url=base_url) as browser:
            yield Door(tools=tools, clock=clock, browser=browser, operator=operator)
