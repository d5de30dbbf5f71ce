"""What the tools refuse, beyond what the flows behind them refuse.

McpError                mcp.refused
├── BusyError           mcp.busy
├── ReadOnlyError       mcp.read_only
└── InternalError       mcp.internal
"""

from assay.kernel.errors import Blame, Code, Error


class McpError(Error):
    """A call of a tool is refused."""

    code = "mcp.refused"
    blame = Blame.ANSWER
    unknown_tool = Code("mcp.unknown_tool", "No tool has this name.", Blame.USAGE)
    arguments = Code("mcp.arguments", "The arguments are not those of the tool's schema.", Blame.USAGE)
    not_installed = Code("mcp.not_installed", "The extra `mcp` is not installed.", Blame.USAGE)


class BusyError(McpError):
    """As many calls wait as this server holds; try again later."""

    code = "mcp.busy"


class ReadOnlyError(McpError):
    """The tool records something, and this server only reads."""

    code = "mcp.read_only"


class InternalError(McpError):
    """Something went wrong here; the log says what."""

    code = "mcp.internal"
    blame = Blame.OURS
