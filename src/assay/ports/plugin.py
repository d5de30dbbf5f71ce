"""Where an operator puts an SLM plugin; the plugin itself is the Protocol `delivery.plugin.Plugin` of the room."""

from dataclasses import dataclass

from assay.delivery.plugin import Plugin, PluginCard

__all__ = ["PluginPost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginPost:
    """A plugin with its card, and how long it may think."""

    card: PluginCard
    plugin: Plugin
    seconds: float = 10.0
