-- Questions of a pool and of a subset together: `weight` and `stratum` are empty for those that are not kept, `mean` and
-- `answers` for those that the pool does not have (any more).
SELECT
    benchmark, question_id, weight, stratum, mean, answers,
    count(*) OVER () AS total
FROM pool
FULL JOIN kept USING (benchmark, question_id)
WHERE
    ($benchmark IS NULL OR benchmark = $benchmark)
    AND ($kept IS NULL OR (weight IS NOT NULL) = $kept)
    AND contains(lower(question_id), lower($text))
ORDER BY benchmark, question_id
LIMIT $most OFFSET $skipped
