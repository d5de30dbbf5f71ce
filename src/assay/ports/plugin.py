"""Where an operator puts an SLM plugin; the plugin itself is the Protocol `delivery.plugin.Plugin` of the room."""

from collections.abc import Callable
from dataclasses import dataclass

from assay.delivery.plugin import Plugin, PluginCard
from assay.kernel.ids import TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginPost:
    """A plugin with its card, and how long it may think.

    `plugin_of` returns the plugin for one tenant's root causes: a plugin that reads earlier cases reads that tenant's.
    Only of root causes of `tenants` it is asked at all; None is every tenant.
    """

    card: PluginCard
    plugin_of: Callable[[TenantId], Plugin]
    seconds: float = 10.0
    tenants: frozenset[TenantId] | None = None
