"""The SLM plugin as the room declares it; adapters implement it in process or over HTTP."""

from dataclasses import dataclass

from assay.delivery.plugin import Plugin, PluginCard, PluginRequest

__all__ = ["Plugin", "PluginCard", "PluginPost", "PluginRequest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginPost:
    """A plugin where an operator put it: its card, and how long it may think."""

    card: PluginCard
    plugin: Plugin
    seconds: float = 10.0
