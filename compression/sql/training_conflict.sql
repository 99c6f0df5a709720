-- Samples and sources with several, different values: how many, and the first.
SELECT count(*), first({'sample_id': sample_id, 'source': source, 'lowest': lowest, 'highest': highest} ORDER BY place)
FROM (
    SELECT sample_id, source.source, lowest, highest, (sample, source.code) AS place
    FROM (
        SELECT sample, source AS code, min(value) AS lowest, max(value) AS highest
        FROM cell
        GROUP BY sample, source
        HAVING count(*) > 1
    )
    JOIN sample USING (sample)
    JOIN source USING (code)
)
