-- Of all answers as first asked: how many there are, have points from no grader, and have other points from one grader
-- than from another. Of a grader's versions the last word counts.
WITH last_word AS (
    SELECT response_key, arg_max(points, recorded_at) AS points
    FROM grade
    WHERE points IS NOT NULL
    GROUP BY response_key, split_part(grader, '@', 1)
),
graded AS (
    SELECT response_key, max(points) - min(points) > ? AS is_split
    FROM last_word
    GROUP BY response_key
)
SELECT
    count(*),
    count(*) FILTER (graded.response_key IS NULL),
    count(*) FILTER (graded.is_split)
FROM response
LEFT JOIN graded ON graded.response_key = response.key
WHERE response.state = 'ok' AND response.rotation = 0 AND response.kind <> 'prompt'
