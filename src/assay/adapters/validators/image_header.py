"""What the first bytes of a picture say: its kind and its size. Nothing is decoded, so nothing can blow up."""

from typing import NamedTuple

_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"
_PNG_END = 24
_JPEG = b"\xff\xd8\xff"
# Start-of-frame markers; 0xC4, 0xC8 and 0xCC between them are tables.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_SCAN = frozenset({0xD9, 0xDA})
# Markers without a length.
_BARE = frozenset({0x01, *range(0xD0, 0xD8)})
_FILL = 0xFF
_MOST_SEGMENTS = 1000
_LENGTH_BYTES = 2
_FRAME_BYTES = 7


class ImageHeader(NamedTuple):
    media_type: str
    width: int
    height: int


def read_image_header(content: bytes) -> ImageHeader | None:
    """None for what is no PNG or JPEG, and for one that ends or breaks before it has said its size."""
    header = None
    if content.startswith(_PNG) and len(content) >= _PNG_END:
        header = ImageHeader("image/png", _number(content[16:20]), _number(content[20:24]))
    elif content.startswith(_JPEG):
        header = _jpeg(content)
    return header if header is not None and header.width > 0 and header.height > 0 else None


def _jpeg(content: bytes) -> ImageHeader | None:
    place = 2
    for _ in range(_MOST_SEGMENTS):
        while content[place : place + 2] == b"\xff\xff":
            place += 1
        if place + 2 > len(content) or content[place] != _FILL:
            return None
        marker, place = content[place + 1], place + 2
        if marker in _FRAMES:
            frame = content[place + _LENGTH_BYTES : place + _FRAME_BYTES]
            is_whole = len(frame) == _FRAME_BYTES - _LENGTH_BYTES
            return ImageHeader("image/jpeg", _number(frame[3:5]), _number(frame[1:3])) if is_whole else None
        length = 0 if marker in _BARE else _number(content[place : place + _LENGTH_BYTES])
        if marker in _SCAN or (marker not in _BARE and length < _LENGTH_BYTES):
            return None
        place += length
    return None


def _number(raw: bytes) -> int:
    return int.from_bytes(raw, "big")
