"""Principals, credentials and registered keys."""

from assay.facts.kinds import Content, Fact, Projected, Table, Transient

FACTS: tuple[Fact, ...] = ()
TABLES = (
    Table(
        "principal",
        Projected(None),
        columns=("tenant_id", "principal_id", "version", "sequence_number", "record"),
        pending=True,
    ),
    Table(
        "principal_name",
        Content("the salted commitment in the body of the entry that records the principal"),
        columns=("tenant_id", "principal_id", "version", "sequence_number", "name"),
        pending=True,
    ),
    Table(
        "credential",
        Projected(None),
        columns=("tenant_id", "credential_id", "kind", "principal_id", "position", "record"),
        pending=True,
    ),
    Table("revocation", Projected(None), columns=("credential_id", "position", "record"), pending=True),
    Table("signing_key", Projected(None), columns=("tenant_id", "key_id", "principal_id", "record"), pending=True),
    Table("signing_key_end", Projected(None), columns=("tenant_id", "key_id", "record"), pending=True),
    Table(
        "request_nonce",
        Transient("not examined yet"),
        columns=("key_id", "nonce", "signed_hash", "expires_at"),
        pending=True,
    ),
    Table("login_failure", Transient("not examined yet"), columns=("subject", "count", "failed_at"), pending=True),
)
