-- Responses to the wanted revisions as first asked (no rotation, options as they are), each with its grade.
-- ?: the present graders (name@version); ?: revision ids.
SELECT
    response.key,
    response.item_name,
    response.revision_id,
    response.model,
    response.condition,
    response.state,
    response.answer,
    response.error,
    grade.points,
    grade.reason
FROM response
LEFT JOIN (SELECT * FROM grade WHERE list_contains(?, grader)) AS grade ON grade.response_key = response.key
WHERE list_contains(?, response.revision_id)
    AND response.rotation = 0
    AND NOT ends_with(response.condition, '_open')
ORDER BY response.model, response.condition, response.item_name, response.key
