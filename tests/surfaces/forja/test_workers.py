"""Two workers in processes of their own share one switch, and killing them does not open it."""

from pathlib import Path

import httpx
import pytest

from tests.registry.codex import codex
from tests.surfaces.forja._served import free_port, kill, serve, wait_for

_SERVICE = """
import sys, uvicorn, assay
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

async def ping(request):
    return PlainTextResponse("pong")

async def broken(request):
    return PlainTextResponse("no", status_code=500)

app = Starlette(routes=[Route("/ping", ping), Route("/break", broken)])
assay.attach(app, sys.argv[1])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error")
"""
_SENSE = "/api/v2/forja/sense"


def _is_fired(root: str) -> bool:
    sense = httpx.get(root + _SENSE, timeout=10)
    assert sense.status_code == 200
    security = sense.json()["security"]
    return bool(security["kill_switch_active"]) and security["current_trust_tier"] == 1


@pytest.mark.clause("forja", "kill-switch")
def test_a_switch_that_one_worker_fired_holds_for_the_other_and_across_sigkill(tmp_path: Path) -> None:
    (tmp_path / "codex.json").write_bytes(codex())
    arguments = [(str(tmp_path / "codex.json"), str(free_port())) for _ in range(2)]
    roots = [f"http://127.0.0.1:{port}" for _, port in arguments]
    with (
        serve(_SERVICE, *arguments[0], ready=roots[0] + "/ping") as first,
        serve(_SERVICE, *arguments[1], ready=roots[1] + "/ping") as second,
        httpx.Client() as client,
    ):
        for _ in range(60):
            client.get(roots[0] + "/break")
        assert _is_fired(roots[0])
        wait_for(lambda: _is_fired(roots[1]), "the other worker never saw the firing")
        kill(first)
        kill(second)
    with serve(_SERVICE, *arguments[0], ready=roots[0] + "/ping"):
        assert _is_fired(roots[0])


@pytest.mark.clause("forja", "kill-switch")
def test_failures_that_no_worker_sees_enough_of_fire_together(tmp_path: Path) -> None:
    """Thirty requests each are below the fifty that it takes; sixty together are not."""
    (tmp_path / "codex.json").write_bytes(codex())
    arguments = [(str(tmp_path / "codex.json"), str(free_port())) for _ in range(2)]
    roots = [f"http://127.0.0.1:{port}" for _, port in arguments]
    with (
        serve(_SERVICE, *arguments[0], ready=roots[0] + "/ping"),
        serve(_SERVICE, *arguments[1], ready=roots[1] + "/ping"),
        httpx.Client() as client,
    ):
        for _ in range(30):
            client.get(roots[0] + "/break")
            client.get(roots[1] + "/break")
        for root in roots:
            wait_for(lambda root=root: _is_fired(root), f"{root} never fired")  # type: ignore[misc]  # bound at once
