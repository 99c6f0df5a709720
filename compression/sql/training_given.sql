-- What the commands need of a file, a row for each of its rows, with more columns at the end. `no_number` is what stands
-- where a number should.
CREATE OR REPLACE TEMP TABLE given AS
SELECT
    {line} AS line,
    ({sample_id})::VARCHAR AS sample_id,
    ({source})::VARCHAR AS source,
    TRY_CAST({value} AS DOUBLE) AS value,
    CASE WHEN TRY_CAST({value} AS DOUBLE) IS NULL THEN ({value})::VARCHAR END AS no_number{fields}
FROM {scan}
