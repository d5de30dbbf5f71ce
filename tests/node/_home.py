"""A node as a program opens it: people, a graph in use, a contract, a rule and a kind of question, made once."""

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import assay
from assay.adapters.clock import SystemClock
from assay.identity.risk import RiskTier
from assay.kernel.instant import render_instant
from assay.node import Node
from assay.wiring import CONFIG_FILE
from tests.flows._truth import POLICY
from tests.flows._verdicts import graph_document, rule
from tests.truth.records import OBSERVATION, contract_text, hash_of_text, schema_bytes

__all__ = ["PASSWORD", "RULE", "SLUG", "Home", "copied", "made", "record", "report", "signal"]

PASSWORD = "correct horse battery"
RULE, SLUG = "MAR-YK-007", "vessel.ukc-status"
_ASKS: dict[str, Any] = {"trust_mask": 0b10, "action_tier": 1}


@dataclass(frozen=True)
class Home:
    """The folder, and an API key or a session for each who acts: `olga` runs the node, `rita` and `sam` review."""

    folder: Path
    keys: dict[str, str] = field(default_factory=dict)


def record(name: str, *, so2: float = 40.0, nox: float = 1.0) -> dict[str, object]:
    """Measured just now; above 35 the medium rule is broken, above 10 the high one."""
    return {
        "telemetry_id": name,
        "timestamp": render_instant(SystemClock().now()),
        "subject": "stack",
        "measurement": {"so2": so2, "nox": nox},
    }


def report(reporter: str, **payload: object) -> dict[str, Any]:
    """A flood, seen just now, with a picture of its own."""
    now = render_instant(SystemClock().now())
    picture = {"uri": "gs://a/b.jpg", "sha256": hash_of_text(f"{reporter} {now}"), "mime_type": "image/jpeg"}
    return {
        **OBSERVATION,
        "observation_id": f"obs-{hash_of_text(reporter + now)[:12]}",
        "reporter_id": reporter,
        "reported_at": now,
        "payload": {"severity": "high", "water_level_meters": 1.25, **payload},
        "evidence_refs": [picture],
    }


def signal(outcome: str, **members: object) -> dict[str, object]:
    """PHALA, as a service sends it."""
    return {
        "signal_type": "phala",
        "rule_id": RULE,
        "applied_by": "bridge",
        "query_context": "entering port",
        "outcome": outcome,
        "strands_available": ["capability"],
        "strand_missing": ["proof"],
        "authenticity_level": "PRAMANA-1",
        "rca_triggered": False,
        "timestamp": render_instant(SystemClock().now()),
        **members,
    }


_TEMPLATE: list[Home] = []


def copied(folder: Path) -> Home:
    """A copy of the one that this process made; peopling a node takes longer than most tests."""
    if not _TEMPLATE:
        _TEMPLATE.append(made(Path(tempfile.mkdtemp()) / "node"))
    source = _TEMPLATE[0]
    shutil.copytree(source.folder, folder / "node")
    return Home(folder / "node", source.keys)


def made(folder: Path, database: str | None = None) -> Home:
    """By the methods of a node alone; its own review key is the one whose graphs it believes."""
    with assay.open(database or folder, home=folder, create=True) as node:
        keys = _people(node)
        believed = node.tools.review_signer.key_id
    settings = folder / CONFIG_FILE
    settings.write_text(settings.read_text().replace("anchors = []", f'anchors = ["{believed}"]'))
    with assay.open(folder) as node:
        _law(node, keys)
    return Home(folder, keys)


def _people(node: Node) -> dict[str, str]:
    keys: dict[str, str] = {}
    for name, granted in (
        ("olga", {"roles": ("operator", "admin")}),
        ("rita", {"roles": ("reviewer",), **_ASKS}),
        ("sam", {"roles": ("reviewer",)}),
        ("otto", {"roles": ("ops_team",)}),
        ("amira", {"roles": (), **_ASKS}),
    ):
        node.add_principal(f"user:{name}", kind="person", password=PASSWORD, **granted)
        keys[name] = str(node.log_in(f"user:{name}", password=PASSWORD).session_token)
    for name, kind, granted in (
        ("service:sensor", "service", _ASKS),
        ("service:gateway", "service", {"roles": ("relay",), **_ASKS}),
        ("ai:planner", "agent", {"risk_ceiling": RiskTier.DELETE}),
    ):
        node.add_principal(name, kind=kind, **granted)
        keys[name.partition(":")[2]] = str(node.issue_key(name).api_key)
    return keys


def _law(node: Node, keys: dict[str, str]) -> None:
    """A graph that rita accepted, a contract and a trust policy, a rule and a kind of question."""
    olga = keys["olga"]
    document = graph_document(rule("SO2"), rule("NOX", tier="high", metric="nox", value=10))
    asked = node.acting(olga).review_graph(document)
    node.acting(keys["rita"]).answer_ticket(asked.ticket.id, "accept", seen=asked.ticket.shown_hash, reason="read")
    signed = node.acting(olga).release_graph(asked.content_hash)
    node.acting(olga).load_graph(signed.document)
    schema = schema_bytes("flood_v1")
    node.acting(olga).release_contract(contract_text("flood_v1"), schema_text=(schema or b"").decode())
    node.acting(olga).register_policy(POLICY)
    node.acting(olga).register_rule(RULE, "At least 10 % of the draught.", domains=["maritime"])
    node.acting(olga).register_query(SLUG, description="is there enough water", domain="maritime", rules=[RULE])
    node.acting(olga).grant_reporter("service:sensor", ["MAR-*"])
