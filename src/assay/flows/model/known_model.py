"""Models that can be used, by the hash of their weights: the shipped ones, and those in the registry."""

from functools import cache
from importlib.resources import files

from assay.flows.errors.model import ModelFlowError
from assay.flows.model.known_weights import find_activation, judged_by
from assay.flows.tools import Tools
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.model.card import ModelCard, parse_card
from assay.model.manifest import Manifest, parse_manifest
from assay.model.weights import Weights, parse_weights
from assay.ports.database import Unit
from assay.ports.weight_files import WeightFiles

_SHIPPED = files("assay") / "model" / "weights"
# The weights of this release, and those of earlier ones, which nodes go on with until people put others into use.
_NAMES = ("judge", "judge-1.3.0")


@cache
def shipped_card() -> ModelCard:
    """What the shipped weights are, and the only bytes that may be loaded under that name."""
    return parse_card((_SHIPPED / "judge.json").read_bytes())


@cache
def shipped_cards() -> dict[Digest, tuple[str, ModelCard]]:
    """Return the name and the card of each weight file in the package by its hash; that of this release first."""
    cards = {name: parse_card((_SHIPPED / f"{name}.json").read_bytes()) for name in _NAMES}
    return {card.weight_hash: (name, card) for name, card in cards.items()}


def shipped_bytes(weight_hash: Digest | None = None) -> bytes:
    name, _ = shipped_cards()[weight_hash or shipped_card().weight_hash]
    return (_SHIPPED / f"{name}.bin").read_bytes()


def shipped_manifest(weight_hash: Digest | None = None) -> Manifest:
    _, card = shipped_cards()[weight_hash or shipped_card().weight_hash]
    return Manifest(
        name=card.name,
        version=card.version,
        weight_hash=card.weight_hash,
        size=len(shipped_bytes(card.weight_hash)),
        shape=card.shape,
        parameters=card.parameters,
        prompt_template_id=card.prompt_template_id,
    )


def find_active_hash(tools: Tools, tenant_id: TenantId) -> Digest:
    """As `active_hash`, as things are now."""
    return tools.database.read(lambda unit: active_hash(unit, tenant_id))


def find_manifest(tools: Tools, tenant_id: TenantId, weight_hash: Digest) -> Manifest:
    """As `get_manifest`, as things are now."""
    return tools.database.read(lambda unit: get_manifest(unit, tenant_id, weight_hash))


def active_hash(unit: Unit, tenant_id: TenantId) -> Digest:
    """The weights in use: those that people last put into use, else those of the last verdict, else the shipped ones.

    A general model's verdicts count for nothing here: only weights of a release go on without an activation.
    """
    active = find_activation(unit, tenant_id)
    if active is not None:
        return active.weight_hash
    last = judged_by(unit, tenant_id)
    return last if last in shipped_cards() else shipped_card().weight_hash


def get_manifest(unit: Unit, tenant_id: TenantId, weight_hash: Digest) -> Manifest:
    if weight_hash in shipped_cards():
        return shipped_manifest(weight_hash)
    model = unit.models.find_model(tenant_id, weight_hash)
    if model is None:
        raise ModelFlowError.unknown(f"tenant `{tenant_id}` has no model with the weights `{weight_hash[:80]}`")
    return parse_manifest(model.manifest)


def load_weights(tools: Tools, tenant_id: TenantId, weight_hash: Digest) -> Weights:
    """Read and found whole; other bytes in their place are refused."""
    if weight_hash in shipped_cards():
        return parse_weights(shipped_bytes(weight_hash), expected=weight_hash)
    tools.database.read(lambda unit: get_manifest(unit, tenant_id, weight_hash))
    content = weight_files(tools).find(weight_hash)
    if content is None:
        raise ModelFlowError.unknown(f"the file of the weights `{weight_hash}` is not there any more")
    return parse_weights(content, expected=weight_hash)


def weight_files(tools: Tools) -> WeightFiles:
    if tools.weights is None:
        raise ModelFlowError.no_folder("expected a node with a folder for weights, got one without")
    return tools.weights
