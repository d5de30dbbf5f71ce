"""Words: texts into plain tokens, tokens into stems; small tables of English that a person can check.

text -> NFKC, contractions written out -> tokens -> stems
"""

import re
from collections.abc import Set  # noqa: PYI025  an abstract set, taken as an argument
from functools import lru_cache
from unicodedata import normalize


def word_set(text: str) -> frozenset[str]:
    """A table of words, written as one text."""
    return frozenset(text.split())


def word_map(text: str) -> dict[str, str]:
    """A table of pairs, written as one text of `this/that`."""
    return dict(pair.split("/", 1) for pair in text.split())


_CONTRACTIONS = (
    (re.compile(r"\b(?:cannot|can't)\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"(\w)n't\b"), r"\1 not"),
    (re.compile(r"\b(it|he|she|that|there|what|who)'s\b"), r"\1 is"),
    (re.compile(r"(\w)'(?:re|m)\b"), r"\1 are"),
    (re.compile(r"(\w)'(?:s|ve|ll|d)?(?=\W|$)"), r"\1"),
)
_TOKEN = re.compile(r"[^\W_]+(?:[.'-][^\W_]+)*|[^\W_]")
_TITLE = re.compile(r"\b(?:Dr|Doctor|Mr|Mrs|Ms|Prof|Professor)\b\.?\s+(?=[A-Z])")
_TITLES = ("Dr", "Doctor", "Mr", "Ms", "Prof")
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
# One form for a person, whoever acts; they carry a role, and no other meaning.
PRONOUNS = {
    form: base
    for base, forms in {
        "i": "i me", "we": "we us", "you": "you", "he": "he him", "she": "she", "they": "they them",
    }.items()
    for form in forms.split()
}  # fmt: skip
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
        advise recommend
        automobile car
        avoid prevent
        boat ship
        company firm
        excellent great
        finish end terminate
        doctor physician
        delete remove erase
        demand ask
        film movie
        finance fund
        gather collect
        journalist reporter
        kill slay
        make manufacture produce
        move transfer relocate
        pay wage
        revert restore
        show display
        sleep asleep
        tell inform
        truce ceasefire
        begin start commence
        big large
        close shut
        decrease decline drop reduce fall lower
        document file
        error mistake
        grow increase rise raise climb gain
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
_OPPOSITE_WORDS = tuple(
    tuple(pair.split())
    for line in """
        active passive; after before; allow deny; always never; decrease increase; dead alive; enter leave
        expand shrink; fail pass; fail succeed; fall rise; first last; full empty; grow decrease; high low; hot cold
        left right; lose win; many few; more less; most least; most few; north south; east west; off on; old new
        open close; rise drop; safe dangerous; same different; true false; under over; accept reject; approve reject
        guilty innocent; male female; positive negative; maximum minimum; above below; cheap expensive; early late
        heavy light; lock unlock; begin halt; send receive; good bad; excellent awful; excellent bad; good poor
        up down; into out; in out; clockwise counterclockwise; clockwise anticlockwise; forward back; improv worsen
        gain lose; profit loss; borrow lend; import export; upgrad downgrad; deposit withdraw; arriv depart
        admit discharg; collaps extend; eastward westward; northward southward; common rare; asleep awake
        acquir sell; float sink; remember forget; love hate; permit forbid; grow decreas; revert forward
        public private; inner outer; upper lower; indoor outdoor; temporary permanent; legal illegal
    """.strip().splitlines()
    for pair in line.split(";")
    if pair.strip()
)
# Of these pairs one holds exactly where the other does not: "not enabled" is "disabled".
_COMPLEMENTS = frozenset(
    frozenset(pair.split())
    for line in """
        enabl disabl; succ fail; pass fail; allow refus; allow deni; allow deny; allow forbid; allow ban
        permit prohibit; permit forbid; includ exclud; accept reject; approv reject; open close; present absent
        aliv dead; positiv negativ; true false; on off; possibl impossibl; awak sleep
        lik dislik; connect disconnect; lock unlock; agre disagre; appear disappear; complet incomplet; float sink
        common rar; onlin offlin; win los; know ignor; visibl hidden; optional mandatory
    """.strip().splitlines()
    for pair in line.split(";")
)
_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "non-")


def plain_text(text: str) -> str:
    """Lower case, compatibility forms unfolded, contractions and titles written out."""
    whole = normalize("NFKC", text)
    if any(map(whole.__contains__, _TITLES)):
        whole = _TITLE.sub("", whole)
    plain = whole.replace("’", "'").casefold()
    if "'" in plain or "cannot" in plain:
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


def shared_denials(some: Set[str], others: Set[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Stems of one side that deny a stem of the other, and those that they deny: "unlocked" and "locked"."""
    if not some or not others:
        return frozenset(), frozenset()
    mine = frozenset(word for word in some if not _denials(word).isdisjoint(others))
    return mine, frozenset(word for word in others if not _denials(word).isdisjoint(some)) if mine else frozenset()


@lru_cache(maxsize=4096)
def _denials(word: str) -> frozenset[str]:
    """What a stem denies or is denied by: by the table, or by a prefix."""
    paired = (other for pair in _COMPLEMENTS if word in pair for other in pair if other != word)
    longer = (prefix + word for prefix in _PREFIXES if len(word) > _SHORTEST)
    shorter = (word.removeprefix(prefix) for prefix in _PREFIXES if word.startswith(prefix))
    return frozenset((*paired, *longer, *(one for one in shorter if len(one) > _SHORTEST)))


def has_opposite(some: Set[str], others: Set[str]) -> bool:
    """Whether a stem of one side contradicts one of the other: by the table, or by a prefix that denies."""
    return any(_opposites(word) & others or _is_denied(word, others) or _denies(word, others) for word in some)


@lru_cache(maxsize=4096)
def _opposites(word: str) -> frozenset[str]:
    """Of a stem: by the table as it is written, and by the stems of its words."""
    pairs = (*_OPPOSITE_WORDS, *((stem(one), stem(other)) for one, other in _OPPOSITE_WORDS))
    return frozenset(other for pair in pairs if word in pair for other in pair if other != word)


def _is_denied(word: str, others: Set[str]) -> bool:
    return any(prefix + word in others for prefix in _PREFIXES)


def _denies(word: str, others: Set[str]) -> bool:
    return any(word.startswith(prefix) and word.removeprefix(prefix) in others for prefix in _PREFIXES)
