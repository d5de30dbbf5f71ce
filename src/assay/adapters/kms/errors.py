"""What a key service can refuse.

KeyUseError
└── KmsError                key.kms
    ├── KmsUnavailableError key.kms_unavailable   the module or its Python binding cannot be loaded
    ├── KmsTokenError       key.kms_token         no token has this label, or several have
    ├── KmsLoginError       key.kms_login         the token refuses the PIN
    ├── KmsBusyError        key.kms_busy          this process has logged in to the token already
    ├── KmsKeyError         key.kms_key           no Ed25519 key has this label, or several have
    ├── KmsKeyExistsError   key.kms_exists        a key with this label is there already
    ├── KmsSessionError     key.kms_session       the session is closed, or the token is gone
    └── KmsSignatureError   key.kms_signature     the token returned something that does not verify
"""

from assay.kernel.errors import Blame, KeyUseError


class KmsError(KeyUseError):
    """A key service failed in a way we have no closer name for."""

    code = "key.kms"
    blame = Blame.OURS


class KmsUnavailableError(KmsError):
    """The PKCS#11 module, or the binding to it, cannot be loaded."""

    code = "key.kms_unavailable"
    blame = Blame.USAGE


class KmsTokenError(KmsError):
    """No token has this label, or several have."""

    code = "key.kms_token"
    blame = Blame.USAGE


class KmsLoginError(KmsError):
    """The token refuses the PIN, or has locked it."""

    code = "key.kms_login"
    blame = Blame.USAGE


class KmsBusyError(KmsError):
    """This process has logged in to the token already; take further signers from the open token."""

    code = "key.kms_busy"
    blame = Blame.USAGE


class KmsKeyError(KmsError):
    """No usable Ed25519 key pair has this label, or several have."""

    code = "key.kms_key"
    blame = Blame.USAGE


class KmsKeyExistsError(KmsError):
    """A key with this label exists; a second one would make the label ambiguous."""

    code = "key.kms_exists"
    blame = Blame.USAGE


class KmsSessionError(KmsError):
    """The session was closed, or the token went away; no signature was made."""

    code = "key.kms_session"


class KmsSignatureError(KmsError):
    """The token answered with bytes that are not a signature of its own key; they are withheld."""

    code = "key.kms_signature"
