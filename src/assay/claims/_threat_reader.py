"""Orders about the reader's own rules, and about the checks that stand between a claim and its publication.

Written after a set of attacks that the other rules had not seen; half of that set was kept aside.
"""

from assay.claims._threat_rule import threat_rule

_START = r"(?:^|[.;:!?,>)\n\"']\s?|\b(?:please|must|now|then|and|you|to|just|once) )"
_OWN = (
    r"(?:instructions?|rules?|guidelines?|polic(?:y|ies)|prompt|preamble|configuration|context window|system message|"
    r"developer (?:message|prompt)|memory|filter)"
)
_HIDDEN = r"(?:hidden|secret|initial|internal|confidential|system|real|original|full|complete|developer)"
_TELL = (
    r"(?:reveal|print|show|repeat|output|leak|translate|summari[sz]e|encode|spell out|list|dump|echo|quote|disclose|"
    r"append|include|give me|tell me|recite|paste|complete)"
)
_DROP = (
    r"(?:ignore|disregard|forget|neglect|discard|drop|set aside|abandon|do not listen to|don't listen to|stop obeying)"
)
_MACHINE = r"(?:ai|llm|assistant|chatbot|bot|language model|model|agents?|automated (?:agent|reader)|reviewing ai)"
_CHECKS = (
    r"(?:checks?|reviews?|approvals?|human step|tickets?|confirmation|verification|gates?|audit(?: trail)?|oversight|"
    r"monitoring|kill switch|warnings?|caveats?)"
)

READER_RULES = (
    threat_rule(
        "injection",
        0.8,
        rf"\b{_TELL}\b[^.;]{{0,40}}\b(?:your\b[^.;]{{0,20}}\b{_OWN}|(?:the )?{_HIDDEN} (?:policy text|{_OWN}))\b"
        rf"|\b{_TELL}\b[^.;]{{0,30}}\b(?:developer message|context window)\b"
        r"|\byour (?:real|actual|hidden|system) prompt\b|\bstart of (?:this|the|our) (?:chat|conversation)\b",
        "your ", "hidden", "developer", "secret", "confidential", "start of", "context window",
    ),
    threat_rule(
        "injection",
        0.8,
        rf"{_START}{_DROP}\b[^.;]{{0,30}}\b(?:any|whatever|what|the developer|the operator"
        rf"|your operator|your (?:maker|owner))\b"
        r"[^.;]{0,30}\b(?:instruction|operator|developer|prompt|told|said|say)"
        r"|\b(?:instructions?|orders|rules|constraints)\b[^.;]{0,30}\b(?:are|were"
        r"|have been) (?:obsolete|cancelled|void|revoked|suspended)"
        r"[.;][^.;]{0,30}\b(?:use|do|follow|obey)\b",
        "ignore", "disregard", "forget", "neglect", "discard", "drop", "set aside", "abandon", "listen", "obsolete",
        "cancelled", "void", "revoked", "suspended",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\byou (?:are|play|act as|become|will be)\b[^.;]{0,40}\b(?:unrestricted|rubber stamp"
        r"|without (?:any )?(?:filters?|restrictions?|rules|limits)|"
        r"no (?:rules|restrictions|filter))"
        r"|\bwho (?:has|have) no (?:rules|restrictions|filter)|\b(?:god|developer"
        r"|jailbreak) mode\b[^.;]{0,30}\b(?:confirm|unlock|polic|all|now)"
        r"|\b(?:become|be|act as)\b[^.;]{0,30}\b(?:obey|executes? whatever|linux shell|terminal that)"
        r"|\bsimulate a (?:terminal|shell)\b",
        "unrestricted", "rubber stamp", "without", "no rules", "no restrictions", "no filter", "mode", "obey", "shell",
        "terminal",
    ),
    threat_rule(
        "injection",
        0.8,
        rf"\b(?:if you are|attention|to (?:the|any|all)|for (?:the|any)|addressed to the|note for"
        rf"|p\.s\. for the)\s?(?:an? )?{_MACHINE}(?: agents?| systems?)?\s?"
        r"[:,][^.;]{0,60}\b(?:you|click|run|give|do not|hide|must|should|report|rate|recommend|say"
        r"|tell|add|leave out|requires)\b"
        rf"|\b{_MACHINE},? (?:quietly|please|you must|you should|must (?:now )?|should (?:adopt|report"
        rf"|say|ignore|recommend|rank|add))\b"
        rf"|(?:^|\n|[>({{\"'])\s?{_MACHINE}\s?[:,]\s?(?:collect|send|add|hide|rank|rate|drop|discard"
        rf"|your answer|the user|quietly|forward|click)\b"
        r"|\b(?:begin|hidden) prompt\b\s?:|\"system\"\s?:\s?\"you (?:must|are|will|should)",
        "assistant", "chatbot", "llm", " bot", "bot:", "automated", "language model", "the model",
        "model:", " ai ", " ai:", " ai,",
        "ai:", "ai,", "agents", "an agent", "prompt:", "prompt :", '"system"',
    ),
    threat_rule(
        "injection",
        0.8,
        rf"(?:{_START}(?:skip|bypass|avoid|suppress|leave out|remove|turn off|switch off|stop asking)"
        rf"|\bto avoid)\b[^.;]{{0,40}}\b{_CHECKS}\b"
        rf"|\bno (?:further )?{_CHECKS}(?: (?:is|are))? (?:needed|necessary|required)\b"
        rf"|\bwithout (?:any )?(?:further |asking|telling|the usual )[^.;]{{0,20}}\b(?:{_CHECKS}"
        rf"|anyone|anybody|reviewers?)\b"
        rf"|\bno time for {_CHECKS}",
        "skip", "bypass", "avoid", "suppress", "leave out", "remove", "turn off", "switch off", "stop asking", "needed",
        "necessary", "required", "without", "no time",
    ),
    threat_rule(
        "injection",
        0.8,
        r"\b(?:already|pre-?) ?(?:been )?(?:approved|cleared"
        r"|verified)\b[^.;]{0,40}[;,.]\s?(?:so )?(?:skip|publish|release|do not|set|proceed|don't)"
        r"|\b(?:evidence|uncertainty|security|adversarial|human_approval)_gate passed\b[^;]{0,60}\bpublish\b"
        r"|\brecord that\b[^.;]{0,30}\bapproved\b|\bmark this (?:claim|bundle|output) as (?:verified"
        r"|approved|published)"
        r"|\b(?:lower|change|set) the risk tier\b|\banswered \"?approve\"? to this\b|\bcopy this line into your\b"
        r"|\b(?:claim|file|document)\b[^.;]{0,20}\bas verified\b",
        "approved", "cleared", "verified", "gate passed", "risk tier", "approve", "copy this line",
    ),
    threat_rule(
        "injection",
        0.8,
        rf"\b(?:do not|don't|never) (?:write|record|log|tell|inform|mention"
        rf"|report)\b(?! an? )[^.;]{{0,40}}\b(?:{_CHECKS}|reviewers?|user|operator|anyone|lawsuit|logs?)\b"
        r"|\bkeep this between us\b|\bhide it in another\b|\bwhen nobody is (?:on call|watching|looking)\b"
        r"|\bdo it without telling\b|\bso that (?:nobody|no one|the gate does not) (?:sees?|notices?"
        r"|knows?|is asked)\b",
        "do not", "don't", "never", "between us", "hide it", "nobody", "no one", "without telling", "so that",
    ),
    threat_rule(
        "escalation",
        0.8,
        r"(?:^|[.;:!?,\n]\s?|\b(?:please|now|and) )(?:grant|give) (?:my account|me|the contractor|us"
        r"|this account)\b[^.;]{0,40}"
        r"\b(?:admin\w*|root|permanent access|owner|full access|access to the vault)\b",
        "grant", "give",
    ),
    threat_rule(
        "exfiltration",
        0.8,
        r"\b(?:upload|copy|post|send|attach|e-?mail|encode"
        r"|dns-?lookup)\b[^.;]{0,40}\b(?:customer table|database password|password|private key"
        r"|secrets?|audit log|user's (?:e-?mail|data))"
        r"\b[^.;]{0,60}\b(?:pastebin|query string|my domain|public channel|outside|press@|image url|next request)"
        r"|\b(?:collect|gather)\b[^.;]{0,30}\b(?:names|phone numbers|addresses"
        r"|e-?mails)\b[^.;]{0,40}\b(?:e-?mail|send|forward|post) them\b"
        r"|\bwith everything you know about\b",
        "upload", "copy", "post", "send", "attach", "mail", "encode", "lookup", "collect", "gather",
        "everything you know",
    ),
    threat_rule(
        "command",
        0.8,
        r"\|\s?crontab\s?-|\baws s3 rb\b[^\n]{0,80}--force|\bkubectl delete namespace\b|\bgit push\b[^\n]{0,60}--all\b",
        "crontab", "s3 rb", "kubectl", "git push",
    ),
)  # fmt: skip
