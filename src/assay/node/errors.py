"""What an open node refuses by itself; everything else is refused by the flow that was called.

NodeError               node.refused
"""

from assay.kernel.errors import Blame, Code, Error


class NodeError(Error):
    """An open node was used in a way that it cannot be."""

    code = "node.refused"
    blame = Blame.USAGE
    closed = Code("node.closed", "The node was closed; open it again.")
    read_only = Code("node.read_only", "The node was opened to be read: nothing can be recorded or signed through it.")
    table_frozen = Code(
        "node.table_frozen", "Questions have been asked already; answerers are added before the first one."
    )
    no_home = Code("node.no_home", "A database address names no keys; `home` is the folder that has them.")
