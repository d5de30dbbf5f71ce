"""The administrator's step: roles, schema, migrations and grants, in one transaction that may be repeated.

owner role (cannot log in) -> schema `assay` -> migrations as the owner -> grants to the application's role
"""

from assay.adapters.postgres._driver import psycopg
from assay.adapters.postgres.connection import Connection, open_connection, translate_error
from assay.adapters.postgres.database import PACKAGE
from assay.adapters.postgres.session import PostgresSession
from assay.adapters.sql.errors import CannotOpenError, NotPermittedError
from assay.adapters.sql.migrate import Migration, load_migrations, migrate
from assay.kernel.instant import Instant

OWNER_ROLE = "assay_owner"

_APPEND_ONLY = (
    "ledger",
    "subtree",
    "tile",
    "checkpoint",
    "key_fact",
    "transcript",
    "outbox",
    "credential",
    "ticket",
    "answer",
    "settlement",
    "truth_contract",
    "truth_record",
    "trust_snapshot",
    "truth_state",
    "trust_signal",
    "trust_policy",
    "graph_version",
    "graph_activation",
    "telemetry_drop",
    "verdict_index",
    "egress_note",
    "switch_fact",
    "service_key",
    "service_key_end",
    "service_proof",
    "tier_change",
    "claims_policy",
    "claims_bundle",
    "claims_decision",
    "claims_turn",
    "claims_evidence",
    "rule_version",
    "rule_certification",
    "query_type",
    "reporter_grant",
    "delivered_answer",
    "outcome_signal",
    "rule_outcome",
    "root_cause",
    "root_cause_ticket",
    "root_cause_conclusion",
    "rule_proposal",
    "answer_finding",
    "training_pair",
    "training_job",
    "training_result",
    "webhook",
    "webhook_end",
    "peer_agreement",
    "model",
    "model_evaluation",
    "model_activation",
    "permit",
    "permit_claim",
    "permit_report",
    "permit_end",
    "mandate",
    "mandate_use",
    "mandate_end",
    "gateway_table",
    "gateway_definition",
    "gateway_call",
    "desk_act",
    "desk_escalation",
    "index_segment",
    "index_page",
    "signing_key",
)
# Everything the application may do; what is not here it may not.
_RIGHTS = (
    *((table, "SELECT, INSERT") for table in _APPEND_ONLY),
    ("chain", "SELECT, INSERT, UPDATE (epoch, holder, sequence_number, entry_hash)"),
    ("outbox_cursor", "SELECT, INSERT, UPDATE (position, mac)"),
    ("truth_due", "SELECT, INSERT, DELETE, UPDATE (version, due_at)"),
    ("trust_mark", "SELECT, INSERT, UPDATE (through, text, signature)"),
    ("service_lease", "SELECT, INSERT, DELETE, UPDATE (lease, announce, expires_at)"),
    ("service_entry", "SELECT, INSERT, DELETE, UPDATE (text, checked_at, sequence_number)"),
    (
        "rule_counter",
        (
            "SELECT, INSERT, UPDATE (total, success, failure, partial, indeterminate, consecutive_failures,"
            " tainted_success, streak, item_id, absorbed, batched_until, sequence_number)"
        ),
    ),
    ("webhook_attempt", "SELECT, INSERT, DELETE, UPDATE (position, attempts, changed_at, mac)"),
    ("kept_request", "SELECT, INSERT, DELETE, UPDATE (status, headers, body, mac)"),
    ("request_nonce", "SELECT, INSERT, DELETE"),
    ("login_failure", "SELECT, INSERT, DELETE, UPDATE (count, failed_at)"),
    ("ticket_place", "SELECT, INSERT, UPDATE (is_open, place)"),
    ("desk_lease", "SELECT, INSERT, DELETE, UPDATE (claimed_at, expires_at)"),
    ("desk_held", "SELECT, INSERT, DELETE"),
    ("desk_pending", "SELECT, INSERT, DELETE"),
    ("desk_draft", "SELECT, INSERT, DELETE, UPDATE (text, saved_at)"),
    ("desk_view", "SELECT, INSERT, DELETE, UPDATE (shared, text, saved_at)"),
    ("disclosure", "SELECT, INSERT, DELETE"),
    ("claims_evidence_content", "SELECT, INSERT, DELETE"),
    ("claims_logged", "SELECT"),
    ("claims_logged_turn", "SELECT"),
    ("permit_logged", "SELECT"),
    ("identity_logged", "SELECT"),
    ("permit_issued_logged", "SELECT"),
    ("mandate_logged", "SELECT"),
    ("bundle_logged", "SELECT"),
    ("graph_question_logged", "SELECT"),
    ("ticket_answer_logged", "SELECT"),
    ("schema_migration", "SELECT"),
)


def provision(
    admin_dsn: str,
    *,
    at: Instant,
    app_role: str = "assay_app",
    reader_role: str | None = None,
) -> tuple[Migration, ...]:
    """Prepare the database that the DSN names, or bring it up to date; the answer is which migrations were applied.

    The roles are created when they do not exist (the application and the reader with LOGIN and no password: giving
    them one, or another way to log in, is the administrator's). The database should be ours alone: the rights of
    PUBLIC to create temporary tables in it, and anything in its schema `public`, are taken away.
    """
    connection = open_connection(admin_dsn, application_name="assay provision")
    try:
        with connection, connection.transaction():
            return _provision(connection, at, app_role, reader_role)
    except psycopg.Error as error:
        raise translate_error(error, connection) from error


def _provision(connection: Connection, at: Instant, app_role: str, reader_role: str | None) -> tuple[Migration, ...]:
    others = [role for role in (app_role, reader_role) if role is not None]
    if OWNER_ROLE in others:
        raise CannotOpenError(f"expected an application role that owns nothing, got the owner `{OWNER_ROLE}`")
    # Two administrators at once would race for the same roles; the second waits here.
    connection.execute("SELECT pg_catalog.pg_advisory_xact_lock(hashtext('assay: provision'))")
    _create_role(connection, OWNER_ROLE, "NOLOGIN")
    for role in others:
        _create_role(connection, role, "LOGIN")
    _create_schema(connection)
    session = PostgresSession(connection)
    connection.execute(_sql("SET LOCAL ROLE {}", OWNER_ROLE))
    applied = migrate(session, load_migrations(PACKAGE), at=at, run_script=lambda text: _run_script(connection, text))
    for role in others:
        _grant(connection, role, writes=role == app_role)
    connection.execute("RESET ROLE")
    return applied


def _create_role(connection: Connection, role: str, login: str) -> None:
    known = connection.execute("SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = %s", (role,)).fetchone()
    if known is None:
        connection.execute(_sql(f"CREATE ROLE {{}} {login} NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT", role))


def _create_schema(connection: Connection) -> None:
    connection.execute(_sql("CREATE SCHEMA IF NOT EXISTS assay AUTHORIZATION {}", OWNER_ROLE))
    row = connection.execute(
        "SELECT pg_catalog.pg_get_userbyid(nspowner) FROM pg_catalog.pg_namespace WHERE nspname = 'assay'"
    ).fetchone()
    if row is None or row[0] != OWNER_ROLE:
        raise NotPermittedError(f"expected schema `assay` to belong to `{OWNER_ROLE}`, got `{row and row[0]}`")
    connection.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
    database = connection.info.dbname
    connection.execute(_sql("REVOKE CREATE, TEMPORARY ON DATABASE {} FROM PUBLIC", database))


def _run_script(connection: Connection, text: str) -> None:
    connection.execute(text.encode())


def _grant(connection: Connection, role: str, *, writes: bool) -> None:
    """What was granted by hand before is taken back first, so that the list above is the whole truth."""
    connection.execute(_sql("REVOKE ALL ON ALL TABLES IN SCHEMA assay FROM {}", role))
    connection.execute(_sql("REVOKE ALL ON SCHEMA assay FROM {}", role))
    connection.execute(_sql("GRANT USAGE ON SCHEMA assay TO {}", role))
    for table, rights in _RIGHTS:
        connection.execute(_sql(f"GRANT {rights if writes else 'SELECT'} ON assay.{table} TO {{}}", role))


def _sql(template: str, name: str) -> psycopg.sql.Composed:
    return psycopg.sql.SQL(template).format(psycopg.sql.Identifier(name))
