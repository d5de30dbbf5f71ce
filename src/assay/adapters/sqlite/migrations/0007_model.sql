-- What the node remembers of models. The bytes of weights lie beside the database, by their hash. An instant is text of
-- 27 characters.

CREATE TABLE model (
    tenant_id       TEXT    NOT NULL,
    weight_hash     TEXT    NOT NULL,
    name            TEXT    NOT NULL,
    version         TEXT    NOT NULL,
    parent_hash     TEXT,
    size            INTEGER NOT NULL CHECK (size > 0),
    manifest        TEXT    NOT NULL,
    made_by         TEXT    NOT NULL,
    added_at        TEXT    NOT NULL CHECK (length(added_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (weight_hash, tenant_id)
);
CREATE UNIQUE INDEX model_in_order ON model (tenant_id, sequence_number);

-- What was measured here, of models of ours and of the shipped one.
CREATE TABLE model_evaluation (
    tenant_id       TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    weight_hash     TEXT    NOT NULL,
    cases_hash      TEXT    NOT NULL,
    cases           INTEGER NOT NULL CHECK (cases >= 1),
    figures         TEXT    NOT NULL,
    made_by         TEXT    NOT NULL,
    evaluated_at    TEXT    NOT NULL CHECK (length(evaluated_at) = 27),
    PRIMARY KEY (tenant_id, sequence_number)
);
CREATE INDEX model_evaluation_of ON model_evaluation (weight_hash, tenant_id, sequence_number);

-- Which weights judge from which entry on; a person's answer to a ticket puts one into use, once.
CREATE TABLE model_activation (
    tenant_id       TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    weight_hash     TEXT    NOT NULL,
    before_hash     TEXT    NOT NULL,
    ticket_id       TEXT    NOT NULL,
    made_by         TEXT    NOT NULL,
    activated_at    TEXT    NOT NULL CHECK (length(activated_at) = 27),
    PRIMARY KEY (tenant_id, sequence_number)
);
CREATE UNIQUE INDEX model_activation_ticket ON model_activation (ticket_id, tenant_id);

-- Append-only at the storage layer: no change, no deletion, no replacement.
CREATE TRIGGER model_no_replace BEFORE INSERT ON model WHEN EXISTS (SELECT 1 FROM model WHERE weight_hash = NEW.weight_hash AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'model is append-only: that place is taken'); END;
CREATE TRIGGER model_no_update BEFORE UPDATE ON model BEGIN SELECT RAISE(ABORT, 'model is append-only: UPDATE refused'); END;
CREATE TRIGGER model_no_delete BEFORE DELETE ON model BEGIN SELECT RAISE(ABORT, 'model is append-only: DELETE refused'); END;
CREATE TRIGGER model_evaluation_no_replace BEFORE INSERT ON model_evaluation WHEN EXISTS (SELECT 1 FROM model_evaluation WHERE tenant_id = NEW.tenant_id AND sequence_number = NEW.sequence_number) BEGIN SELECT RAISE(ABORT, 'model_evaluation is append-only: that place is taken'); END;
CREATE TRIGGER model_evaluation_no_update BEFORE UPDATE ON model_evaluation BEGIN SELECT RAISE(ABORT, 'model_evaluation is append-only: UPDATE refused'); END;
CREATE TRIGGER model_evaluation_no_delete BEFORE DELETE ON model_evaluation BEGIN SELECT RAISE(ABORT, 'model_evaluation is append-only: DELETE refused'); END;
CREATE TRIGGER model_activation_no_replace BEFORE INSERT ON model_activation WHEN EXISTS (SELECT 1 FROM model_activation WHERE tenant_id = NEW.tenant_id AND (sequence_number = NEW.sequence_number OR ticket_id = NEW.ticket_id)) BEGIN SELECT RAISE(ABORT, 'model_activation is append-only: that place is taken'); END;
CREATE TRIGGER model_activation_no_update BEFORE UPDATE ON model_activation BEGIN SELECT RAISE(ABORT, 'model_activation is append-only: UPDATE refused'); END;
CREATE TRIGGER model_activation_no_delete BEFORE DELETE ON model_activation BEGIN SELECT RAISE(ABORT, 'model_activation is append-only: DELETE refused'); END;
