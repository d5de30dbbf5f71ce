-- What the desk remembers beside tickets and answers. An instant is text of 27 characters. Indexes begin with what tells
-- rows apart and only then name the tenant.

-- What people did at the desk besides answering, as they signed it. A comment's words are not here: the ledger keeps them
-- where they can be erased.
CREATE TABLE assay.desk_act (
    tenant_id       text COLLATE "C" NOT NULL,
    ticket_id       text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    kind            text COLLATE "C" NOT NULL,
    made_by         text COLLATE "C" NOT NULL,
    text            text             NOT NULL,
    PRIMARY KEY (ticket_id, sequence_number, tenant_id)
);

-- Whom the node told that a ticket's time runs out; each stage once.
CREATE TABLE assay.desk_escalation (
    tenant_id       text COLLATE "C" NOT NULL,
    ticket_id       text COLLATE "C" NOT NULL,
    stage           text COLLATE "C" NOT NULL CHECK (stage IN ('near', 'passed')),
    text            text             NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (ticket_id, stage, tenant_id)
);

-- Who works on what, and until when; the claims themselves are acts.
CREATE TABLE assay.desk_lease (
    tenant_id  text COLLATE "C" NOT NULL,
    ticket_id  text COLLATE "C" NOT NULL,
    made_by    text COLLATE "C" NOT NULL,
    claimed_at text COLLATE "C" NOT NULL CHECK (length(claimed_at) = 27),
    expires_at text COLLATE "C" NOT NULL CHECK (length(expires_at) = 27),
    PRIMARY KEY (ticket_id, made_by, tenant_id)
);
CREATE INDEX desk_lease_of ON assay.desk_lease (made_by, tenant_id, ticket_id);

-- Answers that can still be undone; from here they go to the answers, or nowhere. The ledger has each step.
CREATE TABLE assay.desk_held (
    tenant_id       text COLLATE "C" NOT NULL,
    ticket_id       text COLLATE "C" NOT NULL,
    made_by         text COLLATE "C" NOT NULL,
    takes_effect_at text COLLATE "C" NOT NULL CHECK (length(takes_effect_at) = 27),
    text            text             NOT NULL,
    PRIMARY KEY (ticket_id, made_by, tenant_id)
);
CREATE INDEX desk_held_next ON assay.desk_held (tenant_id, takes_effect_at, ticket_id, made_by);

-- What people began to write; private, and gone when they answer.
CREATE TABLE assay.desk_draft (
    tenant_id text COLLATE "C" NOT NULL,
    ticket_id text COLLATE "C" NOT NULL,
    made_by   text COLLATE "C" NOT NULL,
    text      text             NOT NULL,
    saved_at  text COLLATE "C" NOT NULL CHECK (length(saved_at) = 27),
    PRIMARY KEY (ticket_id, made_by, tenant_id)
);

-- Filters under a name.
CREATE TABLE assay.desk_view (
    tenant_id text COLLATE "C" NOT NULL,
    made_by   text COLLATE "C" NOT NULL,
    name      text COLLATE "C" NOT NULL,
    shared    bigint           NOT NULL CHECK (shared IN (0, 1)),
    text      text             NOT NULL,
    saved_at  text COLLATE "C" NOT NULL CHECK (length(saved_at) = 27),
    PRIMARY KEY (made_by, name, tenant_id)
);
CREATE INDEX desk_view_of_tenant ON assay.desk_view (tenant_id, name, made_by);

-- A ticket's own history: the entries about it, in order. Other subjects are not in this index.
CREATE INDEX outbox_of_ticket ON assay.outbox (subject, tenant_id, position) WHERE substr(subject, 1, 4) = 'tkt_';
-- What one person answered.
CREATE INDEX answer_by_person ON assay.answer (answered_by, tenant_id, ticket_id);

-- Append-only at the storage layer: no change, no deletion, no truncation.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['desk_act', 'desk_escalation'] LOOP
        EXECUTE format(
            'CREATE TRIGGER %1$s_no_change BEFORE UPDATE OR DELETE ON assay.%1$I'
            ' FOR EACH ROW EXECUTE FUNCTION assay.refuse_change()', name);
        EXECUTE format('ALTER TABLE assay.%1$I ENABLE ALWAYS TRIGGER %1$s_no_change', name);
        EXECUTE format(
            'CREATE TRIGGER %1$s_no_truncate BEFORE TRUNCATE ON assay.%1$I'
            ' FOR EACH STATEMENT EXECUTE FUNCTION assay.refuse_change()', name);
        EXECUTE format('ALTER TABLE assay.%1$I ENABLE ALWAYS TRIGGER %1$s_no_truncate', name);
    END LOOP;
END $$;
