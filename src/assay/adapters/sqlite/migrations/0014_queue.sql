-- Where each ticket stands in the queue, so that a page of it is read and nothing else: worked out from tickets, their
-- settlements and priorities, and changed with them. `place` sorts first what should be looked at first, as
-- `place_in_queue` writes it. An instant is text of 27 characters.
CREATE TABLE ticket_place (
    tenant_id TEXT    NOT NULL,
    ticket_id TEXT    NOT NULL,
    position  INTEGER NOT NULL CHECK (position >= 1),
    kind      TEXT    NOT NULL,
    about     TEXT,
    is_open   INTEGER NOT NULL CHECK (is_open IN (0, 1)),
    place     TEXT    NOT NULL,
    due_at    TEXT    CHECK (length(due_at) = 27),
    PRIMARY KEY (ticket_id, tenant_id)
) WITHOUT ROWID;

-- Instants as records have them drop zeros, and those of `place` have all six digits of a second. Quotation marks inside
-- a JSON string are escaped, so that nothing a person wrote can stand where these members are looked for.
INSERT INTO ticket_place (tenant_id, ticket_id, position, kind, about, is_open, place, due_at)
SELECT tenant_id, ticket_id, position, kind, about, is_open,
    CASE priority WHEN 'urgent' THEN '0' WHEN 'high' THEN '1' WHEN 'low' THEN '3' ELSE '2' END
        || CASE WHEN due_at IS NULL THEN '1' ELSE '0' END
        || ' ' || coalesce(due_at, opened_at) || ' ' || opened_at || ' ' || ticket_id,
    due_at
FROM (
    SELECT tenant_id, ticket_id, position, kind, about, is_open, priority,
        substr(opened, 1, 19) || '.' || substr(rtrim(substr(opened, 21), 'Z') || '000000', 1, 6) || 'Z' AS opened_at,
        substr(due, 1, 19) || '.' || substr(rtrim(substr(due, 21), 'Z') || '000000', 1, 6) || 'Z' AS due_at
    FROM (
        SELECT tenant_id, ticket_id, position, kind, about, opened_at AS opened,
            NOT EXISTS (SELECT 1 FROM settlement AS s WHERE s.tenant_id = t.tenant_id AND s.ticket_id = t.ticket_id) AS is_open,
            CASE WHEN instr(record, '"due_at":"') > 0 THEN
                substr(record, instr(record, '"due_at":"') + 10, instr(substr(record, instr(record, '"due_at":"') + 10), '"') - 1)
            END AS due,
            (SELECT substr(a.text, instr(a.text, '\"priority\":\"') + 15, instr(substr(a.text, instr(a.text, '\"priority\":\"') + 15), '\') - 1)
             FROM desk_act AS a WHERE a.ticket_id = t.ticket_id AND a.tenant_id = t.tenant_id AND a.kind = 'prioritise'
             ORDER BY a.sequence_number DESC LIMIT 1) AS priority
        FROM ticket AS t
    )
);

CREATE INDEX ticket_place_queue ON ticket_place (tenant_id, is_open, place);
CREATE INDEX ticket_place_everything ON ticket_place (tenant_id, place);
CREATE INDEX ticket_place_opened ON ticket_place (tenant_id, position);
CREATE INDEX ticket_place_waiting ON ticket_place (tenant_id, position) WHERE is_open = 1;
CREATE INDEX ticket_place_due ON ticket_place (tenant_id, due_at, ticket_id) WHERE is_open = 1;
CREATE INDEX ticket_place_about ON ticket_place (about, tenant_id, position);
