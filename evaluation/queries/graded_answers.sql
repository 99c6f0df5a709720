-- Responses to the wanted revisions as first asked (no rotation, options as they are), each with the grade of its present
-- grader. Of several askings of one thing (the wording or a caption has changed since) the latest counts.
SELECT
    response.key,
    response.item_name,
    response.revision_id,
    response.model,
    response.parameters,
    response.condition,
    response.state,
    response.answer,
    response.error,
    wanted.question_kind,
    wanted.chance,
    grade.points,
    grade.reason
FROM response
JOIN wanted USING (revision_id)
LEFT JOIN grade ON grade.response_key = response.key AND grade.grader = wanted.grader
WHERE response.rotation = 0
    AND NOT ends_with(response.condition, '_open')
QUALIFY row_number() OVER (
    PARTITION BY response.model, response.parameters, response.revision_id, response.condition, response.replicate
    ORDER BY response.recorded_at DESC, response.key DESC
) = 1
