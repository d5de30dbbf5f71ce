"""An identity provider: where people are sent, and what it says of whoever comes back."""

from collections.abc import Mapping
from typing import Protocol

from assay.kernel.errors import Blame, Error


class ProviderError(Error):
    """The identity provider cannot be reached, or does not speak as it should; try again."""

    code = "identity.provider"
    blame = Blame.OURS


class OidcProvider(Protocol):
    """Its documents and keys are kept for a while. What it cannot do is `identity.provider`."""

    def authorization_endpoint(self) -> str:
        """Where a person's browser is sent."""
        ...

    def promises_issuer(self) -> bool:
        """Whether it names itself in every answer to a login (RFC 9207)."""
        ...

    def redeem(self, code: str, *, verifier: str, redirect_url: str) -> Mapping[str, object]:
        """The claims of the ID token that the code stands for.

        Its signature holds, by a key of the provider and an algorithm of the list; `identity.id_token` otherwise. What
        the claims say is for the caller to check.
        """
        ...
