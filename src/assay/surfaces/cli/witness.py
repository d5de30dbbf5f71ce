"""`assay witness`: cosign the checkpoints of other nodes, each only if it continues the last one."""

import os
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.kernel.errors import Blame, Error
from assay.surfaces.cli.output import Call, Command, Group

if TYPE_CHECKING:
    # Only for the types: a command pays for these when it runs.
    from assay.adapters.witness_state import WitnessLog
    from assay.kernel.note import VerifierKey
    from assay.surfaces.http.witness import WitnessDesk

# The curve's base point, in place of a key that is not made yet.
_ANY_KEY = b"\x58" + b"\x66" * 31
_FOLDER = click.Path(path_type=Path, file_okay=False)


class OriginMissingError(Error):
    """A key alone does not say which log it belongs to; give `--origin`."""

    code = "witness.origin"
    blame = Blame.USAGE


@click.group(cls=Group)
def witness() -> None:
    """Cosign the checkpoints of other nodes, each only if it continues the last one."""


@witness.command(cls=Command)
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.option("--name", required=True, help="The name in cosignatures, such as witness.example.org/w1.")
@click.pass_obj
def init(call: Call, folder: Path, name: str) -> None:
    """Make a witness in DIR: a key of its own and an empty memory. Prints the key to give to the nodes."""
    from assay.adapters.keyfile import create_key_file
    from assay.adapters.witness_state import WitnessState
    from assay.kernel.cosignature import witness_key
    from assay.surfaces.http.witness import WITNESS_KEY_FILE, WITNESS_STATE_FILE

    witness_key(name, _ANY_KEY)  # a name that no cosignature could carry is refused before anything is made
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The key first: it is never overwritten, so an existing witness is refused here with nothing changed.
    create_key_file(folder / WITNESS_KEY_FILE)
    WitnessState.create(folder / WITNESS_STATE_FILE, name=name).close()
    with closing(_Open(folder)) as opened:
        _answer(call, opened.desk)


@witness.command(cls=Command)
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.argument("key", metavar="VKEY|FILE")
@click.option("--origin", help="The log's origin, the first line of its checkpoints; else the name in the VKEY.")
@click.pass_obj
def trust(call: Call, folder: Path, key: str, origin: str | None) -> None:
    """Cosign for the log that signs with this key; a running witness knows it at once."""
    from assay.adapters.witness_state import WitnessState
    from assay.surfaces.http.witness import WITNESS_STATE_FILE

    file = Path(key)
    text = file.read_text(encoding="utf-8") if len(key) < os.pathconf("/", "PC_PATH_MAX") and file.is_file() else key
    found = _log_key(text.strip(), origin)
    with closing(WitnessState(folder / WITNESS_STATE_FILE)) as state:
        state.trust(origin or found.name, found)
        logs = state.logs()
    call.answer([_shown(log) for log in logs], _listed(logs))


@witness.command(cls=Command)
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.pass_obj
def show(call: Call, folder: Path) -> None:
    """The witness's name and key, the logs it knows, and what it cosigned last of each."""
    with closing(_Open(folder)) as opened:
        _answer(call, opened.desk)


@witness.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=4586, show_default=True, help="0: the system chooses.")
@click.pass_obj
def serve(call: Call, host: str, port: int) -> None:
    """Answer `POST /add-checkpoint` (C2SP tlog-witness) until SIGTERM or Ctrl-C; `--home` is the witness's folder."""
    from assay.surfaces.http.logs import log_as_json
    from assay.surfaces.http.serve import address_of, listen, serve_app, stop_on_signals
    from assay.surfaces.http.witness import create_witness_app

    with stop_on_signals(), closing(_Open(call.home)) as opened, closing(listen(host, port)) as bound:
        log_as_json()
        url = address_of(bound)
        app = create_witness_app(opened.desk)
        serve_app(app, bound, ready=lambda: call.answer_one_of_many({"url": url}, url))


class _Open:
    """An open witness that can be closed."""

    def __init__(self, folder: Path) -> None:
        from assay.adapters.clock import SystemClock
        from assay.surfaces.http.witness import open_witness

        self.desk = open_witness(folder, SystemClock())

    def close(self) -> None:
        self.desk.state.close()


def _answer(call: Call, desk: "WitnessDesk") -> None:
    from assay.kernel.cosignature import witness_key
    from assay.kernel.note import render_verifier_key

    public_key = desk.signer.public_key
    assert public_key is not None  # noqa: S101 - a key file is always Ed25519
    vkey, logs = render_verifier_key(witness_key(desk.state.name, public_key)), desk.state.logs()
    value = {
        "name": desk.state.name,
        "public_key": public_key.hex(),
        "vkey": vkey,
        "logs": [_shown(log) for log in logs],
    }
    call.answer(
        value, f"name        {desk.state.name}\npublic key  {public_key.hex()}\nvkey        {vkey}\n{_listed(logs)}"
    )


def _log_key(text: str, origin: str | None) -> "VerifierKey":
    """The key of a log: a verifier key says its name, any other form needs the origin."""
    from assay.kernel.checkpoint import log_key
    from assay.kernel.errors import CheckpointError
    from assay.kernel.key import parse_public_key
    from assay.kernel.note import parse_verifier_key

    public_key = parse_public_key(text)
    # Base64 may hold a `+` too, so the only way to know a verifier key is to read one.
    with suppress(CheckpointError):
        return parse_verifier_key(text)
    if origin is None:
        raise OriginMissingError("expected `--origin` beside a key that does not name its log")
    return log_key(origin, public_key)


def _shown(log: "WitnessLog") -> dict[str, Any]:
    from assay.kernel.note import render_verifier_key

    return {
        "origin": log.origin,
        "keys": [render_verifier_key(key) for key in log.keys],
        "size": log.known.size if log.known else None,
        "root": log.known.root.hex() if log.known else None,
    }


def _listed(logs: "tuple[WitnessLog, ...]") -> str:
    sizes = {log.origin: str(log.known.size) if log.known else "nothing yet" for log in logs}
    return "\n".join(f"log         {origin}  cosigned: {size}" for origin, size in sizes.items()) or "no logs yet"
