"""One browser and one scene for each file of tests; each test has a context of its own, with nothing remembered."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from assay.surfaces.console.session import PREFIX
from assay.surfaces.http.cookies import SESSION_COOKIE
from tests.browser._scene import Scene, Served, opened_scene

# Debian's own; as root it has no sandbox, and nothing is asked of the network.
_BROWSER = "/usr/bin/chromium"
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# A busy machine is slow; what never happens is told after this.
_PATIENCE_MS = 30_000
# Runs before any script of the page; what hostile text calls is `pwned`.
_REPORT = """
window.faults = [];
window.pwned = () => window.faults.push("pwned");
document.addEventListener("securitypolicyviolation", (event) =>
  window.faults.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with opened_scene(Path(tmp_path_factory.mktemp("scene"))) as opened:
        yield opened


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # Not for the session: while it runs, no other test of this worker could start a loop of its own.
    expect.set_options(timeout=_PATIENCE_MS)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=_BROWSER, args=_FLAGS)
        yield started
        started.close()


@pytest.fixture
def context(browser: Browser, scene: Served) -> Iterator[BrowserContext]:
    """Every page of it reports what its policy forbade and what a hostile text ran."""
    made = browser.new_context(base_url=scene.url, viewport={"width": 1280, "height": 900})
    made.set_default_timeout(_PATIENCE_MS)
    made.add_init_script(_REPORT)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture
def signed_in(page: Page, scene: Served) -> Callable[[str], Page]:
    """The page of a person, at the overview; how people really sign in has tests of its own."""

    def sign_in(person: str) -> Page:
        page.context.add_cookies(
            [{"name": SESSION_COOKIE, "value": scene.session(person), "domain": "127.0.0.1", "path": "/"}]
        )
        page.goto(f"{PREFIX}/")
        return page

    return sign_in
