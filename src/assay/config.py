"""Configuration: one frozen value, read once by wiring from `assay.toml` and the environment.

Unknown keys fail, defaults are the strict choice, and a bad file is refused with every problem it has.
"""

import copy
import re
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from ipaddress import ip_network
from typing import Any

from msgspec import Struct, ValidationError, convert

from assay.delivery.trigger import Comparison
from assay.identity.problem import Problem, names_problems, parse_problems, render_problems, when
from assay.kernel.digest import parse_digest
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import parse_key_id, parse_principal_id, parse_tenant_id
from assay.kernel.key import parse_anchor, parse_public_key
from assay.ports.model import BackendName
from assay.review.kind import KIND_RULES
from assay.truth.key import DOMAIN_SYSTEMS, SpatialSystem
from assay.verdicts.graph.open import SovereigntyMode

__all__ = [
    "ENVIRONMENT",
    "BadConfigError",
    "ClaimsConfig",
    "Config",
    "DatabaseConfig",
    "DeliveryConfig",
    "GeneralModelConfig",
    "HttpConfig",
    "JudgeName",
    "KeyConfig",
    "ModelsConfig",
    "NodeConfig",
    "OidcConfig",
    "PeerConfig",
    "PluginName",
    "ReasonerName",
    "RegistryConfig",
    "ReviewConfig",
    "RuntimeVersion",
    "SkiConfig",
    "StrandConfig",
    "TrainerName",
    "TrustConfig",
    "TruthConfig",
    "WitnessConfig",
    "parse_config",
]

_HIGHEST_PORT = 65535
_NO_NODE: Mapping[str, str] = {"origin": "any", "founder": "any"}
_UNKNOWN_KEY = re.compile(r"Object contains unknown field `(.*)`")
_MISSING_KEY = re.compile(r"Object missing required field `(.*)`")
_DOMAIN = re.compile(r"[a-z0-9_-]+", re.ASCII)
# Nothing but a new boot resets these, and the firmware leaves them alone.
_FIRST_REGISTER, _LAST_REGISTER = 8, 15
_SERVICE = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}", re.ASCII)
_TABLE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", re.ASCII)
_LARGEST_BODY = 16 * 1024 * 1024
_LONGEST_DRAIN = 300
_WEB_ADDRESS = re.compile(r"https?://[^\s/?#@]+(?:/[^\s?#]*)?", re.ASCII)
# Signatures that only the provider can make; HMAC and `none` are not among them.
_SAFE_ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA"}
)
# No wildcard: whoever may send a person's credentials along is named.
_WEB_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::[0-9]{1,5})?", re.ASCII)


class BadConfigError(Error):
    """The configuration cannot be used; the message lists every problem."""

    code = "config.refused"
    blame = Blame.USAGE

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(render_problems(problems))
        self.problems = problems


class NodeConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who this node is: checkpoints of a tenant are signed as `origin/tenant`.

    `founder` is the id of the key that `assay init` made first: what it vouches for is the node's own.
    A running server signs one every `checkpoint_seconds` when there are new entries, settles overdue tickets every
    `review_sweep_seconds`, has machines judge new observations every `score_seconds`, compiles keys with new records
    every `compile_seconds`, and those whose window or validity ended every `truth_sweep_seconds`; 0 means only when
    asked.
    `judge` is the hash of the weights that judge until people put others into use; `assay init` writes that of those
    which are shipped, so that a file which comes into their place later, with whatever card, is refused.
    """

    origin: str
    founder: str
    judge: str | None = None
    tenant: str = "default"
    checkpoint_seconds: int = 60
    review_sweep_seconds: int = 30
    score_seconds: int = 5
    compile_seconds: int = 10
    truth_sweep_seconds: int = 60


class DatabaseConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`sqlite:FILE` (relative to the folder) or `postgresql://…`."""

    url: str = "sqlite:assay.db"


class KeyConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where each private key is: a file (relative to the folder), or `pkcs11:TOKEN/KEY` with the module beside it.

    `truth` may also be a shared secret, `hmac:FILE`: its states are `local_hmac`, which only its holders can verify.
    A node that was founded before it could compile truth has no `truth` key until one is added.
    """

    ledger: str = "keys/ledger.key"
    review: str = "keys/review.key"
    transcript: str = "keys/transcript.key"
    truth: str | None = None
    pkcs11_module: str | None = None

    def places(self) -> dict[str, str]:
        """The place of each key that there is, by what it signs."""
        named = {"ledger": self.ledger, "review": self.review, "transcript": self.transcript, "truth": self.truth}
        return {name: place for name, place in named.items() if place is not None}


class TrustConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The operator's trust anchors: public keys, verifier keys or key ids. None means nobody is trusted."""

    anchors: tuple[str, ...] = ()


class WitnessConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A witness that cosigns our checkpoints."""

    name: str
    url: str
    public_key: str


class HttpConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Loopback, small bodies and guarded metrics unless the operator says otherwise.

    `max_stream_bytes` is for a body of many lines, each of which is a record of its own. A principal may ask
    `rate_requests` times in `rate_seconds`; 0 requests means as often as it likes. Pages of other origins may ask only
    where `cors_origins` names them, each as a browser says it. `drain_seconds` is how long a server that was told to
    end goes on answering while `/readyz` says no, so that whoever balances the load hears of it.
    `public_url` is where browsers and agents reach the node, when something stands before it: `https://host`. Cookies
    are then for that scheme, and requests are signed for that address. `trusted_proxies` are the addresses or networks
    whose `X-Forwarded-For` is believed; without any, that of this machine is where there is a `public_url`.
    """

    host: str = "127.0.0.1"
    port: int = 4585
    max_body_bytes: int = 1024 * 1024
    max_stream_bytes: int = _LARGEST_BODY
    open_metrics: bool = False
    rate_requests: int = 60_000
    rate_seconds: int = 60
    cors_origins: tuple[str, ...] = ()
    drain_seconds: int = 0
    public_url: str | None = None
    trusted_proxies: tuple[str, ...] = ()


class GeneralModelConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A general language model: weights for a llama.cpp server of our own, or a server's `url` and its `model`.

    `weights` is a file, or a folder for another's server (relative to the node's folder); `weights_hash` pins them.
    """

    backend: BackendName
    model: str | None = None
    url: str | None = None
    weights: str | None = None
    weights_hash: str | None = None
    context_tokens: int = 4096
    threads: int = 0
    timeout_seconds: int = 120
    queue: int = 16


class ModelsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """None unless the operator names one. `engines` are the names in contracts under which the general model judges.

    `deployment_local` are addresses off this machine that belong to the deployment, each exactly as `url` says it.
    """

    general: GeneralModelConfig | None = None
    engines: tuple[str, ...] = ("local-model",)
    deployment_local: tuple[str, ...] = ()


class TruthConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`domains` beyond Kaori's four, each with the spatial system of its keys: h3, healpix or meta.

    `clock_ahead_seconds` is how far a reporter's clock may be ahead of ours, `clock_behind_seconds` how far ours may be
    behind the newest entry while observations and signals are taken in; either from 0 to a day.
    """

    domains: dict[str, str] = {}
    clock_ahead_seconds: int = 300
    clock_behind_seconds: int = 300


class JudgeName(StrEnum):
    """Who says that two sampled answers mean the same: rules, or behind them the general model or an address."""

    RULES = "rules"
    MODEL = "model"
    ENDPOINT = "endpoint"


class ClaimsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Claims. `guardian_url` is an operator's own guardian, asked beside the built-in one; when it is silent, bundles
    are deferred. `judge_url` is that of the judge `endpoint`. Addresses are on this machine or in
    `models.deployment_local`; each is given `endpoint_seconds` to answer.
    """

    guardian_url: str | None = None
    judge: JudgeName = JudgeName.RULES
    judge_url: str | None = None
    endpoint_seconds: int = 10


class ReasonerName(StrEnum):
    """Who judges telemetry: the judge that comes with the package, the general model, replies that were recorded
    before (for demonstrations), or nobody.
    """

    JUDGE = "judge"
    GENERAL = "general"
    SCRIPTED = "scripted"
    NONE = "none"


class RuntimeVersion(StrEnum):
    """`SKI_RUNTIME_VERSION` (SKI 11.4)."""

    V2 = "v2"
    V3 = "v3"


class SkiConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Verdicts (SKI). With the `reasoner` `none` nothing is evaluated; the defaults are the strict choice.

    `weights` is the local registry of weight hashes (SKI 6.2): where it is empty and the judge was chosen, the weights
    that people put into use, else `node.judge`; and exactly what it lists where it lists any. `custom_backend` is the
    operator's tag for a backend that the specification does not name, `replies` the file of a scripted reasoner.
    `fast_path_n` 0 switches the fast path off. `retention_seconds` is how long windows can look back, `ahead_seconds`
    and `behind_seconds` how far a record's clock may be from ours. `evaluation_egress` must be empty in strict mode.
    `deployment_local` are addresses (`host:port` of a database) off this machine that belong to the deployment. `tpm`
    is where a TPM is (a TCTI, such as `device:/dev/tpmrm0`): then the weights are measured into its `tpm_register`
    before they judge. `level` 3 holds the node to SKI 9.3: strict, the judge, no fast path, and no verdict that has no
    receipt; a record that none can be had for is refused.
    """

    level: int = 2
    sovereignty: SovereigntyMode = SovereigntyMode.STRICT
    runtime_version: RuntimeVersion = RuntimeVersion.V3
    reasoner: ReasonerName = ReasonerName.JUDGE
    replies: str | None = None
    weights: tuple[str, ...] = ()
    custom_backend: bool = False
    exact_model: bool = False
    require_review: bool = True
    fast_path_n: int = 1000
    agreement_window: int = 1000
    agreement_threshold: float = 0.995
    retention_seconds: int = 2_592_000
    ahead_seconds: int = 300
    behind_seconds: int | None = None
    decoder_seed: int = 0
    max_tokens: int = 2048
    attest_seconds: int = 604_800
    token_seconds: int = 86_400
    evaluation_egress: tuple[str, ...] = ()
    deployment_local: tuple[str, ...] = ()
    tpm: str | None = None
    tpm_register: int = 13


class PluginName(StrEnum):
    """Who proposes a hypothesis about a failing rule: the most similar earlier case, the general model, or a server."""

    HTTP = "http"
    NEAREST_CASE = "nearest_case"
    LOCAL_MODEL = "local_model"


class TrainerName(StrEnum):
    """Who takes jobs of training pairs: the judge of this node, or nobody, and then they wait."""

    JUDGE = "judge"
    NONE = "none"


class StrandConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A strand beyond the core three: the five items of PRAMANA 15, and the function that checks it.

    `check` is `package.module:name`. The id begins with `x-` unless the public registry of strand types has it, which
    `registered` says.
    """

    strand_type_id: str
    name: str
    how_to_check: str
    absence_implication: str
    contact: str
    check: str
    registered: bool = False


class PeerConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another organisation whose answers are proxied: query types name `peer:NAME` as their answerer."""

    name: str
    url: str


class DeliveryConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Answers and what came of them. `answerers` are tables of functions, `package.module:name`, loaded at the start.

    A root cause opens at `rca_threshold` failures in a row; `batch_seconds` 0 looks at each signal by itself. A
    `plugin` hears of the rules in `plugin_rules` and of no other; `plugin_url` is where one over HTTP is asked.
    `pair_batch` pairs are one job of training, which the `trainer` takes. `strands` are checked beside the core three.
    Events are posted to public addresses over https, and besides to the
    hosts (`name` or `name:port`) in `webhook_hosts`.
    """

    service: str = "assay"
    answerers: tuple[str, ...] = ()
    rca_threshold: int = 3
    rca_comparison: Comparison = Comparison.REACH
    batch_seconds: int = 0
    batch_sessions: int = 2
    proof_threshold_pct: float = 90.0
    strand_seconds: float = 2.0
    answer_seconds: float = 30.0
    pair_batch: int = 50
    trainer: TrainerName = TrainerName.JUDGE
    strands: tuple[StrandConfig, ...] = ()
    plugin: PluginName | None = None
    plugin_rules: tuple[str, ...] = ()
    plugin_seconds: float = 10.0
    plugin_url: str | None = None
    webhook_hosts: tuple[str, ...] = ()
    peers: tuple[PeerConfig, ...] = ()
    sweep_seconds: int = 5


class OidcConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """People who log in by way of an identity provider (OpenID Connect, code flow with PKCE).

    `redirect_url` is this node's `/auth/oidc/callback` as browsers reach it. The client's secret is in the file
    `client_secret_file` (relative to the node's folder) or in ASSAY_OIDC_CLIENT_SECRET, never here; without one the
    client is public. `claim` of the ID token names the person: `principals` has its principal, or with a `prefix` it is
    `prefix:VALUE`; whoever is not a principal already is refused. `allowed_issuers` are further names that the provider
    may have in its tokens, `hosts` (`name` or `name:port`) those of its addresses that are not public or not https.
    """

    issuer: str
    client_id: str
    redirect_url: str
    client_secret_file: str | None = None
    allowed_issuers: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ("RS256", "PS256", "ES256", "Ed25519")
    scopes: tuple[str, ...] = ("openid",)
    claim: str = "sub"
    principals: dict[str, str] = {}
    prefix: str | None = None
    hosts: tuple[str, ...] = ()
    tenant: str | None = None
    landing: str = "/"
    session_seconds: int = 3600


class RegistryConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who is heard. With `allow_unsigned` announces without a signature count from everywhere, for closed networks, and
    still never for a service that signs. `max_skew_seconds` is how far their clocks may be from ours, up to a day.
    """

    allow_unsigned: bool = False
    max_skew_seconds: int = 300


class ReviewConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The review desk. A lease ends after `lease_seconds` unless its holder asks for another length, up to
    `longest_lease_seconds`. Tickets are told to `escalate_roles` and `escalate_persons` from `escalate_before_seconds`
    before their end on. `grace_seconds` is, by kind of ticket, how long an answer can be undone before it counts; those
    given many at a time wait `bulk_grace_seconds` at least.
    """

    lease_seconds: int = 900
    longest_lease_seconds: int = 28_800
    escalate_before_seconds: int = 3600
    escalate_roles: tuple[str, ...] = ("operator",)
    escalate_persons: tuple[str, ...] = ()
    grace_seconds: dict[str, int] = {}
    bulk_grace_seconds: int = 10


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything an operator can choose."""

    node: NodeConfig
    database: DatabaseConfig = DatabaseConfig()
    keys: KeyConfig = KeyConfig()
    trust: TrustConfig = TrustConfig()
    witnesses: tuple[WitnessConfig, ...] = ()
    witness_threshold: int = 0
    http: HttpConfig = HttpConfig()
    models: ModelsConfig = ModelsConfig()
    ski: SkiConfig = SkiConfig()
    truth: TruthConfig = TruthConfig()
    claims: ClaimsConfig = ClaimsConfig()
    delivery: DeliveryConfig = DeliveryConfig()
    review: ReviewConfig = ReviewConfig()
    registry: RegistryConfig = RegistryConfig()
    oidc: OidcConfig | None = None


# Environment variable -> where its text goes; the environment wins over the file.
ENVIRONMENT: Mapping[str, tuple[str, str]] = {
    "ASSAY_DATABASE_URL": ("database", "url"),
    "ASSAY_TENANT": ("node", "tenant"),
    "ASSAY_HTTP_HOST": ("http", "host"),
    "ASSAY_HTTP_PORT": ("http", "port"),
    "SKI_SOVEREIGNTY": ("ski", "sovereignty"),
    "SKI_RUNTIME_VERSION": ("ski", "runtime_version"),
}


def parse_config(text: str, environment: Mapping[str, str]) -> Config:
    """Read the file's text and the environment into one value, or refuse with every problem found."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadConfigError((Problem(field="assay.toml", message=f"not TOML: {error}"),)) from error
    config = _convert(_with_environment(document, environment))
    problems = _problems(config)
    if problems:
        raise BadConfigError(problems)
    return config


def _with_environment(document: dict[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    merged = dict(document)
    for variable, (section, field) in ENVIRONMENT.items():
        if variable in environment and isinstance(merged.get(section, {}), dict):
            merged[section] = {**merged.get(section, {}), field: environment[variable]}
    return merged


def _convert(document: dict[str, Any]) -> Config:
    """What the document says; every key of a wrong form is told, and beside them what sound sections say wrongly."""
    rest, problems = copy.deepcopy(document), list[Problem]()
    if "node" not in rest:
        problems.append(Problem(field="node", message="expected a section with `origin` and `founder`, got none"))
        rest["node"] = dict(_NO_NODE)
    config = _convert_sound(rest, problems)
    if problems:
        # What stands beside a problem may be wrong only because of it.
        broken = {_section_of(one) for one in problems}
        raise BadConfigError((*problems, *(one for one in _problems(config) if _section_of(one) not in broken)))
    return config


def _convert_sound(rest: dict[str, Any], problems: list[Problem]) -> Config:
    """A conversion names only its first problem: each is noted and taken out, until what is left is sound."""
    while True:
        try:
            return convert(rest, Config, strict=False)
        except ValidationError as error:
            place, message = _place_of(str(error))
            if not _is_known(problems, place, message):
                problems.append(Problem(field=place, message=message))
            _take_out(rest, place)


def _section_of(problem: Problem) -> str:
    return problem.field.partition(".")[0].partition("[")[0]


def _place_of(words: str) -> tuple[str, str]:
    """`Expected int, got str - at `$.http.port`` as the key's place and the words; an unknown key is a place too."""
    message, _, path = words.rpartition(" - at `$")
    message, place = (message, path.rstrip("`").lstrip(".")) if message else (words, "")
    unknown = _UNKNOWN_KEY.fullmatch(message)
    if unknown is not None:
        return ".".join(filter(None, (place, unknown[1]))), "unknown key"
    return place, message


def _is_known(problems: list[Problem], place: str, message: str) -> bool:
    """A key that was taken out is missing afterwards: that was told as what was wrong with it."""
    missing = _MISSING_KEY.fullmatch(message)
    return missing is not None and any(one.field == f"{place}.{missing[1]}" for one in problems)


def _take_out(document: dict[str, Any], place: str) -> None:
    """Remove what is at the place, up to the nearest table: an element of a list goes with its list."""
    steps = place.partition("[")[0].split(".")
    table = document
    for step in steps[:-1]:
        if not isinstance(table.get(step), dict):
            break
        table = table[step]
    if steps[-1] in table:
        del table[steps[-1]]
    # A name with dots in it cannot be told from a path: its whole section goes, or all where there is none.
    elif document.pop(steps[0], None) is None:
        document.clear()
    document.setdefault("node", dict(_NO_NODE))


def _problems(config: Config) -> tuple[Problem, ...]:
    problems = parse_problems("node.tenant", parse_tenant_id, config.node.tenant)
    problems += _origin_problems(config.node.origin)
    problems += parse_problems("node.founder", parse_key_id, config.node.founder)
    problems += () if config.node.judge is None else parse_problems("node.judge", parse_digest, config.node.judge)
    url = config.database.url
    problems += when(
        not url.startswith(("sqlite:", "postgresql://", "postgres://")),
        "database.url",
        f"expected `sqlite:FILE` or `postgresql://…`, got {_scheme(url)}",
    )
    problems += when(
        not 0 <= config.http.port <= _HIGHEST_PORT, "http.port", f"expected 0 to 65535, got {config.http.port}"
    )
    problems += _server_problems(config) + _oidc_problems(config.oidc)
    for number, anchor in enumerate(config.trust.anchors):
        problems += parse_problems(f"trust.anchors[{number}]", parse_anchor, anchor)
    problems += _key_problems(config.keys) + _domain_problems(config.truth)
    problems += _witness_problems(config) + _model_problems(config.models)
    return (
        problems
        + _ski_problems(config)
        + _claims_problems(config)
        + _delivery_problems(config)
        + _registry_problems(config)
        + _review_problems(config.review)
    )


def _oidc_problems(oidc: OidcConfig | None) -> tuple[Problem, ...]:
    if oidc is None:
        return ()
    problems = tuple[Problem, ...]()
    for name in ("issuer", "redirect_url"):
        url: str = getattr(oidc, name)
        wrong = _WEB_ADDRESS.fullmatch(url) is None
        problems += when(wrong, f"oidc.{name}", f"expected an address without query, got `{url[:80]}`")
    problems += when(not oidc.client_id, "oidc.client_id", "expected a client id, got none")
    unsafe = sorted(set(oidc.algorithms) - _SAFE_ALGORITHMS)
    problems += when(
        bool(unsafe) or not oidc.algorithms,
        "oidc.algorithms",
        f"expected some of {', '.join(sorted(_SAFE_ALGORITHMS))}, got `{', '.join(unsafe)[:80]}`",
    )
    problems += when("openid" not in oidc.scopes, "oidc.scopes", "expected `openid` among them")
    nobody = not oidc.principals and oidc.prefix is None
    problems += when(nobody, "oidc.principals", "expected principals or a prefix; nobody could log in")
    for value, principal in oidc.principals.items():
        problems += parse_problems(f"oidc.principals.{value[:80]}", parse_principal_id, principal)
    if oidc.prefix is not None:
        problems += parse_problems("oidc.prefix", parse_tenant_id, oidc.prefix)
    if oidc.tenant is not None:
        problems += parse_problems("oidc.tenant", parse_tenant_id, oidc.tenant)
    is_path = oidc.landing.startswith("/") and not oidc.landing.startswith(("//", "/\\")) and oidc.landing.isprintable()
    problems += when(not is_path, "oidc.landing", f"expected a path of this node, got `{oidc.landing[:80]}`")
    seconds, most = oidc.session_seconds, 12 * 3600
    return problems + when(not 1 <= seconds <= most, "oidc.session_seconds", f"expected 1 to {most}, got {seconds}")


def _server_problems(config: Config) -> tuple[Problem, ...]:
    problems: tuple[Problem, ...] = ()
    for name in (
        "checkpoint_seconds",
        "review_sweep_seconds",
        "score_seconds",
        "compile_seconds",
        "truth_sweep_seconds",
    ):
        seconds: int = getattr(config.node, name)
        problems += when(seconds < 0, f"node.{name}", f"expected 0 or more, got {seconds}")
    for name in ("max_body_bytes", "max_stream_bytes"):
        size: int = getattr(config.http, name)
        wrong = not 1 <= size <= _LARGEST_BODY
        problems += when(wrong, f"http.{name}", f"expected 1 to {_LARGEST_BODY}, got {size}")
    return problems + _limit_problems(config.http)


def _limit_problems(http: HttpConfig) -> tuple[Problem, ...]:
    problems = when(http.rate_requests < 0, "http.rate_requests", f"expected 0 or more, got {http.rate_requests}")
    problems += when(http.rate_seconds < 1, "http.rate_seconds", f"expected 1 or more, got {http.rate_seconds}")
    problems += when(
        not 0 <= http.drain_seconds <= _LONGEST_DRAIN,
        "http.drain_seconds",
        f"expected 0 to {_LONGEST_DRAIN}, got {http.drain_seconds}",
    )
    problems += when(
        http.public_url is not None and _WEB_ORIGIN.fullmatch(http.public_url) is None,
        "http.public_url",
        f"expected `https://host` or `https://host:port`, got `{str(http.public_url)[:80]}`",
    )
    for number, origin in enumerate(http.cors_origins):
        wrong = _WEB_ORIGIN.fullmatch(origin) is None
        message = f"expected `https://host` or `https://host:port`, got `{origin[:80]}`"
        problems += when(wrong, f"http.cors_origins[{number}]", message)
    for number, proxy in enumerate(http.trusted_proxies):
        message = f"expected an address or a network such as `10.0.0.0/8`, got `{proxy[:80]}`"
        problems += when(not _is_network(proxy), f"http.trusted_proxies[{number}]", message)
    return problems


def _is_network(text: str) -> bool:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def _origin_problems(origin: str) -> tuple[Problem, ...]:
    wrong = not origin or any(character.isspace() or character == "+" for character in origin)
    return when(wrong, "node.origin", f"expected a name without white space or `+`, got `{origin[:80]}`")


def _key_problems(keys: KeyConfig) -> tuple[Problem, ...]:
    on_token = [name for name, place in keys.places().items() if place.startswith("pkcs11:")]
    secret = [name for name, place in keys.places().items() if place.startswith("hmac:") and name != "truth"]
    return when(
        bool(secret), "keys", f"expected a key pair, which anyone can verify, for `{', '.join(secret)}`, got a secret"
    ) + when(
        bool(on_token) and keys.pkcs11_module is None,
        "keys.pkcs11_module",
        f"expected the path of a PKCS#11 module for `{', '.join(on_token)}`, got none",
    )


def _scheme(url: str) -> str:
    """What may be shown of a URL that we cannot read: the rest of it may hold a password."""
    scheme = url.partition(":")[0]
    return f"a URL of `{scheme[:20]}:`" if scheme != url and scheme.isalnum() else "something else"


def _witness_problems(config: Config) -> tuple[Problem, ...]:
    problems = when(
        not 0 <= config.witness_threshold <= len(config.witnesses),
        "witness_threshold",
        f"expected 0 to {len(config.witnesses)}, the number of witnesses, got {config.witness_threshold}",
    )
    for number, witness in enumerate(config.witnesses):
        field = f"witnesses[{number}]"
        problems += parse_problems(f"{field}.public_key", parse_public_key, witness.public_key)
        problems += when(
            not witness.url.startswith(("http://", "https://")),
            f"{field}.url",
            f"expected http(s), got {_scheme(witness.url)}",
        )
    return problems


def _review_problems(review: ReviewConfig) -> tuple[Problem, ...]:
    problems: tuple[Problem, ...] = ()
    for name, least in (("lease_seconds", 1), ("escalate_before_seconds", 0), ("bulk_grace_seconds", 0)):
        seconds: int = getattr(review, name)
        problems += when(seconds < least, f"review.{name}", f"expected {least} or more, got {seconds}")
    longest = review.longest_lease_seconds
    problems += when(
        longest < review.lease_seconds, "review.longest_lease_seconds", f"expected lease_seconds or more, got {longest}"
    )
    problems += names_problems("review.escalate_roles", tuple(sorted(review.escalate_roles)))
    for person in review.escalate_persons:
        problems += parse_problems("review.escalate_persons", parse_principal_id, person)
    undoable = {kind.value for kind, rule in KIND_RULES.items() if rule.undoable}
    for kind, seconds in review.grace_seconds.items():
        problems += when(
            kind not in undoable, "review.grace_seconds", f"expected {', '.join(sorted(undoable))}, got `{kind[:80]}`"
        )
        problems += when(seconds < 0, f"review.grace_seconds.{kind[:80]}", f"expected 0 or more, got {seconds}")
    return problems


def _registry_problems(config: Config) -> tuple[Problem, ...]:
    skew, most = config.registry.max_skew_seconds, 86_400
    return when(not 0 < skew <= most, "registry.max_skew_seconds", f"expected 1 to {most}, got {skew}")


def _delivery_problems(config: Config) -> tuple[Problem, ...]:
    delivery = config.delivery
    problems: tuple[Problem, ...] = ()
    for name, least in _LEAST_OF_DELIVERY.items():
        count: float = getattr(delivery, name)
        problems += when(not count >= least, f"delivery.{name}", f"expected {least} or more, got {count}")
    most = 100
    pct = delivery.proof_threshold_pct
    problems += when(not 0 < pct <= most, "delivery.proof_threshold_pct", f"expected above 0 up to {most}, got {pct}")
    bad = [one for one in delivery.answerers if _TABLE.fullmatch(one) is None]
    problems += when(bool(bad), "delivery.answerers", f"expected `package.module:name`, got `{', '.join(bad)[:80]}`")
    odd_checks = [one.check for one in delivery.strands if _TABLE.fullmatch(one.check) is None]
    problems += when(
        bool(odd_checks), "delivery.strands", f"expected `package.module:name`, got `{', '.join(odd_checks)[:80]}`"
    )
    form = _SERVICE.fullmatch(delivery.service) is None
    problems += when(form, "delivery.service", f"expected `{_SERVICE.pattern}`, got `{delivery.service[:80]}`")
    is_served, is_named = delivery.plugin is PluginName.HTTP, delivery.plugin_url is not None
    problems += when(
        is_served is not is_named,
        "delivery.plugin_url",
        "expected an address with the plugin `http`, and with no other",
    )
    odd = [one.name for one in delivery.peers if not one.url.startswith(("http://", "https://")) or not one.name]
    problems += when(bool(odd), "delivery.peers", f"expected a name and an http(s) url, got `{', '.join(odd)[:80]}`")
    is_modelless = delivery.plugin is PluginName.LOCAL_MODEL and config.models.general is None
    return problems + when(is_modelless, "delivery.plugin", "expected a model in [models.general] for `local_model`")


# Clocks that differ by more show another day, and nothing that they date can be told apart.
_DAY_SECONDS = 86_400


def _domain_problems(truth: TruthConfig) -> tuple[Problem, ...]:
    """One of Kaori's own cannot be changed, and a name that no claim type can have would never be used."""
    problems: tuple[Problem, ...] = ()
    for name in ("clock_ahead_seconds", "clock_behind_seconds"):
        seconds: int = getattr(truth, name)
        is_odd = not 0 <= seconds <= _DAY_SECONDS
        problems += when(is_odd, f"truth.{name}", f"expected 0 to {_DAY_SECONDS}, got {seconds}")
    for name, system in truth.domains.items():
        field = f"truth.domains.{name[:40]}"
        problems += when(_DOMAIN.fullmatch(name) is None, field, "expected a name of `[a-z0-9_-]`")
        problems += when(name in DOMAIN_SYSTEMS, field, "expected a domain besides Kaori's own")
        known = system in tuple(SpatialSystem)
        problems += when(not known, field, f"expected one of {', '.join(SpatialSystem)}, got `{system[:40]}`")
    return problems


def _model_problems(models: ModelsConfig) -> tuple[Problem, ...]:
    repeated = len(set(models.engines)) < len(models.engines) or "rules" in models.engines
    problems = when(repeated, "models.engines", "expected each name once, and `rules` for the rules alone")
    one = models.general
    if one is None:
        return problems
    problems += _weight_problems(one)
    least_of = {"context_tokens": 128, "timeout_seconds": 1, "threads": 0, "queue": 0}
    for name, least in least_of.items():
        count: int = getattr(one, name)
        problems += when(count < least, f"models.general.{name}", f"expected {least} or more, got {count}")
    return problems


def _weight_problems(one: GeneralModelConfig) -> tuple[Problem, ...]:
    is_own = one.backend is BackendName.LLAMACPP and one.url is None
    problems = when(
        is_own and one.weights is None, "models.general.weights", "expected a weight file or a `url`, got neither"
    )
    problems += when(not is_own and one.url is None, "models.general.url", "expected the server's address, got none")
    problems += when(
        one.url is not None and one.model is None, "models.general.model", "expected the server's name for it, got none"
    )
    # Ollama gives a digest of its own; of the others nothing could be compared.
    is_blind = one.weights is None and one.backend is not BackendName.OLLAMA
    problems += when(
        one.weights_hash is not None and is_blind,
        "models.general.weights_hash",
        "expected `weights` beside it, got none",
    )
    if one.weights_hash is None:
        return problems
    return problems + parse_problems("models.general.weights_hash", parse_digest, one.weights_hash)


def _claims_problems(config: Config) -> tuple[Problem, ...]:
    claims = config.claims
    problems = when(
        claims.judge is JudgeName.MODEL and config.models.general is None,
        "claims.judge",
        "expected a model under `[models.general]`",
    )
    problems += when(
        (claims.judge is JudgeName.ENDPOINT) is not (claims.judge_url is not None),
        "claims.judge_url",
        "expected an address with the judge `endpoint`, and with no other",
    )
    seconds = claims.endpoint_seconds
    return problems + when(seconds < 1, "claims.endpoint_seconds", f"expected 1 or more, got {seconds}")


def _ski_problems(config: Config) -> tuple[Problem, ...]:
    ski = config.ski
    is_general, is_scripted = ski.reasoner is ReasonerName.GENERAL, ski.reasoner is ReasonerName.SCRIPTED
    problems = when(
        is_general and config.models.general is None, "ski.reasoner", "expected a model under `[models.general]`"
    )
    problems += when(is_scripted and ski.replies is None, "ski.replies", "expected a file of recorded replies")
    problems += when(
        not 0 <= ski.agreement_threshold <= 1,
        "ski.agreement_threshold",
        f"expected 0 to 1, got {ski.agreement_threshold}",
    )
    for name, least in _SKI_LEAST.items():
        count: int | None = getattr(ski, name)
        wrong = count is not None and count < least
        problems += when(wrong, f"ski.{name}", f"expected {least} or more, got {count}")
    problems += _level_problems(ski)
    wrong = not _FIRST_REGISTER <= ski.tpm_register <= _LAST_REGISTER
    expected = f"expected {_FIRST_REGISTER} to {_LAST_REGISTER}, which only a restart resets"
    problems += when(wrong, "ski.tpm_register", f"{expected}, got {ski.tpm_register}")
    for number, weight in enumerate(ski.weights):
        problems += parse_problems(f"ski.weights[{number}]", parse_digest, weight)
    return problems


def _level_problems(ski: SkiConfig) -> tuple[Problem, ...]:
    if ski.level != _RECEIPTS_LEVEL:
        return when(ski.level != _DEFAULT_LEVEL, "ski.level", f"expected 2 or 3, got {ski.level}")
    problems = when(ski.reasoner is not ReasonerName.JUDGE, "ski.reasoner", "expected the judge at level 3")
    problems += when(ski.runtime_version is not RuntimeVersion.V3, "ski.runtime_version", "expected v3 at level 3")
    is_strict = ski.sovereignty is SovereigntyMode.STRICT
    return problems + when(not is_strict, "ski.sovereignty", "expected strict at level 3")


_DEFAULT_LEVEL, _RECEIPTS_LEVEL = 2, 3
_SKI_LEAST = {
    "fast_path_n": 0,
    "agreement_window": 1,
    "retention_seconds": 1,
    "ahead_seconds": 0,
    "behind_seconds": 0,
    "decoder_seed": 0,
    "max_tokens": 1,
    "attest_seconds": 1,
    "token_seconds": 1,
}
_LEAST_OF_DELIVERY = {
    "rca_threshold": 1,
    "batch_seconds": 0,
    "batch_sessions": 1,
    "strand_seconds": 0.01,
    "answer_seconds": 0.01,
    "pair_batch": 1,
    "plugin_seconds": 0.01,
    "sweep_seconds": 0,
}
