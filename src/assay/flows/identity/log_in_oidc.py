"""A person proves who they are by way of an identity provider, and gets a session like any other.

begin: secrets -> the provider's page;   finish: code -> ID token -> claims -> person -> session
"""

from urllib.parse import urlencode, urlsplit

from assay.flows.errors.identity import IdentityFlowError, NotSignedInError
from assay.flows.identity.oidc_settings import OidcSettings
from assay.flows.identity.sessions import begin_session
from assay.flows.tools import Tools
from assay.identity.errors import IdTokenError
from assay.identity.oidc import BINDING_BYTES, LoginSecrets, begin_login, find_person, resume_login, verify_claims
from assay.identity.session import SESSION_ENTROPY_BYTES, SessionRecord
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.ports.database import Unit

_LONGEST_CODE = 4096


def get_oidc(tools: Tools) -> OidcSettings:
    if tools.oidc is None:
        raise IdentityFlowError.no_provider("expected an identity provider under `[oidc]`, got none")
    return tools.oidc


def begin_oidc(tools: Tools, *, at: Instant) -> tuple[str, LoginSecrets]:
    """Where the browser goes, and what it must keep; nothing is kept here."""
    oidc = get_oidc(tools)
    secrets = begin_login(tools.entropy.token(BINDING_BYTES), at=at)
    endpoint = oidc.provider.authorization_endpoint()
    query = {
        "response_type": "code",
        "client_id": oidc.client_id,
        "redirect_uri": oidc.redirect_url,
        "scope": " ".join(oidc.scopes),
        "state": secrets.state,
        "nonce": secrets.nonce,
        "code_challenge": secrets.challenge,
        "code_challenge_method": "S256",
    }
    joint = "&" if urlsplit(endpoint).query else "?"
    return f"{endpoint}{joint}{urlencode(query)}", secrets


def finish_oidc(
    tools: Tools, *, binding: str | None, state: str | None, code: str | None, issuer: str | None, at: Instant
) -> tuple[str, SessionRecord]:
    """The token and what is kept; `identity.not_signed_in` for whoever is no active person of the tenant."""
    oidc = get_oidc(tools)
    secrets = resume_login(binding, state, at=at)
    # RFC 9207: an answer that names another provider was meant for another login.
    if issuer is not None and issuer != oidc.issuers[0]:
        raise IdTokenError("expected an answer of our provider, got one of another")
    if issuer is None and oidc.provider.promises_issuer():
        raise IdTokenError("expected `iss` in the answer, as the provider's document promises, got none")
    if not code or len(code) > _LONGEST_CODE:
        raise IdTokenError("expected a code of the provider, got none")
    claims = oidc.provider.redeem(code, verifier=secrets.verifier, redirect_url=oidc.redirect_url)
    verify_claims(claims, issuers=oidc.issuers, client_id=oidc.client_id, nonce=secrets.nonce, at=at)
    principal_id = find_person(claims, claim=oidc.claim, principals=oidc.principals, prefix=oidc.prefix)
    return _open(tools, oidc, principal_id, at)


def _open(tools: Tools, oidc: OidcSettings, principal_id: PrincipalId | None, at: Instant) -> tuple[str, SessionRecord]:
    entropy = tools.entropy.token(SESSION_ENTROPY_BYTES)

    def work(unit: Unit) -> tuple[str, SessionRecord]:
        person = None if principal_id is None else unit.identity.find_principal(oidc.tenant_id, principal_id)
        if person is None or not person.is_person() or not person.is_active(at):
            raise NotSignedInError("expected somebody who is a person of this node, got somebody else")
        proved_by = f"oidc {oidc.issuers[0]}"
        return begin_session(unit, person, entropy=entropy, lifetime=oidc.lifetime, proved_by=proved_by, at=at)

    return tools.database.write(work)
