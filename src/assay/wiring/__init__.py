"""Wiring: the only place that knows both ports and adapters, and the only reader of the environment.

folder + assay.toml + environment -> Config -> adapters -> Tools
May import: config, adapters, flows and everything below. Must not import: node, surfaces.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from assay.adapters.absent_key import AbsentKey
from assay.adapters.argon2_password import Argon2Passwords
from assay.adapters.checkpoint_folder import CheckpointFolder
from assay.adapters.clock import OsEntropy, SystemClock
from assay.adapters.credential_seal import AbsentSeal, introduce_seal, load_old, make_seal
from assay.adapters.folder_memory import FolderMemory
from assay.adapters.key_places import TOKEN_PREFIX, KeyPlaces
from assay.adapters.keyfile import KeyFileMissingError
from assay.adapters.latch_file import LatchFile
from assay.adapters.learn_types import learn_types
from assay.adapters.node_folder import StagedFolder
from assay.adapters.process_pool import ProcessPools
from assay.adapters.service_notice import send_notice
from assay.adapters.sqlite.database import SqliteDatabase
from assay.config import BadConfigError, Config, parse_config
from assay.facts.table import PROJECTOR
from assay.flows.delivery.bring_rules import bring_rules
from assay.flows.ledger.found_node import found_node
from assay.flows.ledger.own_keys import verify_own_keys
from assay.flows.ledger.resume_ledger import resume_ledger
from assay.flows.ledger.witness_standing import GuardedDatabase
from assay.flows.permits.mandate_settings import MandateSettings
from assay.flows.registry.switch_facts import SwitchTier
from assay.flows.review.desk_settings import DeskSettings
from assay.flows.tools import Tools
from assay.identity.problem import Problem
from assay.kernel.digest import Digest
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import KeyId, parse_key_id, parse_principal_id, parse_tenant_id
from assay.kernel.instant import Instant
from assay.kernel.key import KeyPurpose, parse_anchors, parse_public_key
from assay.ports.credential_seal import CredentialSeal
from assay.ports.damage import DamageLog
from assay.ports.database import Database, Unit
from assay.ports.signer import Signer
from assay.ports.witness import Witness
from assay.ports.witness_standing import WitnessStanding
from assay.review.kind import TicketKind
from assay.wiring._delivery import (
    NoAnswerersError,
    NoStrandCheckError,
    delivery_settings,
    plug_model,
    plug_trainer,
)
from assay.wiring._evaluation import (
    Evaluation,
    load_judge_weights,
    open_evaluation,
    open_scorer,
    ski_settings,
    weight_folder,
)
from assay.wiring._models import Models, open_estimator, open_guardians, open_judge, open_models
from assay.wiring._oidc import ClientSecretError, oidc_settings

__all__ = [
    "CONFIG_FILE",
    "KEY_NAMES",
    "ClientSecretError",
    "DatabaseInUseError",
    "Evaluation",
    "FolderInUseError",
    "Models",
    "NoAnswerersError",
    "NoNodeError",
    "NoStrandCheckError",
    "TokenChoice",
    "init_node",
    "load_config",
    "load_judge_weights",
    "open_database",
    "open_estimator",
    "open_evaluation",
    "open_for_restore",
    "open_judge",
    "open_keys",
    "open_models",
    "open_node",
    "open_scorer",
    "plug_model",
    "tell_supervisor",
]
CONFIG_FILE = "assay.toml"
KEY_NAMES = ("ledger", "review", "transcript", "truth")
# Where the key of the MACs over credentials is, unless the configuration says otherwise.
CREDENTIALS_PLACE = "keys/credentials.key"
T = TypeVar("T")
_DATABASE_VARIABLE = "ASSAY_DATABASE_URL"
_PIN_VARIABLE = "ASSAY_PKCS11_PIN"
_PASSPHRASE_VARIABLE = "ASSAY_KEY_PASSPHRASE"  # noqa: S105 - the name of a variable, not a secret
_VARIABLE = "NOTIFY_SOCKET"


def desk_settings(config: Config) -> DeskSettings:
    review = config.review
    return DeskSettings(
        lease=timedelta(seconds=review.lease_seconds),
        longest_lease=timedelta(seconds=review.longest_lease_seconds),
        escalate_before=timedelta(seconds=review.escalate_before_seconds),
        escalate_roles=review.escalate_roles,
        escalate_persons=tuple(parse_principal_id(one) for one in review.escalate_persons),
        grace={TicketKind(kind): timedelta(seconds=seconds) for kind, seconds in review.grace_seconds.items()},
        bulk_grace=timedelta(seconds=review.bulk_grace_seconds),
    )


def mandate_settings(config: Config) -> MandateSettings:
    mandates = config.mandates
    return MandateSettings(
        single_count=mandates.single_count,
        single_span=timedelta(days=mandates.single_days),
        single_budget=mandates.single_budget,
    )


def tell_supervisor(text: str) -> None:
    """Tell systemd `READY=1` and such, where it started us with `Type=notify`; else tell nobody."""
    send_notice(os.environ.get(_VARIABLE), text)


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


class TokenChoice(NamedTuple):
    """The token a new node's keys are made on."""

    module: str
    label: str


def init_node(
    folder: Path,
    *,
    tenant: str = "default",
    origin: str | None = None,
    database: str | None = None,
    token: TokenChoice | None = None,
    at: Instant | None = None,
) -> None:
    """Make a folder into a node: keys of its own, a configuration, a database, and the first ledger entries.

    `at` is the time of these entries, for a node whose history is played; the present otherwise.
    """
    tenant_id = parse_tenant_id(tenant)
    if folder.exists() and any(folder.iterdir()):
        raise FolderInUseError(f"expected an empty or new folder, got `{folder}`")
    # Beside its place first: a node that could not be founded whole leaves no folder that looks like one.
    with StagedFolder(folder) as staged:
        (staged.path / "keys").mkdir(mode=0o700)
        places = _new_places(token)
        with _key_places(staged.path, token.module if token else None, os.environ) as keys:
            founder = {name: keys.create(places[name]).key_id for name in (*KEY_NAMES, "credentials")}["ledger"]
        # Without a name of the operator's choice the log is named by its first key: unique, and promising nothing.
        name = origin or f"assay-{founder.removeprefix('sha256:')[:16]}"
        text = _config_text(name, founder, tenant, database or "sqlite:assay.db", places, token)
        staged.put(CONFIG_FILE, text.encode())
        with _opened(staged.path, writable=True, is_new=True) as (tools, _, _):
            if tools.database.read(lambda unit: unit.ledger.tenants()):
                raise DatabaseInUseError("expected a database without a ledger, got one that belongs to another node")
            found_node(tools, tenant_id, at=at or tools.clock.now())
        staged.publish()


@contextmanager
def open_node(
    folder: Path, *, writable: bool = True, keys: KeyPlaces | None = None, database: str | None = None
) -> Iterator[tuple[Tools, Config]]:
    """Everything a flow needs. Writable means: the keys may sign, and the database continues what was signed.

    A token is opened once per process, so whoever has opened the node's keys already hands them in. `database` is an
    address to use instead of the configured one.
    """
    with _opened(folder, writable=writable, keys=keys, address=database) as (tools, config, opened):
        if writable:
            verify_own_keys(tools, at=tools.clock.now(), find_place=_finder(config, opened))
            resume_ledger(tools)
            bring_rules(tools)
        yield tools, config


@contextmanager
def _opened(
    folder: Path, *, writable: bool, is_new: bool = False, keys: KeyPlaces | None = None, address: str | None = None
) -> Iterator[tuple[Tools, Config, KeyPlaces]]:
    config = load_config(folder, os.environ if address is None else {**os.environ, _DATABASE_VARIABLE: address})
    # Before the database, which has a thread of its own.
    learn_types()
    with ExitStack() as stack:
        opened = keys or stack.enter_context(open_keys(folder, config))
        # Keys first: a node that cannot sign must not take the writer's place.
        signers = {
            name: _load_key(opened, name, place, writable=writable) for name, place in config.keys.places().items()
        }
        seal = _load_seal(folder, config, opened, writable=writable)
        database = open_database(folder, config, at=SystemClock().now(), writable=writable, is_new=is_new, seal=seal)
        stack.callback(database.close)
        yield plug_trainer(_tools(folder, config, database, signers), config, folder), config, opened


def _load_key(keys: KeyPlaces, name: str, place: str, *, writable: bool) -> Signer:
    """A folder without its keys, such as a restored backup, can be read, verified and exported: nothing there signs."""
    try:
        return keys.load(place)
    except KeyFileMissingError:
        if writable:
            raise
        return AbsentKey(name)


def _load_seal(folder: Path, config: Config, keys: KeyPlaces, *, writable: bool) -> CredentialSeal:
    place = config.keys.credentials or CREDENTIALS_PLACE
    path = folder / place
    try:
        return make_seal(keys.load(place), load_old(path))
    except KeyFileMissingError:
        if not writable:
            return AbsentSeal(place)
        if config.keys.credentials is not None:
            raise
    # Founded before there were MACs. The database is opened once without them, to make those of what it has.
    database = open_database(folder, config, at=SystemClock().now(), writable=True)
    try:
        stored = database.read(lambda unit: tuple(unit.identity.stored_credentials()))
    finally:
        database.close()
    return introduce_seal(path, lambda new: keys.create(str(new.relative_to(folder))), stored)


def _finder(config: Config, keys: KeyPlaces) -> Callable[[KeyPurpose, KeyId], str | None]:
    return lambda purpose, key_id: keys.find_place(config.keys.places()[purpose], key_id)


@contextmanager
def open_for_restore(folder: Path) -> Iterator[Tools]:
    """A folder whose ledger is still to be loaded, and whose keys may come later: nothing here can sign."""
    # Nobody logs in to a ledger that is being loaded, and the client's secret may come later as the keys do.
    config = replace(load_config(folder, environment={}), oidc=None)
    signers = {name: AbsentKey(name) for name in config.keys.places()}
    database = open_database(folder, config, at=SystemClock().now(), writable=True, is_new=True)
    try:
        yield _tools(folder, config, database, signers)
    finally:
        database.close()


def _tools(folder: Path, config: Config, opened: Database, signers: Mapping[str, Signer]) -> Tools:
    standing, damage = WitnessStanding(), DamageLog()
    database = GuardedDatabase(opened, standing, damage)
    clock, delivery = SystemClock(), delivery_settings(config, database)
    return Tools(
        database=database,
        standing=standing,
        damage=damage,
        clock=clock,
        entropy=OsEntropy(),
        pools=ProcessPools(),
        ledger_signer=signers["ledger"],
        review_signer=signers["review"],
        transcript_signer=signers["transcript"],
        truth_signer=signers.get("truth"),
        checkpoints=CheckpointFolder(folder / "checkpoints"),
        marks=FolderMemory(folder / "marks"),
        latch=LatchFile(folder / "switch.latch"),
        passwords=Argon2Passwords(),
        founder=parse_key_id(config.node.founder),
        anchors=parse_anchors(config.trust.anchors),
        origin=config.node.origin,
        witnesses=_witnesses(config),
        witness_threshold=config.witness_threshold,
        ski=ski_settings(config),
        desk=desk_settings(config),
        mandates=mandate_settings(config),
        delivery=delivery,
        tier_left=SwitchTier(database, parse_tenant_id(config.node.tenant), delivery.service, clock),
        domain_systems=config.truth.domains,
        roles=config.identity.roles,
        reporter_skew=timedelta(seconds=config.truth.clock_ahead_seconds),
        clock_skew=timedelta(seconds=config.truth.clock_behind_seconds),
        guardians=open_guardians(config),
        weights=weight_folder(folder),
        oidc=oidc_settings(folder, config, os.environ),
    )


def load_config(folder: Path, environment: Mapping[str, str] = os.environ) -> Config:
    try:
        text = (folder / CONFIG_FILE).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        told = f"`{folder}` is not a node: name one by --home or ASSAY_HOME, or make one with `assay init {folder}`"
        raise NoNodeError(told) from error
    except UnicodeDecodeError as error:
        problem = Problem(field=CONFIG_FILE, message=f"expected UTF-8, got another byte at offset {error.start}")
        raise BadConfigError((problem,)) from error
    return parse_config(text, environment)


def open_keys(folder: Path, config: Config) -> KeyPlaces:
    """The places of the node's keys, with the secrets that open them; close it, or use it in a `with`."""
    return _key_places(folder, config.keys.pkcs11_module, os.environ)


def _key_places(folder: Path, module: str | None, environment: Mapping[str, str]) -> KeyPlaces:
    pin, passphrase = environment.get(_PIN_VARIABLE, ""), environment.get(_PASSPHRASE_VARIABLE)
    return KeyPlaces(folder, module=module, pin=pin, passphrase=passphrase)


def _new_places(token: TokenChoice | None) -> dict[str, str]:
    if token is None:
        return {name: f"keys/{name}.key" for name in (*KEY_NAMES, "credentials")}
    # Several nodes may share a token, and an earlier attempt may have left keys there.
    stem = f"assay-{OsEntropy().token(4).hex()}"
    return {name: f"{TOKEN_PREFIX}{token.label}/{stem}-{name}" for name in (*KEY_NAMES, "credentials")}


def open_database(
    folder: Path,
    config: Config,
    *,
    at: Instant,
    writable: bool,
    is_new: bool = False,
    seal: CredentialSeal | None = None,
) -> Database:
    url = config.database.url
    if url.startswith("sqlite:"):
        path = folder / url.removeprefix("sqlite:")
        return SqliteDatabase(path, PROJECTOR, at=at, writable=writable, seal=seal, must_exist=not is_new)
    from assay.adapters.postgres.database import PostgresDatabase  # noqa: PLC0415 - an extra, loaded when chosen

    return PostgresDatabase(url, PROJECTOR, at=at, writable=writable, seal=seal)


class FolderReader(NamedTuple):
    """Implements `flows.ledger.audit_parts.Reader` for a worker process, which opens the database for itself."""

    folder: Path

    def read(self, work: Callable[[Unit], T]) -> T:
        config = load_config(self.folder)
        with open_keys(self.folder, config) as keys:
            seal = _load_seal(self.folder, config, keys, writable=False)
            database = open_database(self.folder, config, at=SystemClock().now(), writable=False, seal=seal)
            try:
                return database.read(work)
            finally:
                database.close()


def _witnesses(config: Config) -> tuple[Witness, ...]:
    if not config.witnesses:
        return ()
    from assay.adapters.witness_client import HttpWitness  # noqa: PLC0415 - only a node with witnesses pays for HTTP

    return tuple(
        HttpWitness(name=one.name, url=one.url, public_key=parse_public_key(one.public_key)) for one in config.witnesses
    )


def _shipped_judge() -> Digest:
    from assay.model.card import parse_card  # noqa: PLC0415 - only who makes a node pays for it

    return parse_card((files("assay.model") / "weights" / "judge.json").read_bytes()).weight_hash


def _config_text(
    origin: str, founder: str, tenant: str, database: str, places: Mapping[str, str], token: TokenChoice | None
) -> str:
    # A text in JSON is one in TOML too; without this a backslash in a path would be read as the sign after it.
    said = json.dumps
    module = f"pkcs11_module = {said(token.module)}\n" if token else ""
    return f"""# The configuration of one Assay node. Unknown keys are refused.

[node]
origin = {said(origin)}     # checkpoints are signed as origin/tenant
founder = "{founder}"  # the root of the node's own keys; never change it
judge = "{_shipped_judge()}"    # the weights that judge until people put others into use
tenant = "{tenant}"

[database]
url = {said(database)}      # sqlite:FILE, or postgresql://…

[keys]
ledger = {said(places["ledger"])}
review = {said(places["review"])}
transcript = {said(places["transcript"])}
truth = {said(places["truth"])}
credentials = {said(places["credentials"])}
{module}
[trust]
anchors = []            # public keys or key ids you trust; nobody is trusted by default

[http]
host = "127.0.0.1"
port = 4585
"""
