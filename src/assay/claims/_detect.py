"""Patterns of attacks in texts: rules a person can read, each with a kind and a score.

text, and what it holds in another spelling -> folded (no marks, nothing invisible, no look-alikes) -> digits as letters
-> signs
Every repetition in a pattern is bounded, so that no text can make the search slow.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from assay.claims._fold import folded, unwrapped
from assay.claims._hosts import find_odd_hosts
from assay.claims._threat_german import GERMAN_RULES
from assay.claims._threat_leaks import LEAK_RULES
from assay.claims._threat_orders import ORDER_RULES
from assay.claims._threat_reader import READER_RULES
from assay.claims._threat_rule import ThreatRule, threat_rule
from assay.claims._threat_shell import SHELL_RULES
from assay.claims._threat_tongues import TONGUE_RULES

_EXCERPT = 120
_HOST_SCORE = 0.8
_LETTERS = str.maketrans("013457@$", "oieastas")


class Hit(NamedTuple):
    kind: str
    score: float
    excerpt: str


_ORDER = r"(?:ignore|disregard|forget|override|discard)"
_PAST = r"(?:previous|prior|above|earlier|preceding|all|everything|your|any)"
_RULES_OF = r"(?:instruction|rule|prompt|guideline|polic|told|command)"
# What people set aside every day, unless it is all of it, or the reader's own.
_SAID = r"(?:your|everything|all (?:of )?(?:the |your )?(?:previous|prior|above|earlier|preceding))"
_PRIVATE = (
    r"(?:password|credential|secret|api[ _-]?key|(?:access|api|auth|bearer|refresh"
    r"|session)[ _-]?token|private key|\.env\b|customer data)"
)
_SEND = r"\b(?:send|e?mail|upload|post|append|leak|forward|encode|copy)\b"
_OUTWARD = r"(?:https?://|\S@\S|paste\w{0,20}\.|\b(?:link|url|webhook)\b)"

_RULES = (
    threat_rule(
        "injection",
        0.9,
        rf"\b{_ORDER}\b[^.;]{{0,40}}\b{_PAST}\b[^.;]{{0,40}}{_RULES_OF}",
        "ignore", "disregard", "forget", "override", "discard",
    ),
    threat_rule(
        "injection",
        0.9,
        rf"\b{_ORDER}\b[^.;]{{0,40}}\b{_SAID}\b[^.;]{{0,40}}(?:message|context|conversation|direction)",
        "ignore", "disregard", "forget", "override", "discard",
    ),
    # Laws override laws; an order to override, or one that is about the reader's rules, is another thing.
    threat_rule(
        "injection",
        0.9,
        r"(?:^|[.;:!?,\n]\s?|\b(?:please|must|now|and|then|you"
        r"|to) )override\b(?! of)[^.;]{0,40}\b(?:policy|rules|instructions)\b"
        r"|\boverrides\b[^.;]{0,40}\b(?:your|the system|system)\b[^.;]{0,40}(?:polic|rule|instruction|prompt)",
        "override",
    ),
    threat_rule(
        "injection",
        0.9,
        r"<\|[a-z_]+\|>|\[/?inst\]|<<sys>>|<!--\s*(?:system|assistant)\s*:"
        # A label is followed by what it labels, an order by an order.
        r"|(?:^|\n)\s*(?:system|assistant)\s*:\s*['\"]?(?:you|your|the user|ignore|override|disregard"
        r"|forget|from now|new|act"
        r"|approve|approved|publish|set|mark|treat|always|never|do not|sure|ok|grant|skip|reveal|send|execute|this)\b",
        "<|", "[inst", "[/inst", "<<sys", "system", "assistant",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\byou are (?:now|no longer)\b[^.;]{0,40}\b(?:assistant|unrestricted|admin|root|dan|model|ai"
        r"|(?:bound by|free (?:of|from))[^.;]{0,20}\b(?:rules?|polic\w+|guidelines?|instructions?"
        r"|restrictions?|limits?))\b",
        "you are n",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\b(?:reveal|print|show|repeat|output|leak)\b[^.;]{0,40}"
        r"\b(?:system prompt|your (?:prompt|instructions)|"
        r"(?:words|text) above(?! (?:the|an?|each|every|this|that)\b))\b",
        "prompt", "your instructions", "s above", "t above",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\b(?:pretend (?:to be|that you are|you are)|act as if you were|you (?:will|must|should) act as)\b"
        r"[^.;]{0,30}\b(?:admin\w*|root|dan|unrestricted|ai|assistant|system|security|ops|operator"
        r"|reviewer|approver|owner"
        r"|developer|superuser|human)\b|\byou (?:will|must) pretend\b",
        "pretend", "act as",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\b(?:if you are|note to|attention|dear|hey|hello|message for)\b,? (?:an? |the |any )?"
        r"(?:ai|llm|language model|chatbot)(?: (?:assistant|model|agent|system|reviewer|judge))?"
        # Companies and enthusiasts are addressed too; a model is told what to do.
        r"(?=\s*(?:$|[,.:;!?)\n\u2014-]|(?:read|review|process|evaluat|assess|judg|summari|that|you|please|ignore|do)))"
        r"|\b(?:if you are|note to|message for) (?:a |the |any )model\b",
        "if you are", "note to", "attention", "dear", "hey", "hello", "message for",
    ),
    threat_rule(
        "injection",
        0.8,
        r"(?<!not )(?<!never )\b(?:bypass|skip|disable|circumvent|override)\b(?! of)[^.;]{0,40}"
        r"\b(?:human review|approvals?\b(?! visit)|gates?\b|guardrail|moderation|policy (?:check|gate"
        r"|engine|filter)|the policy\b(?! rate)"
        r"|safety(?= (?:check|filter|gate|guard|review|polic|rule|measure|setting|system|feature"
        r"|protocol|and|or)|\s*(?:$|[.,;!]))"
        r")|\bgate is disabled\b",
        "bypass", "skip", "disable", "circumvent", "override",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\b(?:set|mark|treat|rate|report|change)\b[^.;]{0,60}"
        r"(?:gate_recommendation|source_confidence|risk_tier|as publish|as approved|confidence 1)",
        "gate_recommendation", "source_confidence", "risk_tier", "as publish", "as approved", "confidence 1",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\btreat\b[^.;]{0,40}\bas (?:security_team|ops_team|admin\w*|root|trusted)\b",
        "treat",
    ),
    threat_rule(
        "injection",
        0.8,
        r"(?:^|[.;:!?,\n]\s?|\b(?:please|must|and|then|now|should|you) )(?:answer|respond|reply) only with\s+"
        r"(?:the (?:word|token|text)\b|[\"'`]|publish|approved?\b|execute|yes\b|true\b|ok\b|json\b|confidence)",
        "only with",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\b(?:do not|don't|never) (?:tell|inform|alert|notify) (?!an? )[^.;]{0,20}"
        r"\b(?:user|operator|reviewer|human|auditor)",
        "not tell", "not inform", "not alert", "not notify", "n't tell", "never tell", "never inform",
    ),
    threat_rule("injection", 0.75, r"\bnew instructions?\s*:", "new instruction"),
    threat_rule(
        "injection",
        0.8,
        r"\b(?:enable|enter|activate) developer mode\b|\bjailbreak (?:mode|prompt|this|the (?:model"
        r"|assistant|system)|yourself)"
        r"|\b(?:you are|be|being|now) jailbroken\b|\bdo anything now\b",
        "developer mode", "jailbreak", "anything now",
    ),
    threat_rule("exfiltration", 0.95, r"-----begin [a-z ]{0,40}private key-----", "private key"),
    threat_rule(
        "exfiltration",
        0.9,
        r"\bakia[0-9a-z]{16}\b|\bsk-[a-z0-9-]{16,}|\bghp_[a-z0-9]{30,}|\bxox[abprs]-[a-z0-9-]{10,}",
        "akia", "sk-", "ghp_", "xox",
    ),
    threat_rule(
        "exfiltration",
        0.9,
        r"\b\w{0,40}(?:secret|passw|api_?key|access_key|auth_token)\w{0,40}\s?[=:]\s*['\"]?[a-z0-9/+_=.-]{12,}",
        "secret", "passw", "api_key", "apikey", "access_key", "auth_token",
    ),
    threat_rule(
        "exfiltration",
        0.9,
        r"\b(?:curl|wget|nc|ncat|scp|ftp)\b[^\n]{0,200}(?:\s-d\b|--data|--upload|\s-t\b|@/|\$\(|`|/etc/|\.ssh)"
        r"|\|\s*(?:nc|ncat|curl)\b",
        "curl", "wget", "nc ", "scp", "ftp", "| n",
    ),
    threat_rule(
        "exfiltration",
        0.85,
        r"/etc/(?:passwd|shadow|sudoers)|~?/?\.ssh/|\bid_rsa\b|\.aws/credentials",
        "/etc/", ".ssh", "id_rsa", ".aws",
    ),
    threat_rule("exfiltration", 0.85, r"!\[[^\]]{0,200}\]\(https?://[^)]{0,500}(?:\{\{|\$\{|%7b)", "](http"),
    threat_rule(
        "exfiltration",
        0.85,
        rf"{_SEND}[^.;]{{0,60}}{_PRIVATE}[^;]{{0,80}}{_OUTWARD}",
        "send", "mail", "upload", "post", "append", "leak", "forward", "encode", "copy",
    ),
    threat_rule(
        "escalation",
        0.9,
        r"\brm\s+-(?:rf|fr)\b|\bchmod\b[^\n]{0,10}777|\buseradd\b[^\n]{0,20}-u 0"
        r"|\bsudo\s+(?!(?:is|was|are|has|and|or|may|can|rights?|access|privileges?|users?|group|commands?)\b)\w",
        "rm -", "chmod", "useradd", "sudo",
    ),
    threat_rule(
        "escalation",
        0.85,
        r"\bgrant all (?:privileges|permissions|rights|on|roles)\b|\bdrop\s+(?:table|database"
        r"|schema)\s+\w+\s*(?:;|--|$)|\btruncate\s+table\b"
        r"|\bdelete\s+from\s+\w+\s+where\s+(?:1\s*=\s*1|true)",
        "grant all", "drop ", "delete from", "truncate",
    ),
    threat_rule("escalation", 0.85, r"\|\s*(?:ba)?sh\b", "| sh", "|sh", "| bash", "|bash"),
    threat_rule(
        "escalation",
        0.8,
        r"administratoraccess|\bis_admin['\"]?\s*[:=]\s*true"
        # In prose a colon after "role" begins a sentence; what ends at once, is quoted or follows `=` is a value.
        r"|\brole['\"]?\s*(?:=\s*['\"]?|:\s*['\"])(?:admin|root|superuser)"
        r"|\brole['\"]?\s*:\s*(?:admin|root|superuser)\w*\s*(?:$|\n|[,}])",
        "administratoraccess", "is_admin", "role",
    ),
    threat_rule(
        "escalation",
        0.8,
        r"(?:\.\.[/\\]){3,}|(?:\.\.[/\\]){2}(?:etc|root|home|var|proc|windows|users|\.|\w{0,20}(?:passw"
        r"|secret|key|shadow))",
        "../", "..\\",
    ),
    threat_rule(
        "escalation",
        0.8,
        r"\brisk_tier['\"]?\s*[=:]\s*['\"]?(?:read_only|write_limited|modify|delete|privilege)",
        "risk_tier",
    ),
)  # fmt: skip
# What irreversible work looks like in the arguments of a tool.
_DESTRUCTIVE = threat_rule(
    "escalation",
    0.8,
    r"\b(?:delete|drop|truncate|grant|revoke|destroy|wipe|rm)\b",
    "delete", "drop", "truncate", "grant", "revoke", "destroy", "wipe", "rm",
)  # fmt: skip
_ALL = (*_RULES, *ORDER_RULES, *READER_RULES, *SHELL_RULES, *LEAK_RULES, *GERMAN_RULES, *TONGUE_RULES)
_OF_ARGUMENTS = (*_ALL, _DESTRUCTIVE)
# Names and short phrases come again with every bundle; longer texts hardly ever do.
_SHORT = 256
_SOURCE = 64 * 1024


def _places_of_words() -> dict[str, tuple[int, ...]]:
    """For each word the rules that it may lead to, by their place."""
    found: dict[str, list[int]] = {}
    for place, rule in enumerate(_OF_ARGUMENTS):
        # As in the view that has letters for digits: what is in any view is in that one.
        for word in rule.words:
            found.setdefault(word.translate(_LETTERS), []).append(place)
    return {word: tuple(places) for word, places in found.items()}


_PLACES = _places_of_words()
_WORDS = tuple(_PLACES)
# The id of most bundles: of hex digits and hyphens no rule says anything.
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_UUID_LENGTH = 36


def find_hits(text: str, *, is_argument: bool = False) -> tuple[Hit, ...]:
    """Every rule that a text breaks; `is_argument` adds what is harmless to say and harmful to run."""
    if len(text) == _UUID_LENGTH and _UUID.fullmatch(text):
        return ()
    if len(text) <= _SHORT:
        return _known_hits(text, is_argument)
    # A source is often quoted by many bundles, one after the other.
    return _known_source(text, is_argument) if len(text) <= _SOURCE else _hits(text, is_argument)


@lru_cache(maxsize=64)
def _known_source(text: str, is_argument: bool) -> tuple[Hit, ...]:  # noqa: FBT001  a cache is keyed by place
    return _hits(text, is_argument)


@lru_cache(maxsize=8192)
def _known_hits(text: str, is_argument: bool) -> tuple[Hit, ...]:  # noqa: FBT001  the same
    return _hits(text, is_argument)


def _hits(text: str, is_argument: bool) -> tuple[Hit, ...]:  # noqa: FBT001  the same
    views = sorted({view for one in (text, *unwrapped(text)) for view in _views(one)})
    # Most texts hold few of the words, and most rules are done with by that.
    whole = "\0".join({view.translate(_LETTERS) for view in views if "\n" not in view})
    present = tuple(filter(whole.__contains__, _WORDS))
    places = {place for word in present for place in _PLACES[word]} if present else ()
    last = len(_OF_ARGUMENTS) if is_argument else len(_ALL)
    rules = (_OF_ARGUMENTS[place] for place in sorted(places) if place < last)
    hosts = (Hit("exfiltration", _HOST_SCORE, host[:_EXCERPT]) for host in find_odd_hosts(text)[:1])
    return (*(hit for rule in rules for hit in _first(rule, views)), *hosts)


def _views(text: str) -> tuple[str, ...]:
    """Line by line, in one line, and with digits that stand for letters."""
    plain = folded(text)
    flat = plain.replace("\n", " ")
    return plain, flat, flat.translate(_LETTERS)


def _first(rule: ThreatRule, views: Iterable[str]) -> Iterator[Hit]:
    for view in views:
        if found := rule.pattern.search(view):
            yield Hit(rule.kind, rule.score, found.group()[:_EXCERPT])
            return
