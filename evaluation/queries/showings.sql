-- What grading, judging and reports read: the responses to the wanted revisions as first asked (no rotation, options as
-- they are), with the fingerprint of the wanted grader.
CREATE TEMP VIEW showing AS
SELECT response.*, wanted.grader AS wanted_grader
FROM response
JOIN wanted USING (revision_id)
WHERE response.rotation = 0
    AND response.kind <> 'prompt'
    AND NOT ends_with(response.condition, '_open');

-- Of several askings of one thing (the wording or a caption has changed since) the latest.
CREATE TEMP VIEW latest_showing AS
FROM showing
QUALIFY row_number() OVER (
    PARTITION BY model, parameters, revision_id, condition, replicate
    ORDER BY recorded_at DESC, key DESC
) = 1;
