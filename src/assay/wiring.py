"""Wiring: the only place that knows both ports and adapters, and the only reader of the environment.

folder + assay.toml + environment -> Config -> adapters -> Tools
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from assay.adapters.absent_key import AbsentKey
from assay.adapters.argon2_password import Argon2Passwords
from assay.adapters.clock import OsEntropy, SystemClock
from assay.adapters.folder_memory import FolderMemory
from assay.adapters.keyfile import create_key_file, load_key_file
from assay.adapters.node_folder import StagedFolder
from assay.adapters.sqlite.database import SqliteDatabase
from assay.config import Config, parse_config
from assay.flows.found_node import found_node
from assay.flows.resume_ledger import resume_ledger
from assay.flows.tools import Tools
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import parse_tenant_id
from assay.kernel.instant import Instant
from assay.kernel.key import parse_anchors, parse_public_key
from assay.ports.database import Database
from assay.ports.signer import Signer
from assay.ports.witness import Witness

__all__ = [
    "CONFIG_FILE",
    "HOME_VARIABLE",
    "KEY_NAMES",
    "DatabaseInUseError",
    "FolderInUseError",
    "NoNodeError",
    "create_signer",
    "init_node",
    "load_config",
    "load_signer",
    "open_database",
    "open_for_restore",
    "open_node",
]

CONFIG_FILE = "assay.toml"
HOME_VARIABLE = "ASSAY_HOME"
KEY_NAMES = ("ledger", "review", "transcript")
_PIN_VARIABLE = "ASSAY_PKCS11_PIN"
_PASSPHRASE_VARIABLE = "ASSAY_KEY_PASSPHRASE"  # noqa: S105 - the name of a variable, not a secret


class NoNodeError(Error):
    """A folder is not one that `assay init` made."""

    code = "config.no_node"
    blame = Blame.USAGE


class FolderInUseError(Error):
    """A new node needs a folder of its own."""

    code = "config.folder_in_use"
    blame = Blame.USAGE


class DatabaseInUseError(Error):
    """A new node needs a database of its own: a second founding would put foreign keys into a chain."""

    code = "config.database_in_use"
    blame = Blame.USAGE


def init_node(folder: Path, *, tenant: str = "default", origin: str | None = None, database: str | None = None) -> None:
    """Make a folder into a node: keys of its own, a configuration, a database, and the first ledger entries."""
    tenant_id = parse_tenant_id(tenant)
    if folder.exists() and any(folder.iterdir()):
        raise FolderInUseError(f"expected an empty or new folder, got `{folder}`")
    # Beside its place first: a node that could not be founded whole leaves no folder that looks like one.
    with StagedFolder(folder) as staged:
        (staged.path / "keys").mkdir(mode=0o700)
        ledger_key = create_key_file(staged.path / "keys" / "ledger.key")
        create_key_file(staged.path / "keys" / "review.key")
        create_key_file(staged.path / "keys" / "transcript.key")
        # Without a name of the operator's choice the log is named by its first key: unique, and promising nothing.
        name = origin or f"assay-{ledger_key.key_id.removeprefix('sha256:')[:16]}"
        staged.put(CONFIG_FILE, _config_text(name, tenant, database or "sqlite:assay.db").encode())
        with open_node(staged.path) as (tools, _):
            if tools.database.read(lambda unit: unit.ledger.tenants()):
                raise DatabaseInUseError("expected a database without a ledger, got one that belongs to another node")
            found_node(tools, tenant_id, at=tools.clock.now())
        staged.publish()


@contextmanager
def open_node(folder: Path, *, writable: bool = True) -> Iterator[tuple[Tools, Config]]:
    """Everything a flow needs; when writable, only after the database was seen to continue what was signed."""
    config = load_config(folder)
    clock = SystemClock()
    # Keys first: a node that cannot sign must not take the writer's place.
    signers = {name: load_signer(folder, config, name) for name in KEY_NAMES}
    database = open_database(folder, config, at=clock.now(), writable=writable)
    try:
        tools = _tools(folder, config, database, signers)
        if writable:
            resume_ledger(tools)
        yield tools, config
    finally:
        database.close()


@contextmanager
def open_for_restore(folder: Path) -> Iterator[Tools]:
    """A folder whose ledger is still to be loaded, and whose keys may come later: nothing here can sign."""
    config = load_config(folder, environment={})
    signers = {name: AbsentKey(name) for name in KEY_NAMES}
    database = open_database(folder, config, at=SystemClock().now(), writable=True)
    try:
        yield _tools(folder, config, database, signers)
    finally:
        database.close()


def _tools(folder: Path, config: Config, database: Database, signers: Mapping[str, Signer]) -> Tools:
    return Tools(
        database=database,
        clock=SystemClock(),
        entropy=OsEntropy(),
        ledger_signer=signers["ledger"],
        review_signer=signers["review"],
        transcript_signer=signers["transcript"],
        checkpoints=FolderMemory(folder / "checkpoints"),
        marks=FolderMemory(folder / "marks"),
        passwords=Argon2Passwords(),
        anchors=parse_anchors(config.trust.anchors),
        origin=config.node.origin,
        witnesses=_witnesses(config),
        witness_threshold=config.witness_threshold,
    )


def load_config(folder: Path, environment: Mapping[str, str] = os.environ) -> Config:
    try:
        text = (folder / CONFIG_FILE).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NoNodeError(f"`{folder}` is not a node: make one with `assay init {folder}`") from error
    return parse_config(text, environment)


def load_signer(folder: Path, config: Config, name: str, environment: Mapping[str, str] = os.environ) -> Signer:
    """A key by its role: from its file, or from the token that holds it."""
    place: str = getattr(config.keys, name)
    if place.startswith("pkcs11:"):
        return _token_signer(place.removeprefix("pkcs11:"), config, environment)
    return load_key_file(folder / place, passphrase=environment.get(_PASSPHRASE_VARIABLE))


def create_signer(path: Path, environment: Mapping[str, str] = os.environ) -> Signer:
    """A new key in a new file, under the passphrase that the node's keys have, if they have one."""
    return create_key_file(path, passphrase=environment.get(_PASSPHRASE_VARIABLE))


def open_database(folder: Path, config: Config, *, at: Instant, writable: bool) -> Database:
    url = config.database.url
    if url.startswith("sqlite:"):
        return SqliteDatabase(folder / url.removeprefix("sqlite:"), at=at, writable=writable)
    from assay.adapters.postgres.database import PostgresDatabase  # noqa: PLC0415 - an extra, loaded when chosen

    return PostgresDatabase(url, at=at, writable=writable)


def _token_signer(place: str, config: Config, environment: Mapping[str, str]) -> Signer:
    from assay.adapters.kms.pkcs11 import Pkcs11Token  # noqa: PLC0415 - an extra, loaded when chosen

    token_label, _, key_label = place.partition("/")
    module = Path(config.keys.pkcs11_module or "")
    token = Pkcs11Token.open(module, token_label=token_label, pin=environment.get(_PIN_VARIABLE, ""))
    return token.get_signer(key_label)


def _witnesses(config: Config) -> tuple[Witness, ...]:
    if not config.witnesses:
        return ()
    from assay.adapters.witness_client import HttpWitness  # noqa: PLC0415 - only a node with witnesses pays for HTTP

    return tuple(
        HttpWitness(name=one.name, url=one.url, public_key=parse_public_key(one.public_key)) for one in config.witnesses
    )


def _config_text(origin: str, tenant: str, database: str) -> str:
    return f"""# The configuration of one Assay node. Unknown keys are refused.

[node]
origin = "{origin}"     # checkpoints are signed as origin/tenant
tenant = "{tenant}"

[database]
url = "{database}"      # sqlite:FILE, or postgresql://…

[keys]
ledger = "keys/ledger.key"
review = "keys/review.key"
transcript = "keys/transcript.key"

[trust]
anchors = []            # public keys or key ids you trust; nobody is trusted by default

[http]
host = "127.0.0.1"
port = 4585
"""
