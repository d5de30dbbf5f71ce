"""What it takes to know what 200 services can do: the registry's index beside equivalent MCP tool schemas.

A capability is one entry of `can_answer` or `can_do` here, and one tool with a name, a description and the schema of
its input there: the least that `tools/list` asks for. Bytes are of compact JSON. Tokens are those of o200k_base,
counted by npm's gpt-tokenizer, whose tables are in its package; without npm there is no such row.
"""

import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import msgspec

from assay.registry.action import Action
from assay.registry.discover import entry_of
from assay.registry.fleet import FleetSnapshot
from assay.registry.manifest import Manifest
from assay.registry.open_manifest import open_manifest
from bench._frame import Aim, Figure, load, print_table

__all__ = ["figures"]

_SERVICES = 200
_SAID_BYTES = 800
_PACKAGE = "gpt-tokenizer"
_COUNT = """
const { encode } = require(process.argv[1] + "/package/cjs/encoding/o200k_base.js");
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(texts.map(text => encode(text).length)));
"""


def figures() -> list[Figure]:
    manifests = [_manifest(number) for number in range(_SERVICES)]
    index = FleetSnapshot(revision=1, services=tuple(entry_of(one, tier=3) for one in manifests))
    ours = msgspec.json.encode(index).decode()
    theirs = json.dumps([_tool(one, action) for one in manifests for action in one.actions], separators=(",", ":"))
    cpu = time.process_time()
    bytes_row = Figure(
        name="index of 200 services, bytes for each",
        ours=len(ours) / _SERVICES,
        peer=len(theirs) / _SERVICES,
        peer_name="MCP tool schemas",
        unit="bytes",
        ratio=len(ours) / _SERVICES / _SAID_BYTES,
        target=1.0,
        cpu_seconds=time.process_time() - cpu,
        load=load(),
        aim=Aim.AT_MOST,
        note=f"of the {_SAID_BYTES} that the protocol names",
    )
    return [bytes_row, *_token_row(ours, theirs)]


def _token_row(ours: str, theirs: str) -> list[Figure]:
    """Of the index as a model would read it; a client that asks `who_can` reads none of it."""
    counted = _count_tokens([ours, theirs])
    if counted is None:
        return []
    mine, schemas = counted
    return [
        Figure(
            name="index of 200 services, tokens if a model read it",
            ours=mine,
            peer=schemas,
            peer_name="MCP tool schemas",
            unit="tokens",
            ratio=mine / schemas,
            target=0.5,
            cpu_seconds=0.0,
            load=load(),
            aim=Aim.AT_MOST,
            note="who_can reads none",
        )
    ]


def _count_tokens(texts: list[str]) -> list[int] | None:
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run([npm, "pack", "--silent", _PACKAGE], cwd=folder, check=False, capture_output=True)
        archive = next(Path(folder).glob("*.tgz"), None)
        if packed.returncode != 0 or archive is None:
            return None
        shutil.unpack_archive(archive, folder, filter="data")
        counted = subprocess.run([node, "-e", _COUNT, folder], input=json.dumps(texts).encode(), check=True, stdout=-1)
    found: list[int] = json.loads(counted.stdout)
    return found


def _manifest(number: int) -> Manifest:
    """As many capabilities as the protocol's own example has: three queries and three actions."""
    document = {
        "service": f"port-{number}-backend",
        "port": 4080,
        "domain": "maritime-port",
        "version": "1.2.0",
        "can_answer": ["vessel.ukc-status", "vessel.cpa-alert", "berth.availability"],
        "can_do": ["MOVEMENT_AUTHORITY", "ALERT_ACK", "BERTH_ASSIGN"],
        "capability_mask": ["READ", "WRITE", "ALERT_ACK", "PORT_OPS"],
    }
    return open_manifest(json.dumps(document).encode()).manifest


def _tool(manifest: Manifest, action: Action) -> dict[str, object]:
    words = action.id.replace(".", " ").replace("_", " ").lower()
    return {
        "name": f"{manifest.service}_{action.id}".replace(".", "_"),
        "description": f"{words} at {manifest.service}",
        "inputSchema": {
            "type": "object",
            "properties": {
                "subject": {"type": "string", "description": f"what {words} is about"},
                "parameters": {"type": "object", "description": "further parameters"},
            },
            "required": ["subject"],
        },
    }


if __name__ == "__main__":
    print_table(figures())
