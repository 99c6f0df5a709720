-- Responses to the wanted revisions as first asked (no rotation, options as they are), each with the grade of its present
-- grader, or of the judge where that one counts. Of several askings of one thing (the wording or a caption has changed since) the latest counts.
-- Variables: kept, how many characters of texts are wanted; models, names, or NULL for all.
CREATE TEMP TABLE graded_answers AS
SELECT
    response.key,
    response.request_key,
    response.purpose,
    response.item_name,
    response.revision_id,
    response.model,
    response.parameters,
    response.condition,
    response.replicate,
    response.state,
    left(response.answer, getvariable('kept')) AS answer,
    left(response.error, getvariable('kept')) AS error,
    response.input_tokens,
    response.output_tokens,
    response.cost_usd,
    grade.points,
    coalesce(grade.step_points, []) AS step_points,
    left(grade.reason, getvariable('kept')) AS reason
FROM response
JOIN wanted USING (revision_id)
LEFT JOIN judged ON judged.response_key = response.key
LEFT JOIN grade ON grade.response_key = response.key AND grade.grader = coalesce(judged.grader, wanted.grader)
WHERE response.rotation = 0
    AND response.kind <> 'prompt'
    AND NOT ends_with(response.condition, '_open')
    AND (getvariable('models') IS NULL OR list_contains(getvariable('models'), response.model))
QUALIFY row_number() OVER (
    PARTITION BY response.model, response.parameters, response.revision_id, response.condition, response.replicate
    ORDER BY response.recorded_at DESC, response.key DESC
) = 1;

-- Settings under which a model never answered (a wrong address, mended since) are no model of their own beside those under
-- which it did.
DELETE FROM graded_answers
WHERE (model, parameters) IN (
    FROM graded_answers
    SELECT model, parameters
    GROUP BY ALL
    HAVING bool_and(list_contains(['api_error', 'unparsed'], state))
)
AND model IN (FROM graded_answers SELECT model WHERE NOT list_contains(['api_error', 'unparsed'], state));
