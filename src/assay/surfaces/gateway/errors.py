"""What a gateway refuses; a refusal is an answer that the agent can read."""

from assay.kernel.errors import Blame, Code, Error


class GatewayError(Error):
    """A call was not forwarded."""

    code = "gateway.refused"
    blame = Blame.ANSWER
    unknown_tool = Code("gateway.unknown_tool", "No row of the gateway's table takes this call.")
    definition_changed = Code(
        "gateway.definition_changed", "A tool's definition is not the one that was approved; nobody may call it yet."
    )
    unreachable = Code("gateway.unreachable", "The server of a tool does not answer.")
    withheld = Code(
        "gateway.withheld", "Guardians found a threat in a result: the call took place, its result is not given."
    )
    pending = Code("gateway.pending", "The call waits for people; the same call goes on when they have answered.")
    configuration = Code("gateway.configuration", "The file that names the servers is not as expected.", Blame.USAGE)
