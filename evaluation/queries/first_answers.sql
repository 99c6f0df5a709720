-- Answers to the wanted revisions as first asked (no rotation, options as they are), and whether the wanted grader has
-- graded each. An answer that is graded already comes without its text.
SELECT
    response.key,
    response.revision_id,
    response.state,
    grade.grader IS NOT NULL AS is_graded,
    CASE WHEN grade.grader IS NULL THEN response.answer END AS answer
FROM response
JOIN wanted USING (revision_id)
LEFT JOIN grade ON grade.response_key = response.key AND grade.grader = wanted.grader
WHERE response.state NOT IN ('api_error', 'unparsed', 'blocked')
    AND response.kind <> 'prompt'
    AND response.rotation = 0
    AND NOT ends_with(response.condition, '_open')
ORDER BY response.key
