"""The verb of duty in a sentence: who or what, whether it is demanded, forbidden or recommended, and what.

core of a sentence -> statements, one for each verb of duty; a permission and a mere telling give none
"""

import re

from msgspec import Struct
from msgspec.structs import replace

from assay.verdicts.graph.extract_terms import slug
from assay.verdicts.graph.extract_time import find_frequency, find_retention

# No sentence that a person can follow is longer; what is, costs no more than to say so.
LONGEST = 2000
_MOST_STATEMENTS = 6
_MOST_WORDS = 12


class Statement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`before` is the subject, `after` the predicate."""

    before: str
    after: str
    is_negated: bool = False
    is_twice_negated: bool = False
    is_forbidden: bool = False  # `is prohibited`: the subject itself is forbidden
    is_advice: bool = False
    is_existence: bool = False  # `is required`: the subject itself is demanded
    is_only: bool = False
    metric: str | None = None  # where the sentence has to be turned round to name it
    doubts: tuple[str, ...] = ()


_MODAL = re.compile(
    r"\b(?:"
    r"(?P<forbidden>(?:is|are|shall be|must be|be)(?: strictly| expressly"
    r"| hereby)?(?: declared(?: to be)?)? (?:in violation|a violation|violations|an offence|prohibited|forbidden"
    r"|banned|unlawful"
    r"|not (?:permitted|allowed)))"
    r"|(?P<only>(?:is|are|shall be|must be|may be) (?:only )?(?:permitted|allowed)(?: only)?(?= .*|$)(?<=only)"
    r"|(?:is|are) permitted only"
    r"|may only|can only|may(?= [^,;]{1,60}? only\b))"
    r"|(?P<entitled>(?:is|are|shall be) entitled to|ha(?:s|ve) (?:a|the) right to)"
    r"|(?P<required>(?:is|are|shall be) (?:required|obliged|obligated) to|needs? to|ha(?:s|ve) to|(?:is"
    r"|are) to(?= (?:be|comply|meet|have|use|report|keep|ensure|remain|follow|submit|wear|provide) )"
    r"|undertakes? to)"
    r"|(?P<existence>(?:is|are) (?:required|mandatory|compulsory))"
    r"|(?P<limited>(?:is|are)(?= (?:limited|restricted) to ))"
    r"|(?P<no>must not|shall not|may not|can ?not|must never|shall never|will not|must in no case|shall in no case"
    r"|must at no time|shall at no time)"
    r"|(?P<advice>should|ought to|(?:is|are) (?:recommended|advised|encouraged) to)"
    r"|(?P<yes>must|shall|will)"
    r"|(?P<may>may|can)"
    r")\b",
)
_MAY_AT_MOST = re.compile(
    r"(?:have|take|carry|contain|hold|use|include|accumulate|employ|store|keep|work|drive|receive|be)(?: for)? "
    r"(?:at most|(?:no|not) more than|(?:no|not) longer than|a maximum of)\b|(?:drive|work|operate|fly"
    r"|run)(?: for)? (?:a total of|up to)\b"
)
# Verbs that say all by themselves.
_SIMPLE = {
    "forbidden": Statement(before="", after="", is_forbidden=True),
    "only": Statement(before="", after="", is_only=True),
    "existence": Statement(before="", after="", is_existence=True),
    "limited": Statement(before="", after=""),
}
_ONLY_WHO = re.compile(
    r"^Only (?P<who>\S.*?) (?:may|can|shall|must|should|(?:is|are) (?:allowed|permitted) to) (?P<act>\S.*)$"
)
_NOBODY = re.compile(r"\b(?:no|nobody|none|never|neither|nor|nothing)\b", re.IGNORECASE)
_QUOTED = re.compile(r"[“\"‘][^”\"’]*[”\"’]")
_NO_MORE = re.compile(
    r"\b(?:no|not) (?:more|less|fewer|higher|lower|greater|later|longer|older|sooner|earlier) than\b", re.IGNORECASE
)
_AT_NO_TIME = re.compile(
    r"(?:At no time|Under no circumstances|In no case|Never)\|"
    r"(?P<thing>\S.*?) (?P<rest>(?:be|fall|drop|rise|exceed|contain|stay|remain|have)\b.*)",
)
_AGAIN = re.compile(r",? (?:and|but|or) (?P<modal>must|shall|should|may|will)\b")
# A second subject with a verb of its own.
_NEXT = re.compile(
    r",? (?:and|but)(?:, [^,;]*,)? (?=(?:(?:the|a|an|each|every|no|it|they|such|any) )?[^,;]{1,90}?\b(?:must"
    r"|shall|should|may not)\b)"
)
_EITHER = re.compile(r"\b(?:not|never) (?:never|not)\b")
_THERE = re.compile(r"^There$", re.IGNORECASE)
_BE_NO = re.compile(r"^be no (?P<thing>\S.*)$")
_BE_SOME = re.compile(r"^be (?P<thing>\S.*)$")
_ORDER = re.compile(
    r"^(?P<no>Do not|Never|Don't|Don’t) (?P<not_act>[a-z]\S*.*)$|^(?P<act>(?:Keep|Store|Check|Record|Report|Wear"
    r"|Use|Ensure|Maintain"
    r"|Inspect|Test|Wash|Clean|Notify|Inform|Calibrate|Replace|Discard|Measure|Monitor|Label|Stop|Close|Lock"
    r"|Review|Submit"
    r"|Limit|Verify|Cool|Heat|Reject|Document|Sample|Call|Contact|Tell|Ask|Remove|Return|Dispose|Isolate|Evacuate"
    r"|Switch|Turn|Apply|Complete"
    r"|Follow|Obtain|Provide|Seal|Secure|Open|Start|Wait|Place|Put|Sign|Enter|Send|Take|Make|Change|Reset|Rotate"
    r"|Encrypt|Train"
    r"|Escalate|Quarantine|Process|Centrifuge|Run|Perform|Mix|Add|Dilute|Transfer|Weigh|Freeze|Thaw|Incubate|Rinse|Dry|Fill"
    r"|Empty|Tighten|Connect|Disconnect|Install|Fit|Mark|Log|Archive|Delete|Update|Approve|Assign|Restrict|Separate|Treat"
    r"|Avoid|Attach|Display|Wipe|Disinfect|Sterilise|Sterilize|Freeze|Flush|Vent|Drain|Count|Compare|Confirm|Prepare"
    r"|Collect|Handle|Pack|Load|Unload|Carry|Bring|Move|Cover|Protect)"
    r" (?![\w ]{0,20}:|of\b|(?:(?!that |which |who )[a-z-]+ ){1,3}(?:is|are|was|were|has|have)\b)"
    r"(?:[a-z]|[0-9]).*)$"
)
_BOUND_IS = re.compile(
    r"^(?:The |A )?(?P<side>maximum|minimum|max\.|min\.)(?: (?:permitted|permissible|allowed|allowable|required"
    r"|acceptable))? "
    r"(?P<thing>\S.*?) (?:is|are|:) (?P<value>.*[0-9].*)$",
    re.IGNORECASE,
)
_LIMIT_IS = re.compile(
    r"^(?:The )?(?:limit|limit value|threshold)s? (?:for|of|on) (?P<thing>\S.*?) (?:is|are) (?P<value>.*[0-9].*)$"
)
_LABELLED = re.compile(
    r"^(?:(?P<side>Minimum|Maximum|Min\.?|Max\.?) )?(?P<thing>[\w -]{2,40}?(?(side)|\b(?:timeout|limit|period"
    r"|threshold|lifetime"
    r"|validity|retention|age))): (?P<value>[0-9].{0,40})$",
    re.IGNORECASE,
)
_REQUIRES = re.compile(
    r"^(?P<thing>[A-Z][^,;]*?) requires? (?P<what>[^,;]*?\b(?:approval|licen[cs]e|permit|permission|consent"
    r"|authori[sz]ation"
    r"|notification|registration|certificate|training|supervision|signature)\b.*)$"
)
_REQUIRED_OF = re.compile(
    r"^[^;]*?\b(?:shall|must) (?:require|oblige|instruct) (?P<who>(?:each|every|all|its|the"
    r"|any) [\w -]+?) to (?P<act>[a-z]\S* .*)$"
)
_TOLD_OFTEN = re.compile(r"^(?P<thing>[A-Z][\w -]{2,60}?) (?:is|are) (?P<act>\w+(?:ed|en|t)\b.*)$")
_ENSURED = re.compile(
    r"^[^;]*?\b(?:shall|must|should|will)\b(?! not)(?:(?!\b(?:shall|must)\b)[^,;])*?\b(?:ensure|guarantee"
    r"|see to it|make sure|secure|arrange"
    r"|operations so)"
    r"s?(?: that|, that|)(?:,[^,]*,)? (?P<inner>\S.*)$"
)
# `The objective is 4 hours; it must not be exceeded`
_NOT_PASSED = re.compile(
    r"^(?P<thing>[A-Z][^;]*?) (?:is|are) (?P<value>[0-9][^;,]*?)[;,]? (?:and )?(?:it|they|which)? ?(?:must|shall|may)"
    r" not be (?:exceeded|surpassed)$"
)
# `The supplier warrants that the availability will be no lower than …`
_WARRANTED = re.compile(
    r"^[A-Z][^,;]*? (?:warrants?|guarantees?|undertakes?|agrees?|covenants?)(?: and \w+)? that (?P<thing>[^,;]*?) will "
    r"(?P<rest>\S.*)$"
)
_FINITE = re.compile(
    r" (?P<verb>is|are|has|have|does|do|remains|remain|meets|meet|complies|comply|reaches|reach|stays|stay"
    r"|contains|contain|bears|bear)"
    r"\b(?P<no> not| never)?(?= )"
)
_ADVERB_FIRST = re.compile(
    r"^(?P<adverb>(?:without|where|as soon as|immediately|forthwith|not later than|no later than|within|at least"
    r"|in any event"
    r"|promptly|to the extent|at all times)\b.*?), (?P<verb>(?!(?:where|and|or|not|in|within|no|including|but|as"
    r"|if)\b)[a-z]+ .*)$"
)
_RELATIVE = re.compile(r"\b(?:that|which|who|whom|as) $")
_ACTING = re.compile(
    r"\b(?:staff|employees?|operators?|owners?|licensees?|permittees?|managers?|officers?|company|team|nurses?"
    r"|contractors?|users?"
    r"|suppliers?|workers?|personnel|supervisors?|members?|we|undertaking|departments?|committee|providers?|holders?)$",
    re.IGNORECASE,
)


def statements_of(core: str) -> tuple[Statement, ...]:
    """Every demand of a sentence, at most six; the rest of a longer chain goes with the last."""
    found: list[Statement] = []
    rest = core
    for _ in range(_MOST_STATEMENTS):
        statement, following = _first(_unwrapped(rest))
        if statement is not None:
            found.append(statement)
        if following is None:
            break
        rest = following
    return tuple(found)


def _unwrapped(core: str) -> str:
    """`States shall ensure that the time does not exceed 48 hours`: the time must not exceed 48 hours."""
    required = _REQUIRED_OF.match(core)
    if required is not None:
        return f"{required['who'][:1].upper()}{required['who'][1:]} must {required['act']}"
    passed, warranted = _NOT_PASSED.match(core), _WARRANTED.match(core)
    if passed is not None or warranted is not None:
        return _bound(passed, warranted)
    ensured = _ENSURED.match(core)
    if ensured is None:
        return core
    inner = ensured["inner"]
    able = re.sub(r"^(?P<thing>(?:(?!\b(?:that|which)\b).)*?) can (?=[a-z])", r"\g<thing> must be able to ", inner)
    if able != inner:
        return able[:1].upper() + able[1:]
    modal, verb = _main_modal(inner), _main_verb(inner)
    if verb is None or (modal is not None and modal.start() <= verb.start()):
        return core if modal is None else inner[:1].upper() + inner[1:]
    no, word = (verb["no"] or "").strip(), verb["verb"]
    base = {"is": "be ", "are": "be ", "has": "have ", "have": "have ", "does": "", "do": ""}.get(word)
    base = f"{word.removesuffix('s')} " if base is None else base
    rest = inner[verb.end() :].strip()
    negation = f"{no} " if no else ""
    return f"{inner[:1].upper()}{inner[1 : verb.start()].rstrip()} must {negation}{base}{rest}"


def _bound(passed: re.Match[str] | None, warranted: re.Match[str] | None) -> str:
    if passed is not None:
        return f"{passed['thing']} must not exceed {passed['value']}"
    thing, rest = ("", "") if warranted is None else (warranted["thing"], warranted["rest"])
    return f"{thing[:1].upper()}{thing[1:]} must {rest}"


def _main_verb(inner: str) -> re.Match[str] | None:
    found = [verb for verb in _FINITE.finditer(inner) if not _RELATIVE.search(inner[: verb.start()] + " ")]
    return found[0] if found else None


def _first(core: str) -> tuple[Statement | None, str | None]:
    """The first demand of a sentence, and the text of those that follow."""
    only = _ONLY_WHO.match(core)
    if only is not None:
        return _only_who(only["who"], only["act"]), None
    modal = _main_modal(core)
    if modal is None:
        return _without_modal(core), None
    before, after = core[: modal.start()].strip(), core[modal.end() :].strip()
    moved = _ADVERB_FIRST.match(after)
    if moved is not None:
        after = f"{moved['verb']} {moved['adverb']}"
    if modal.group() == "will" and not (_ACTING.search(before) or re.match(r"be \w+(?:ed|en|t)\b", after)):
        return None, None
    if turned := _AT_NO_TIME.fullmatch(f"{before}|{after}"):
        # The subject stands behind the verb: put it where it belongs.
        return _first(f"{turned['thing']} {modal.group()} not {turned['rest']}")
    following = None
    again, another = _AGAIN.search(after), _NEXT.search(after)
    if another is not None and (again is None or another.start() < again.start()):
        following, after = after[another.end() :], after[: another.start()]
        following = following[:1].upper() + following[1:]
        if re.match(r"(?:It|They)\b", following):
            following = re.sub(r"^(?:It|They)\b", before, following)
    elif again is not None:
        following, after = f"{before} {after[again.start('modal') :]}", after[: again.start()]
    return _statement(modal, before, after), following


def _main_modal(core: str) -> re.Match[str] | None:
    """The verb of the main clause: `discrepancies that cannot be resolved must be reported` turns on `must`."""
    found = list(_MODAL.finditer(core))
    main = [modal for modal in found if not _RELATIVE.search(core[: modal.start()])]
    return next(iter(main or found), None)


def _only_who(who: str, act: str) -> Statement:
    if re.search(r"[0-9]", who):
        return Statement(before=who, after=act, is_only=True)
    return Statement(before="", after=act, is_only=True, metric=slug(f"{act} only {who}", most=_MOST_WORDS))


def _statement(modal: re.Match[str], before: str, after: str) -> Statement | None:
    kind, words = modal.lastgroup or "", modal.group()
    # `No ship shall …`, `at no time shall …`: the verb is plain, and the sentence forbids.
    is_nobody = _NOBODY.search(_NO_MORE.sub("", _QUOTED.sub("", before))) is not None
    if kind == "may":
        is_bound = re.match(r"(?:No more than|Not more than|At most|A maximum of)\b", before) or _MAY_AT_MOST.match(
            after
        )
        return Statement(before=before, after=after, is_negated=is_nobody) if is_nobody or is_bound else None
    if kind in _SIMPLE:
        rest = re.sub(r"\bonly ", "", after, count=1) if kind == "only" else after
        return replace(_SIMPLE[kind], before=before, after=f"be {rest}" if kind == "limited" else rest)
    negation = re.match(r"(?P<word>not|never)\b ?", after)
    is_negated = kind == "no" or negation is not None
    after = after if negation is None else after[negation.end() :]
    is_again = re.match(r"(?:not|never)\b", after) is not None or (kind == "no" and negation is not None)
    is_twice = is_negated and (is_nobody or is_again)
    if _THERE.match(before):
        return _there(after, is_negated=is_negated, is_advice=kind == "advice")
    only = re.match(r"(?P<act>(?:\w+ ){0,3}?)only (?P<rest>\S.*)$", after)
    if only is not None and not is_negated:
        return Statement(before=before, after=f"{only['act']}{only['rest']}", is_only=True, is_advice=kind == "advice")
    doubts = ("the sentence says `will`: check that it is a duty",) if words == "will" else ()
    return Statement(
        before=before,
        after=after,
        is_negated=is_negated or is_nobody,
        is_twice_negated=is_twice,
        is_advice=kind == "advice",
        doubts=doubts,
    )


def _there(after: str, *, is_negated: bool, is_advice: bool) -> Statement:
    """`There shall be no discharge of oil`, `There must be at least two exits`."""
    nothing = _BE_NO.match(after) if not _NO_MORE.search(after[:20]) else None
    if nothing is not None:
        return Statement(before=nothing["thing"], after="", is_forbidden=True, is_advice=is_advice)
    some = _BE_SOME.match(after)
    if some is None:
        return Statement(before="", after=after, is_negated=is_negated, is_advice=is_advice)
    return Statement(
        before=some["thing"], after="", is_existence=not is_negated, is_forbidden=is_negated, is_advice=is_advice
    )


def _labelled(core: str) -> Statement | None:
    """`Minimum length: 12 characters`, `Gifts to officials require the approval of …`."""
    required = _REQUIRES.match(core)
    if required is not None:
        return Statement(before=required["thing"], after=f"have {required['what']}", doubts=_TOLD)
    labelled = _LABELLED.match(core)
    if labelled is None:
        return None
    words = "at least" if (labelled["side"] or "").lower().startswith("min") else "at most"
    return Statement(before=labelled["thing"], after=f"be {words} {labelled['value']}", doubts=_TOLD)


def _without_modal(core: str) -> Statement | None:
    """Orders (`Keep the door closed`), and limits that are told (`The maximum speed is 30 km/h`)."""
    order = _ORDER.match(core)
    if order is not None:
        return Statement(
            before="",
            after=order["not_act"] or order["act"][:1].lower() + order["act"][1:],
            is_negated=bool(order["no"]),
        )
    bound = _BOUND_IS.match(core)
    if bound is not None:
        words = "at most" if bound["side"].lower().startswith("max") else "at least"
        return Statement(before=bound["thing"], after=f"be {words} {bound['value']}", doubts=_TOLD)
    told = _TOLD_OFTEN.match(core)
    if told is not None and (find_frequency(told["act"]) or find_retention(told["act"], is_negated=False)):
        return Statement(before=told["thing"], after=f"be {told['act']}", doubts=_TOLD)
    limit = _LIMIT_IS.match(core)
    if limit is not None:
        return Statement(before=limit["thing"], after=f"be at most {limit['value']}", doubts=_TOLD)
    return _labelled(core)


_TOLD = ("the limit is told, not demanded",)
