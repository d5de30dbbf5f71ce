"""The manifest: what a service says of itself in its one `codex.json`.

codex.json -> open_manifest -> Manifest -> documents, cards, tiers
Besides the fields of the protocol, `actions` gives tiers, bits and rollbacks; without a tier an action is off.
"""

import re

from msgspec import Struct

from assay.kernel.digest import Digest, digest_of
from assay.kernel.ids import KeyId
from assay.registry.action import Action, ServicePower, index_actions

DEFAULT_PREFIX = "/api/v2/forja"
SERVICE_FORM = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}", re.ASCII)


class Knowledge(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many rules stand behind the answers; STATE shows it."""

    rule_count: int = 0
    certified_count: int = 0
    last_updated: str | None = None


class DocumentSignature(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who vouches for a document; the key id alone is no reason to believe it."""

    key_id: KeyId
    value_hex: str


class Manifest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A well-formed manifest; `actions` has one entry for every query and every action, tier 0 where none is given."""

    service: str
    port: int
    domain: str
    version: str
    can_answer: tuple[str, ...]
    can_do: tuple[str, ...]
    emits: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    forja_state: str = DEFAULT_PREFIX + "/state"
    forja_trust: str = DEFAULT_PREFIX + "/trust"
    forja_sense: str = DEFAULT_PREFIX + "/sense"
    forja_proof: str = DEFAULT_PREFIX + "/proof"
    forja_version: str = "2.0"
    name: str
    description: str
    owner: str | None = None
    base_url: str | None = None
    permission_schema: str
    capability_mask: int
    actions: tuple[Action, ...]
    knowledge: Knowledge = Knowledge()
    proof_threshold: float = 90.0


class OpenedManifest(Struct, frozen=True, kw_only=True):
    """A manifest with the canonical bytes (`ski-3.0`) that its signature covers: the document without `signature`."""

    manifest: Manifest
    canonical: bytes
    signature: DocumentSignature | None

    @property
    def content_hash(self) -> Digest:
        return digest_of(self.canonical)


def power_of(manifest: Manifest, *, active_tier: int) -> ServicePower:
    """What rulings need of a manifest; `active_tier` is what the kill switch leaves."""
    return ServicePower(
        service_id=manifest.service,
        capability_mask=manifest.capability_mask,
        active_tier=active_tier,
        actions=index_actions(manifest.actions),
    )
