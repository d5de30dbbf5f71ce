-- What the desk remembers beside tickets and answers. An instant is text of 27 characters. Indexes begin with what tells
-- rows apart and only then name the tenant.

-- What people did at the desk besides answering, as they signed it. A comment's words are not here: the ledger keeps them
-- where they can be erased.
CREATE TABLE desk_act (
    tenant_id       TEXT    NOT NULL,
    ticket_id       TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    kind            TEXT    NOT NULL,
    made_by         TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    PRIMARY KEY (ticket_id, sequence_number, tenant_id)
);

-- Whom the node told that a ticket's time runs out; each stage once.
CREATE TABLE desk_escalation (
    tenant_id       TEXT    NOT NULL,
    ticket_id       TEXT    NOT NULL,
    stage           TEXT    NOT NULL CHECK (stage IN ('near', 'passed')),
    text            TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (ticket_id, stage, tenant_id)
);

-- Who works on what, and until when; the claims themselves are acts.
CREATE TABLE desk_lease (
    tenant_id  TEXT NOT NULL,
    ticket_id  TEXT NOT NULL,
    made_by    TEXT NOT NULL,
    claimed_at TEXT NOT NULL CHECK (length(claimed_at) = 27),
    expires_at TEXT NOT NULL CHECK (length(expires_at) = 27),
    PRIMARY KEY (ticket_id, made_by, tenant_id)
);
CREATE INDEX desk_lease_of ON desk_lease (made_by, tenant_id, ticket_id);

-- Answers that can still be undone; from here they go to the answers, or nowhere. The ledger has each step.
CREATE TABLE desk_held (
    tenant_id       TEXT NOT NULL,
    ticket_id       TEXT NOT NULL,
    made_by         TEXT NOT NULL,
    takes_effect_at TEXT NOT NULL CHECK (length(takes_effect_at) = 27),
    text            TEXT NOT NULL,
    PRIMARY KEY (ticket_id, made_by, tenant_id)
);
CREATE INDEX desk_held_next ON desk_held (tenant_id, takes_effect_at, ticket_id, made_by);

-- What people began to write; private, and gone when they answer.
CREATE TABLE desk_draft (
    tenant_id TEXT NOT NULL,
    ticket_id TEXT NOT NULL,
    made_by   TEXT NOT NULL,
    text      TEXT NOT NULL,
    saved_at  TEXT NOT NULL CHECK (length(saved_at) = 27),
    PRIMARY KEY (ticket_id, made_by, tenant_id)
);

-- Filters under a name.
CREATE TABLE desk_view (
    tenant_id TEXT    NOT NULL,
    made_by   TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    shared    INTEGER NOT NULL CHECK (shared IN (0, 1)),
    text      TEXT    NOT NULL,
    saved_at  TEXT    NOT NULL CHECK (length(saved_at) = 27),
    PRIMARY KEY (made_by, name, tenant_id)
);
CREATE INDEX desk_view_of_tenant ON desk_view (tenant_id, name, made_by);

-- A ticket's own history: the entries about it, in order. Other subjects are not in this index.
CREATE INDEX outbox_of_ticket ON outbox (subject, tenant_id, position) WHERE substr(subject, 1, 4) = 'tkt_';
-- What one person answered.
CREATE INDEX answer_by_person ON answer (answered_by, tenant_id, ticket_id);

-- Append-only at the storage layer: no change, no deletion, no replacement.
CREATE TRIGGER desk_act_no_replace BEFORE INSERT ON desk_act WHEN EXISTS (SELECT 1 FROM desk_act WHERE ticket_id = NEW.ticket_id AND sequence_number = NEW.sequence_number AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'desk_act is append-only: that place is taken'); END;
CREATE TRIGGER desk_act_no_update BEFORE UPDATE ON desk_act BEGIN SELECT RAISE(ABORT, 'desk_act is append-only: UPDATE refused'); END;
CREATE TRIGGER desk_act_no_delete BEFORE DELETE ON desk_act BEGIN SELECT RAISE(ABORT, 'desk_act is append-only: DELETE refused'); END;
CREATE TRIGGER desk_escalation_no_replace BEFORE INSERT ON desk_escalation WHEN EXISTS (SELECT 1 FROM desk_escalation WHERE ticket_id = NEW.ticket_id AND stage = NEW.stage AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'desk_escalation is append-only: that place is taken'); END;
CREATE TRIGGER desk_escalation_no_update BEFORE UPDATE ON desk_escalation BEGIN SELECT RAISE(ABORT, 'desk_escalation is append-only: UPDATE refused'); END;
CREATE TRIGGER desk_escalation_no_delete BEFORE DELETE ON desk_escalation BEGIN SELECT RAISE(ABORT, 'desk_escalation is append-only: DELETE refused'); END;
