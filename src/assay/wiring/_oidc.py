"""The identity provider of a node, if it has one; its client's secret is read here, and is no part of the settings."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from assay.config import Config
from assay.config.oidc import OidcConfig
from assay.flows.identity.oidc_settings import OidcSettings
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import parse_principal_id, parse_tenant_id

_SECRET_VARIABLE = "ASSAY_OIDC_CLIENT_SECRET"  # noqa: S105 - the name of a variable, not a secret


class ClientSecretError(Error):
    """The file that should hold the secret of the provider's client cannot be read."""

    code = "config.client_secret"
    blame = Blame.USAGE


def oidc_settings(folder: Path, config: Config, environment: Mapping[str, str]) -> OidcSettings | None:
    oidc = config.oidc
    if oidc is None:
        return None
    from assay.adapters.oidc.fetch import ProviderFetch  # noqa: PLC0415 - only a node with a provider pays for HTTP
    from assay.adapters.oidc.provider import HttpOidcProvider  # noqa: PLC0415 - the same

    provider = HttpOidcProvider(
        issuer=oidc.issuer,
        client_id=oidc.client_id,
        fetch=ProviderFetch(hosts=oidc.hosts),
        algorithms=oidc.algorithms,
        client_secret=_client_secret(folder, oidc, environment),
    )
    return OidcSettings(
        provider=provider,
        issuers=(oidc.issuer, *oidc.allowed_issuers),
        client_id=oidc.client_id,
        redirect_url=oidc.redirect_url,
        scopes=oidc.scopes,
        claim=oidc.claim,
        principals={value: parse_principal_id(name) for value, name in oidc.principals.items()},
        prefix=oidc.prefix,
        tenant_id=parse_tenant_id(oidc.tenant or config.node.tenant),
        lifetime=timedelta(seconds=oidc.session_seconds),
        landing=oidc.landing,
    )


def _client_secret(folder: Path, oidc: OidcConfig, environment: Mapping[str, str]) -> str | None:
    """The environment wins over the file; an empty one is none."""
    given = environment.get(_SECRET_VARIABLE)
    if given is not None or oidc.client_secret_file is None:
        return given or None
    try:
        return (folder / oidc.client_secret_file).read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError) as error:
        raise ClientSecretError(f"expected the client's secret in `{oidc.client_secret_file}`, got none") from error
