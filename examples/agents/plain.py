"""A plain loop: an agent that deletes a record after people have approved exactly that.

    ASSAY_CREDENTIAL=key python examples/agents/plain.py URL FOLDER RUN

Run it, approve the ticket, run it again: it goes on where it was, also after a crash.
"""

import sys

from records import AGENT, SAYS, TIERS, connect, delete_record, ended

import assay

__all__ = ["main"]


def main() -> int:
    client, folder, run = connect()
    guard = assay.guard(client, agent=AGENT, run=run, tiers=TIERS, says=SAYS)
    tools = {"delete_record": guard.tool(name="delete_record")(lambda name: delete_record(folder, name))}
    told = ""
    # What a model would say, one call after another.
    for name, arguments in [("delete_record", {"name": "guests.txt"})]:
        try:
            told = tools[name](**arguments)
        except assay.Waiting as waiting:
            return ended("", list(waiting.tickets))
        except assay.NotRun as error:
            told = str(error)
    return ended(told)


if __name__ == "__main__":
    sys.exit(main())
