"""Orders to whoever reads a text: more ways to say them than `_detect` has, in English."""

from assay.claims._threat_rule import threat_rule

_RULES_OF = r"(?:instructions?|rules?|guidelines?|polic(?:y|ies)|prompt|orders|constraints?)"
_READER = r"(?:ai|llm|gpt|assistant|chatbot|bot|agent|(?:language |reviewer |review |judging |grading )model)"
_STARTS = r"(?:^|[.;:!?,>\n]\s?|\b(?:please|must|now|then|and|you) )"

ORDER_RULES = (
    # Somebody else's rules are not followed every day; the reader's own are what an attack is about.
    threat_rule(
        "injection",
        0.85,
        r"\b(?:do not|don't|never|stop|no longer)\s(?:follow|obey|adher|comply|appl|heed)\w{0,4}\b[^.;]{0,30}"
        rf"\b(?:your {_RULES_OF}|{_RULES_OF}\b[^.;]{{0,30}}\b(?:given to you|you (?:were|have been|received|got)))",
        "follow", "obey", "adher", "comply", "appl", "heed",
    ),
    threat_rule(
        "injection",
        0.85,
        rf"\b{_RULES_OF} (?:that )?you (?:received|were given|have been given|got|have)\b[^.;]{{0,40}}"
        r"\b(?:no longer|do not|don't|are void|have changed|cease)",
        "you received", "you were given", "you have", "you got",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\byour (?:new|real|only|true) (?:role|task|job|goal|instructions?|mission|orders?) (?:is|are)\b"
        rf"|\byour {_RULES_OF} (?:has|have) changed\b|\byour (?:role|task|job) is now\b",
        "your new", "your real", "your only", "your true", "changed", "is now",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\b(?:from (?:now|here) on|henceforth|from this point on),? "
        r"(?:you (?:will|must|should|shall|are|may)|reply|answer|respond|say|approve|accept|treat|act)\b",
        "here on", "now on", "henceforth", "point on",
    ),
    threat_rule(
        "injection",
        0.8,
        rf"\b(?:dear|hey|hello|attention|note to(?: the| any| all)?|to the|to any|for the) {_READER}s?\b"
        r"(?:\s?:|,(?= (?:before|please|you|do|set|say|ignore|the correct))|"
        r" (?:that|who|which) (?:grades?|reads?|judges?|reviews?|evaluates?|summari[sz]es?)\b)"
        r"|\bto (?:the|any) model (?:that|which) (?:grades?|reads?|judges?|reviews?|evaluates?)\b",
        "dear", "hey", "hello", "attention", "note to", "to the", "to any", "for the",
    ),
    threat_rule(
        "injection",
        0.8,
        rf"<!--\s*{_READER}\b|\bnew (?:task|orders?|directive|assignment)s? (?:for|to) (?:the )?"
        rf"(?:{_READER}|model|reviewer)\b",
        "<!--", "new ",
    ),
    # A tag that ends what is quoted, and then an order; or a tag that poses as the system's.
    threat_rule(
        "injection",
        0.85,
        r"</[a-z_]{1,20}>\s*(?:new (?:task|instruction|order)|system\b|assistant\b|you (?:are|must|will)|ignore|now )"
        r"|<(?:system|sys|assistant|instructions?)>\s*(?:you|your|approve|ignore|new|set|always|never|do|mark|publish"
        r"|accept|answer|reply)\b",
        "</", "<sys", "<assistant", "<instruction",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\b(?:set|put|change|reduce|lower|report|raise)\b[^.;]{0,40}\b(?:uncertainty|confidence|risk tier|threat score"
        r"|action tier)\b[^.;]{0,30}\b(?:to|as|=)\s?(?:0(?:\.0+)?|zero|1(?:\.0+)?|100 ?%|[23])(?![\d.,]*\d)",
        "uncertainty", "confidence", "risk tier", "threat score", "action tier",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\b(?:reply|answer|respond|output|say|write|return)(?: only| just)?(?: with)? ['\"`]?"
        r"(?:publish|approved|execute)\b(?! (?:the|an?|by|in|to)\b)"
        r"|\brecommend (?:execute|publish)\b(?! (?:the|an?|it|this)\b)",
        "publish", "approved", "execute",
    ),
    threat_rule(
        "injection",
        0.8,
        rf"{_STARTS}(?:approve|accept|publish|confirm|sign off(?: on)?) (?:everything|whatever|all (?:pending|open"
        r"|further|requests|bundles|items|claims)|every (?:request|item|bundle|claim)|each (?:request|item|bundle))\b",
        "approve", "accept", "publish", "confirm", "sign off",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\b(?:decode|decrypt|decipher|unpack)\b[^.;]{0,40}\band (?:obey|follow|execute|run|do) (?:it|them|that|what)\b"
        r"|\bwith no (?:limits|safety rules|restrictions|rules|filters)\b",
        "decode", "decrypt", "decipher", "unpack", "with no ",
    ),
    # Written letter by letter, and so without a blank between its words.
    threat_rule(
        "injection",
        0.9,
        r"(?:ignore|disregard|forget|override)(?:all|any|the|your|every)?(?:previous|prior|above|earlier|your)?"
        r"(?:instruction|rule|prompt|guideline|order)",
        "ignore", "disregard", "forget", "override",
    ),
)  # fmt: skip
