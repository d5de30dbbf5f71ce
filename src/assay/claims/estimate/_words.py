"""Words: texts into plain tokens, tokens into stems; small tables of English that a person can check.

text -> NFKC, contractions written out -> tokens -> stems
"""

import re
from collections.abc import Set  # noqa: PYI025  an abstract set, taken as an argument
from functools import lru_cache
from unicodedata import normalize

__all__ = ["FILLER", "NEGATIONS", "has_opposite", "plain_text", "stem", "tokens_of", "word_set"]


def word_set(text: str) -> frozenset[str]:
    """A table of words, written as one text."""
    return frozenset(text.split())


_CONTRACTIONS = (
    (re.compile(r"\b(?:cannot|can't)\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"(\w)n't\b"), r"\1 not"),
    (re.compile(r"\b(it|he|she|that|there|what|who)'s\b"), r"\1 is"),
    (re.compile(r"(\w)'(?:re|m)\b"), r"\1 are"),
    (re.compile(r"(\w)'(?:s|ve|ll|d)?(?=\s|$)"), r"\1"),
)
_TOKEN = re.compile(r"[^\W_]+(?:[.'-][^\W_]+)*|[^\W_]")
_TITLE = re.compile(r"\b(?:Dr|Doctor|Mr|Mrs|Ms|Prof|Professor)\b\.?\s+(?=[A-Z])")
_SHORTEST = 3
# Said in nearly every answer, and changing nothing in it.
FILLER = word_set(
    """a about actually all-in-all also an and answer approximately are around as at be because been being but by did do
    does done due during each-other exactly first for from had has have he her his i in indeed into is it its just
    language-model located main mainly make of off old on or our out people person roughly she since situated so such
    take than that the their them there they this those thus to total undergo up use using via was we were what
    when where which who whom whose will with would yes you your away result value amount long last-named
    da de del der di la le van von"""
)
NEGATIONS = word_set("no not never none nobody neither nor nothing without nowhere hardly")
_IRREGULAR = {
    form: base
    for base, forms in {
        "be": "is are was were been being am", "beat": "beaten", "become": "became", "begin": "began begun",
        "break": "broke broken", "bring": "brought", "build": "built", "buy": "bought", "catch": "caught",
        "choose": "chose chosen", "come": "came", "cost": "costs", "do": "did done does", "draw": "drew drawn",
        "drive": "drove driven", "fall": "fell fallen", "find": "found", "fly": "flew flown", "forget": "forgot",
        "freeze": "froze frozen", "get": "got gotten", "give": "gave given", "go": "went gone", "grow": "grew grown",
        "have": "has had", "hear": "heard", "hold": "held", "keep": "kept", "know": "knew known", "lead": "led",
        "leave": "left", "lend": "lent", "lose": "lost", "make": "made", "mean": "meant", "meet": "met",
        "pay": "paid", "rise": "rose risen", "run": "ran", "say": "said", "see": "saw seen", "sell": "sold",
        "send": "sent", "shake": "shook shaken", "show": "shown", "sink": "sank sunk", "speak": "spoke spoken",
        "spend": "spent", "stand": "stood", "steal": "stole stolen", "strike": "struck", "take": "took taken",
        "teach": "taught", "tell": "told", "think": "thought", "throw": "threw thrown", "understand": "understood",
        "wear": "wore worn", "win": "won", "write": "wrote written", "child": "children", "man": "men",
        "woman": "women", "colour": "color colors", "licence": "license licenses", "centre": "center centers",
    }.items()
    for form in forms.split()
}  # fmt: skip
# Each line one meaning, where reports use several words for it.
_SYNONYMS = {
    word: group.split()[0]
    for group in """
        acquire buy purchase
        begin start commence
        big large
        close shut
        decrease decline drop reduce
        document file
        error mistake
        grow increase
        halt stop
        own possess belong
        repair fix mend
        require need
        respond reply
        sick ill
        weigh weight
        daily day
        monthly month
        yearly year annual
        responsible responsibility
    """.strip().splitlines()
    for word in group.split()
}
_OPPOSITES = {
    word_set(pair)
    for line in """
        active passive; after before; allow deny; always never; decrease increase; dead alive; enter leave
        expand shrink; fail pass; fail succeed; fall rise; first last; full empty; grow decrease; high low; hot cold
        left right; lose win; many few; more less; most least; most few; north south; east west; off on; old new
        open close; rise drop; safe dangerous; same different; true false; under over; accept reject; approve reject
        guilty innocent; male female; positive negative; maximum minimum; above below; cheap expensive; early late
        heavy light; lock unlock; start halt; send receive
    """.strip().splitlines()
    for pair in line.split(";")
}
_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "non-")


def plain_text(text: str) -> str:
    """Lower case, compatibility forms unfolded, contractions and titles written out."""
    plain = _TITLE.sub("", normalize("NFKC", text)).replace("’", "'").casefold()
    for form, full in _CONTRACTIONS:
        plain = form.sub(full, plain)
    return plain


def tokens_of(plain: str) -> list[str]:
    """The words of a plain text; a hyphen, point or apostrophe inside a word belongs to it."""
    return _TOKEN.findall(plain)


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """One form for the forms of a word; not always a word itself."""
    base = _IRREGULAR.get(word, word)
    if base in _SYNONYMS:
        return _SYNONYMS[base]
    cut = _cut(base)
    return _SYNONYMS.get(cut, _SYNONYMS.get(f"{cut}e", cut))


def _cut(word: str) -> str:
    short = word
    for suffix, least in (("ies", 3), ("ing", 4), ("edly", 4), ("ed", 3), ("es", 4), ("s", 3), ("ly", 4)):
        if word.endswith(suffix) and len(word) - len(suffix) >= least and not word.endswith(("ss", "us", "is")):
            short = word.removesuffix(suffix) + ("y" if suffix == "ies" else "")
            break
    if short != word and len(short) > _SHORTEST and short[-1] == short[-2] and short[-1] not in "lsz":
        short = short[:-1]  # stopped -> stopp -> stop
    return short.removesuffix("e") if len(short) > _SHORTEST else short


def has_opposite(some: Set[str], others: Set[str]) -> bool:
    """Whether a stem of one side contradicts one of the other: by the table, or by a prefix that denies."""
    return any(_opposites(word) & others or _is_denied(word, others) or _denies(word, others) for word in some)


@lru_cache(maxsize=4096)
def _opposites(word: str) -> frozenset[str]:
    return frozenset(other for pair in _OPPOSITES if word in pair for other in pair if other != word)


def _is_denied(word: str, others: Set[str]) -> bool:
    return any(prefix + word in others for prefix in _PREFIXES)


def _denies(word: str, others: Set[str]) -> bool:
    return any(word.startswith(prefix) and word.removeprefix(prefix) in others for prefix in _PREFIXES)
