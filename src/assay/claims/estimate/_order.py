"""One order for many: passive clauses as active ones, and of two converse relations always the same one.

words -> passive turned -> comparison and place turned to one pole -> giving told as receiving -> words in order
"Globex was sued by Acme" and "Acme sued Globex" become the same words in the same order; "Acme was sued by Globex" not.
"""

from assay.claims.estimate._words import stem, word_map, word_set

_BE = word_set("is are was were be been being get gets got")
_BETWEEN = word_set("been being not also now already still just often usually never always first then both all")
_PARTICIPLES = word_set(
    """beaten begun bitten blown born borne bought bound broken brought built caught chosen cut dealt done drawn driven
    dug eaten fed felt fought flown forgotten found frozen given grown heard held hidden hit hung hurt kept known laid
    led left lent lost made meant met overridden paid put read ridden run said seen sent set shot shown shut sold spent
    split spread stolen struck swept taken taught thrown told torn understood won worn woken written"""
)
_NO_PARTICIPLES = word_set("need indeed speed seed feed weed red bed hundred")
# After the agent of a passive clause, one of these begins another part.
_PART = word_set("to from in on at for with after before because since until when while and but into over under than")
# "by" and one of these is no agent.
_NO_AGENT = word_set("hand default now then far law mistake accident chance")
# The other pole of a comparison or a place; the first is told as the second, with its two sides exchanged.
_POLES = word_map(
    """smaller/larger shorter/longer younger/older lower/higher lighter/heavier slower/faster fewer/more less/more
    worse/better cheaper/dearer narrower/wider thinner/thicker weaker/stronger cooler/hotter colder/hotter
    nearer/farther closer/farther poorer/richer later/earlier newer/older shallower/deeper quieter/louder"""
)
_SAME_POLE = {"bigger": "larger", "greater": "larger", "taller": "higher", "warmer": "hotter", "further": "farther"}
_PLACES = {"after": "before", "below": "above", "beneath": "above", "under": "above", "underneath": "above"}
_SIDES = {"south": "north", "east": "west", "right": "left", "downstream": "upstream", "behind": "ahead"}
# Who gives, and who gets: both are told from the side that gets.
_GIVING = word_map(
    """sell/acquir lend/borrow giv/receiv send/receiv donat/receiv award/receiv hand/receiv supply/receiv deliver/receiv
    teach/learn leas/leas rent/rent pay/receiv export/import"""
)
_GETTING = {"get": "receiv", "obtain": "receiv", "accept": "receiv"}
_PEOPLE = word_set("i we you he she they who")
_FOLLOWING = word_set("follow succeed trail")
# Two names of one relation, from its two ends.
_ENDS = word_map(
    """child/parent subsidiary/parent employee/employer pupil/teacher student/teacher tenant/landlord debtor/creditor
    buyer/seller part/whole son/parent daughter/parent"""
)
# An answer of more words is a text, in which the first such clause says little about the rest.
_LONGEST = 40


def canonical_order(words: list[str]) -> list[str]:
    """The words, with what can be told from two sides told from one; long texts stay as they are."""
    if len(words) > _LONGEST:
        return words
    return _direction(_received(_ended(_compared(_active(words)))))


def _active(words: list[str]) -> list[str]:
    """A passive clause as an active one: agent, verb, patient, rest. Without an agent the verb comes first."""
    for place, word in enumerate(words):
        if word not in _BE:
            continue
        verb = _participle(words, place)
        if verb is None:
            continue
        rest = words[verb + 1 :]
        by = next((at for at, one in enumerate(rest) if one == "by"), None)
        if by is None or not rest[by + 1 :] or rest[by + 1] in _NO_AGENT:
            return [words[verb], *words[:place], *words[place + 1 : verb], *rest]
        agent = rest[by + 1 :]
        end = next((at for at, one in enumerate(agent) if at and one in _PART), len(agent))
        return [
            *agent[:end], *words[place + 1 : verb], words[verb], *words[:place], *rest[:by], *agent[end:],
        ]  # fmt: skip
    return words


def _participle(words: list[str], place: int) -> int | None:
    for at in range(place + 1, min(place + 4, len(words))):
        word = words[at]
        if word in _PARTICIPLES or (word.endswith("ed") and word not in _NO_PARTICIPLES):
            return at
        if word not in _BETWEEN and not word.endswith("ly"):
            return None
    return None


def _compared(words: list[str]) -> list[str]:
    for place, word in enumerate(words):
        if word == "than" and place > 1:
            return _comparison(words, place)
        if word in _PLACES and 0 < place < len(words) - 1:
            return [*words[place + 1 :], _PLACES[word], *words[:place]]
        if word in _SIDES and 0 < place < len(words) - 2 and words[place + 1] == "of":
            return [*words[place + 2 :], _SIDES[word], "of", *words[:place]]
        is_side = 0 < place < len(words) - 1 and words[place - 1] not in _PEOPLE and words[place + 1] != "by"
        if is_side and stem(word) in _FOLLOWING:
            return [*words[place + 1 :], "precede", *words[:place]]
    return words


def _comparison(words: list[str], place: int) -> list[str]:
    """`A is smaller than B` as `B is larger than A`; `less dense` as `denser`, from the other side."""
    first, second = words[: place - 1], words[place + 1 :]
    how = words[place - 1]
    if first and first[-1] in ("less", "more"):
        # "less dense than": the base form, told as its comparative.
        sides = (second, first[:-1]) if first[-1] == "less" else (first[:-1], second)
        return [*sides[0], _comparative(how), "than", *sides[1]]
    if how in _POLES:
        return [*second, _POLES[how], "than", *first]
    return [*first, _SAME_POLE.get(how, how), "than", *second]


def _comparative(word: str) -> str:
    return f"{word.removesuffix('e')}er"


def _ended(words: list[str]) -> list[str]:
    """`B is the child of A` as `A is the parent of B`."""
    for place, word in enumerate(words):
        if word in _ENDS and place + 2 < len(words) and words[place + 1] == "of" and not _BE.isdisjoint(words[:place]):
            return [*words[place + 2 :], "is", _ENDS[word], "of", *(one for one in words[:place] if one not in _BE)]
    return words


def _received(words: list[str]) -> list[str]:
    """`A sold X to B` as `B bought X from A`."""
    for place, word in enumerate(words):
        base = stem(word)
        if base in _GETTING and "from" in words[place:]:
            return [*words[:place], _GETTING[base], *words[place + 1 :]]
        if base not in _GIVING or not place:
            continue
        to = next((at for at in range(place + 1, len(words)) if words[at] == "to"), None)
        if to is not None and words[to + 1 :]:
            return [*words[to + 1 :], _GIVING[base], *words[place + 1 : to], "from", *words[:place]]
    return words


def _direction(words: list[str]) -> list[str]:
    """`to B from A` as `from A to B`."""
    if words.count("to") != 1 or words.count("from") != 1:
        return words
    to, origin = words.index("to"), words.index("from")
    if to > origin or origin + 1 >= len(words):
        return words
    return [*words[:to], *words[origin:], *words[to:origin]]
