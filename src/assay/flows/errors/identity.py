"""What flows about people, credentials and their answers refuse."""

from assay.flows.errors import FlowError
from assay.kernel.errors import Blame


class NotSignedInError(FlowError):
    """No valid credential was shown."""

    code = "identity.not_signed_in"


class ScopeMissingError(FlowError):
    """The credential was not issued for this."""

    code = "identity.scope"


class SessionRequiredError(FlowError):
    """Only a person's own live session may do this; an API key is not enough."""

    code = "identity.session_required"


class UnknownRoleError(FlowError):
    """A role is neither built in nor configured; a mistyped one would open nothing and look as if it did."""

    code = "identity.unknown_role"
    blame = Blame.INPUT


class PrincipalExistsError(FlowError):
    """A principal of that id is already there; amend it instead."""

    code = "identity.exists"


class PasswordFormError(FlowError):
    """A new password is too short, too long, easily guessed, or not text."""

    code = "identity.password_form"
    blame = Blame.USAGE


class CredentialEndedError(FlowError):
    """The credential was revoked or has expired; issue a new one."""

    code = "identity.credential_ended"


class CredentialExistsError(FlowError):
    """A key is registered already; one key proves one principal."""

    code = "identity.credential_exists"


class OwnPowerError(FlowError):
    """Nobody widens their own power; another administrator asks for it."""

    code = "identity.own_power"


class SecondAdministratorError(FlowError):
    """More power needs a second administrator who approves it, and there is none."""

    code = "identity.second_administrator"


class ThrottledError(FlowError):
    """Too many failed logins of this account or from this address; wait before the next one."""

    code = "identity.throttled"

    def __init__(self, *, seconds: int) -> None:
        super().__init__(f"too many failed logins: expected none for {seconds} s")
        self.seconds = seconds


class ReplayedRequestError(FlowError):
    """A signed request came a second time."""

    code = "identity.replayed"


class NoProviderError(FlowError):
    """No identity provider is configured."""

    code = "identity.no_provider"


class AnswerTimeError(FlowError):
    """An answer that was signed elsewhere carries a time that is not close to ours."""

    code = "review.answer_time"
    blame = Blame.INPUT
