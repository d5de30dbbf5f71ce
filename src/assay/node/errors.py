"""What an open node refuses by itself; everything else is refused by the flow that was called.

NodeError               node.refused
├── NodeClosedError     node.closed
├── ReadOnlyNodeError   node.read_only
├── FrozenTableError    node.table_frozen
└── HomeMissingError    node.no_home
"""

from assay.kernel.errors import Blame, Error


class NodeError(Error):
    """An open node was used in a way that it cannot be."""

    code = "node.refused"
    blame = Blame.USAGE


class NodeClosedError(NodeError):
    """The node was closed; open it again."""

    code = "node.closed"


class ReadOnlyNodeError(NodeError):
    """The node was opened to be read: nothing can be recorded or signed through it."""

    code = "node.read_only"


class FrozenTableError(NodeError):
    """Questions have been asked already; answerers are added before the first one."""

    code = "node.table_frozen"


class HomeMissingError(NodeError):
    """A database address names no keys; `home` is the folder that has them."""

    code = "node.no_home"
