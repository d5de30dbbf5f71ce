"""`assay graph`: knowledge graphs from the text of a regulation to the graph in use."""

import click

from assay.surfaces.cli.lazy import Entrance, LazyGroup

_HERE = "assay.surfaces.cli"
_ENTRANCES = {
    "new": Entrance(f"{_HERE}.graph_make:new", "write a small graph to begin with"),
    "extract": Entrance(f"{_HERE}.graph_extract:extract", "make a draft of the text of a regulation"),
    "upgrade": Entrance(f"{_HERE}.graph_make:upgrade", "write a graph of any form or origin as a typed draft"),
    "validate": Entrance(f"{_HERE}.graph_check:validate", "tell every issue, with what to do about it"),
    "diff": Entrance(f"{_HERE}.graph_node:diff", "what changed between two graphs"),
    "units": Entrance(f"{_HERE}.graph_make:units", "draft exact unit conversions into a graph"),
    "review": Entrance(f"{_HERE}.graph_node:review", "ask people about a graph"),
    "reviews": Entrance(f"{_HERE}.graph_node:reviews", "list what people said of a content"),
    "sign": Entrance(f"{_HERE}.graph_node:sign_", "sign a graph that people accepted"),
    "load": Entrance(f"{_HERE}.graph_node:load", "put a signed graph into use"),
    "impact": Entrance(f"{_HERE}.graph_node:impact", "which past verdicts another graph would change"),
    "show": Entrance(f"{_HERE}.graph_node:show", "show a graph as people read it, or one of its nodes"),
    "list": Entrance(f"{_HERE}.graph_node:list_", "list every version that was handed in"),
    "history": Entrance(f"{_HERE}.graph_node:history", "what happened to graphs, and who reviewed them"),
}


@click.group(cls=LazyGroup, entrances=_ENTRANCES)
def graph() -> None:
    """Knowledge graphs: regulations as rules that verdicts cite, reviewed by people and signed before use."""
