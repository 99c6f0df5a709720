-- The latest showings, each with the grade of its present grader, or of the judge where that one counts.
-- Variables: kept, how many characters of texts are wanted; models, names, or NULL for all.
CREATE TEMP TABLE graded_answers AS
SELECT
    latest.key,
    latest.request_key,
    latest.purpose,
    latest.item_name,
    latest.revision_id,
    latest.model,
    latest.parameters,
    latest.condition,
    latest.replicate,
    latest.state,
    left(latest.answer, getvariable('kept')) AS answer,
    left(latest.error, getvariable('kept')) AS error,
    latest.input_tokens,
    latest.output_tokens,
    latest.cost_usd,
    grade.points,
    coalesce(grade.step_points, []) AS step_points,
    left(grade.reason, getvariable('kept')) AS reason
FROM latest_showing AS latest
LEFT JOIN judged ON judged.response_key = latest.key
LEFT JOIN grade ON grade.response_key = latest.key AND grade.grader = coalesce(judged.grader, latest.wanted_grader)
WHERE getvariable('models') IS NULL OR list_contains(getvariable('models'), latest.model);

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
