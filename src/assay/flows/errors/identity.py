"""What flows about people, credentials and their answers refuse."""

from assay.flows.errors import FlowError
from assay.kernel.errors import Blame, Code


class IdentityFlowError(FlowError):
    """A principal, a credential or a session does not permit this."""

    scope = Code("identity.scope", "The credential was not issued for this.")
    session_required = Code(
        "identity.session_required", "Only a person's own live session may do this; an API key is not enough."
    )
    unknown_role = Code(
        "identity.unknown_role",
        "A role is neither built in nor configured; a mistyped one would open nothing and look as if it did.",
        Blame.INPUT,
    )
    exists = Code("identity.exists", "A principal of that id is already there; amend it instead.")
    password_form = Code(
        "identity.password_form", "A new password is too short, too long, easily guessed, or not text.", Blame.USAGE
    )
    credential_ended = Code("identity.credential_ended", "The credential was revoked or has expired; issue a new one.")
    credential_exists = Code("identity.credential_exists", "A key is registered already; one key proves one principal.")
    own_power = Code("identity.own_power", "Nobody widens their own power; another administrator asks for it.")
    second_administrator = Code(
        "identity.second_administrator", "More power needs a second administrator who approves it, and there is none."
    )
    replayed = Code("identity.replayed", "A signed request came a second time.")
    no_provider = Code("identity.no_provider", "No identity provider is configured.")
    review_answer_time = Code(
        "review.answer_time",
        "An answer that was signed elsewhere carries a time that is not close to ours.",
        Blame.INPUT,
    )


class NotSignedInError(FlowError):
    """No valid credential was shown."""

    code = "identity.not_signed_in"


class ThrottledError(FlowError):
    """Too many failed logins of this account or from this address; wait before the next one."""

    code = "identity.throttled"

    def __init__(self, *, seconds: int) -> None:
        super().__init__(f"too many failed logins: expected none for {seconds} s")
        self.seconds = seconds
