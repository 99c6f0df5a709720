-- Questions from those that few models solve to those that most solve, in {bins} parts of equal size; each model in each.
WITH per_question AS (
    SELECT question, avg(score) AS mean FROM cell GROUP BY question
),
binned AS (
    SELECT question, mean, ntile({bins}) OVER (ORDER BY mean, question) - 1 AS bin FROM per_question
)
SELECT bin, name AS model, avg(score) AS mean
FROM cell
JOIN binned USING (question)
JOIN model USING (model)
GROUP BY bin, name
ORDER BY bin, name
