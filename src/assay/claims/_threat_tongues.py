"""The plainest attack, to set aside what a reader was told, in languages that have no rules of their own here.

For each a verb, a word for what came before or is the reader's, and a word for what was told, near each other in any
order; all folded as texts are.
"""

import re

from assay.claims._fold import folded
from assay.claims._threat_rule import ThreatRule, threat_rule

_NEAR = r"[^.;!?\u3002]{0,40}?"

_TONGUES = (
    # French, Spanish, Portuguese, Italian, Dutch, Polish, Russian, Chinese, Japanese, Turkish.
    (("ignore", "ignorez", "oublie", "oubliez"), ("précédent", "antérieur", "ci-dessus", "vos ", "tes ", "toutes les"),
     ("instruction", "consigne", "règle", "directive")),
    (("ignora", "ignore", "olvida", "olvide", "descarta"), ("anterior", "previa", "tus ", "sus ", "todas las"),
     ("instrucci", "regla", "indicaci", "orden")),
    (("ignore", "ignora", "esqueça", "esquece", "desconsidere"), ("anterior", "prévia", "suas ", "todas as"),
     ("instruç", "regra", "orient")),
    (("ignora", "ignorate", "dimentica", "dimenticate", "trascura"), ("precedent", "tue ", "vostre ", "tutte le"),
     ("istruzion", "regol", "direttiv")),
    (("negeer", "vergeet", "sla over"), ("vorige", "eerdere", "bovenstaande", "jouw ", "uw ", "alle "),
     ("instructie", "regel", "opdracht", "richtlijn")),
    (("zignoruj", "ignoruj", "zapomnij", "pomiń"), ("poprzedni", "wcześniejs", "powyżs", "swoje ", "wszystkie"),
     ("instrukcj", "polece", "zasad", "reguł")),
    (("игнорируй", "проигнорируй", "забудь", "отбрось"), ("предыдущ", "прежни", "прошл", "свои", "все "),
     ("инструкци", "указани", "правил")),
    (("yok say", "görmezden gel", "unut"), ("önceki", "yukarıdaki", "tüm "), ("talimat", "kural", "yönerge")),
    (("忽略", "无视", "忘记", "忽視", "無視", "不要理会"), ("之前", "以前", "前面", "上述", "所有", "先前", "你的"),
     ("指令", "指示", "规则", "說明", "说明", "要求")),
    (("無視", "忘れ", "従わない"), ("前の", "以前の", "上記", "これまで", "すべて", "全て"),
     ("指示", "命令", "ルール", "規則")),
    # Arabic, Hindi, Korean.
    (("تجاهل", "انس"), ("السابقة", "جميع", "كل "), ("التعليمات", "القواعد", "الأوامر")),
    (("अनदेखा", "भूल जा"), ("पिछले", "पहले", "सभी"), ("निर्देश", "नियम")),
    (("무시", "잊어"), ("이전", "모든", "앞의"), ("지시", "명령", "규칙", "지침")),
)  # fmt: skip


def _rule(verbs: tuple[str, ...], befores: tuple[str, ...], told: tuple[str, ...]) -> ThreatRule:
    verb, before, rules = (_any(words) for words in (verbs, befores, told))
    # Verbs come last in Turkish too, and letters are not words in the scripts after Cyrillic.
    start = r"(?<!\w)" if folded(verbs[0])[0] < "\u0530" and verbs[0] != "yok say" else ""
    orders = (
        rf"{start}{verb}{_NEAR}{before}{_NEAR}{rules}",
        rf"{start}{verb}{_NEAR}{rules}{_NEAR}{before}",
        rf"{before}{_NEAR}{rules}{_NEAR}{verb}" if start == "" else r"(?!)",
    )
    return threat_rule("injection", 0.85, "|".join(orders), *(_bare(word) for word in verbs))


def _any(words: tuple[str, ...]) -> str:
    return f"(?:{'|'.join(re.escape(_bare(word)) for word in words)})"


def _bare(word: str) -> str:
    """Folded, with the blank that ends a whole word kept."""
    return folded(word) + (" " if word.endswith(" ") else "")


TONGUE_RULES = tuple(_rule(*tongue) for tongue in _TONGUES)
