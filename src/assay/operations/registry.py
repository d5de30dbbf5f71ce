"""Operations of the registry: services, the keys that vouch for them, and their kill switches."""

from assay.flows.registry import services, switch
from assay.flows.registry.fire_switch import RESTORE_ROLES
from assay.identity.principal import BuiltInRole
from assay.operations.kinds import Change, Listing, Operation, Read, needs
from assay.operations.shown import registry as shown
from assay.registry.action import Tier

READ = needs("registry:read")
OPERATE = needs("registry:write", BuiltInRole.OPERATOR, session=True)

OPERATIONS: tuple[Operation, ...] = (
    Listing(
        "services.list",
        services.services,
        "GET /services",
        needs=READ,
        command="service list",
        columns=("id", "domain", "tier", "can_answer", "can_do"),
    ),
    Read(
        "services.who_can",
        services.who_can,
        "GET /who-can",
        needs=READ,
        command="service who-can",
        tool="who_can",
        shows=shown.found_services,
        blames=shown.blame_nobody,
    ),
    Read("service.show", services.service, "GET /services/{service_id}", needs=READ, command="service show"),
    Listing(
        "service_keys.list",
        services.service_keys,
        "GET /services/{service_id}/keys",
        needs=READ,
        command="service keys",
        columns=("key", "since", "state"),
        row=shown.key_row,
        blames=shown.blame_no_key,
    ),
    Change(
        "service_key.trust",
        services.trust_service,
        "POST /services/{service_id}/keys",
        needs=OPERATE,
        command="service trust",
        example={"public_key": "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"},
        says="{service_id} {key_id}",
    ),
    Change(
        "service_key.revoke",
        services.revoke_service_key,
        "POST /services/{service_id}/keys/{key_id}/revoke",
        needs=OPERATE,
        command="service revoke",
        example={"reason": "stolen"},
        says="revoked {key_id} of {service_id}",
    ),
    Read(
        "switch.show",
        switch.switch,
        "GET /services/{service_id}/switch",
        needs=READ,
        command="service switch",
        shows=shown.switch_text,
    ),
    Change(
        "switch.report",
        switch.report_firing,
        "POST /services/{service_id}/firings",
        # A service whose tier was lowered must still be able to say that its switch fired.
        needs=needs("forja:act", tier=Tier.READ),
    ),
    Change(
        "switch.restore",
        switch.restore,
        "POST /services/{service_id}/switch/restore",
        needs=needs("forja:act", *RESTORE_ROLES, session=True),
        command="service restore",
        example={},
        method="restore_switch",
        says="restored {service_id}, firing {episode}",
    ),
)
