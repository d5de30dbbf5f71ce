"""A policy of the gates from a file, for commands that only try it: a signature that is there must hold."""

from pathlib import Path

from assay.claims.parse_policy import parse_policy
from assay.claims.policy import ClaimsPolicy
from assay.claims.signed_policy import split_signed_policy, verify_signed_policy
from assay.surfaces.cli.text_file import read_text


def read_policy_file(path: Path) -> ClaimsPolicy:
    """One without a signature is a draft. Whose signature it is, a node asks when the policy is released."""
    signed = split_signed_policy(read_text(path))
    if signed.signature is not None:
        verify_signed_policy(signed)
    return parse_policy(signed.document)
