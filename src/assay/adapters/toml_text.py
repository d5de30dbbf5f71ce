"""Change one value in a TOML text and nothing else: comments and order stay, and the result is read back to be sure."""

import re
import tomllib
from typing import Any

from assay.kernel.errors import Blame, Error

# One value as we write them: a string, or a list of strings that may go over several lines.
_VALUE = r'(?:"[^"\n]*"|\[[^\]]*\])'


class TomlEditError(Error):
    """A configuration is written in a way that we do not edit; change it by hand."""

    code = "config.edit"
    blame = Blame.USAGE


def set_toml_value(text: str, section: str, key: str, value: str | list[str]) -> str:
    """The text with `[section] key` set; refused unless reading it back shows exactly that change."""
    wanted: dict[str, Any] = tomllib.loads(text)
    wanted = {**wanted, section: {**wanted.get(section, {}), key: value}}
    edited = _edit(text, section, key, f"{key} = {_render(value)}")
    try:
        found = tomllib.loads(edited)
    except tomllib.TOMLDecodeError:
        found = {}
    if found != wanted:
        raise TomlEditError(f"expected to set `{section}.{key}`, got a text we cannot edit; set it to {_render(value)}")
    return edited


def _edit(text: str, section: str, key: str, line: str) -> str:
    header = re.search(rf"^\[{re.escape(section)}\][^\n]*\n", text, re.MULTILINE)
    if header is None:
        return f"{text.rstrip()}\n\n[{section}]\n{line}\n"
    following = re.compile(r"^\[", re.MULTILINE).search(text, header.end())
    end = following.start() if following else len(text)
    body = text[header.end() : end]
    # A function, so that a backslash in the value is not taken for a reference.
    changed, count = re.subn(rf"^{re.escape(key)}\s*=\s*{_VALUE}", lambda _: line, body, count=1, flags=re.MULTILINE)
    if not count:
        changed = f"{line}\n{body}"
    return text[: header.end()] + changed + text[end:]


def _render(value: str | list[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_render(item) for item in value)}]"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
