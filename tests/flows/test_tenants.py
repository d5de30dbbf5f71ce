"""Lists of tenants, trusted keys, reporters and peers: what is in force, in pages, and nothing of other tenants."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay.delivery.federate import Agreement
from assay.delivery.strand import StrandId
from assay.flows.request import Page
from assay.flows.tenants import AnchorItem, TenantItem
from assay.identity.caller import Caller, local_caller
from assay.kernel.ids import PrincipalId, TenantId, parse_key_id
from assay.kernel.key import TrustAnchors, key_id_of
from tests.acting import caller_of
from tests.delivering import agree_with_peer, grant_reporter, performed, walked
from tests.flows._delivery import Delivery, opened_delivery
from tests.flows._people import TENANT


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Delivery]:
    with opened_delivery(tmp_path) as delivery:
        yield delivery.ready()


def _local(node: Delivery, tenant: TenantId = TENANT) -> Caller:
    return local_caller(tenant, at=node.desk.at(minutes=9))


def test_the_operator_of_the_node_sees_every_tenant_and_others_their_own(node: Delivery) -> None:
    performed(node.tools, _local(node, TenantId("other")), "note.append", note={"text": "first"})
    every: Page[TenantItem] = performed(node.tools, _local(node), "tenants.list", limit=1)
    assert every.next is not None
    rest: Page[TenantItem] = performed(node.tools, _local(node), "tenants.list", limit=1, cursor=every.next)
    found = {one.tenant_id: one.entries for one in (*every.items, *rest.items)}
    assert found == {TENANT: node.desk.head(), "other": 1}
    olga = caller_of(node.tools, node.olga, at=node.desk.at(minutes=9))
    own: Page[TenantItem] = performed(node.tools, olga, "tenants.list")
    assert [one.tenant_id for one in own.items] == [TENANT]


def test_trusted_keys_are_listed_by_their_ids(node: Delivery) -> None:
    raw = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    named = parse_key_id("sha256:" + "0" * 64)
    tools = replace(node.tools, anchors=TrustAnchors(public_keys=frozenset({raw}), key_ids=frozenset({named})))
    found: Page[AnchorItem] = performed(tools, _local(node), "anchors.list")
    assert {one.key_id: one.public_key for one in found.items} == {key_id_of(raw): raw.hex(), named: None}


def test_reporters_and_peers_are_listed_as_they_are_in_force(node: Delivery) -> None:
    at = node.desk.at(minutes=5)
    for rule in ("MAR-*", "AIR-1"):
        grant_reporter(node.tools, PrincipalId("user:sam"), (rule,), credential=node.olga, at=at)
    grants = walked(node.tools, _local(node), "reporters.list", limit=1)
    assert [(one.principal_id, one.rules) for one in grants[1:]] == [("user:sam", ("AIR-1",))]
    assert grants[0].principal_id == "service:bell"
    for peer, strands in (("harbour", ()), ("bell", ()), ("harbour", (StrandId("x-tide"),))):
        agree_with_peer(node.tools, Agreement(peer=peer, strands=strands), credential=node.olga, at=at)
    agreed = walked(node.tools, _local(node), "peers.list", limit=1)
    assert [(one.peer, one.strands) for one in agreed] == [("bell", ()), ("harbour", ("x-tide",))]
