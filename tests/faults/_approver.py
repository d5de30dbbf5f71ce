"""A process that approves bundles until it is killed: it writes down what it was told, before the next one begins."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from assay.flows.claims.gate_claims import GateBundle, gate
from assay.flows.known import get_ticket
from assay.flows.review.answer_desk import answer_desk
from assay.identity.risk import RiskTier
from assay.kernel.instant import render_instant
from assay.review.draft import Reply
from assay.wiring import open_node
from tests.acting import caller_of
from tests.claims.making import claim, document
from tests.flows._node import TENANT
from tests.flows._people import quick_passwords

__all__: list[str] = []


def main(folder: str, journal: str, agent: str, session: str) -> None:
    """Submit, be told ESCALATE, approve, be told PUBLISH: each line of the journal on disk before the next step."""
    log = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with open_node(Path(folder)) as (opened, _):
        tools = replace(opened, passwords=quick_passwords())
        number = os.getpid() * 100_000
        while True:
            number += 1
            at = tools.clock.now()
            made = claim(risk_tier=RiskTier.DELETE.value, claim_type="DECISION", evidence_pointers=[])
            given = document(made, id=str(UUID(int=number)), timestamp=render_instant(at))
            gated = gate(tools, caller_of(tools, agent, at=at), GateBundle(bundle=given)).value
            os.write(log, f"waits {gated.bundle_hash}\n".encode())
            asked = gated.tickets[0].ticket_id
            ticket = tools.database.read(lambda unit, asked=asked: get_ticket(unit, TENANT, asked))  # type: ignore[misc]  # bound at once
            reply = Reply(choice="approve", seen=ticket.shown_hash)
            done = answer_desk(tools, caller_of(tools, session, at=tools.clock.now()), ticket.id, reply)
            decision = "none" if done.regated is None or done.regated.gated is None else done.regated.gated.decision
            os.write(log, f"told {gated.bundle_hash} {done.answered.receipt.entry_hash} {decision}\n".encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
