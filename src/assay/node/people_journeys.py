"""Who there is, what they hold, and how they prove it; by the operator of this folder."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from assay.flows.identity.add_principal import add_principal
from assay.flows.identity.amend_principal import amend_principal
from assay.flows.identity.change_tier import request_tier
from assay.flows.identity.disable_principal import disable_principal
from assay.flows.identity.erase_principal import NameErasure, erase_principal
from assay.flows.identity.inspect_principal import (
    ListedApiKey,
    PrincipalView,
    inspect_principal,
    list_api_keys,
    list_principals,
)
from assay.flows.identity.issue_api_key import issue_api_key
from assay.flows.identity.log_in import log_in
from assay.flows.identity.log_out import log_out
from assay.flows.identity.register_signing_key import end_signing_key, register_signing_key
from assay.flows.identity.revoke_api_key import revoke_api_key
from assay.flows.identity.rotate_api_key import rotate_api_key
from assay.flows.identity.set_password import set_password
from assay.identity.credential import EVERY_SCOPE, ApiKeyRevocation, parse_api_key_prefix
from assay.identity.principal import LOCAL_OPERATOR, Principal, PrincipalChange, PrincipalKind
from assay.identity.session import DEFAULT_SESSION_LIFETIME
from assay.identity.signing_key import SigningKeyEnd, SigningKeyRecord
from assay.kernel.ids import parse_key_id, parse_principal_id
from assay.kernel.instant import Instant
from assay.node.ledger_journeys import LedgerJourneys
from assay.review.ticket import Ticket

__all__ = ["PeopleJourneys"]


class PeopleJourneys(LedgerJourneys):
    """Whoever holds the folder holds its keys; each act is an entry by `operator:local` all the same."""

    def principals(self) -> tuple[Principal, ...]:
        """The version in force of each, by id."""
        return list_principals(self.tools, self.tenant_id)

    def principal(self, principal_id: str) -> PrincipalView:
        """One with every version and its keys, never their secrets."""
        return inspect_principal(self.tools, self.tenant_id, parse_principal_id(principal_id), at=self._now())

    def add_principal(
        self,
        principal_id: str,
        *,
        kind: PrincipalKind | str = PrincipalKind.PERSON,
        name: str = "",
        password: str | None = None,
        granted: PrincipalChange | None = None,
    ) -> Principal:
        """A person, agent or service joins."""
        return add_principal(
            self._writing(),
            self.tenant_id,
            parse_principal_id(principal_id),
            kind=PrincipalKind(kind),
            name=name or principal_id,
            granted=granted,
            password=password,
            **self._by_operator(),
        )

    def amend_principal(self, principal_id: str, change: PrincipalChange) -> Principal:
        """Other roles, bits, tiers or names."""
        who = parse_principal_id(principal_id)
        return amend_principal(self._writing(), self.tenant_id, who, change, **self._by_operator())

    def disable_principal(self, principal_id: str) -> Principal:
        """Nothing is allowed any more; what was done before stays as it was."""
        who = parse_principal_id(principal_id)
        return disable_principal(self._writing(), self.tenant_id, who, **self._by_operator())

    def request_tier(self, principal_id: str, to_tier: int, *, reason: str, credential: str | None = None) -> Ticket:
        """Ask, in one's own session, that somebody else's tier changes; the ticket is a second person's to answer."""
        subject, token = parse_principal_id(principal_id), self._token(credential)
        return request_tier(self._writing(), subject, to_tier, reason=reason, credential=token, at=self._now())

    def erase_principal(self, principal_id: str, *, reason: str) -> NameErasure:
        """Erase the name of every version, in the files too; the principal is then known by its id alone."""
        who = parse_principal_id(principal_id)
        return erase_principal(self._writing(), self.tenant_id, who, reason=reason, **self._by_operator())

    def set_password(self, principal_id: str, password: str) -> None:
        """A person's password; sessions that were opened before it end."""
        set_password(self._writing(), self.tenant_id, parse_principal_id(principal_id), password, **self._by_operator())

    def keys(self, principal_id: str | None = None) -> tuple[ListedApiKey, ...]:
        """API keys of one principal or of all, by prefix, the ended ones too; never a secret."""
        of = None if principal_id is None else parse_principal_id(principal_id)
        return list_api_keys(self.tools, self.tenant_id, of=of, at=self._now())

    def issue_key(
        self, principal_id: str, *, scopes: Sequence[str] = (EVERY_SCOPE,), expires_at: Instant | None = None
    ) -> str:
        """An API key, shown once and kept nowhere; `scopes` narrow what it may do of what its principal may."""
        text, _ = issue_api_key(
            self._writing(),
            self.tenant_id,
            parse_principal_id(principal_id),
            scopes=scopes,
            expires_at=expires_at,
            **self._by_operator(),
        )
        return text

    def rotate_key(self, prefix: str, *, overlap: timedelta) -> str:
        """The successor of a key, shown once; the old one ends after the overlap."""
        named = parse_api_key_prefix(prefix)
        text, _ = rotate_api_key(self._writing(), self.tenant_id, named, overlap=overlap, **self._by_operator())
        return text

    def revoke_key(self, prefix: str, *, reason: str) -> ApiKeyRevocation:
        """End a key now."""
        named = parse_api_key_prefix(prefix)
        return revoke_api_key(self._writing(), self.tenant_id, named, reason=reason, **self._by_operator())

    def add_public_key(
        self,
        principal_id: str,
        public_key: bytes,
        *,
        scopes: Sequence[str] = (EVERY_SCOPE,),
        expires_at: Instant | None = None,
    ) -> SigningKeyRecord:
        """An Ed25519 key whose signed requests are this principal's."""
        return register_signing_key(
            self._writing(),
            self.tenant_id,
            parse_principal_id(principal_id),
            public_key,
            scopes=scopes,
            expires_at=expires_at,
            **self._by_operator(),
        )

    def end_public_key(self, key_id: str, *, reason: str) -> SigningKeyEnd:
        """Nothing signed with it counts from now on."""
        return end_signing_key(
            self._writing(), self.tenant_id, parse_key_id(key_id), reason=reason, **self._by_operator()
        )

    def log_in(self, principal_id: str, password: str, *, lifetime: timedelta = DEFAULT_SESSION_LIFETIME) -> str:
        """A person's session token."""
        token, _ = log_in(
            self._writing(),
            self.tenant_id,
            parse_principal_id(principal_id),
            password,
            lifetime=lifetime,
            at=self._now(),
        )
        return token

    def log_out(self, *, credential: str | None = None) -> None:
        """End the session, whoever else may have its token."""
        log_out(self._writing(), self._token(credential), at=self._now())

    def _by_operator(self) -> dict[str, Any]:
        return {"by": LOCAL_OPERATOR, "at": self._now()}
