-- Where each ticket stands in the queue, so that a page of it is read and nothing else: worked out from tickets, their
-- settlements and priorities, and changed with them. `place` sorts first what should be looked at first, as
-- `place_in_queue` writes it. An instant is text of 27 characters.
CREATE TABLE assay.ticket_place (
    tenant_id text COLLATE "C" NOT NULL,
    ticket_id text COLLATE "C" NOT NULL,
    position  bigint           NOT NULL CHECK (position >= 1),
    kind      text COLLATE "C" NOT NULL,
    about     text COLLATE "C",
    is_open   bigint           NOT NULL CHECK (is_open IN (0, 1)),
    place     text COLLATE "C" NOT NULL,
    due_at    text COLLATE "C" CHECK (length(due_at) = 27),
    PRIMARY KEY (ticket_id, tenant_id)
);

-- Instants as records have them drop zeros, and those of `place` have all six digits of a second. Quotation marks inside
-- a JSON string are escaped, so that nothing a person wrote can stand where these members are looked for.
INSERT INTO assay.ticket_place (tenant_id, ticket_id, position, kind, about, is_open, place, due_at)
SELECT tenant_id, ticket_id, position, kind, about, is_open,
    CASE priority WHEN 'urgent' THEN '0' WHEN 'high' THEN '1' WHEN 'low' THEN '3' ELSE '2' END
        || CASE WHEN due_at IS NULL THEN '1' ELSE '0' END
        || ' ' || coalesce(due_at, opened_at) || ' ' || opened_at || ' ' || ticket_id,
    due_at
FROM (
    SELECT tenant_id, ticket_id, position, kind, about, is_open, priority,
        to_char(opened AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS opened_at,
        substr(due, 1, 19) || '.' || substr(rtrim(substr(due, 21), 'Z') || '000000', 1, 6) || 'Z' AS due_at
    FROM (
        SELECT tenant_id, ticket_id, position, kind, about, opened_at AS opened,
            CASE WHEN EXISTS (SELECT 1 FROM assay.settlement AS s WHERE s.tenant_id = t.tenant_id AND s.ticket_id = t.ticket_id)
                THEN 0 ELSE 1 END AS is_open,
            substring(record FROM '"due_at":"([^"]*)"') AS due,
            (SELECT substring(a.text FROM '\\"priority\\":\\"([a-z]*)\\"') FROM assay.desk_act AS a
             WHERE a.ticket_id = t.ticket_id AND a.tenant_id = t.tenant_id AND a.kind = 'prioritise'
             ORDER BY a.sequence_number DESC LIMIT 1) AS priority
        FROM assay.ticket AS t
    ) AS told
) AS placed;

CREATE INDEX ticket_place_queue ON assay.ticket_place (tenant_id, is_open, place);
CREATE INDEX ticket_place_everything ON assay.ticket_place (tenant_id, place);
CREATE INDEX ticket_place_opened ON assay.ticket_place (tenant_id, position);
CREATE INDEX ticket_place_waiting ON assay.ticket_place (tenant_id, position) WHERE is_open = 1;
CREATE INDEX ticket_place_due ON assay.ticket_place (tenant_id, due_at, ticket_id) WHERE is_open = 1;
CREATE INDEX ticket_place_about ON assay.ticket_place (about, tenant_id, position);
