"""Which services can do this: the index beside a Python loop, cedarpy and pycasbin, over the same fleets.

A question needs three bits, which about one service in sixty has. `first asked` searches every time; `asked again` is a
question that the snapshot has answered before. Ours and every peer must name the same services, or there is no figure.
"""

import random
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from assay.registry.bits import BL_ISSUE, BOOK, MANIFEST, READ
from assay.registry.discover import Index, ServiceEntry, build_index
from assay.registry.permission import ANKR_32BIT_V1, describe
from bench._frame import Figure, compare, print_table

__all__ = ["figures"]

_NEEDED = BOOK | MANIFEST | BL_ISSUE
_SMALL, _LARGE, _HUGE = 200, 100_000, 1_000_000
# The model of pycasbin: a service is the subject, a capability the action.
_CASBIN = """[request_definition]
r = sub, act
[policy_definition]
p = sub, act
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.sub == p.sub && r.act == p.act
"""


def _fleet(count: int) -> list[ServiceEntry]:
    chance = random.Random(7)
    allowed = ~ANKR_32BIT_V1.reserved & 2**32 - 1
    # Each bit with a chance of a quarter, so that all three come together once in 64 services.
    return [
        ServiceEntry(
            id=f"org.example.service-{number}",
            domain=f"domain-{number % 20}",
            capability_mask=chance.getrandbits(32) & chance.getrandbits(32) & allowed | READ,
            tier=2,
            can_answer=(f"query-{number % 997}",),
        )
        for number in range(count)
    ]


def _looping(fleet: Sequence[ServiceEntry]) -> Callable[[], list[str]]:
    rows = [(entry.id, entry.capability_mask) for entry in fleet]
    return lambda: [name for name, mask in rows if mask & _NEEDED == _NEEDED]


def _searching(index: Index) -> Callable[[], list[str]]:
    return lambda: index.search(_NEEDED)


def _cedar(fleet: Sequence[ServiceEntry]) -> Callable[[], list[str]]:
    """One policy that asks for all three, one request for each service, all in one batch."""
    cedarpy: Any = import_module("cedarpy")
    needed = ", ".join(f'"{name}"' for name in describe(_NEEDED))
    policy = f'permit(principal, action == Action::"book", resource) when {{ resource.can.containsAll([{needed}]) }};'
    entities = [
        {
            "uid": {"type": "Service", "id": entry.id},
            "attrs": {"can": list(describe(entry.capability_mask))},
            "parents": [],
        }
        for entry in fleet
    ]
    requests = [
        {
            "principal": 'Agent::"planner"',
            "action": 'Action::"book"',
            "resource": f'Service::"{entry.id}"',
            "context": {},
        }
        for entry in fleet
    ]

    def ask() -> list[str]:
        found = cedarpy.is_authorized_batch(requests, policy, entities)
        return [entry.id for entry, one in zip(fleet, found, strict=True) if one.allowed]

    return ask


def _casbin(fleet: Sequence[ServiceEntry]) -> Callable[[], list[str]]:
    """Only the needed capabilities are loaded as policies, which is in the peer's favour."""
    casbin: Any = import_module("casbin")
    model = casbin.Model()
    model.load_model_from_text(_CASBIN)
    enforcer = casbin.Enforcer(model)
    needed = describe(_NEEDED)
    for entry in fleet:
        for name in describe(entry.capability_mask & _NEEDED):
            enforcer.add_policy(entry.id, name)
    return lambda: [entry.id for entry in fleet if all(enforcer.enforce(entry.id, name) for name in needed)]


def _beside(
    name: str, ours: Callable[[], object], peer: Callable[[], object], peer_name: str, target: float, *, seconds: float
) -> Figure:
    return compare(name, ours, peer, peer_name=peer_name, target=target, seconds=seconds, rounds=3)


def _small(fleet: Sequence[ServiceEntry], index: Index) -> list[Figure]:
    search, loop = _searching(index), _looping(fleet)
    _same(search, loop)
    again: Callable[[], object] = lambda: index.who_can(_NEEDED)  # noqa: E731  the thing measured
    found = [
        _beside("who_can, 200 services, first asked", search, loop, "Python loop", 2.6, seconds=0.2),
        _beside("who_can, 200 services, asked again", again, loop, "Python loop", 2.6, seconds=0.2),
    ]
    for module, make, target in (("cedarpy", _cedar, 2800), ("casbin", _casbin, 31_400)):
        if find_spec(module) is not None:
            peer = make(fleet)
            _same(search, peer)
            found.append(_beside(f"who_can, 200 services, beside {module}", search, peer, module, target, seconds=0.2))
    return found


def _large(count: int, label: str, target: float) -> list[Figure]:
    fleet = _fleet(count)
    index = build_index(fleet)
    search, loop = _searching(index), _looping(fleet)
    hits = _same(search, loop)
    named = f"{hits:,} found"
    return [
        compare(
            f"who_can, {label}, ids",
            search,
            loop,
            peer_name="Python loop",
            target=target,
            seconds=0.3,
            rounds=3,
            note=named,
        ),
        compare(
            f"who_can, {label}, count",
            lambda: index.count_can(_NEEDED),
            loop,
            peer_name="Python loop",
            target=350,
            seconds=0.3,
            rounds=3,
        ),
    ]


def _same(ours: Callable[[], list[str]], peer: Callable[[], list[str]]) -> int:
    found = ours()
    assert found == peer()  # noqa: S101 - a figure for another answer would be worth nothing
    assert found  # noqa: S101 - the same
    return len(found)


def figures() -> list[Figure]:
    fleet = _fleet(_SMALL)
    return [*_small(fleet, build_index(fleet)), *_large(_LARGE, "100k services", 47), *_large(_HUGE, "1M services", 10)]


if __name__ == "__main__":
    print_table(figures())
