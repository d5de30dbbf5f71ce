"""Real servers in processes of their own, on loopback, with a port the system chose."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.flows.tools import Tools
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId, TenantId
from assay.wiring import init_node, open_node
from tests.acting import add_principal, issue_api_key
from tests.waiting import until

__all__ = ["ACME", "ADMIN", "Served", "issue", "make_node", "run_cli", "serving"]

ACME = TenantId("acme")
ADMIN = PrincipalId("user:admin")
_SOURCE = Path(__file__).resolve().parents[3] / "src"
_MODULE = "assay.surfaces.cli"


@dataclass
class Served:
    """A running server."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)


@contextmanager
def serving(*arguments: str, folder: Path, module: str = _MODULE) -> Iterator[Served]:
    """Run `assay …` until it says its address; whatever happens, it does not outlive the test."""
    number = len(list(folder.glob("*.out")))
    out, log = folder / f"{number}.out", folder / f"{number}.log"
    with out.open("wb") as stdout, log.open("wb") as stderr:
        process = subprocess.Popen(
            _command(*arguments, "--json", module=module), stdout=stdout, stderr=stderr, env=_environment()
        )
    try:
        until(lambda: out.read_bytes().endswith(b"\n") or process.poll() is not None, seconds=60, what="the first line")
        assert process.poll() is None, log.read_text()
        yield Served(process, json.loads(out.read_text().splitlines()[0])["url"], log)
    finally:
        process.kill()
        process.wait(60)


def run_cli(*arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        _command(*arguments), input=stdin, capture_output=True, text=True, check=False, timeout=120, env=_environment()
    )


def make_node(home: Path, *, settings: str = "", database: str | None = None) -> str:
    """A node of tenant `acme` with one operator, whose API key is returned; `settings` go to the end of assay.toml."""
    init_node(home, tenant=ACME, origin="example.org/assay", database=database)
    with open_node(home) as (tools, _):
        key = issue(tools, "svc:writer", roles=("operator",))
    with (home / "assay.toml").open("a", encoding="utf-8") as file:
        file.write(settings)
    return key


def issue(
    tools: Tools,
    name: str,
    *,
    roles: tuple[str, ...] = (),
    tenant: TenantId = ACME,
    scopes: tuple[str, ...] = ("*",),
) -> str:
    """Add a service and give it an API key."""
    principal, at = PrincipalId(name), tools.clock.now()
    granted = PrincipalChange(roles=roles)
    add_principal(tools, tenant, principal, kind=PrincipalKind.SERVICE, name=name, granted=granted, by=ADMIN, at=at)
    return issue_api_key(tools, tenant, principal, scopes=scopes, by=ADMIN, at=tools.clock.now())[0]


def _command(*arguments: str, module: str = _MODULE) -> list[str]:
    return [sys.executable, "-m", module, *arguments]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(_SOURCE), str(_SOURCE.parent)])}
