"""Patterns of attacks in texts: rules a person can read, each with a kind and a score.

text -> folded (NFKD, no marks, nothing invisible, no look-alikes, one blank) -> also with digits as letters -> signs
Every repetition in a pattern is bounded, so that no text can make the search slow.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple
from unicodedata import category, normalize

__all__ = ["Hit", "ThreatRule", "find_hits", "folded"]

_EXCERPT = 120
_NOT_SEEN = frozenset({"Cf", "Me", "Mn"})
_LETTERS = str.maketrans("013457@$", "oieastas")
# Cyrillic and Greek letters that look like Latin ones, in lower case.
_LOOK_ALIKE = str.maketrans(
    "\u0430\u0432\u0435\u0451\u0456\u0457\u0458\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u0501\u051b\u051d"
    "\u03b1\u03b2\u03b5\u03b7\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u03f2\u0131\u0261\u04cf",
    "abeeiijkmhopctyxsdqwabenikvoptuxcigl",
)


class ThreatRule(NamedTuple):
    """`words` are in every text that could match: most texts are dismissed by them, without the pattern."""

    kind: str
    score: float
    words: tuple[str, ...]
    pattern: re.Pattern[str]


class Hit(NamedTuple):
    kind: str
    score: float
    excerpt: str


def _rule(kind: str, score: float, pattern: str, *words: str) -> ThreatRule:
    return ThreatRule(kind, score, words, re.compile(pattern))


_ORDER = r"(?:ignore|disregard|forget|overrides?|discard)"
_PAST = r"(?:previous|prior|above|earlier|preceding|all|everything|your|any)"
_RULES_OF = r"(?:instruction|rule|prompt|guideline|polic|direction|told|message|context|command)"
_PRIVATE = r"(?:password|credential|secret|api[ _-]?key|token|private key|\.env\b|conversation|customer data)"
_SEND = r"\b(?:send|e?mail|upload|post|append|leak|forward|encode|copy)\b"
_OUTWARD = r"(?:https?://|\S@\S|paste\w{0,20}\.|\b(?:link|url|webhook)\b)"

_RULES = (
    _rule(
        "injection",
        0.9,
        rf"\b{_ORDER}\b[^.;]{{0,40}}\b{_PAST}\b[^.;]{{0,40}}{_RULES_OF}",
        "ignore", "disregard", "forget", "override", "discard",
    ),
    _rule("injection", 0.9, r"\boverrides?\b[^.;]{0,40}\b(?:policy|rules|instructions)\b", "override"),
    _rule(
        "injection",
        0.9,
        r"<\|[a-z_]+\|>|\[/?inst\]|<<sys>>|(?:^|\n|<!--)\s*(?:system|assistant)\s*:",
        "<|", "[inst", "[/inst", "<<sys", "system", "assistant",
    ),
    _rule(
        "injection",
        0.8,
        r"\byou are (?:now|no longer)\b[^.;]{0,40}\b(?:assistant|unrestricted|bound|admin|root|dan|free|model|ai)\b",
        "you are n",
    ),
    _rule(
        "injection",
        0.8,
        r"\b(?:reveal|print|show|repeat|output|leak)\b[^.;]{0,40}"
        r"\b(?:system prompt|your (?:prompt|instructions)|"
        r"(?:words|text) above(?! (?:the|an?|each|every|this|that)\b))\b",
        "prompt", "your instructions", "s above", "t above",
    ),
    _rule(
        "injection",
        0.8,
        r"\bpretend to be\b|\bact as if you were\b|\byou (?:will|must) (?:pretend|act as)\b",
        "pretend", "act as",
    ),
    _rule(
        "injection",
        0.8,
        r"\b(?:if you are|note to|attention|dear|hey|hello|message for)\b,? (?:an? |the |any )?"
        r"(?:ai|llm|language model|ai assistant|chatbot)\b"
        r"|\b(?:if you are|note to|message for) (?:a |the |any )model\b",
        "if you are", "note to", "attention", "dear", "hey", "hello", "message for",
    ),
    _rule(
        "injection",
        0.8,
        r"\b(?:bypass|skip|disable|circumvent|override)\b[^.;]{0,40}"
        r"\b(?:human review|approval|gate|safety|guardrail|policy|moderation)|\bgate is disabled\b",
        "bypass", "skip", "disable", "circumvent", "override",
    ),
    _rule(
        "injection",
        0.8,
        r"\b(?:set|mark|treat|rate|report|change)\b[^.;]{0,60}"
        r"(?:gate_recommendation|source_confidence|risk_tier|as publish|as approved|confidence 1)",
        "gate_recommendation", "source_confidence", "risk_tier", "as publish", "as approved", "confidence 1",
    ),
    _rule("injection", 0.8, r"\btreat\b[^.;]{0,40}\bas (?:security_team|ops_team|admin\w*|root|trusted)\b", "treat"),
    _rule("injection", 0.8, r"\b(?:answer|respond|reply) only with\b", "only with"),
    _rule(
        "injection",
        0.8,
        r"\b(?:do not|don't|never) (?:tell|inform|alert|notify)\b[^.;]{0,20}"
        r"\b(?:user|operator|reviewer|human|auditor)",
        "not tell", "not inform", "not alert", "not notify", "n't tell", "never tell", "never inform",
    ),
    _rule("injection", 0.75, r"\bnew instructions?\s*:", "new instruction"),
    _rule(
        "injection",
        0.8,
        r"\b(?:enable|enter|activate) developer mode\b|\bjailbreak|\bdo anything now\b",
        "developer mode", "jailbreak", "anything now",
    ),
    _rule("exfiltration", 0.95, r"-----begin [a-z ]{0,40}private key-----", "private key"),
    _rule(
        "exfiltration",
        0.9,
        r"\bakia[0-9a-z]{16}\b|\bsk-[a-z0-9-]{16,}|\bghp_[a-z0-9]{30,}|\bxox[abprs]-[a-z0-9-]{10,}",
        "akia", "sk-", "ghp_", "xox",
    ),
    _rule(
        "exfiltration",
        0.9,
        r"\b\w{0,40}(?:secret|passw|api_?key|access_key|auth_token)\w{0,40}\s?[=:]\s*['\"]?[a-z0-9/+_=.-]{12,}",
        "secret", "passw", "api_key", "apikey", "access_key", "auth_token",
    ),
    _rule(
        "exfiltration",
        0.9,
        r"\b(?:curl|wget|nc|ncat|scp|ftp)\b[^\n]{0,200}(?:\s-d\b|--data|--upload|\s-t\b|@/|\$\(|`|/etc/|\.ssh)"
        r"|\|\s*(?:nc|ncat|curl)\b",
        "curl", "wget", "nc ", "scp", "ftp", "| n",
    ),
    _rule(
        "exfiltration",
        0.85,
        r"/etc/(?:passwd|shadow|sudoers)|~?/?\.ssh/|\bid_rsa\b|\.aws/credentials",
        "/etc/", ".ssh", "id_rsa", ".aws",
    ),
    _rule("exfiltration", 0.85, r"!\[[^\]]{0,200}\]\(https?://[^)]{0,500}(?:\{\{|\$\{|%7b)", "](http"),
    _rule(
        "exfiltration",
        0.85,
        rf"{_SEND}[^.;]{{0,60}}{_PRIVATE}[^;]{{0,80}}{_OUTWARD}",
        "send", "mail", "upload", "post", "append", "leak", "forward", "encode", "copy",
    ),
    _rule(
        "escalation",
        0.9,
        r"\brm\s+-(?:rf|fr)\b|\bchmod\b[^\n]{0,10}777|\buseradd\b[^\n]{0,20}-u 0"
        r"|\bsudo\s+(?!(?:is|was|are|has|and|or|may|can|rights?|access|privileges?|users?|group|commands?)\b)\w",
        "rm -", "chmod", "useradd", "sudo",
    ),
    _rule(
        "escalation",
        0.85,
        r"\bgrant all\b|\bdrop\s+(?:table|database|schema)\s+\w+\s*(?:;|--|$)|\btruncate\s+table\b"
        r"|\bdelete\s+from\s+\w+\s+where\s+(?:1\s*=\s*1|true)",
        "grant all", "drop ", "delete from", "truncate",
    ),
    _rule("escalation", 0.85, r"\|\s*(?:ba)?sh\b", "| sh", "|sh", "| bash", "|bash"),
    _rule(
        "escalation",
        0.8,
        r"administratoraccess|\bis_admin['\"]?\s*[:=]\s*true"
        # In prose a colon after "role" begins a sentence; what ends at once, is quoted or follows `=` is a value.
        r"|\brole['\"]?\s*(?:=\s*['\"]?|:\s*['\"])(?:admin|root|superuser)"
        r"|\brole['\"]?\s*:\s*(?:admin|root|superuser)\w*\s*(?:$|\n|[,}])",
        "administratoraccess", "is_admin", "role",
    ),
    _rule("escalation", 0.8, r"(?:\.\.[/\\]){2,}", "../", "..\\"),
    _rule("escalation", 0.8, r"\brisk_tier\s*[=:]", "risk_tier"),
)  # fmt: skip
# What irreversible work looks like in the arguments of a tool.
_DESTRUCTIVE = _rule(
    "escalation",
    0.8,
    r"\b(?:delete|drop|truncate|grant|revoke|destroy|wipe|rm)\b",
    "delete", "drop", "truncate", "grant", "revoke", "destroy", "wipe", "rm",
)  # fmt: skip
# Most texts hold none of these, and are done with at once.
_WORDS = tuple(sorted({word for rule in _RULES for word in rule.words}))


def folded(text: str) -> str:
    """Lower case, compatibility and look-alike letters as plain ones, no marks or invisible ones, one blank.

    Lines are kept.
    """
    plain = text.lower() if text.isascii() else _plain(text)
    lines = (" ".join(line.split()) for line in plain.splitlines())
    return "\n".join(lines)


def _plain(text: str) -> str:
    bare = (one for one in normalize("NFKD", text.lower()) if category(one) not in _NOT_SEEN)
    return "".join(bare).lower().translate(_LOOK_ALIKE)


def find_hits(text: str, *, is_argument: bool = False) -> list[Hit]:
    """Every rule that a text breaks; `is_argument` adds what is harmless to say and harmful to run."""
    plain = folded(text)
    flat = plain.replace("\n", " ")
    views = {plain, flat, flat.translate(_LETTERS)}
    rules = (*_RULES, _DESTRUCTIVE) if is_argument else _RULES
    if not is_argument and not any(word in view for view in views for word in _WORDS):
        return []
    return [hit for rule in rules for hit in _first(rule, views)]


def _first(rule: ThreatRule, views: set[str]) -> Iterator[Hit]:
    for view in sorted(views):
        if any(word in view for word in rule.words) and (found := rule.pattern.search(view)):
            yield Hit(rule.kind, rule.score, found.group()[:_EXCERPT])
            return
