"""What is no ASGI application is refused when it is attached, and not by the first request."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from wsgiref.simple_server import demo_app

import pytest

import assay
from tests.contract._kit import refused
from tests.registry.codex import codex


class Handler:
    """An application of the form that Flask and Django have: an object that is called with two arguments."""

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        start_response("204 No Content", [("X-Method", environ["REQUEST_METHOD"])])
        return []


@pytest.mark.parametrize("app", [demo_app, Handler()], ids=["function", "object"])
def test_a_wsgi_application_is_refused_with_what_to_do(app: object, tmp_path: Path) -> None:
    """Before anything is opened: no file is made beside the codex."""
    (tmp_path / "codex.json").write_bytes(codex())
    with refused("registry.not_asgi"):
        assay.attach(app, tmp_path / "codex.json")
    assert [one.name for one in tmp_path.iterdir()] == ["codex.json"]


def test_its_asgi_form_is_taken(tmp_path: Path) -> None:
    async def bridged(_scope: Any, _receive: Any, _send: Any) -> None:  # noqa: ANN401 - of ASGI
        """What a bridge makes of it."""

    (tmp_path / "codex.json").write_bytes(codex())
    assert assay.attach(bridged, tmp_path / "codex.json") is not None
