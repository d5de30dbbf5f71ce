"""One wording for many: signs, shares, quantifiers, denials and common phrases of a plain text.

plain text -> identifiers as words -> signs and shares as numbers -> quantifiers, denials, phrases in one wording
Each line of a table is a regular expression and what it becomes; a person can check each by itself.
"""

import re

# What "not all" and "some … not" become: a quantifier of its own, and no denial of the rest.
NOT_ALL = "notall"
_DIGIT_LETTERS = str.maketrans("0123456789", "abcdefghij")
# `db-1`, `host-eu-3`: a name that happens to hold digits, and no number.
_IDENTIFIER = re.compile(r"\b[a-z]+(?:[-_][a-z0-9]+)*[-_]?\d+(?:[-_][a-z0-9]+)*\b")
_HAS_DIGIT = re.compile(r"\d")
_UNIT_LIKE = re.compile(r"q[1-4]|v\d+")
_SOME_NOT = re.compile(
    r"\bsome (?:of (?:the )?)?((?:\w+ ){1,2})(?:do|does|did|is|are|was|were|have|has|had|can|could|will|would) not\b"
)
# A word that every match has, which most texts have not; then what is looked for, and what it becomes.
_TABLE = tuple(
    (word, re.compile(form), full)
    for word, form, full in (
        # versions: one way to write them, and letters that belong to them
        ("v", r"\bv\.? ?(?=\d)", "version "),
        ("version ", r"\bversion (\d[\d.]*\w*) of (?:the )?(\w+)", r"\2 \1"),
        ("not", r"^no,? (?=.*\bnot\b)", ""),
        # signs
        ("minus ", r"\bminus (?=\w)", "-"),
        ("negative ", r"\bnegative (?=\w)", "-"),
        ("below ", r"([\w.]+)( degrees?)?( celsius| fahrenheit)? (?:below (?:zero|freezing))( celsius| fahrenheit)?",
         r"-\1 degrees\3\4"),
        ("above zero", r"(degrees?)( celsius| fahrenheit)? above zero", r"\1\2"),
        ("degree", r"\bdegrees? (celsius|fahrenheit|kelvin)\b", r"\1"),
        # shares and halves
        ("and a half", r"\b(?:an?|one) (\w+) and a half\b", r"1.5 \1"),
        ("half ", r"\bhalf (?:an? |of an? )(\w+)\b", r"0.5 \1"),
        ("quarters of", r"\bthree quarters of\b", "75% of"),
        ("quarter of", r"\b(?:an?|one) quarter of\b", "25% of"),
        ("half of", r"\bhalf of\b", "50% of"),
        ("third", r"\b(?:an?|one)[ -]third\b", "one-part-in-three"),
        ("thirds", r"\btwo[ -]thirds\b", "two-parts-in-three"),
        ("basis point", r"\bbasis points?\b", "basispoints"),
        # decades
        ("ies", r"\bthe (twent|thirt|fort|fift|sixt|sevent|eight|ninet)ies\b", r"\1ies"),
        # quantifiers and bounds
        (">=", r">= ?(?=[-\d])", "at least "),
        ("≥", r"≥ ?(?=[-\d])", "at least "),
        ("<=", r"<= ?(?=[-\d])", "at most "),
        ("≤", r"≤ ?(?=[-\d])", "at most "),
        (">", r"> ?(?=[-\d])", "more than "),
        ("<", r"< ?(?=[-\d])", "less than "),
        ("not ", r"\bnot (?:all|every|each|everyone|everybody)\b(?: of)?(?: the)?", f" {NOT_ALL} "),
        ("50% of", r"\bmore than 50% of\b", "most of"),
        (" or more", r"\b(\w+) or more\b", r"at least \1"),
        (" or ", r"\b(\w+) or (?:fewer|less)\b", r"at most \1"),
        ("minimum of", r"\b(?:a )?minimum of\b", "at least"),
        ("maximum of", r"\b(?:a )?maximum of\b", "at most"),
        ("none of", r"\bnone of (?:the )?", "no "),
        ("nobody", r"\bnobody\b", "no person"),
        ("no one", r"\bno one\b", "no person"),
        # denials
        ("yet to", r"\b(?:has|have|had|is|are) yet to\b", "did not"),
        ("free ", r"\bfree (?:of|from)\b", "no"),
        ("fail", r"\bfail(?:s|ed)? to\b", "not"),
        ("unable to", r"\bunable to\b", "can not"),
        ("no longer", r"\bno longer\b", "not"),
        # phrases
        (" up", r"\b(?:go|goes|went|gone|going) up\b", "increased"),
        (" down", r"\b(?:go|goes|went|gone|going) down\b", "decreased"),
        (" down", r"\b(?:shut|shuts|shutting) down\b", "stop"),
        (" down", r"\b(?:break|breaks|broke|broken) down\b", "collapsed"),
        (" back", r"\b(?:roll|rolls|rolled) back\b", "revert"),
        (" better", r"\b(?:get|gets|got|getting) better\b", "improving"),
        (" worse", r"\b(?:get|gets|got|getting) worse\b", "worsening"),
        (" off", r"\b(?:call|calls|called) off\b", "cancelled"),
        (" off", r"\b(?:put|puts) off\b", "postponed"),
        (" out", r"\b(?:find|finds|found) out\b", "discovered"),
        (" up", r"\b(?:set|sets) up\b", "established"),
        (" place", r"\b(?:takes?|took|taking) place\b", "is"),
        (" of", r"\bmade (?:up )?of\b|\bcomposed of\b", "consists of"),
        ("works as", r"\bworks as\b", "is"),
        (" to", r"\b(?:due|owing|thanks) to\b", "because"),
        (" of", r"\b(?:because|as a result) of\b", "because"),
        ("at once", r"\bat once\b", "immediately"),
        (" away", r"\b(?:right|straight) away\b", "immediately"),
        (" day", r"\b(?:every|each|once a) day\b", "daily"),
        (" week", r"\b(?:every|each|once a) week\b", "weekly"),
        (" month", r"\b(?:every|each|once a) month\b", "monthly"),
        (" year", r"\b(?:every|each|once a) year\b", "yearly"),
        ("in the ", r"\bin the (?:place|home|house) of\b", "at"),
        ("'s ", r"'s (?:place|home|house)\b", ""),
    )
)  # fmt: skip


def rewritten(plain: str) -> str:
    """The text in the wording that facets are read from."""
    text = _IDENTIFIER.sub(_named, plain) if _HAS_DIGIT.search(plain) else plain
    for word, form, full in _TABLE:
        if word in text:
            text = form.sub(full, text)
    return _SOME_NOT.sub(rf"{NOT_ALL} \1", text) if "some " in text else text


def _named(found: re.Match[str]) -> str:
    """An identifier as one word of letters; what is a short sign and digits stays a number."""
    name = found.group()
    if _UNIT_LIKE.fullmatch(name):
        return name
    return re.sub(r"[-_]", "", name).translate(_DIGIT_LETTERS)
