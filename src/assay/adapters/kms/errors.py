"""What a key service can refuse."""

from assay.kernel.errors import Blame, Code, KeyUseError


class KmsError(KeyUseError):
    """A key service failed in a way we have no closer name for."""

    code = "key.kms"
    blame = Blame.OURS
    kms_unavailable = Code(
        "key.kms_unavailable", "The PKCS#11 module, or the binding to it, cannot be loaded.", Blame.USAGE
    )
    kms_token = Code("key.kms_token", "No token has this label, or several have.", Blame.USAGE)
    kms_login = Code("key.kms_login", "The token refuses the PIN, or has locked it.", Blame.USAGE)
    kms_busy = Code(
        "key.kms_busy",
        "This process has logged in to the token already; take further signers from the open token.",
        Blame.USAGE,
    )
    kms_key = Code("key.kms_key", "No usable Ed25519 key pair has this label, or several have.", Blame.USAGE)
    kms_exists = Code(
        "key.kms_exists", "A key with this label exists; a second one would make the label ambiguous.", Blame.USAGE
    )
    kms_signature = Code(
        "key.kms_signature", "The token answered with bytes that are not a signature of its own key; they are withheld."
    )
    kms_session = Code("key.kms_session", "The session was closed, or the token went away; no signature was made.")
