"""Manifests for tests: the protocol's own example, and one with actions."""

import json
from pathlib import Path
from typing import Any

from assay.registry.manifest import Manifest
from assay.registry.open_manifest import open_manifest

__all__ = ["PORTWATCH", "codex", "make_manifest"]

PORTWATCH = (Path(__file__).parents[1] / "vectors" / "registry" / "codex_portwatch.json").read_bytes()
_ACTIONS: dict[str, Any] = {
    "ALERT_ACK": {
        "tier": 2,
        "needs": ["ALERT_ACK", "WRITE"],
        "description": "acknowledge an alert",
        "rollback": {"method": "manual", "description": "reopen the alert in the log"},
    },
    "MOVEMENT_AUTHORITY": {
        "tier": 3,
        "needs": 4,
        "restricted": "a harbour master's decision",
        "rollback": {"method": "manual", "description": "call the vessel"},
    },
    "vessel.cpa-alert": {"description": "closest point of approach"},
}


def codex(**changes: Any) -> bytes:  # noqa: ANN401  any member of the document
    """The protocol's example with actions; a change to None leaves the member out."""
    document = {**json.loads(PORTWATCH), "actions": _ACTIONS, **changes}
    return json.dumps({name: value for name, value in document.items() if value is not None}).encode()


def make_manifest(**changes: Any) -> Manifest:  # noqa: ANN401  any member of the document
    return open_manifest(codex(**changes)).manifest
