-- Requests with an `Idempotency-Key`: what took effect under which key, and how it was answered. Rows are no facts about
-- decisions, and are forgotten after a day. An instant is text of 27 characters.

CREATE TABLE kept_request (
    tenant_id    TEXT    NOT NULL,
    principal_id TEXT    NOT NULL,
    request_key  TEXT    NOT NULL,
    fingerprint  TEXT    NOT NULL,
    entry        INTEGER NOT NULL CHECK (entry >= 0),
    begun_at     TEXT    NOT NULL CHECK (length(begun_at) = 27),
    status       INTEGER CHECK (status BETWEEN 200 AND 599),
    headers      TEXT    NOT NULL,
    body         TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, principal_id, request_key)
);
CREATE INDEX kept_request_by_age ON kept_request (begun_at);

-- Pages of lists, the newest first.
CREATE INDEX delivered_answer_in_order ON delivered_answer (tenant_id, sequence_number);
CREATE INDEX delivered_answer_of_asker ON delivered_answer (asked_by, tenant_id, sequence_number);
CREATE INDEX outcome_signal_in_order ON outcome_signal (tenant_id, sequence_number);
CREATE INDEX claims_bundle_of_submitter ON claims_bundle (submitted_by, tenant_id, sequence_number);
