CREATE OR REPLACE TEMP TABLE line_id AS
SELECT {line} AS line, ({id})::VARCHAR AS id FROM {scan}
