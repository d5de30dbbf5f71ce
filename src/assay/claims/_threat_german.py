"""Attacks in German texts, folded as texts are: no dots over letters."""

from assay.claims._threat_rule import threat_rule

GERMAN_RULES = (
    threat_rule(
        "injection",
        0.9,
        r"\b(?:ignorier|missacht|vergiss|vergesst|vergessen sie|verwirf|verwerf|ubergeh|uberschreib)\w{0,4}\b(?! nicht)"
        r"[^.;]{0,40}\b(?:alle[sn]?|samtliche\w?|deine\w?|ihre\w?|bisherige\w?|vorherige\w?|obige\w?"
        r"|fruhere\w?|vorige\w?)\b"
        r"[^.;]{0,40}(?:anweisung|instruktion|regel|vorgabe|richtlinie|befehl|prompt|gesagt)",
        "ignorier", "missacht", "verg", "verw", "uberg", "ubers",
    ),
    threat_rule(
        "injection",
        0.9,
        r"\b(?:beachte|befolge|folge)\w{0,3}\b[^.;]{0,30}\b(?:obige|bisherige|vorherige|deine|ihre)\w?\b[^.;]{0,20}"
        r"(?:anweisung|regel|vorgabe|instruktion)\w{0,3} nicht\b",
        "beachte", "folge",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\b(?:du bist (?:jetzt|nun|nicht mehr|ab sofort)|(?:ab jetzt|ab sofort|von nun an) bist du)\b[^.;]{0,40}"
        r"\b(?:assistent\w{0,3}|uneingeschrankt\w{0,2}|unbeschrankt\w{0,2}|admin\w{0,10}|root|dan|modell"
        r"|ki|an regeln)\b",
        "du bist", "bist du",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\b(?:zeig|gib|nenn|druck|wiederhol|verrat)\w{0,3}\b[^.;]{0,40}"
        r"\b(?:system-?prompt\w?|deinen? (?:anweisungen|prompt|instruktionen|regeln))\b",
        "prompt", "deine",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\b(?:tue? so|tun sie so), als\b[^.;]{0,30}\b(?:admin\w{0,10}|root|prufer\w{0,2}"
        r"|sicherheitsteam|betreiber\w?)\b"
        r"|\bbehandl\w{0,3}\b[^.;]{0,40}\bals (?:admin\w{0,10}|root|sicherheitsteam|vertrauenswurdig)\b",
        " so, als", "behandl",
    ),
    threat_rule("injection", 0.75, r"\bneue anweisung(?:en)?\s*:", "neue anweisung"),
    threat_rule(
        "injection",
        0.8,
        r"\b(?:umgeh|uberspring|deaktivier|ignorier)(?:e|en sie|t)?\b[^.;]{0,40}\b(?:menschliche\w? \w{0,10}"
        r"(?:prufung|freigabe)|freigabe|genehmigung|sicherheitsprufung|schutzregel\w?|leitplanke\w?|moderation)\b",
        "umgeh", "uberspring", "deaktivier", "ignorier",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\b(?:hinweis|nachricht|achtung|anmerkung) (?:an|fur) (?:das |die |jedes |alle )?(?:sprachmodell|ki\b|llm)"
        r"|\b(?:falls|wenn) (?:du|sie) (?:eine? )?(?:ki|sprachmodell|llm)(?:-\w{1,20})? (?:bist|sind)\b",
        "sprachmodell", " ki", "llm",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\b(?:sag|erzahl|verrat)\w{0,3}\b[^.;]{0,20}\b(?:nutzer|benutzer|prufer|betreiber"
        r"|auditor)\w{0,2}\b[^.;]{0,15}\bnichts\b"
        r"|\b(?:informier|benachrichtig)\w{0,3}\b[^.;]{0,20}\b(?:nutzer|benutzer|prufer|betreiber"
        r"|auditor)\w{0,2} nicht\b",
        "nichts", "nicht",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\b(?:setz|stuf|bewert|markier)\w{0,3}\b[^.;]{0,60}"
        r"(?:gate_recommendation|source_confidence|risk_tier|als (?:freigegeben|genehmigt|publish)|konfidenz 1)",
        "setz", "stuf", "bewert", "markier",
    ),
    threat_rule(
        "exfiltration",
        0.85,
        r"\b(?:send|schick|ubermittl|leit|lad|kopier)\w{0,3}\b(?:(?!\b(?:nie|niemals|nicht|keine?)\b)[^.;]){0,40}"
        r"(?:passwort|zugangsdaten|geheimnis|api-?schlussel|private\w? schlussel|kundendaten)"
        r"(?:(?!\b(?:nie|niemals|nicht|keine?)\b)[^;]){0,50}(?:https?://|\S@\S)",
        "passwort", "zugangsdaten", "geheimnis", "schlussel", "kundendaten",
    ),
)  # fmt: skip
