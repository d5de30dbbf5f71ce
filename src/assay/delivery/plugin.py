"""The SLM plugin, `pramana/slm-plugin/1.0` (PRAMANA 10.3): it proposes a hypothesis to a person, and decides nothing.

work item -> ask_plugin (within its scope) -> PluginRequest -> a plugin -> parse_reply -> PurvaPaksha
Its confidence is shown to the reviewer; nothing here or elsewhere compares it with anything.
"""

from enum import StrEnum
from typing import Final, Literal, Protocol

import msgspec
from msgspec import Struct

from assay.delivery._read import is_text, read_object, shape
from assay.delivery.errors import DeliveryError
from assay.delivery.outcome import Outcome
from assay.delivery.rule import RuleId

PLUGIN_INTERFACE: Final = "pramana/slm-plugin/1.0"
_LONGEST_TEXT = 20_000


class Category(StrEnum):
    """Where a failure lies (PRAMANA 10.1); the three are mandatory and never collapsed."""

    ROUTING = "A"
    APPLICATION = "B"
    RULE = "C"


class CategoryHint(StrEnum):
    ROUTING = "A"
    APPLICATION = "B"
    RULE = "C"
    UNKNOWN = "unknown"


class PluginCard(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an operator registers of a plugin: who it is and which rules it may hear of; none unless named."""

    plugin_id: str
    model_version: str
    rule_ids: tuple[RuleId, ...]


class PluginSignal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    outcome: Outcome
    query_context: str
    timestamp: str


class PluginRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Text only: no key, no address and no handle by which a plugin could write anything (PRAMANA 14.4)."""

    plugin_interface: Literal["pramana/slm-plugin/1.0"] = PLUGIN_INTERFACE
    rule_id: RuleId
    rule_content: str
    original_query: str
    original_response: str
    phala_signals: tuple[PluginSignal, ...]
    failure_category_hint: CategoryHint = CategoryHint.UNKNOWN


class PurvaPaksha(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A hypothesis, for a person to judge. `confidence` is the plugin's own and gates nothing."""

    failure_category: Category
    hypothesis: str
    proposed_correction: str
    confidence: float


class PluginReply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    plugin_interface: Literal["pramana/slm-plugin/1.0"] = PLUGIN_INTERFACE
    rule_id: RuleId
    purva_paksha: PurvaPaksha


class Plugin(Protocol):
    """Whoever implements it may be slow, wrong or broken: the caller limits the time and goes on without a reply.

    It is given the request alone; corrections flow through a person's conclusion and never through the plugin.
    """

    def infer(self, request: PluginRequest) -> bytes:
        """The reply as it came, still to be parsed."""
        ...


def ask_plugin(card: PluginCard, request: PluginRequest) -> PluginRequest:
    """The request, if the plugin may hear of its rule; else it is refused before anything is sent."""
    if request.rule_id not in card.rule_ids:
        raise DeliveryError.plugin_scope(f"plugin `{card.plugin_id[:80]}` is not scoped to rule `{request.rule_id}`")
    return request


def parse_reply(content: bytes | str, request: PluginRequest) -> PurvaPaksha:
    """Read strictly; a reply about another rule than the one asked about is refused."""
    reply = shape(read_object(content, DeliveryError.plugin_reply), PluginReply, DeliveryError.plugin_reply)
    if reply.rule_id != request.rule_id:
        raise DeliveryError.plugin_scope(
            f"expected a reply about `{request.rule_id}`, got one about `{reply.rule_id[:80]}`"
        )
    thought = reply.purva_paksha
    if not 0 <= thought.confidence <= 1:
        raise DeliveryError.plugin_reply(f"expected a confidence of 0 to 1, got {thought.confidence:g}")
    # A correction may be left empty: in categories A and B the rule is right as it is.
    for text in (thought.hypothesis, thought.proposed_correction or "none"):
        if not is_text(text, _LONGEST_TEXT):
            raise DeliveryError.plugin_reply(f"expected texts of at most {_LONGEST_TEXT} printable characters")
    return thought


def render_request(request: PluginRequest) -> bytes:
    return msgspec.json.encode(request)
