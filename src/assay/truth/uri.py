"""One normal form for the address of evidence, so that a mirror of spelling is no second witness.

Every scheme: lower-case scheme, upper-case percent escapes, no white space. `http` and `https` also: lower-case host,
no default port, no dot segments, `/` for an empty path, escapes of unreserved characters undone (RFC 3986, 6.2.2 and
6.2.3). Queries and fragments stay as they are but for their escapes' case. Other schemes keep their case after the
scheme: in `ipfs://` it carries meaning.
"""

import re

from assay.truth.errors import TruthError

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30}):([^\s\x00-\x20\x7f<>\"{}|\\^`]+)")
_LONGEST = 2048
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]", re.ASCII)
_WEB = re.compile(r"//(?:([^/?#@]*)@)?([^/?#@:\[\]]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]*))?((?:/[^?#]*)?)((?:[?#].*)?)")
_DEFAULT_PORTS = {"http": "80", "https": "443"}


def normalise_uri(text: str) -> str:
    """The normal form; a text that is no absolute URI, or whose parts cannot be told apart, is refused."""
    match = _URI.fullmatch(text)
    if match is None or len(text) > _LONGEST or _BROKEN_ESCAPE.search(text):
        raise TruthError.uri(f"expected an absolute URI of at most {_LONGEST} characters, got `{text[:80]}`")
    scheme, rest = match[1].lower(), match[2]
    if scheme in _DEFAULT_PORTS:
        return f"{scheme}:{_web(scheme, rest)}"
    return f"{scheme}:{_with_upper_escapes(rest)}"


def uri_scheme(uri: str) -> str:
    return uri.partition(":")[0].lower()


def _web(scheme: str, rest: str) -> str:
    match = _WEB.fullmatch(rest)
    if match is None:
        raise TruthError.uri(f"expected `{scheme}://host/path`, got `{scheme}:{rest[:80]}`")
    user, host, port, path, tail = match.groups()
    start = "//" + ("" if user is None else f"{_unescaped(user)}@") + _with_upper_escapes(_unescaped(host).lower())
    if port and port != _DEFAULT_PORTS[scheme]:
        start += f":{port}"
    return start + _without_dots(_unescaped(path)) + _with_upper_escapes(tail)


def _with_upper_escapes(text: str) -> str:
    return _ESCAPE.sub(lambda escape: escape[0].upper(), text)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_undo, text)


def _undo(escape: re.Match[str]) -> str:
    char = chr(int(escape[1], 16))
    return char if _UNRESERVED.fullmatch(char) else escape[0].upper()


def _without_dots(path: str) -> str:
    """RFC 3986, 5.2.4, for a path that is absolute or empty."""
    kept: list[str] = []
    parts = path.split("/")[1:]
    for part in parts:
        if part == "..":
            kept = kept[:-1]
        elif part != ".":
            kept.append(part)
    if parts and parts[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)
