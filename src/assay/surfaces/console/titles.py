"""The governor's ruling as people read it."""

import re

_STATUS = {"AGREED": "agrees", "DIVERGED": "disagrees", "UNVERIFIABLE": "could not check it"}


def ruling_words(reason: str) -> str:
    """The governor's ruling in a sentence: `medium tier, and the verifier: AGREED` becomes words."""
    if reason == "high tier waits for a person":
        return "High risk: needs attestation"
    if found := re.fullmatch(r"low tier honours the model; the verifier: (\w+)", reason):
        return f"Low risk: model verdict accepted; verifier {_checked(found[1])}"
    if found := re.fullmatch(r"medium tier, (and|but) the verifier: (\w+)", reason):
        return f"Medium risk; verifier {_checked(found[2])}"
    if found := re.fullmatch(r"attested, but the verifier: (\w+)", reason):
        return f"Attested, but verifier {_checked(found[1])}"
    if reason == "attested, and AGREED":
        return "Attested; verifier agrees"
    return reason[:1].upper() + reason[1:]


def _checked(status: str) -> str:
    return _STATUS.get(status, status.lower())
