"""What the routes that change principals take, as types; no web framework is needed for it.

Ranges are described here and judged by the principal itself, so that everything that is wrong is named at once.
"""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from assay.identity.mask import MASK_MAX
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.identity.risk import RiskTier
from assay.surfaces.fields import PrincipalName

__all__ = ["AddPrincipal", "AmendPrincipal", "AskTier", "change_of"]

Name = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": 200})]
Roles = Annotated[tuple[str, ...], Meta(max_length=64)]
Mask = Annotated[int, Meta(extra_json_schema={"minimum": 0, "maximum": MASK_MAX})]
Tier = Annotated[int, Meta(extra_json_schema={"minimum": 0, "maximum": 3})]
PublicKey = Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9a-f]{64}$"})]


class AddPrincipal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who joins, and what is granted; what is left out is not. A name that is left out is the id."""

    principal_id: PrincipalName
    kind: PrincipalKind
    name: Name | UnsetType = UNSET
    roles: Roles | UnsetType = UNSET
    trust_mask: Mask | UnsetType = UNSET
    action_tier: Tier | UnsetType = UNSET
    risk_ceiling: RiskTier | UnsetType = UNSET
    authenticity_level_floor: Tier | UnsetType = UNSET
    public_key: PublicKey | UnsetType | None = UNSET


class AmendPrincipal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the next version says differently; a field left out stays as it is.

    `roles` are set anew, and `disabled_at` null undoes a disabling. A tier is a second person's to change.
    """

    name: Name | UnsetType = UNSET
    roles: Roles | UnsetType = UNSET
    trust_mask: Mask | UnsetType = UNSET
    risk_ceiling: RiskTier | UnsetType = UNSET
    authenticity_level_floor: Tier | UnsetType = UNSET
    public_key: PublicKey | UnsetType | None = UNSET
    disabled_at: UnsetType | None = UNSET


class AskTier(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which tier, and why: shown to whoever decides, and recorded."""

    to_tier: Annotated[int, Meta(ge=0, le=3)]
    reason: Annotated[str, Meta(min_length=1, max_length=500)]


def change_of(wanted: AddPrincipal | AmendPrincipal) -> PrincipalChange:
    """The fields that a request has in common with a change."""
    known = set(wanted.__struct_fields__) & set(PrincipalChange.__struct_fields__)
    return PrincipalChange(**{name: getattr(wanted, name) for name in sorted(known)})
