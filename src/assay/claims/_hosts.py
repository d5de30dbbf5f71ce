"""Host names that look like others: letters of two scripts in one name, or foreign letters that only pose as Latin.

text -> hosts in addresses -> labels, with punycode undone -> those that no honest registrant writes
A name wholly in its own script is as good as any: what is looked for is the disguise.
"""

import re
from unicodedata import name

_HOST = re.compile(r"(?:://|@|\bwww\.)([^\s/?#\"'<>()\[\]@:,;]{1,253})")
_SCRIPTS = frozenset({"CYRILLIC", "GREEK", "LATIN", "ARMENIAN", "CHEROKEE"})
# Cyrillic and Greek letters that nobody tells from Latin ones.
_POSING = frozenset(
    "\u0430\u0435\u0456\u0458\u043e\u0440\u0441\u0443\u0445\u0455\u0501\u051b\u051d\u04cf\u03bf\u03bd\u03b1\u0432\u043a\u043c\u043d\u0442"
)


def find_odd_hosts(text: str) -> list[str]:
    """Every such host, as it is written; most texts have no letter that could make one."""
    if text.isascii() and "xn--" not in text.lower():
        return []
    return [host for host in _HOST.findall(text) if any(_is_odd(label) for label in host.lower().split("."))]


def _is_odd(label: str) -> bool:
    shown = _undone(label)
    letters = [one for one in shown if one.isalpha()]
    scripts = {name(one, "").partition(" ")[0] for one in letters} & _SCRIPTS
    # Letters of one foreign script that all pass for Latin: a word of that script has others too.
    return len(scripts) > 1 or (bool(letters) and len(letters) > 1 and all(one in _POSING for one in letters))


def _undone(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label
