"""An agent that deletes old records only after people have approved exactly what it said it would delete.

plan -> gate -> act.  DELETE needs the ops team: the gate escalates, the run is interrupted, and its state is on disk.
After `assay review answer TICKET approve`, running it again, here or in another process, goes on and acts once.

    python examples/agents/cleaner.py NODE RECORDS THREAD      with the agent's API key in ASSAY_CREDENTIAL
"""

import json
import os
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import assay

sys.path.insert(0, str(Path(__file__).parent))
from machine import END, Interrupt, Machine

__all__ = ["main", "make_cleaner"]

AGENT = "ai:cleaner"


def plan(records: Path, state: dict[str, Any]) -> dict[str, Any]:
    """What would be deleted, as a bundle; its id follows from the thread, so that a restart says the same."""
    chosen = sorted(file.name for file in records.glob("*.old"))
    statement = f"Delete {len(chosen)} records: {', '.join(chosen)}"
    bundle = {
        "id": str(uuid5(NAMESPACE_URL, f"cleaner:{state['thread']}")),
        "timestamp": datetime.now(UTC).isoformat(),  # noqa: TID251  an agent has a clock of its own
        "origin_agent": AGENT,
        "claims": [
            {
                "id": "delete-old",
                "statement": statement,
                "claim_type": "DECISION",
                "evidence_pointers": [],
                "uncertainty": {"method": "confidence_score", "value": 0.05, "gate_recommendation": "EXECUTE"},
                "risk_tier": "DELETE",
                "if_wrong_cost": "records are gone for good",
            }
        ],
    }
    return {"chosen": chosen, "bundle": bundle}


def gate(node: Path, credential: str, state: dict[str, Any]) -> dict[str, Any]:
    """Ask the gates; while people have to approve, this run ends here and the next one asks again."""
    done = assay.gate(state["bundle"], node=node, credential=credential, thread=state["thread"])
    told = {"decision": done.decision.value, "reason": done.outcome.reason, "bundle_hash": done.bundle_hash}
    if done.decision.value in ("ESCALATE", "DEFER"):
        raise Interrupt({**told, "tickets": [one.ticket_id for one in done.tickets]})
    return told


def act(records: Path, state: dict[str, Any]) -> dict[str, Any]:
    """Delete exactly what was approved; a file that is gone already was deleted by a run that was cut off."""
    for name in state["chosen"]:
        (records / name).unlink(missing_ok=True)
    return {"deleted": state["chosen"]}


def give_up(_state: dict[str, Any]) -> dict[str, Any]:
    return {"deleted": []}


def make_cleaner(node: Path, records: Path, credential: str) -> Machine:
    machine = Machine("plan", records.parent / "checkpoints")
    machine.add("plan", partial(plan, records), "gate")
    machine.add(
        "gate", partial(gate, node, credential), lambda state: "act" if state["decision"] == "PUBLISH" else "no"
    )
    machine.add("act", partial(act, records), END)
    machine.add("no", give_up, END)
    return machine


def main(node: str, records: str, thread: str) -> int:
    """0 when it has acted, 1 while it waits or may not."""
    machine = make_cleaner(Path(node), Path(records), os.environ["ASSAY_CREDENTIAL"])
    try:
        state = machine.run(thread, {"thread": thread})
    except Interrupt as waiting:
        print(json.dumps(waiting.value))
        return 1
    print(json.dumps({"decision": state["decision"], "deleted": state["deleted"]}))
    return 0 if state["decision"] == "PUBLISH" else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
