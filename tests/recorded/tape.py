"""Requests and responses in a form that is written to a file, read by people and compared byte by byte."""

import base64
import json
import re
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import httpx

from tests.recorded.node import Scene

__all__ = ["RULES", "Tape", "compare", "find_changes", "load_changes", "load_tape", "render_tape", "with_changes"]

# What a server adds to every response, and the length, which follows from the body.
_LEFT_OUT = frozenset({"content-length", "date", "server", "traceparent", "x-request-id"})
# Of the header `ratelimit`, always: how fast the requests came is nobody's promise.
_HEADER_RULE = "rate_limit_left"
# What is replaced before it is written or compared, because no two runs measure the same.
RULES: dict[str, tuple[str, str]] = {
    "measured_seconds": (r'("(?:uptime_seconds|took_seconds|duration_ms|latency_ms)":)[0-9.e+-]+', r"\g<1>0"),
    "measured_traffic": (r'("(?:requests_per_minute|ai_agent_traffic_pct)":)[0-9.e+-]+', r"\g<1>0"),
    "measured_rss": (r'("(?:rss_bytes|pid)":)[0-9.e+-]+', r"\g<1>0"),
    "rate_limit_left": (r"r=\d+;t=\d+", "r=LEFT;t=SECONDS"),
    "other_metrics": (r"(?m)^(?!ski_|# (?:HELP|TYPE) ski_).*\n", ""),
    "metric_values": (r"(?m)^((?!#)\S+(?:\{.*\})?) \S+$", r"\g<1> VALUE"),
}


@dataclass
class Tape:
    """Sends requests to a scene and keeps each exchange in order."""

    scene: Scene
    exchanges: list[dict[str, Any]] = field(default_factory=list)

    def get(self, path: str, by: str | None = None, **more: Any) -> httpx.Response:  # noqa: ANN401  see `send`
        return self.send("GET", path, by, **more)

    def post(self, path: str, body: object, by: str | None = None, **more: Any) -> httpx.Response:  # noqa: ANN401  see `send`
        return self.send("POST", path, by, body=body, **more)

    def send(
        self,
        method: str,
        path: str,
        by: str | None = None,
        *,
        body: object = None,
        media: str = "application/json",
        rules: tuple[str, ...] = (),
        **headers: str,
    ) -> httpx.Response:
        """Send `body` as JSON, or bytes as they are; `by` names a credential of the scene, or is one."""
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        typed = {} if body is None else {"content-type": media}
        key = {} if by is None else {"x-api-key": self.scene.keys.get(by, by)}
        number = len(self.exchanges) + 1
        self.scene.entropy.begin(f"request {number}")
        response = self.scene.ask(method, path, {**key, **typed, **named}, content)
        self.scene.entropy.begin(f"after {number}")
        request = {"method": method, "path": path, "by": by, "headers": {**typed, **named}, "body": _body(content)}
        self.exchanges.append({"request": request, "response": _response(response, rules), "rules": list(rules)})
        return response

    def instead(self, method: str, path: str, by: str, body: object = None) -> httpx.Response:
        """Ask another route in place of the last exchange, whose own route is gone; nothing is kept of it."""
        number = len(self.exchanges)
        headers = {"x-api-key": self.scene.keys.get(by, by), "content-type": "application/json"}
        self.scene.entropy.begin(f"request {number}")
        response = self.scene.ask(method, path, headers, b"" if body is None else json.dumps(body).encode())
        self.scene.entropy.begin(f"after {number}")
        return response

    def keep(self, what: str, answered: object) -> None:
        """Keep what did not come as a response: a stream, or what a webhook was sent."""
        self.exchanges.append({"request": {"what": what}, "response": answered, "rules": []})


def _response(response: httpx.Response, rules: tuple[str, ...]) -> dict[str, Any]:
    before, after = RULES[_HEADER_RULE]
    headers = {
        name: re.sub(before, after, value) if name == "ratelimit" else value
        for name, value in sorted(response.headers.items())
        if name not in _LEFT_OUT
    }
    content = response.content
    for name in rules:
        before, after = RULES[name]
        content = re.sub(before, after, content.decode()).encode()
    return {"status": int(response.status_code), "headers": headers, "body": _body(content)}


def _body(content: bytes) -> dict[str, Any]:
    """As JSON where the bytes are exactly its shortest form, else as text, else in base64."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}
    try:
        value = json.loads(text)
    except ValueError:
        return {"text": text}
    for name, separators in (("json", (",", ":")), ("spaced_json", (", ", ": "))):
        if json.dumps(value, separators=separators, ensure_ascii=False) == text:
            return {name: value}
    return {"text": text}


def render_tape(specification: str, exchanges: list[dict[str, Any]]) -> str:
    used = sorted({_HEADER_RULE, *(name for one in exchanges for name in one["rules"])})
    told = {
        "specification": specification,
        "recorded_with": "0.1.0",
        "rules": {name: {"replace": RULES[name][0], "with": RULES[name][1]} for name in used},
        "exchanges": exchanges,
    }
    return json.dumps(told, indent=1, ensure_ascii=False) + "\n"


def load_tape(path: Path) -> list[dict[str, Any]]:
    """The exchanges of version 0.1.0."""
    found: list[dict[str, Any]] = json.loads(path.read_text())["exchanges"]
    return found


def load_changes(path: Path) -> dict[str, dict[str, Any]]:
    """Responses that are meant to differ from 0.1.0, by file and number of the exchange, each with its reason."""
    found: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.is_file() else {}
    return found


def with_changes(exchanges: list[dict[str, Any]], changes: dict[str, Any]) -> list[dict[str, Any]]:
    """The exchanges of 0.1.0 with what was changed since on purpose."""
    return [{**one, **_changed(changes.get(str(number), {}))} for number, one in enumerate(exchanges, start=1)]


def _changed(change: dict[str, Any]) -> dict[str, Any]:
    return {part: change[part] for part in ("request", "response") if part in change}


def find_changes(recorded: list[dict[str, Any]], now: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Exchanges that differ from those of 0.1.0, by number.

    A request differs where it repeats what an earlier response said: a hash, or a whole state. Method, path and caller
    must be the same.
    """
    found = {}
    for number, (old, new) in enumerate(zip(recorded, now, strict=True), start=1):
        for name in ("method", "what", "by"):
            assert old["request"].get(name) == new["request"].get(name), f"request {number} is another one"
        if compare([old], [new]) is not None:
            request = {} if old["request"] == new["request"] else {"request": new["request"]}
            found[number] = {**request, "response": new["response"]}
    return found


def compare(recorded: list[dict[str, Any]], now: list[dict[str, Any]]) -> str | None:
    """Name the first difference in words, or return None."""
    for number, (old, new) in enumerate(zip(recorded, now, strict=False), start=1):
        asked = old["request"]
        title = (
            f"exchange {number}, {asked.get('method', '')} {asked.get('path', asked.get('what'))} by {asked.get('by')}"
        )
        for part in ("request", "response", "rules"):
            found = _difference(old[part], new[part], part)
            if found is not None:
                return f"{title}: {found}"
    if len(recorded) != len(now):
        return f"expected {len(recorded)} exchanges, got {len(now)}"
    return None


def _difference(old: object, new: object, at: str) -> str | None:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in (*old, *(name for name in new if name not in old)):
            if name not in old or name not in new:
                return f"`{at}.{name}` is {'new' if name not in old else 'gone'}: {new.get(name, old.get(name))!r}"
            found = _difference(old[name], new[name], f"{at}.{name}")
            if found is not None:
                return found
        # The order of members is part of the bytes.
        return None if list(old) == list(new) else f"`{at}` has its members in another order: {list(new)}"
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        found_in = (
            _difference(one, other, f"{at}[{place}]") for place, (one, other) in enumerate(zip(old, new, strict=True))
        )
        return next((found for found in found_in if found is not None), None)
    if isinstance(old, str) and isinstance(new, str) and old != new:
        lines = zip_longest(old.splitlines(), new.splitlines())
        before, after = next((pair for pair in lines if pair[0] != pair[1]), (old, new))
        return f"`{at}` was {before!r}, is {after!r}"
    return None if (type(old), old) == (type(new), new) else f"`{at}` was {old!r}, is {new!r}"
