"""What identity refuses.

IdentityError                   identity.refused
├── InvalidRecordError          identity.record             carries every problem at once
│   ├── InvalidPrincipalError   identity.principal
│   ├── InvalidCredentialError  identity.credential
│   └── InvalidSessionError     identity.session
├── MaskError                   identity.mask
├── UnknownRiskTierError        identity.risk_tier
├── EntropyError                identity.entropy
├── MalformedApiKeyError        identity.api_key_form
├── MalformedSessionTokenError  identity.session_form
├── MalformedSignatureInputError identity.signature_form
├── StaleRequestError           identity.stale_request
├── IdTokenError                identity.id_token
├── MachineSessionError         identity.machine_session
├── MachinePasswordError        identity.machine_password
├── WrongRecordError            identity.wrong_record
├── RoleMissingError            identity.role
├── OtherTenantError            identity.other_tenant
└── DisabledError               identity.disabled
"""

from collections.abc import Sequence

from assay.identity.problem import Problem, render_problems
from assay.kernel.errors import Blame, Error


class IdentityError(Error):
    """A principal, a credential or a claim to one is refused."""

    code = "identity.refused"
    blame = Blame.INPUT


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


class UnknownRiskTierError(IdentityError):
    """A risk tier is not one of the five of ClaimBundle."""

    code = "identity.risk_tier"


class EntropyError(IdentityError):
    """The random bytes given are not as many as the secret needs."""

    code = "identity.entropy"
    blame = Blame.OURS


class MalformedApiKeyError(IdentityError):
    """A text is not an API key: `prefix.secret`."""

    code = "identity.api_key_form"


class MalformedSessionTokenError(IdentityError):
    """A text is not a session token: `st_id.secret`."""

    code = "identity.session_form"


class MalformedSignatureInputError(IdentityError):
    """A request's signature is not in the one form that is taken (RFC 9421)."""

    code = "identity.signature_form"


class StaleRequestError(IdentityError):
    """A request was signed too long ago, or ahead of our clock."""

    code = "identity.stale_request"


class IdTokenError(IdentityError):
    """An identity provider's token is not for us, not for this login, or not of now."""

    code = "identity.id_token"


class MachineSessionError(IdentityError):
    """Only a person holds a session; an agent or a service never does."""

    code = "identity.machine_session"


class MachinePasswordError(IdentityError):
    """Only a person holds a password; an agent or a service never does."""

    code = "identity.machine_password"


class WrongRecordError(IdentityError):
    """A record was put together with a principal or a later fact that is not its own."""

    code = "identity.wrong_record"
    blame = Blame.OURS


class RoleMissingError(IdentityError):
    """The principal holds none of the roles that may do this."""

    code = "identity.role"
    blame = Blame.ANSWER


class OtherTenantError(IdentityError):
    """The thing asked for belongs to another tenant."""

    code = "identity.other_tenant"
    blame = Blame.ANSWER


class DisabledError(IdentityError):
    """The principal was disabled and may do nothing."""

    code = "identity.disabled"
    blame = Blame.ANSWER
