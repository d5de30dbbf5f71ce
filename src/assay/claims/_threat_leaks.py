"""Ways to carry something out: to an address, into an answer, or inside an address."""

from assay.claims._threat_rule import threat_rule

_HIDDEN = (
    r"(?:passwords?|secrets?|credentials?|api[ _-]?keys?|(?:session |access |auth )?(?:tokens?|cookies?)"
    r"|environment variables|bank details|card numbers?|patients?|customer (?:data|table|list))"
)
_PLACE = (
    r"(?:reply|answer|response|output|statement|title|links?|url|summary|ticket|body|message|request|image|subject)"
)
_WHOLE = r"(?:all|every|everything|whole|entire|complete|contents? of|copy of the (?:database|ledger)|dump of)"
_CARRY = r"(?:send|e-?mail|forward|upload|post|copy|transfer|ship|push|exfiltrate)"
_FILES = (
    r"(?:\.env\b|\.kube/config|\.aws/|\.netrc|\.pgpass|\.docker/config|\.git-credentials|id_(?:rsa|ed25519)"
    r"|/etc/shadow)"
)

LEAK_RULES = (
    threat_rule(
        "exfiltration",
        0.85,
        rf"\b{_CARRY}\b[^.;]{{0,60}}\b{_WHOLE}\b[^;]{{0,80}}\b(?:to|at|into|onto)\s(?:the public |an? )?"
        r"(?:https?://|s3://|ftp://|gs://|[\w.+-]{1,64}@[\w-]{1,60}\.)",
        "send", "mail", "forward", "upload", "post", "copy", "transfer", "ship", "push", "exfiltrate",
    ),
    threat_rule(
        "exfiltration",
        0.85,
        rf"\b{_CARRY}\b[^;]{{0,120}}https?://\d{{1,3}}(?:\.\d{{1,3}}){{3}}[:/]"
        rf"|\bpost https?://[^\s]{{1,200}} with\b[^.;]{{0,40}}{_HIDDEN}",
        "http",
    ),
    threat_rule(
        "exfiltration",
        0.8,
        r"(?<!not )(?<!never )\b(?:post|print|show|list|reveal|output|put|write|include|append|add|insert"
        rf"|embed|encode)\b[^.;]{{0,40}}\b{_HIDDEN}\b[^.;]{{0,60}}\b(?:in|into|to|inside|as)\s"
        rf"(?:the |your |each |every |its )?(?:\w{{1,12}} ){{0,3}}{_PLACE}\b",
        "password", "secret", "credential", "key", "token", "cookie", "environment", "bank details", "card number",
        "patient", "customer",
    ),
    threat_rule(
        "exfiltration",
        0.8,
        r"(?<!not )(?<!never )\b(?:read|take|fetch|get|dump)\b[^.;]{0,30}\b(?:secrets?|passwords?|credentials?|keys)\b"
        r"[^.;]{0,40}\band (?:print|post|send|show|list|write|output)\b"
        r"|\bencode\b[^.;]{0,60}\b(?:base64|hex)\b[^.;]{0,60}\b(?:url|link|image|request|dns)\b",
        "secret", "password", "credential", "keys", "encode",
    ),
    threat_rule(
        "exfiltration",
        0.85,
        r"\bos\.environ\b|\bprocess\.env\b|/proc/(?:self|\d{1,7})/environ|\bprintenv\b|\bdocument\.cookie\b"
        r"|\bfetch\(['\"]https?://[^)]{0,200}['\"]\s?\+|\brequests\.(?:post|put)\(['\"]https?://",
        "environ", "process.env", "printenv", "cookie", "fetch(", "requests.",
    ),
    threat_rule(
        "exfiltration",
        0.85,
        r"\bscp\b[^\n]{0,120}\b[\w.-]{1,64}@[\w.-]{1,120}:|\brsync\b[^\n]{0,120}(?:rsync://|@[\w.-]{1,120}:)"
        r"|\b(?:tar|cat|gzip|zip)\b[^\n]{0,120}\|\s?(?:nc|ncat|curl|ssh)\b"
        r"|\bnc\b -?\w{0,4} ?\d{1,3}(?:\.\d{1,3}){3} \d{2,5}",
        "scp", "rsync", "tar ", "cat ", "zip", "nc ",
    ),
    threat_rule(
        "exfiltration",
        0.85,
        rf"\b(?:cat|cp|copy|type|tar|zip|base64|upload|send|read|print)\b[^\n;]{{0,60}}{_FILES}",
        ".env", ".kube", ".aws", ".netrc", ".pgpass", ".docker", ".git-cred", "id_rsa", "id_ed", "/etc/shadow",
    ),
    threat_rule(
        "exfiltration",
        0.85,
        r"!\[[^\]]{0,200}\]\(https?://[^)]{0,300}[?&][^)=]{1,40}=[^)]{0,100}(?:secret|token|api_?key|cookie|passw|\{)",
        "](http",
    ),
    threat_rule(
        "exfiltration", 0.9, r"\beyj[a-z0-9_-]{8,400}\.eyj[a-z0-9_-]{8,2000}\.[a-z0-9_-]{8,800}", "eyj"
    ),
)  # fmt: skip
