"""Wiring: the only place that knows both ports and adapters, and the only reader of the environment.

folder + assay.toml + environment -> Config -> adapters -> Tools
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import asdict
from msgspec.structs import replace as structs_replace

from assay.adapters.absent_key import AbsentKey
from assay.adapters.argon2_password import Argon2Passwords
from assay.adapters.checkpoint_folder import CheckpointFolder
from assay.adapters.clock import OsEntropy, SystemClock
from assay.adapters.folder_memory import FolderMemory
from assay.adapters.key_places import TOKEN_PREFIX, KeyPlaces
from assay.adapters.node_folder import StagedFolder
from assay.adapters.sqlite.database import SqliteDatabase
from assay.adapters.weight_folder import WeightFolder
from assay.claims.guardian import BuiltInGuardian
from assay.config import Config, JudgeName, PluginName, ReasonerName, RuntimeVersion, parse_config
from assay.delivery.answerer import Answerer
from assay.delivery.federate import Agreement
from assay.delivery.plugin import Plugin, PluginCard
from assay.delivery.rule import parse_rule_id
from assay.delivery.trigger import BatchRule, TriggerRule
from assay.flows.answerers import Answerers
from assay.flows.attest_sovereignty import check_node_sovereignty, require_own_weights
from assay.flows.delivery_settings import DeliverySettings
from assay.flows.errors import SovereigntyError
from assay.flows.export_pairs import captured_pairs
from assay.flows.found_node import found_node
from assay.flows.own_keys import verify_own_keys
from assay.flows.peer_agreement import find_agreement
from assay.flows.proxy_answer import ProxyAnswerer
from assay.flows.resume_ledger import resume_ledger
from assay.flows.ski_settings import UNKNOWN_COMMIT, SkiSettings
from assay.flows.tools import Tools
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import KeyId, parse_key_id, parse_tenant_id
from assay.kernel.instant import Instant
from assay.kernel.json_text import JsonValue, parse_json
from assay.kernel.key import KeyPurpose, parse_anchors, parse_public_key
from assay.ports.database import Database
from assay.ports.plugin import PluginPost
from assay.ports.signer import Signer
from assay.ports.witness import Witness
from assay.verdicts.graph.open import SovereigntyMode
from assay.verdicts.sovereignty import SovereigntyFinding, may_start
from assay.verdicts.telemetry import SkewLimits

if TYPE_CHECKING:  # what only a node with machines pays for
    from assay.adapters.inference.bounded import BoundedModel
    from assay.adapters.reasoning.judge import JudgeWeights
    from assay.claims.estimate.equivalence import EquivalenceJudge
    from assay.claims.guardian import Guardian
    from assay.flows.gate_claims import Estimator
    from assay.ports.egress import EgressGuard
    from assay.ports.measured_boot import MeasuredBoot
    from assay.ports.model import Model
    from assay.ports.reasoner import KeptReasoners, LocalReasoner, ScoringReasoner
    from assay.ports.validator import Engines

__all__ = [
    "CONFIG_FILE",
    "HOME_VARIABLE",
    "KEY_NAMES",
    "DatabaseInUseError",
    "Evaluation",
    "FolderInUseError",
    "Models",
    "NoAnswerersError",
    "NoNodeError",
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
]

CONFIG_FILE = "assay.toml"
HOME_VARIABLE = "ASSAY_HOME"
_BUILD_FILE = "_build.json"
_LEVEL_OF_RECEIPTS = 3
KEY_NAMES = ("ledger", "review", "transcript", "truth")
_DATABASE_VARIABLE = "ASSAY_DATABASE_URL"
_MODEL_TOKEN_VARIABLE = "ASSAY_MODEL_TOKEN"  # noqa: S105 - the name of a variable, not a secret
_PEER_TOKEN_PREFIX = "ASSAY_PEER_TOKEN_"  # noqa: S105 - the beginning of a name, not a secret
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


class NoAnswerersError(Error):
    """What the configuration names as a table of answerers is none."""

    code = "config.answerers"
    blame = Blame.USAGE


class TokenChoice(NamedTuple):
    """The token a new node's keys are made on."""

    module: str
    label: str


class Models(NamedTuple):
    """The general model, if there is one, and the engines that can judge observations."""

    general: "Model | None"
    engines: "Engines"


class Evaluation(NamedTuple):
    """A node that can judge telemetry, and what was found of its sovereignty."""

    tools: Tools
    findings: tuple[SovereigntyFinding, ...]


def init_node(
    folder: Path,
    *,
    tenant: str = "default",
    origin: str | None = None,
    database: str | None = None,
    token: TokenChoice | None = None,
) -> None:
    """Make a folder into a node: keys of its own, a configuration, a database, and the first ledger entries."""
    tenant_id = parse_tenant_id(tenant)
    if folder.exists() and any(folder.iterdir()):
        raise FolderInUseError(f"expected an empty or new folder, got `{folder}`")
    # Beside its place first: a node that could not be founded whole leaves no folder that looks like one.
    with StagedFolder(folder) as staged:
        (staged.path / "keys").mkdir(mode=0o700)
        places = _new_places(token)
        with _key_places(staged.path, token.module if token else None, os.environ) as keys:
            founder = {name: keys.create(places[name]).key_id for name in KEY_NAMES}["ledger"]
        # Without a name of the operator's choice the log is named by its first key: unique, and promising nothing.
        name = origin or f"assay-{founder.removeprefix('sha256:')[:16]}"
        text = _config_text(name, founder, tenant, database or "sqlite:assay.db", places, token)
        staged.put(CONFIG_FILE, text.encode())
        with _opened(staged.path, writable=True) as (tools, _, _):
            if tools.database.read(lambda unit: unit.ledger.tenants()):
                raise DatabaseInUseError("expected a database without a ledger, got one that belongs to another node")
            found_node(tools, tenant_id, at=tools.clock.now())
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
        yield tools, config


@contextmanager
def _opened(
    folder: Path, *, writable: bool, keys: KeyPlaces | None = None, address: str | None = None
) -> Iterator[tuple[Tools, Config, KeyPlaces]]:
    config = load_config(folder, os.environ if address is None else {**os.environ, _DATABASE_VARIABLE: address})
    with ExitStack() as stack:
        opened = keys or stack.enter_context(open_keys(folder, config))
        # Keys first: a node that cannot sign must not take the writer's place.
        signers = {name: opened.load(place) for name, place in config.keys.places().items()}
        database = open_database(folder, config, at=SystemClock().now(), writable=writable)
        stack.callback(database.close)
        yield _tools(folder, config, database, signers), config, opened


def _finder(config: Config, keys: KeyPlaces) -> Callable[[KeyPurpose, KeyId], str | None]:
    return lambda purpose, key_id: keys.find_place(config.keys.places()[purpose], key_id)


@contextmanager
def open_for_restore(folder: Path) -> Iterator[Tools]:
    """A folder whose ledger is still to be loaded, and whose keys may come later: nothing here can sign."""
    config = load_config(folder, environment={})
    signers = {name: AbsentKey(name) for name in config.keys.places()}
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
        truth_signer=signers.get("truth"),
        checkpoints=CheckpointFolder(folder / "checkpoints"),
        marks=FolderMemory(folder / "marks"),
        passwords=Argon2Passwords(),
        founder=parse_key_id(config.node.founder),
        anchors=parse_anchors(config.trust.anchors),
        origin=config.node.origin,
        witnesses=_witnesses(config),
        witness_threshold=config.witness_threshold,
        ski=_ski_settings(config),
        delivery=_delivery_settings(config, database),
        domain_systems=config.truth.domains,
        reporter_skew=timedelta(seconds=config.truth.clock_ahead_seconds),
        clock_skew=timedelta(seconds=config.truth.clock_behind_seconds),
        guardians=_guardians(config),
        weights=_weight_folder(folder),
    )


def load_config(folder: Path, environment: Mapping[str, str] = os.environ) -> Config:
    try:
        text = (folder / CONFIG_FILE).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NoNodeError(f"`{folder}` is not a node: make one with `assay init {folder}`") from error
    return parse_config(text, environment)


def open_keys(folder: Path, config: Config, environment: Mapping[str, str] = os.environ) -> KeyPlaces:
    """The places of the node's keys, with the secrets that open them; close it, or use it in a `with`."""
    return _key_places(folder, config.keys.pkcs11_module, environment)


def _key_places(folder: Path, module: str | None, environment: Mapping[str, str]) -> KeyPlaces:
    pin, passphrase = environment.get(_PIN_VARIABLE, ""), environment.get(_PASSPHRASE_VARIABLE)
    return KeyPlaces(folder, module=module, pin=pin, passphrase=passphrase)


def _new_places(token: TokenChoice | None) -> dict[str, str]:
    if token is None:
        return {name: f"keys/{name}.key" for name in KEY_NAMES}
    # Several nodes may share a token, and an earlier attempt may have left keys there.
    stem = f"assay-{OsEntropy().token(4).hex()}"
    return {name: f"{TOKEN_PREFIX}{token.label}/{stem}-{name}" for name in KEY_NAMES}


def open_database(folder: Path, config: Config, *, at: Instant, writable: bool) -> Database:
    url = config.database.url
    if url.startswith("sqlite:"):
        return SqliteDatabase(folder / url.removeprefix("sqlite:"), at=at, writable=writable)
    from assay.adapters.postgres.database import PostgresDatabase  # noqa: PLC0415 - an extra, loaded when chosen

    return PostgresDatabase(url, at=at, writable=writable)


@contextmanager
def open_models(folder: Path, config: Config, environment: Mapping[str, str] = os.environ) -> Iterator[Models]:
    """Only what the operator named; a server of our own starts with the first question and ends here."""
    from assay.adapters.validators.engines import NamedEngines  # noqa: PLC0415 - only who asks a machine pays for it
    from assay.adapters.validators.model_generalist import ModelGeneralist  # noqa: PLC0415
    from assay.adapters.validators.rules import RuleValidator  # noqa: PLC0415

    with ExitStack() as stack:
        general = None if config.models.general is None else stack.enter_context(_general(folder, config, environment))
        readers = () if general is None else (ModelGeneralist(general, name=name) for name in config.models.engines)
        yield Models(general, NamedEngines((RuleValidator(), *readers)))


def _guardians(config: Config) -> "tuple[Guardian, ...]":
    """The built-in one always; an operator's own beside it."""
    if config.claims.guardian_url is None:
        return (BuiltInGuardian(),)
    from assay.adapters.judging.endpoint import EndpointGuardian  # noqa: PLC0415 - an HTTP client comes with it

    local, seconds = config.models.deployment_local, float(config.claims.endpoint_seconds)
    return (BuiltInGuardian(), EndpointGuardian(config.claims.guardian_url, deployment_local=local, seconds=seconds))


def open_judge(config: Config, model: "Model | None") -> "EquivalenceJudge":
    """Who compares sampled answers, always behind the rules that veto; the rules themselves unless one is named."""
    from assay.claims.estimate.equivalence import RuleJudge, VetoedJudge  # noqa: PLC0415 - only who estimates pays

    # A configuration that names the model as the judge has one.
    if config.claims.judge is JudgeName.MODEL and model is not None:
        from assay.adapters.judging.model_judge import ModelJudge  # noqa: PLC0415

        return VetoedJudge(ModelJudge(model))
    if config.claims.judge_url is not None:
        from assay.adapters.judging.endpoint import EndpointJudge  # noqa: PLC0415

        local, seconds = config.models.deployment_local, float(config.claims.endpoint_seconds)
        return VetoedJudge(EndpointJudge(config.claims.judge_url, deployment_local=local, seconds=seconds))
    return RuleJudge()


def open_estimator(config: Config, model: "Model | None") -> "Estimator | None":
    """How gates ask this node's own model about a claim, by semantic entropy; None where there is no model."""
    from assay.claims.bundle import UncertaintyMethod  # noqa: PLC0415 - only who estimates pays
    from assay.claims.estimate.estimate import Estimate  # noqa: PLC0415
    from assay.flows.estimate_uncertainty import estimate_uncertainty  # noqa: PLC0415

    if model is None:
        return None
    judge = open_judge(config, model)

    def estimator(question: str) -> Estimate:
        return estimate_uncertainty(model, question, UncertaintyMethod.SEMANTIC_ENTROPY, judge=judge)

    return estimator


def _general(folder: Path, config: Config, environment: Mapping[str, str]) -> "BoundedModel":
    from assay.adapters.inference.choose import ModelChoice, open_model  # noqa: PLC0415 - an HTTP client comes with it

    chosen = {} if config.models.general is None else asdict(config.models.general)
    weights = chosen.get("weights")
    return open_model(
        ModelChoice(
            **chosen | {"weights": None if weights is None else folder / weights},
            deployment_local=config.models.deployment_local,
            token=environment.get(_MODEL_TOKEN_VARIABLE),
        )
    )


@contextmanager
def open_evaluation(
    folder: Path,
    config: Config,
    tools: Tools,
    environment: Mapping[str, str] = os.environ,
    *,
    judge: "JudgeWeights | None" = None,
    may_wait: bool = False,
) -> Iterator["Evaluation"]:
    """The node with its model and its egress guard; `judge` are the judge's weights where not those in use.

    Strict mode refuses to begin where a check of SKI 6.2 is unmet, and tells of all; advisory mode begins, and whoever
    asked logs each unmet one as a warning (SKI 6.1). A node with the reasoner `none` has nothing to refuse, and one
    that `may_wait` begins with what else it does: each record is refused for as long as a check is unmet.
    """
    with ExitStack() as stack:
        guarded = replace(tools, guard=_guard(config), boot=_measured_boot(config), kept=_kept_judges(folder, tools))
        if config.ski.reasoner is ReasonerName.JUDGE:
            weights = judge or _judge_in_use(folder, config, tools)
            settings = _with_registered(tools.ski, weights)
            guarded = replace(guarded, ski=settings, reasoner=_judge(stack, weights, tools))
        else:
            guarded = replace(guarded, reasoner=_reasoner(stack, folder, config, tools, environment))
        findings = check_node_sovereignty(guarded)
        is_asked = guarded.reasoner is not None and not may_wait
        if is_asked and config.ski.reasoner is ReasonerName.JUDGE:
            require_own_weights(guarded)
        if is_asked and not may_start(findings, config.ski.sovereignty):
            raise SovereigntyError(findings)
        yield Evaluation(guarded, findings)


def open_scorer(
    weights: Path | None = None, *, folder: Path | None = None, named: Digest | None = None
) -> "ScoringReasoner":
    """The judge in this very process, to check receipts with: any weights of its kind, or the shipped ones.

    `folder` is a node's: where its registry keeps the weights that are `named`, it is they that check.
    """
    from assay.adapters.inference.weights import hash_weights  # noqa: PLC0415 - only who checks a receipt pays for it
    from assay.adapters.reasoning.judge import JudgeReasoner, JudgeWeights, shipped_weights  # noqa: PLC0415
    from assay.adapters.reasoning.judge_here import JudgeHere  # noqa: PLC0415

    if weights is None and folder is not None and named is not None:
        kept = _weight_folder(folder).path_of(named)
        weights = kept if kept.is_file() else None
    # Whose weights they are is for the receipt to say: here they are named by their own bytes.
    chosen = shipped_weights() if weights is None else JudgeWeights(file=weights, expected=hash_weights(weights))
    return JudgeReasoner(JudgeHere(chosen), SystemClock())


def _judge_in_use(folder: Path, config: Config, tools: Tools) -> "JudgeWeights":
    """What people put into use for the node's tenant, else what it was founded with or judged by: no other bytes load.

    The card beside the shipped file is no witness for it: whoever changes one can change the other.
    """
    from assay.adapters.reasoning.judge import JudgeWeights, shipped_weights  # noqa: PLC0415 - only who evaluates
    from assay.flows.known_weights import find_known_weights  # noqa: PLC0415

    tenant_id, shipped = parse_tenant_id(config.node.tenant), shipped_weights()
    pinned = None if config.node.judge is None else parse_digest(config.node.judge)
    known = find_known_weights(tools, tenant_id, pinned=pinned)
    if known is None or known == shipped.expected:
        return shipped
    kept = _weight_folder(folder).path_of(known)
    return JudgeWeights(file=kept if kept.is_file() else shipped.file, expected=known)


def load_judge_weights(folder: Path, config: Config, tools: Tools) -> Digest:
    """The hash of the judge's weights, read and found to be those that are to judge; else `model.weights`."""
    from assay.adapters.reasoning.judge import load_weights  # noqa: PLC0415 - only who asks pays for it

    weights = _judge_in_use(folder, config, tools)
    load_weights(weights)
    return weights.expected


def _kept_judges(folder: Path, tools: Tools) -> "KeptReasoners":
    from assay.adapters.reasoning.judge_kept import KeptJudges  # noqa: PLC0415 - only who evaluates pays for it

    return KeptJudges(_weight_folder(folder).path_of, tools.clock)


def _weight_folder(folder: Path) -> WeightFolder:
    return WeightFolder(folder / "models")


def _judge(stack: ExitStack, weights: "JudgeWeights", tools: Tools) -> "LocalReasoner":
    """In a process of its own, which starts with the first question and ends with the stack."""
    from assay.adapters.reasoning.judge import JudgeReasoner  # noqa: PLC0415 - only who evaluates pays for it
    from assay.adapters.reasoning.judge_process import JudgeProcess  # noqa: PLC0415

    reasoner = JudgeReasoner(JudgeProcess(weights), tools.clock)
    stack.callback(reasoner.close)
    return reasoner


def _with_registered(settings: SkiSettings, judge: "JudgeWeights") -> SkiSettings:
    """The judge's own hash is the registry of an operator who named none; one who named some meant these alone."""
    return settings if settings.weights else structs_replace(settings, weights=(judge.expected,))


def _guard(config: Config) -> "EgressGuard":
    from assay.adapters.egress.guard import ProcessEgressGuard  # noqa: PLC0415 - it changes the process's sockets
    from assay.adapters.egress.perimeter import Perimeter  # noqa: PLC0415

    local = (*config.models.deployment_local, *config.ski.deployment_local)
    return ProcessEgressGuard(Perimeter(local), is_strict=config.ski.sovereignty is SovereigntyMode.STRICT)


def _measured_boot(config: Config) -> "MeasuredBoot | None":
    if config.ski.tpm is None:
        return None
    from assay.adapters.tpm import TpmMeasuredBoot  # noqa: PLC0415 - only a node with a TPM pays for it

    return TpmMeasuredBoot(config.ski.tpm, register=config.ski.tpm_register)


def _reasoner(
    stack: ExitStack, folder: Path, config: Config, tools: Tools, environment: Mapping[str, str]
) -> "LocalReasoner | None":
    from assay.adapters.egress.places import place_of_model  # noqa: PLC0415 - only who evaluates pays for it
    from assay.adapters.reasoning.general import GeneralReasoner  # noqa: PLC0415
    from assay.adapters.reasoning.scripted import RecordedReplies, ScriptedReasoner, load_replies  # noqa: PLC0415

    if config.ski.reasoner is ReasonerName.SCRIPTED:
        replies = RecordedReplies(load_replies(folder / (config.ski.replies or "")))
        return ScriptedReasoner(replies, tools.clock, weight_hash=replies.weight_hash)
    if config.ski.reasoner is not ReasonerName.GENERAL or config.models.general is None:
        return None
    model = stack.enter_context(_general(folder, config, environment))
    place = place_of_model(config.models.general.url)
    return GeneralReasoner(model, tools.clock, place=place, is_exact=config.ski.exact_model)


def _ski_settings(config: Config) -> SkiSettings:
    from assay.adapters.egress.places import place_of_database  # noqa: PLC0415 - together with the rest of egress

    ski, build = config.ski, _build_facts()
    return SkiSettings(
        mode=ski.sovereignty,
        is_v2=ski.runtime_version is RuntimeVersion.V2,
        # SKI 9.3: a verdict without a model has no receipt.
        fast_path_n=0 if ski.level == _LEVEL_OF_RECEIPTS else ski.fast_path_n,
        requires_receipt=ski.level == _LEVEL_OF_RECEIPTS,
        agreement_window=ski.agreement_window,
        agreement_threshold=Decimal(str(ski.agreement_threshold)),
        keep_seconds=ski.retention_seconds,
        skew=SkewLimits(ahead_seconds=ski.ahead_seconds, behind_seconds=ski.behind_seconds),
        decoder_seed=ski.decoder_seed,
        max_tokens=ski.max_tokens,
        attest_seconds=ski.attest_seconds,
        token_seconds=ski.token_seconds,
        require_review=ski.require_review,
        weights=tuple(parse_digest(one) for one in ski.weights),
        is_backend_tagged=ski.custom_backend,
        ledger_place=place_of_database(config.database.url),
        evaluation_egress=ski.evaluation_egress,
        deployment_local=(*config.models.deployment_local, *ski.deployment_local),
        egress_channels=tuple(f"witness {one.name} {one.url}" for one in config.witnesses),
        codebase_commit=str(build.get("commit", UNKNOWN_COMMIT)),
        build_provenance=build.get("provenance"),
    )


def _delivery_settings(config: Config, database: Database) -> DeliverySettings:
    given = config.delivery
    batching = None
    if given.batch_seconds:
        batching = BatchRule(window_seconds=given.batch_seconds, min_sessions=given.batch_sessions)
    settings = DeliverySettings(
        service=given.service,
        trigger=TriggerRule(threshold=given.rca_threshold, comparison=given.rca_comparison, batching=batching),
        proof_threshold_pct=given.proof_threshold_pct,
        strand_seconds=given.strand_seconds,
        answer_seconds=given.answer_seconds,
        pair_batch=given.pair_batch,
        answerers={**_answerers(given.answerers), **_peers(config, database)},
    )
    if given.plugin is PluginName.HTTP and given.plugin_url is not None:
        from assay.adapters.plugins.http import HttpPlugin  # noqa: PLC0415 - only who chose it pays

        local = config.models.deployment_local
        return _with_plugin(
            settings, config, HttpPlugin(given.plugin_url, seconds=given.plugin_seconds, deployment_local=local)
        )
    if given.plugin is not PluginName.NEAREST_CASE:
        return settings
    from assay.adapters.plugins.nearest_case import NearestCasePlugin  # noqa: PLC0415 - only who chose it pays

    tenant_id = parse_tenant_id(config.node.tenant)
    return _with_plugin(settings, config, NearestCasePlugin(lambda: captured_pairs(database, tenant_id)))


def _peers(config: Config, database: Database) -> dict[str, Answerer]:
    """Other organisations as answerers, each by its agreement; a token for one is in ASSAY_PEER_TOKEN_ and its name."""
    if not config.delivery.peers:
        return {}
    from assay.adapters.service_client import HttpServiceClient  # noqa: PLC0415 - only a node with peers pays

    tenant_id = parse_tenant_id(config.node.tenant)
    connect = partial(HttpServiceClient, timeout=config.delivery.answer_seconds)

    def agreed(peer: str) -> Agreement:
        found = database.read(lambda unit: find_agreement(unit, tenant_id, peer))
        return Agreement(peer=peer) if found is None else found

    return {
        f"peer:{one.name}": ProxyAnswerer(
            connect,
            one.url,
            partial(agreed, one.name),
            token=os.environ.get(f"{_PEER_TOKEN_PREFIX}{one.name.upper().replace('-', '_')}"),
        )
        for one in config.delivery.peers
    }


def plug_model(tools: Tools, config: Config, model: "Model | None") -> Tools:
    """The node with its own model as the plugin that looks at failing rules, where the operator chose that."""
    if model is None or config.delivery.plugin is not PluginName.LOCAL_MODEL:
        return tools
    from assay.adapters.plugins.local_model import LocalModelPlugin  # noqa: PLC0415 - only who chose it pays

    return replace(tools, delivery=_with_plugin(tools.delivery, config, LocalModelPlugin(model)))


def _with_plugin(settings: DeliverySettings, config: Config, plugin: Plugin) -> DeliverySettings:
    """The settings with this plugin in the scope that the operator gave it."""
    given = config.delivery
    card = PluginCard(
        plugin_id=str(given.plugin), model_version="1", rule_ids=tuple(parse_rule_id(one) for one in given.plugin_rules)
    )
    return replace(settings, plugin=PluginPost(card=card, plugin=plugin, seconds=given.plugin_seconds))


def _answerers(names: tuple[str, ...]) -> Mapping[str, Answerer]:
    """The tables that the operator named, in one; a name in two of them is refused."""
    merged = Answerers()
    for name in names:
        module, _, attribute = name.partition(":")
        try:
            table = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise NoAnswerersError(f"expected a table of answerers at `{name}`: {error}") from error
        if not isinstance(table, Answerers):
            raise NoAnswerersError(f"expected a table of answerers at `{name}`, got {type(table).__name__}")
        for slug, answerer in table.freeze().items():
            merged.add(slug, answerer)
    return merged.freeze()


def _build_facts() -> dict[str, JsonValue]:
    """What the build left beside the code: its commit and its provenance statement; nothing where it was not built."""
    try:
        text = (files("assay") / _BUILD_FILE).read_bytes()
    except FileNotFoundError:
        return {}
    facts = parse_json(text)
    return facts if isinstance(facts, dict) else {}


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
    module = f'pkcs11_module = "{token.module}"\n' if token else ""
    return f"""# The configuration of one Assay node. Unknown keys are refused.

[node]
origin = "{origin}"     # checkpoints are signed as origin/tenant
founder = "{founder}"  # the root of the node's own keys; never change it
judge = "{_shipped_judge()}"    # the weights that judge until people put others into use
tenant = "{tenant}"

[database]
url = "{database}"      # sqlite:FILE, or postgresql://…

[keys]
ledger = "{places["ledger"]}"
review = "{places["review"]}"
transcript = "{places["transcript"]}"
truth = "{places["truth"]}"
{module}
[trust]
anchors = []            # public keys or key ids you trust; nobody is trusted by default

[http]
host = "127.0.0.1"
port = 4585
"""
