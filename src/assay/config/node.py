"""The node itself: who it is, where its database and keys are, whom it trusts, who witnesses it."""

from msgspec import Struct

from assay.identity.problem import Problem, parse_problems, when
from assay.kernel.digest import parse_digest
from assay.kernel.ids import parse_key_id, parse_tenant_id
from assay.kernel.key import parse_anchor, parse_public_key

_ROUNDS = (
    "checkpoint_seconds",
    "review_sweep_seconds",
    "score_seconds",
    "compile_seconds",
    "truth_sweep_seconds",
    "sample_seconds",
)


class NodeConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who this node is: checkpoints of a tenant are signed as `origin/tenant`.

    `founder` is the id of the key that `assay init` made first: what it vouches for is the node's own.
    A running server signs one every `checkpoint_seconds` when there are new entries, settles overdue tickets every
    `review_sweep_seconds`, has machines judge new observations every `score_seconds`, compiles keys with new records
    every `compile_seconds`, those whose window or validity ended every `truth_sweep_seconds`, and compares some
    rows of every table with the ledger every `sample_seconds`; 0 means only when asked.
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
    sample_seconds: int = 300


class DatabaseConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`sqlite:FILE` (relative to the folder) or `postgresql://…`."""

    url: str = "sqlite:assay.db"

    def __repr__(self) -> str:
        """Without the address, whose password a traceback or a log would show."""
        return f"{type(self).__name__}(url='{self.url.partition(':')[0]}:…')"


class KeyConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where each private key is: a file (relative to the folder), or `pkcs11:TOKEN/KEY` with the module beside it.

    `truth` may also be a shared secret, `hmac:FILE`: its states are `local_hmac`, which only its holders can verify.
    A node that was founded before it could compile truth has no `truth` key until one is added. `credentials` is
    the key of the MACs over stored credentials; a node founded before there were any gets `keys/credentials.key`.
    """

    ledger: str = "keys/ledger.key"
    review: str = "keys/review.key"
    transcript: str = "keys/transcript.key"
    truth: str | None = None
    credentials: str | None = None
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


def node_problems(node: NodeConfig) -> tuple[Problem, ...]:
    problems = parse_problems("node.tenant", parse_tenant_id, node.tenant)
    problems += _origin_problems(node.origin)
    problems += parse_problems("node.founder", parse_key_id, node.founder)
    problems += () if node.judge is None else parse_problems("node.judge", parse_digest, node.judge)
    for name in _ROUNDS:
        seconds: int = getattr(node, name)
        problems += when(seconds < 0, f"node.{name}", f"expected 0 or more, got {seconds}")
    return problems


def database_problems(database: DatabaseConfig) -> tuple[Problem, ...]:
    return when(
        not database.url.startswith(("sqlite:", "postgresql://", "postgres://")),
        "database.url",
        f"expected `sqlite:FILE` or `postgresql://…`, got {_scheme(database.url)}",
    )


def anchor_problems(trust: TrustConfig) -> tuple[Problem, ...]:
    problems: tuple[Problem, ...] = ()
    for number, anchor in enumerate(trust.anchors):
        problems += parse_problems(f"trust.anchors[{number}]", parse_anchor, anchor)
    return problems


def key_problems(keys: KeyConfig) -> tuple[Problem, ...]:
    on_token = [name for name, place in keys.places().items() if place.startswith("pkcs11:")]
    secret = [name for name, place in keys.places().items() if place.startswith("hmac:") and name != "truth"]
    return when(
        bool(secret), "keys", f"expected a key pair, which anyone can verify, for `{', '.join(secret)}`, got a secret"
    ) + when(
        bool(on_token) and keys.pkcs11_module is None,
        "keys.pkcs11_module",
        f"expected the path of a PKCS#11 module for `{', '.join(on_token)}`, got none",
    )


def witness_problems(witnesses: tuple[WitnessConfig, ...], threshold: int) -> tuple[Problem, ...]:
    problems = when(
        not 0 <= threshold <= len(witnesses),
        "witness_threshold",
        f"expected 0 to {len(witnesses)}, the number of witnesses, got {threshold}",
    )
    for number, witness in enumerate(witnesses):
        field = f"witnesses[{number}]"
        problems += parse_problems(f"{field}.public_key", parse_public_key, witness.public_key)
        problems += when(
            not witness.url.startswith(("http://", "https://")),
            f"{field}.url",
            f"expected http(s), got {_scheme(witness.url)}",
        )
    return problems


def _origin_problems(origin: str) -> tuple[Problem, ...]:
    wrong = not origin or any(character.isspace() or character == "+" for character in origin)
    return when(wrong, "node.origin", f"expected a name without white space or `+`, got `{origin[:80]}`")


def _scheme(url: str) -> str:
    """What may be shown of a URL that we cannot read: the rest of it may hold a password."""
    scheme = url.partition(":")[0]
    return f"a URL of `{scheme[:20]}:`" if scheme != url and scheme.isalnum() else "something else"
