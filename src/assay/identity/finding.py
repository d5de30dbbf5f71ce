"""What a credential check found: an answer with its reason, never an exception for a plain no."""

from enum import StrEnum

from msgspec import Struct


class CredentialState(StrEnum):
    """VALID is the only yes. Outside, all the others look the same: not authenticated."""

    VALID = "valid"
    UNKNOWN = "unknown"
    WRONG_SECRET = "wrong_secret"  # noqa: S105  the name of a finding
    NOT_YET_VALID = "not_yet_valid"
    EXPIRED = "expired"
    REVOKED = "revoked"
    DISABLED = "disabled"


class CredentialFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reason is for our own log: telling a stranger which part was wrong would help the stranger."""

    state: CredentialState
    reason: str

    @property
    def accepted(self) -> bool:
        return self.state is CredentialState.VALID


def unknown_credential(name: str) -> CredentialFinding:
    """For a caller whose store holds no record of that name."""
    return CredentialFinding(state=CredentialState.UNKNOWN, reason=f"no credential is named `{name[:80]}`")
