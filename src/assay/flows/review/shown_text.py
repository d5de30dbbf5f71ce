"""Text that a person is shown and answers for: what could hide, or turn other text around, is written by its number."""

from unicodedata import category

# Characters that no reader sees, or that turn others around.
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def escape_unseen(text: str) -> str:
    """The same text with such characters as the escapes of JSON, which reads them back the same."""
    if text.isprintable():
        return text
    return "".join(_escaped(one) if category(one) in _UNSEEN else one for one in text)


def _escaped(one: str) -> str:
    units = one.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))
