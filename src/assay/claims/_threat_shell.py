"""Commands, code and flags that take more rights than were given; in texts and in the arguments of tools."""

from assay.claims._threat_rule import threat_rule

_RIGHT = r"(?:tier|roles?|permissions?|privileges?|group|approvers?|admin\w{0,12}|ceiling|mask|rights|team)"

SHELL_RULES = (
    threat_rule(
        "escalation",
        0.85,
        r"--privileged\b|\bclusterrolebinding\b|clusterrole=cluster-admin|\s-v /:/|\bchroot /|--no-preserve-root"
        r"|\busermod\b[^\n]{0,20}-a?g\b[^\n]{0,10}\b(?:wheel|sudo|root|docker|admin)|nopasswd\s?:"
        r"|\bmkfs(?:\.\w{1,5})? /|\bdd if=|\bshutdown (?:-[hr]\b|/[sr]\b|now)|(?:iamfull|poweruser)access",
        "privileged", "clusterrole", "-v /", "chroot", "preserve-root", "usermod", "nopasswd", "mkfs", "dd if",
        "shutdown", "fullaccess", "useraccess",
    ),
    threat_rule(
        "escalation",
        0.85,
        r"-executionpolicy bypass|\bpowershell\b[^\n]{0,60}\s-e(?:nc|ncodedcommand)?\b"
        r"|\b(?:ba|z)?sh -c ['\"]|\bcmd(?:\.exe)? /c\b",
        "executionpolicy", "powershell", "sh -c", "cmd",
    ),
    threat_rule(
        "escalation",
        0.85,
        r"\b(?:eval|exec)\s?\(\s?[^)\s]|__import__\s?\(|\bos\.(?:system|popen|exec\w{1,3})\s?\(|\bsubprocess\.\w{3,12}\s?\("
        r"|\bb64decode\s?\(|\bruntime\.getruntime\(",
        "eval", "exec", "__import__", "os.", "subprocess", "b64decode", "getruntime",
    ),
    threat_rule(
        "escalation",
        0.85,
        r"\b(?:bypass|skip|disable|ignore|no|without|force)_?(?:approval|review|check|gate|policy|auth\w{0,12}"
        r"|verification|verify|safety|guard)s?['\"]?\s?[:=]\s?['\"]?(?:true|1|yes|on)\b"
        r"|\b(?:as_user|run_as|runas|impersonate|on_behalf_of|become)['\"]?\s?[:=]\s?['\"]?(?:root|admin|system|super)",
        "bypass", "skip", "disable", "ignore", "no_", "without", "force", "as_user", "run_as", "runas",
        "impersonate", "on_behalf", "become",
    ),
    threat_rule(
        "escalation",
        0.85,
        r"'\s?or\s?'?1'?\s?=\s?'?1|\bunion (?:all )?select\b[^.]{0,60}(?:,|\bfrom\b)|['\"]\$where['\"]\s?:"
        r"|;\s?(?:drop|alter|truncate) table\b|\bset is_?(?:admin|superuser) ?= ?(?:true|1)\b",
        "'or", "' or", "union", "$where", " table", "set is",
    ),
    # Said of oneself: nobody writes that a reviewer sets its own tier.
    threat_rule(
        "escalation",
        0.85,
        r"(?<!not )(?<!never )(?<!cannot )\b(?:set|raise|increase|change|give|grant|add|make|assign|promote)\b"
        rf"[^.;]{{0,20}}\b(?:my own|its own|itself|myself|yourself|your own|to self)\b[^.;]{{0,40}}\b{_RIGHT}\b"
        r"|(?<!not )(?<!never )(?<!cannot )(?<!may )\bapproves? (?:its|my|your) own\b",
        "my own", "its own", "itself", "myself", "yourself", "your own", "to self",
    ),
    threat_rule(
        "escalation",
        0.8,
        r"(?:^|[.;:!?,\n]\s?|\b(?:please|must|now|then|and|you) )(?:give|grant|assign)\b[^.;]{0,30}\brole (?:of )?"
        r"(?:an? )?(?:admin\w{0,12}|root|superuser|security_team|ops_team|owner)\b"
        r"|['\"](?:principal|user|subject)['\"]\s?:\s?['\"](?:self|me)['\"][^\n]{0,60}['\"](?:tier|role|mask|ceiling)['\"]",
        "role", "self", "'me'", '"me"',
    ),
    threat_rule(
        "escalation",
        0.8,
        r"\buse\b[^.;]{0,40}\b(?:token|credential|key|account|session)s?\b[^.;]{0,20}"
        r"\binstead of (?:mine|my|yours|your own|its own)\b"
        r"|\bpermission check (?:is|are|will be) (?:not applied|skipped|bypassed)\b"
        r"|--no-verify\b[^\n]{0,60}\bprotection\b|\bdisabling branch protection\b",
        "instead of", "permission check", "protection",
    ),
)  # fmt: skip
