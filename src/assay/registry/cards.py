"""Cards for other protocols, from the same manifest: an A2A agent card and an MCP server card.

What a card cannot say (bits, tiers, the switch) it says by pointing to the manifest's own endpoints.
"""

from msgspec import UNSET, Struct, UnsetType

from assay.registry.action import Tier
from assay.registry.manifest import Manifest

_A2A_VERSION = "1.0"
_JSON = ("application/json",)


class AgentInterface(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    url: str
    protocol_binding: str
    protocol_version: str = _A2A_VERSION


class AgentSkill(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    id: str
    name: str
    description: str
    tags: tuple[str, ...]


class AgentCapabilities(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    streaming: bool = False
    push_notifications: bool = False


class AgentProvider(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    organization: str
    url: str


class AgentCard(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The required members of an A2A agent card, and the provider where the manifest names an owner."""

    name: str
    description: str
    version: str
    supported_interfaces: tuple[AgentInterface, ...]
    capabilities: AgentCapabilities
    default_input_modes: tuple[str, ...] = _JSON
    default_output_modes: tuple[str, ...] = _JSON
    skills: tuple[AgentSkill, ...]
    provider: AgentProvider | UnsetType = UNSET


class McpRemote(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    type: str
    url: str


class McpServerCard(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """An MCP server card: who the server is and where it is reached; tools are asked of the server itself."""

    name: str
    title: str
    version: str
    description: str
    remotes: tuple[McpRemote, ...]


def agent_card(manifest: Manifest, *, base_url: str) -> AgentCard:
    """Every query and action an agent may reach is a skill; what is off or restricted is left out."""
    root = base_url.rstrip("/")
    return AgentCard(
        name=manifest.name,
        description=manifest.description,
        version=manifest.version,
        supported_interfaces=(AgentInterface(url=root, protocol_binding="HTTP+JSON"),),
        capabilities=AgentCapabilities(),
        skills=tuple(
            AgentSkill(
                id=action.id,
                name=action.id,
                description=action.description or f"{action.type} `{action.id}`",
                tags=(manifest.domain, action.type, f"tier-{int(action.tier)}"),
            )
            for action in manifest.actions
            if action.tier != Tier.OFF and action.restricted is None
        ),
        provider=UNSET if manifest.owner is None else AgentProvider(organization=manifest.owner, url=root),
    )


def mcp_card(manifest: Manifest, *, base_url: str) -> McpServerCard:
    """The manifest as an MCP server card. Its name is `domain/service`: the namespace comes first, as MCP asks for."""
    return McpServerCard(
        name=f"{manifest.domain}/{manifest.service}",
        title=manifest.name,
        version=manifest.version,
        description=manifest.description,
        remotes=(McpRemote(type="streamable-http", url=base_url.rstrip("/") + "/mcp"),),
    )
