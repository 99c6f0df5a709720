-- The responses of the wanted keys, each with the grade of the grader that counts and with the sitting of an exam that it
-- belongs to, all columns of each.
SELECT
    wanted.key,
    response,
    grade,
    sitting
FROM wanted
INNER JOIN response ON response.key = wanted.key
LEFT JOIN grade ON grade.response_key = wanted.key AND grade.grader = wanted.grader
LEFT JOIN sitting ON sitting.response_key = wanted.key
