"""Delivery: answerers, strands, peers, webhooks, the plugin and the trainer."""

import re
from collections import Counter
from enum import StrEnum

from msgspec import Struct

from assay.delivery.rule import parse_rule_id
from assay.delivery.trigger import Comparison
from assay.identity.problem import Problem, parse_problems, when
from assay.kernel.ids import parse_tenant_id

_UNNAMED = re.compile("[^A-Z0-9]", re.ASCII)
_SERVICE = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}", re.ASCII)
_TABLE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", re.ASCII)
_LONGEST_NAME = 100
_LEAST_OF_DELIVERY = {
    "rca_threshold": 1,
    "batch_seconds": 0,
    "batch_sessions": 1,
    "strand_seconds": 0.01,
    "answer_seconds": 0.01,
    "answers_at_once": 1,
    "pair_batch": 1,
    "plugin_seconds": 0.01,
    "sweep_seconds": 0,
}


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
    """Another organisation whose answers are proxied: query types name `peer:NAME` as their answerer.

    `tenants` are those whose questions it is asked; without any, the node's own tenant alone. Each is asked for under
    its own agreement and its own token.
    """

    name: str
    url: str
    tenants: tuple[str, ...] = ()


class SubCategoriesConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a reviewer may name besides the category of a root cause (PRAMANA 10.1), for A, B and C in this order.

    Where any is listed, no other is taken; where none is, a reviewer writes what they like, or nothing.
    """

    routing: tuple[str, ...] = ()
    application: tuple[str, ...] = ()
    rule: tuple[str, ...] = ()


class DeliveryConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Answers and what came of them. `answerers` are tables of functions, `package.module:name`, loaded at the start.

    A root cause opens at `rca_threshold` failures in a row; `batch_seconds` 0 looks at each signal by itself. A
    `plugin` hears of the rules in `plugin_rules` and of no other; `plugin_url` is where one over HTTP is asked. An
    answerer or a strand of others works on `answers_at_once` questions, half of them of one caller; while it is slow,
    further ones are refused. `pair_batch` pairs are one job of training, which the `trainer` takes. `strands` are
    checked beside the core three. `tenants` are those whose questions the answerers answer and of whose rules the
    plugin hears; without any, the node's own tenant alone. Events are posted to public addresses over https, and
    besides to the hosts (`name` or `name:port`) in `webhook_hosts`.
    """

    service: str = "assay"
    answerers: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    rca_threshold: int = 3
    rca_comparison: Comparison = Comparison.REACH
    batch_seconds: int = 0
    batch_sessions: int = 2
    proof_threshold_pct: float = 90.0
    strand_seconds: float = 2.0
    answer_seconds: float = 30.0
    answers_at_once: int = 16
    pair_batch: int = 50
    trainer: TrainerName = TrainerName.JUDGE
    strands: tuple[StrandConfig, ...] = ()
    plugin: PluginName | None = None
    plugin_rules: tuple[str, ...] = ()
    plugin_seconds: float = 10.0
    plugin_url: str | None = None
    webhook_hosts: tuple[str, ...] = ()
    peers: tuple[PeerConfig, ...] = ()
    sub_categories: SubCategoriesConfig = SubCategoriesConfig()
    sweep_seconds: int = 5


def delivery_problems(delivery: DeliveryConfig, *, tenant: str, has_model: bool) -> tuple[Problem, ...]:
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
    for name in delivery.tenants:
        problems += parse_problems("delivery.tenants", parse_tenant_id, name)
    for name in delivery.plugin_rules:
        problems += parse_problems("delivery.plugin_rules", parse_rule_id, name)
    problems += _peer_problems(delivery.peers, tenant)
    problems += _sub_category_problems(delivery.sub_categories)
    is_modelless = delivery.plugin is PluginName.LOCAL_MODEL and not has_model
    return problems + when(is_modelless, "delivery.plugin", "expected a model in [models.general] for `local_model`")


def _peer_problems(peers: tuple[PeerConfig, ...], own: str) -> tuple[Problem, ...]:
    odd = [one.name for one in peers if not one.url.startswith(("http://", "https://")) or not one.name]
    problems = when(bool(odd), "delivery.peers", f"expected a name and an http(s) url, got `{', '.join(odd)[:80]}`")
    for name in (name for one in peers for name in one.tenants):
        problems += parse_problems("delivery.peers", parse_tenant_id, name)
    asked = Counter((one.name, name) for one in peers for name in one.tenants or (own,))
    twice = ", ".join(sorted({name for (name, _), count in asked.items() if count > 1}))
    words = f"expected each peer once for a tenant, got `{twice[:80]}` again"
    problems += when(bool(twice), "delivery.peers", words)
    users: dict[str, set[str]] = {}
    for peer, tenant in asked:
        users.setdefault(peer_token_name(own, tenant, peer), set()).add(tenant)
    shared = ", ".join(sorted(name for name, tenants in users.items() if len(tenants) > 1))
    words = f"expected a token for each tenant, got one variable for two: `ASSAY_PEER_TOKEN_{shared[:80]}`"
    return problems + when(bool(shared), "delivery.peers", words)


def peer_token_name(own: str, tenant: str, peer: str) -> str:
    """What follows `ASSAY_PEER_TOKEN_`: the peer, and `__` and the tenant where it is not the node's own."""
    name = peer.upper().replace("-", "_")
    return name if tenant == own else f"{name}__{_UNNAMED.sub('_', tenant.upper())}"


def _sub_category_problems(listed: SubCategoriesConfig) -> tuple[Problem, ...]:
    problems: tuple[Problem, ...] = ()
    for name in SubCategoriesConfig.__struct_fields__:
        given: tuple[str, ...] = getattr(listed, name)
        is_sound = all(one.strip() and len(one) <= _LONGEST_NAME and one.isprintable() for one in given)
        told = f"expected names of 1 to {_LONGEST_NAME} printable characters, each once"
        problems += when(not is_sound or len(set(given)) < len(given), f"delivery.sub_categories.{name}", told)
    return problems
