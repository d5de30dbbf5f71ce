"""A page printed to PDF by a Chromium that is installed: headless, without network, in a profile of its own."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from assay.kernel.errors import Blame, Code, Error

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_SECONDS = 120
_FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-sync",
    "--no-first-run",
    "--no-pdf-header-footer",
    "--hide-scrollbars",
    # Whatever a page names, nothing is looked up anywhere.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
_MAGIC = b"%PDF-"


class PrintError(Error):
    """The browser did not print the page."""

    code = "pdf.failed"
    blame = Blame.OURS
    no_browser = Code("pdf.no_browser", "No Chromium is installed, so nothing can be printed.", Blame.USAGE)


def find_browser() -> str:
    """The browser to print with; `pdf.no_browser` says what to install."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise PrintError.no_browser(f"expected one of {', '.join(_NAMES)} to print with, got none (Debian: chromium)")
    return found


def print_pdf(page: str, *, browser: str | None = None) -> bytes:
    """The page as PDF."""
    program = browser or find_browser()
    with tempfile.TemporaryDirectory(prefix="assay-print-") as name:
        folder = Path(name)
        source, target = folder / "page.html", folder / "page.pdf"
        source.write_text(page, encoding="utf-8")
        # Chromium's sandbox refuses to run as root.
        flags = (*_FLAGS, "--no-sandbox") if os.geteuid() == 0 else _FLAGS
        command = [
            program,
            *flags,
            f"--user-data-dir={folder / 'profile'}",
            f"--print-to-pdf={target}",
            source.as_uri(),
        ]
        _run(command)
        content = target.read_bytes() if target.exists() else b""
    if not content.startswith(_MAGIC):
        raise PrintError(f"expected a PDF from `{program}`, got {len(content)} bytes of something else")
    return content


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)  # noqa: S603 - our own arguments
    except subprocess.TimeoutExpired as error:
        raise PrintError(f"expected `{command[0]}` to print within {_SECONDS} s, got nothing") from error
    except (subprocess.CalledProcessError, OSError) as error:
        raise PrintError(f"`{command[0]}` failed to print: {str(error)[:200]}") from error
