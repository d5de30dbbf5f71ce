"""A real identity provider on loopback: npm's `oidc-provider`, in a process of its own."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

import httpx

__all__ = ["CLIENT_SECRET", "IdentityProvider", "providing"]

CLIENT_SECRET = "the secret of the client: 100% +/&"  # of no use to anybody
_ROOT = Path(__file__).resolve().parents[1]
_MODULES = _ROOT / ".cache" / "oidc"
_MOST_STEPS = 12


@dataclass
class IdentityProvider:
    issuer: str

    def log_in(self, url: str, account: str, *, back_at: str) -> str:
        """Follow the provider's pages as a browser would, to the address that it sends the browser back to."""
        with httpx.Client(headers={"x-account": account}) as browser:
            for _ in range(_MOST_STEPS):
                answer = browser.get(url)
                assert answer.is_redirect, answer.text
                url = urljoin(url, answer.headers["location"])
                if url.startswith(back_at):
                    return url
        raise AssertionError(f"no way back within {_MOST_STEPS} steps")


@contextmanager
def providing(redirect_url: str) -> Iterator[IdentityProvider]:
    """It does not outlive the test."""
    subprocess.run(["make", "-s", ".cache/stamps/oidc"], cwd=_ROOT, check=True, timeout=300)
    command = ["node", str(_ROOT / "tests" / "oidc" / "provider.mjs"), str(_MODULES), redirect_url, CLIENT_SECRET]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            issuer = process.stdout.readline().strip()
            assert issuer.startswith("http://127.0.0.1:"), issuer
            yield IdentityProvider(issuer)
        finally:
            process.kill()
