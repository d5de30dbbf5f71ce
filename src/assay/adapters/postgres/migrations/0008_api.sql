-- Requests with an `Idempotency-Key`: what took effect under which key, and how it was answered. Rows are no facts about
-- decisions, and are forgotten after a day. An instant is text of 27 characters.

CREATE TABLE assay.kept_request (
    tenant_id    text COLLATE "C" NOT NULL,
    principal_id text COLLATE "C" NOT NULL,
    request_key  text COLLATE "C" NOT NULL,
    fingerprint  text COLLATE "C" NOT NULL,
    entry        bigint           NOT NULL CHECK (entry >= 0),
    begun_at     text COLLATE "C" NOT NULL CHECK (length(begun_at) = 27),
    status       bigint CHECK (status BETWEEN 200 AND 599),
    headers      text             NOT NULL,
    body         text             NOT NULL,
    PRIMARY KEY (tenant_id, principal_id, request_key)
);
CREATE INDEX kept_request_by_age ON assay.kept_request (begun_at);

-- Pages of lists, the newest first.
CREATE INDEX delivered_answer_in_order ON assay.delivered_answer (tenant_id, sequence_number);
CREATE INDEX delivered_answer_of_asker ON assay.delivered_answer (asked_by, tenant_id, sequence_number);
CREATE INDEX outcome_signal_in_order ON assay.outcome_signal (tenant_id, sequence_number);
CREATE INDEX claims_bundle_of_submitter ON assay.claims_bundle (submitted_by, tenant_id, sequence_number);
