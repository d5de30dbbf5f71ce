"""A served node with an agent and a person who approves, on either database, for tests of guarded tools."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import assay
from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.identity.risk import RiskTier
from tests.postgres_cluster import PostgresCluster
from tests.surfaces import guarded_child
from tests.surfaces.http.served import Served, make_node, run_cli, serving

_ROOT = Path(__file__).resolve().parents[2]
_PASSWORD = "a long password\n"


@dataclass
class House:
    """A served node with an agent and a person who approves."""

    home: Path
    served: Served
    key: str
    session: str
    agent: assay.Client
    name: str
    operator: str

    @property
    def client(self) -> assay.Client:
        return self.agent

    def guard(self, run: str, **settings: Any) -> assay.Guard:  # noqa: ANN401 - fields of a guard
        return assay.guard(self.agent, agent=self.name, run=run, **settings)

    def tickets(self) -> list[dict[str, Any]]:
        done = run_cli("--home", str(self.home), "review", "list", "--json", "--session", self.session)
        assert done.returncode == 0, done.stderr
        return [item["ticket"] for item in json.loads(done.stdout)["items"]]

    def approve(self, ticket: str, choice: str = "approve") -> None:
        (seen,) = [one["shown_hash"] for one in self.tickets() if one["id"] == ticket]
        arguments = ("review", "answer", ticket, choice, "--seen", seen, "--reason", "looked at it")
        done = run_cli("--home", str(self.home), *arguments, "--session", self.session)
        assert done.returncode == 0, done.stderr

    def child(self, run: str, file: Path, at: str = "-", tier: str = "MODIFY") -> str:
        return self.start(guarded_child.__file__, self.served.url, self.key, run, str(file), tier, at)[1]

    def start(self, *arguments: str) -> tuple[int, str]:
        """Run a Python program with the agent's key; it ends, or kills itself."""
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, "ASSAY_CREDENTIAL": self.key, "PYTHONPATH": f"{_ROOT}{os.pathsep}{_ROOT / 'src'}"},
        )
        assert done.returncode in (0, 1, -9), done.stderr
        assert done.stdout or done.returncode == -9, done.stderr
        return done.returncode, done.stdout.strip()


@contextmanager
def open_house(folder: Path, *, agent: str = "ai:clerk", cluster: PostgresCluster | None = None) -> Iterator[House]:
    home = folder / "node"
    database = None
    if cluster is not None:
        name = cluster.create_database()
        provision(cluster.dsn(name), at=SystemClock().now())
        database = cluster.dsn(name, "assay_app")
    operator = make_node(home, settings="[delivery]\nsweep_seconds = 1\n", database=database)

    def run(*arguments: str, stdin: str = "") -> str:
        done = run_cli("--home", str(home), *arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    with serving("--home", str(home), "serve", "--port", "0", folder=folder) as served:
        run("principal", "add", agent, "--kind", "agent", "--risk-ceiling", RiskTier.DELETE)
        roles = ("--role", "ops_team", "--role", "reviewer")
        run("principal", "add", "user:otto", "--kind", "person", *roles, "--password-stdin", stdin=_PASSWORD)
        key = run("principal", "key", "issue", agent)
        session = run("principal", "login", "user:otto", "--password-stdin", stdin=_PASSWORD)
        with assay.Client(served.url, key=key) as client:
            yield House(home, served, key, session, client, agent, operator)
