"""Weights become known to the node: read whole, kept by their hash, and in the ledger; nothing is put to use by it.

weight file -> sound? -> manifest -> kept durably -> `model.added`
"""

from msgspec import Struct

from assay.flows.identity.admit_principal import admit_principal
from assay.flows.model.known_model import get_manifest, weight_files
from assay.flows.model.model_entry import record_model
from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole
from assay.kernel.digest import Digest
from assay.kernel.instant import Instant
from assay.model.manifest import Manifest, manifest_of
from assay.model.weights import parse_weights
from assay.ports.database import Unit
from assay.verdicts.prompt import TEMPLATE_ID


class AddedModel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known now; `is_new` says whether it was not before."""

    manifest: Manifest
    is_new: bool


def add_model(
    tools: Tools,
    content: bytes,
    *,
    name: str,
    version: str,
    parent_hash: Digest | None = None,
    credential: str,
    at: Instant,
) -> AddedModel:
    """Register weights, as an operator; refuses what is no weights of this architecture, and a parent nobody knows."""
    weights = parse_weights(content)
    manifest = manifest_of(
        weights, name=name, version=version, size=len(content), template_id=TEMPLATE_ID, parent_hash=parent_hash
    )

    def look(unit: Unit) -> None:
        principal = admit_principal(unit, credential, any_of=[BuiltInRole.OPERATOR], at=at)
        if parent_hash is not None:
            get_manifest(unit, principal.tenant_id, parent_hash)

    def work(unit: Unit) -> AddedModel:
        principal = admit_principal(unit, credential, any_of=[BuiltInRole.OPERATOR], at=at)
        added = record_model(unit, principal.tenant_id, manifest, by=principal.id, at=at)
        known = get_manifest(unit, principal.tenant_id, manifest.weight_hash)
        return AddedModel(manifest=known, is_new=added is not None)

    tools.database.read(look)
    # The bytes first: an entry must never name weights that a crash could have lost.
    weight_files(tools).put(content)
    return tools.database.write(work)
