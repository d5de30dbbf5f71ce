"""Texts as detectors read them: letters that look alike are one, nothing invisible, one blank; and what is wrapped up.

text -> folded;   text -> the texts that it holds in another spelling: entities, percent signs, escapes, base64, tags
"""

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator
from html import unescape
from unicodedata import category, normalize

_NOT_SEEN = frozenset({"Cf", "Me", "Mn"})
# Cyrillic and Greek letters that look like Latin ones, in lower case.
_LOOK_ALIKE = str.maketrans(
    "\u0430\u0432\u0435\u0451\u0456\u0457\u0458\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u0501\u051b\u051d"
    "\u03b1\u03b2\u03b5\u03b7\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u03f2\u0131\u0261\u04cf",
    "abeeiijkmhopctyxsdqwabenikvoptuxcigl",
)
# Letters of the tag block: no screen shows them, and a model reads them as plain ones.
_TAGS = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}
_TAG_CODES = frozenset(_TAGS)
_TAG_CODES = frozenset(_TAGS)
_TAGGED = re.compile("[\U000e0020-\U000e007e]+")
_UNTOLD = ("instruction", "ignore", "prompt", "disregard", "password", "override")
_ROT13 = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM"
)
_BACKWARDS = tuple(word[::-1] for word in _UNTOLD)
_SHIFTED = tuple(word.translate(_ROT13) for word in _UNTOLD)
_ENTITY = re.compile(r"&(?:#x?[0-9a-f]{2,6}|[a-z]{2,8});", re.IGNORECASE)
_PERCENT = re.compile(r"(?:%[0-9a-f]{2})+", re.IGNORECASE)
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})|\\x([0-9a-f]{2})", re.IGNORECASE)
_WRAPPED = re.compile(r"[A-Za-z0-9+/_-]{24,8192}={0,2}")
_HEX = re.compile(r"(?:[0-9a-f]{2}){16,4096}", re.IGNORECASE)
_SPACED = re.compile(r"(?<!\w)(?:\w[ \t._*-]{1,3}){7,200}\w(?!\w)")
_GAP = re.compile(r"[ \t]{2,}")
_FEW = 3
_MOST = 32
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def folded(text: str) -> str:
    """Lower case, compatibility and look-alike letters as plain ones, no marks or invisible ones, one blank.

    Lines are kept.
    """
    plain = text.lower() if text.isascii() else _plain(text)
    lines = (" ".join(line.split()) for line in plain.splitlines())
    return "\n".join(lines)


def text_of(content: bytes) -> str:
    """The text of some evidence, by its byte order mark or by its zeros, else as UTF-8."""
    if content[:2] in _UTF16:
        return content.decode("utf-16", "replace")
    head = content[:512]
    zeros = head.count(0)
    if zeros * _FEW > len(head) > 1:
        return content.decode("utf-16-le" if head[1::2].count(0) * 2 > zeros else "utf-16-be", "replace")
    return content.decode("utf-8", "replace")


def unwrapped(text: str) -> Iterator[str]:
    """Whatever a text says in another spelling; most texts hold nothing of the kind, and cost a look each."""
    if "&" in text and _ENTITY.search(text):
        yield unescape(text)
    if "%" in text and text.count("%") >= _FEW and _PERCENT.search(text):
        yield _PERCENT.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode(errors="replace"), text)
    if "\\" in text and _ESCAPE.search(text):
        yield _ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
    if not text.isascii() and not _TAG_CODES.isdisjoint(map(ord, text)):
        # Apart from the words around them: what no screen shows may begin in the middle of one.
        yield _TAGGED.sub(lambda found: f" {found[0].translate(_TAGS)} ", text)
    yield from _turned(text)
    yield from (_joined(found[0]) for found in _first(_SPACED, text))
    for found in _first(_WRAPPED, text):
        yield from _decoded(found[0])
    for found in _first(_HEX, text):
        yield from _readable(bytes.fromhex(found[0]))


def _turned(text: str) -> Iterator[str]:
    """A text written backwards or shifted by thirteen letters, told by words that an attack hardly does without."""
    plain = text.lower()
    if any(map(plain.__contains__, _BACKWARDS)):
        yield text[::-1]
    if any(map(plain.__contains__, _SHIFTED)):
        yield text.translate(_ROT13)


def _first(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    for count, found in enumerate(pattern.finditer(text)):
        if count == _MOST:
            return
        yield found


def _joined(spaced: str) -> str:
    """`i g n o r e  a l l` as two words; where no gap is wider than the others, as one."""
    return " ".join(re.sub(r"[ \t._*-]", "", word) for word in _GAP.split(spaced))


def _decoded(token: str) -> Iterator[str]:
    bare = token.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        yield from _readable(b64decode(bare + "=" * (-len(bare) % 4)))
    except (Base64Error, ValueError):
        return


def _readable(content: bytes) -> Iterator[str]:
    """What was wrapped up, if it is a text of words: a key or a hash is none."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return
    if text.isprintable() and " " in text:
        yield text


def _plain(text: str) -> str:
    bare = (one for one in normalize("NFKD", text.lower()) if category(one) not in _NOT_SEEN)
    return "".join(bare).lower().translate(_LOOK_ALIKE)
