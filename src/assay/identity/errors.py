"""What identity refuses.

IdentityError                   identity.refused
├── InvalidRecordError          identity.record             carries every problem at once
│   ├── InvalidPrincipalError   identity.principal
│   ├── InvalidCredentialError  identity.credential
│   └── InvalidSessionError     identity.session
├── MaskError                   identity.mask
├── MalformedApiKeyError        identity.api_key_form
├── MalformedSessionTokenError  identity.session_form
├── IdTokenError                identity.id_token
└── OtherTenantError            identity.other_tenant
"""

from collections.abc import Sequence

from assay.identity.problem import Problem, render_problems
from assay.kernel.errors import Blame, Code, Error


class IdentityError(Error):
    """A principal, a credential or a claim to one is refused."""

    code = "identity.refused"
    blame = Blame.INPUT
    risk_tier = Code("identity.risk_tier", "A risk tier is not one of the five of ClaimBundle.")
    entropy = Code("identity.entropy", "The random bytes given are not as many as the secret needs.", Blame.OURS)
    signature_form = Code(
        "identity.signature_form", "A request's signature is not in the one form that is taken (RFC 9421)."
    )
    stale_request = Code("identity.stale_request", "A request was signed too long ago, or ahead of our clock.")
    machine_session = Code(
        "identity.machine_session", "Only a person holds a session; an agent or a service never does."
    )
    machine_password = Code(
        "identity.machine_password", "Only a person holds a password; an agent or a service never does."
    )
    wrong_record = Code(
        "identity.wrong_record",
        "A record was put together with a principal or a later fact that is not its own.",
        Blame.OURS,
    )
    role = Code("identity.role", "The principal holds none of the roles that may do this.", Blame.ANSWER)
    disabled = Code("identity.disabled", "The principal was disabled and may do nothing.", Blame.ANSWER)


class InvalidRecordError(IdentityError):
    """A record of identity is not well formed; `problems` lists everything that is wrong with it."""

    code = "identity.record"

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(render_problems(problems))
        self.problems = tuple(problems)


class InvalidPrincipalError(InvalidRecordError):
    """A principal is not well formed."""

    code = "identity.principal"


class InvalidCredentialError(InvalidRecordError):
    """An API key, a password record or a revocation is not well formed."""

    code = "identity.credential"


class InvalidSessionError(InvalidRecordError):
    """A session is not well formed, or would live too long."""

    code = "identity.session"


class MaskError(IdentityError):
    """A permission mask is not a whole number of 32 bits."""

    code = "identity.mask"


class MalformedApiKeyError(IdentityError):
    """A text is not an API key: `prefix.secret`."""

    code = "identity.api_key_form"


class MalformedSessionTokenError(IdentityError):
    """A text is not a session token: `st_id.secret`."""

    code = "identity.session_form"


class IdTokenError(IdentityError):
    """An identity provider's token is not for us, not for this login, or not of now."""

    code = "identity.id_token"


class OtherTenantError(IdentityError):
    """The thing asked for belongs to another tenant."""

    code = "identity.other_tenant"
    blame = Blame.ANSWER
