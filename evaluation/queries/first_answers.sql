-- Answers as first asked, and whether the wanted grader has graded each. An answer that is graded already comes without
-- its text.
SELECT
    showing.key,
    showing.revision_id,
    showing.state,
    grade.grader IS NOT NULL AS is_graded,
    CASE WHEN grade.grader IS NULL THEN showing.answer END AS answer
FROM showing
LEFT JOIN grade ON grade.response_key = showing.key AND grade.grader = showing.wanted_grader
WHERE showing.state NOT IN ('api_error', 'unparsed', 'blocked')
ORDER BY showing.key
