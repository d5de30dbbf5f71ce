"""Sources: which hosts an address names, however it is written, and whether a list of patterns covers it.

text -> NFKC, no blanks that readers drop -> every reading of it (a backslash is a slash, or is not) -> host + path
A list that denies counts any reading, also of an address behind another scheme (`view-source:https://…`) or among other
words, and what cannot be read; a list that allows counts only what all readings are.
"""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple
from unicodedata import normalize

# What readers of addresses drop before they look (WHATWG URL): tabs and line ends anywhere, blanks at the ends.
_DROPPED = re.compile(r"[\t\r\n]")
_ENDS = "".join(map(chr, range(0x21)))
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE | re.ASCII)
_WEB = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?", re.ASCII)
_DOTTED = re.compile(r"[^/?#\s]+\.[^/?#\s]+")
_PORT = re.compile(r":(\d*)$", re.ASCII)
# A part of an IPv4 address as readers take it: 0x and hex digits, 0 and octal ones, or decimal ones.
_PART = re.compile(r"0x[0-9a-f]*|[0-9]+", re.ASCII)
_PARTS, _BYTE = 4, 256
_DEEPEST = 4
_QUOTED = re.compile(r"(?:%[0-9a-f]{2})+", re.IGNORECASE)


class _Reading(NamedTuple):
    """One way to read a source; `host` is None where it names none, `is_clear` false where it should and cannot."""

    scheme: str
    host: str | None
    place: str
    is_clear: bool
    is_bare: bool


def is_source_denied(source: str, patterns: tuple[str, ...]) -> bool:
    """Whether any reading of it is on the list; an address whose host cannot be read counts as one that is."""
    readings = tuple(one for part in _parts(source) for one in _readings(part))
    if not all(one.is_clear for one in readings):
        return True
    plain = _plain(source).casefold()
    return any(_is_denied(one, plain, pattern) for one in readings for pattern in patterns)


def is_source_allowed(source: str, patterns: tuple[str, ...]) -> bool:
    """Whether one pattern of the list covers every reading of it."""
    readings = _readings(source)
    return any(all(_is_allowed(one, source, pattern) for one in readings) for pattern in patterns)


def _plain(source: str) -> str:
    return _DROPPED.sub("", normalize("NFKC", source)).strip(_ENDS)


def _parts(source: str) -> list[str]:
    """The source, what stands behind its schemes, and each word of it that is an address."""
    found = [source]
    for _ in range(_DEEPEST):
        scheme = _SCHEME.match(_plain(found[-1]))
        if scheme is None or scheme[1].lower() in _WEB:
            break
        found.append(_plain(found[-1])[scheme.end() :])
    words = normalize("NFKC", source).split()
    return [*found, *(word for word in words if len(words) > 1 and "://" in word)]


def _readings(source: str) -> tuple[_Reading, ...]:
    return tuple({_read(source), _read(source.replace("\\", "/"))})


def _read(source: str) -> _Reading:
    plain = _plain(source)
    found = _SCHEME.match(plain)
    scheme, rest = (found[1].lower(), plain[found.end() :]) if found else ("", plain)
    if scheme in _WEB:
        return _address(scheme, rest.lstrip("/"))
    if rest.startswith("//"):
        return _address(scheme, rest.lstrip("/"))
    # A name with a dot may be a host that somebody wrote without its scheme, with a port or without.
    if _DOTTED.match(plain) and (not found or rest[:1].isdigit()):
        return _address("", plain)._replace(is_bare=True, is_clear=True)
    return _Reading(scheme, None, plain, is_clear=True, is_bare=False)


def _address(scheme: str, rest: str) -> _Reading:
    authority, path = re.match(r"([^/?#]*)(.*)", rest, re.DOTALL).groups()  # type: ignore[union-attr]  # matches anything
    name = authority.rpartition("@")[2]
    port = _PORT.search(name)
    if port is None and not scheme and not name.startswith("["):
        name = name.partition(":")[0]  # `git@host:path`
    number = port[1] if port else ""
    host = _ascii_host(name[: port.start()] if port else name)
    suffix = "" if number in ("", _WEB.get(scheme or "https")) else f":{number}"
    return _Reading(scheme, host, f"{host}{suffix}{_path(path)}", is_clear=host is not None, is_bare=False)


def _unquoted(text: str) -> str:
    """The text with its percent escapes decoded; bytes that are no text become one that no host has."""
    return _QUOTED.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace"), text)


def _ascii_host(name: str) -> str | None:
    """Unquoted, folded and in ASCII, without a final dot; None where that is no host."""
    plain = normalize("NFKC", _unquoted(name)).strip().rstrip(".")
    if plain.startswith("[") and plain.endswith("]"):
        return _address_host(plain[1:-1])
    try:
        host = plain.encode("idna").decode("ascii").lower().rstrip(".")
    except UnicodeError:
        return None
    return _numbered_host(host) if _HOST.fullmatch(host) else None


def _numbered_host(host: str) -> str | None:
    """The host; one that ends in a number is an IPv4 address in its usual form, or none at all (WHATWG URL)."""
    parts = host.split(".")
    if _PART.fullmatch(parts[-1]) is None:
        return host
    try:
        *leading, last = [_number(part) for part in parts]
        if len(parts) > _PARTS or any(number >= _BYTE for number in leading) or last >= _BYTE ** (5 - len(parts)):
            return None
        return str(IPv4Address(last + sum(number << (24 - 8 * place) for place, number in enumerate(leading))))
    except ValueError:
        return None


def _number(part: str) -> int:
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8 if len(part) > 1 and part.startswith("0") else 10)


def _address_host(text: str) -> str | None:
    """In brackets; an IPv4 address that is written as one of IPv6 is that one."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return f"[{address}]" if mapped is None else str(mapped)


def _path(path: str) -> str:
    """Unquoted, with `.` and `..` gone and one slash in a row."""
    before, mark, after = path.partition("?")
    steps: list[str] = []
    for step in _unquoted(before).split("/"):
        if step == ".." and steps:
            steps.pop()
        elif step not in ("", ".", ".."):
            steps.append(step)
    end = "/" if before.endswith("/") and steps else ""
    return f"/{'/'.join(steps)}{end}{mark}{after}"


def _is_denied(reading: _Reading, plain: str, pattern: str) -> bool:
    if pattern.startswith("host:"):
        return _is_host_in(reading.host, pattern)
    wanted = _read(pattern.removesuffix("*"))
    is_beginning = pattern.endswith("*")
    if reading.host is not None and wanted.host is not None and _is_placed(reading.place, wanted.place, is_beginning):
        return True
    return _is_placed(plain, _plain(pattern.removesuffix("*")).casefold(), is_beginning)


def _is_allowed(reading: _Reading, source: str, pattern: str) -> bool:
    if pattern.startswith("host:"):
        return not reading.is_bare and _is_host_in(reading.host, pattern)
    wanted = _read(pattern.removesuffix("*"))
    is_beginning = pattern.endswith("*")
    if reading.host is None or wanted.host is None or reading.is_bare:
        return _is_placed(source, pattern.removesuffix("*"), is_beginning)
    return reading.scheme == wanted.scheme and _is_placed(reading.place, wanted.place, is_beginning)


def _is_placed(place: str, wanted: str, is_beginning: bool) -> bool:  # noqa: FBT001  which of two questions it is
    return place.startswith(wanted) if is_beginning else place == wanted


def _is_host_in(host: str | None, pattern: str) -> bool:
    wanted = _ascii_host(pattern.removeprefix("host:").removeprefix("*."))
    return host is not None and wanted is not None and (host == wanted or host.endswith(f".{wanted}"))
