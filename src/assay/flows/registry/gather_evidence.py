"""Fetch what a service says of itself, as anybody could: without any credential."""

from assay.kernel.conformance import Fetched
from assay.ports.service_client import ServiceClient
from assay.registry.conform import Evidence
from assay.registry.errors import InvalidManifestError
from assay.registry.manifest import DEFAULT_PREFIX, Manifest
from assay.registry.open_manifest import open_manifest


def fetch_documents(client: ServiceClient, base_url: str) -> Evidence:
    """Fetch a service's documents; `codex.json` says where they are, and without a good one the protocol does."""
    root = base_url.rstrip("/")
    codex = client.request("GET", f"{root}/codex.json")
    manifest = manifest_of(codex)

    def fetch(name: str) -> Fetched | None:
        path = f"{DEFAULT_PREFIX}/{name}" if manifest is None else getattr(manifest, f"forja_{name}")
        return client.request("GET", root + path)

    return Evidence(codex=codex, state=fetch("state"), trust=fetch("trust"), sense=fetch("sense"), proof=fetch("proof"))


def manifest_of(codex: Fetched | None) -> Manifest | None:
    if codex is None:
        return None
    try:
        return open_manifest(codex.content).manifest
    except InvalidManifestError:
        return None
