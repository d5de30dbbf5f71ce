"""A plugin over HTTP, asked at a real server on loopback: one request of texts, in time, and with no way back."""

import json

import msgspec
import pytest

from assay.adapters.plugins.http import HttpPlugin
from assay.delivery.errors import DeliveryError
from assay.delivery.plugin import Category, PluginReply, PurvaPaksha, parse_reply
from assay.delivery.rule import RuleId
from assay.ports.model import ModelAddressError, ModelError, ModelOversizeError, ModelTimeoutError
from tests.adapters.test_plugins import _request
from tests.raising import raises
from tests.receiver import receiving


def _reply(rule: str = "MAR-1") -> bytes:
    thought = PurvaPaksha(
        failure_category=Category.RULE, hypothesis="swell", proposed_correction="15 %", confidence=0.4
    )
    return msgspec.json.encode(PluginReply(rule_id=RuleId(rule), purva_paksha=thought))


@pytest.mark.clause("pramana", "10.3")
@pytest.mark.clause("pramana", "12.5")
def test_the_request_and_the_reply_are_of_the_interface() -> None:
    """Exactly the members of section 10.3 go out, and a hypothesis comes back."""
    request = _request()
    with receiving(answers=[200], reply=_reply()) as server:
        thought = parse_reply(HttpPlugin(server.url, seconds=5).infer(request), request)
    assert (thought.failure_category, thought.confidence) == (Category.RULE, 0.4)
    told = json.loads(server.received[0].body)
    assert set(told) == {
        "plugin_interface",
        "rule_id",
        "rule_content",
        "original_query",
        "original_response",
        "phala_signals",
        "failure_category_hint",
    }
    assert told["plugin_interface"] == "pramana/slm-plugin/1.0"


@pytest.mark.clause("pramana", "14.4")
def test_the_plugin_is_given_texts_and_nothing_to_write_with() -> None:
    """No credential of the node and no cookie is in what it hears."""
    with receiving(answers=[200], reply=_reply()) as server:
        HttpPlugin(server.url, seconds=5).infer(_request())
    headers = server.received[0].headers
    assert not {"authorization", "cookie", "x-api-key"} & set(headers)


@pytest.mark.clause("pramana", "14.4")
def test_it_is_asked_inside_the_perimeter_alone() -> None:
    with pytest.raises(ModelAddressError):
        HttpPlugin("https://plugin.example/", seconds=1)


def test_a_plugin_that_is_late_broken_endless_or_elsewhere_is_an_error() -> None:
    """Each costs the hypothesis; a redirect is not followed, and an answer about another rule is none."""
    request = _request()
    with receiving(answers=[200], reply=_reply()) as server:
        server.gate.clear()
        with pytest.raises(ModelTimeoutError):
            HttpPlugin(server.url, seconds=0.1).infer(request)
    for status in (302, 404, 500):
        with receiving(answers=[status], extra={"location": "/else"}) as server, pytest.raises(ModelError):
            HttpPlugin(server.url, seconds=5).infer(request)
    with receiving(answers=[200], reply=b"x" * (2 << 20)) as server, pytest.raises(ModelOversizeError):
        HttpPlugin(server.url, seconds=20).infer(request)
    with raises(DeliveryError.plugin_scope):
        parse_reply(_reply("MAR-2"), request)
    with raises(DeliveryError.plugin_reply):
        parse_reply(b"clear", request)
