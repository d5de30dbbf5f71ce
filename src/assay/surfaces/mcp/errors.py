"""What the tools refuse, beyond what the flows behind them refuse.

McpError                mcp.refused
├── UnknownToolError    mcp.unknown_tool
├── ArgumentsError      mcp.arguments
├── BusyError           mcp.busy
├── ReadOnlyError       mcp.read_only
├── InternalError       mcp.internal
└── NotInstalledError   mcp.not_installed
"""

from assay.kernel.errors import Blame, Error


class McpError(Error):
    """A call of a tool is refused."""

    code = "mcp.refused"
    blame = Blame.ANSWER


class UnknownToolError(McpError):
    """No tool has this name."""

    code = "mcp.unknown_tool"
    blame = Blame.USAGE


class ArgumentsError(McpError):
    """The arguments are not those of the tool's schema."""

    code = "mcp.arguments"
    blame = Blame.USAGE


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


class NotInstalledError(McpError):
    """The extra `mcp` is not installed."""

    code = "mcp.not_installed"
    blame = Blame.USAGE
