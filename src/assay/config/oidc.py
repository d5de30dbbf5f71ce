"""An identity provider by way of which people log in."""

import re

from msgspec import Struct

from assay.config._address import shown_address
from assay.identity.problem import Problem, parse_problems, when
from assay.kernel.ids import parse_principal_id, parse_tenant_id

_WEB_ADDRESS = re.compile(r"https?://[^\s/?#@]+(?:/[^\s?#]*)?", re.ASCII)
# Signatures that only the provider can make; HMAC and `none` are not among them.
_SAFE_ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA"}
)


class OidcConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """People who log in by way of an identity provider (OpenID Connect, code flow with PKCE).

    `redirect_url` is this node's `/auth/oidc/callback` as browsers reach it. The client's secret is in the file
    `client_secret_file` (relative to the node's folder) or in ASSAY_OIDC_CLIENT_SECRET, never here; without one the
    client is public. `claim` of the ID token names the person: `principals` has its principal, or with a `prefix` it is
    `prefix:VALUE`; whoever is not a principal already is refused. `allowed_issuers` are further names that the provider
    may have in its tokens, `hosts` (`name` or `name:port`) those of its addresses that are not public or not https.
    """

    issuer: str
    client_id: str
    redirect_url: str
    client_secret_file: str | None = None
    allowed_issuers: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ("RS256", "PS256", "ES256", "Ed25519")
    scopes: tuple[str, ...] = ("openid",)
    claim: str = "sub"
    principals: dict[str, str] = {}
    prefix: str | None = None
    hosts: tuple[str, ...] = ()
    tenant: str | None = None
    landing: str = "/console/"
    session_seconds: int = 3600


def oidc_problems(oidc: OidcConfig | None) -> tuple[Problem, ...]:
    if oidc is None:
        return ()
    problems = tuple[Problem, ...]()
    for name in ("issuer", "redirect_url"):
        url: str = getattr(oidc, name)
        wrong = _WEB_ADDRESS.fullmatch(url) is None
        problems += when(wrong, f"oidc.{name}", f"expected an address without query, got `{shown_address(url)}`")
    problems += when(not oidc.client_id, "oidc.client_id", "expected a client id, got none")
    unsafe = sorted(set(oidc.algorithms) - _SAFE_ALGORITHMS)
    problems += when(
        bool(unsafe) or not oidc.algorithms,
        "oidc.algorithms",
        f"expected some of {', '.join(sorted(_SAFE_ALGORITHMS))}, got `{', '.join(unsafe)[:80]}`",
    )
    problems += when("openid" not in oidc.scopes, "oidc.scopes", "expected `openid` among them")
    nobody = not oidc.principals and oidc.prefix is None
    problems += when(nobody, "oidc.principals", "expected principals or a prefix; nobody could log in")
    for value, principal in oidc.principals.items():
        problems += parse_problems(f"oidc.principals.{value[:80]}", parse_principal_id, principal)
    if oidc.prefix is not None:
        problems += parse_problems("oidc.prefix", parse_tenant_id, oidc.prefix)
    if oidc.tenant is not None:
        problems += parse_problems("oidc.tenant", parse_tenant_id, oidc.tenant)
    is_path = oidc.landing.startswith("/") and not oidc.landing.startswith(("//", "/\\")) and oidc.landing.isprintable()
    problems += when(not is_path, "oidc.landing", f"expected a path of this node, got `{oidc.landing[:80]}`")
    seconds, most = oidc.session_seconds, 12 * 3600
    return problems + when(not 1 <= seconds <= most, "oidc.session_seconds", f"expected 1 to {most}, got {seconds}")
