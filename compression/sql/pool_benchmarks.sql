-- Each benchmark: its questions and models, their mean score, and how many questions nobody and everybody solves.
WITH per_question AS (
    SELECT question, sum(score) AS total, count(*) AS answers, min(score) AS lowest, max(score) AS highest
    FROM cell
    GROUP BY question
),
per_model AS (
    SELECT benchmark, count(DISTINCT model) AS models
    FROM (SELECT DISTINCT benchmark, model FROM cell JOIN question USING (question))
    GROUP BY benchmark
)
SELECT
    benchmark,
    count(*) AS questions,
    any_value(models) AS models,
    sum(answers)::BIGINT AS scores,
    sum(total) / sum(answers) AS mean,
    count(*) FILTER (WHERE highest = 0) AS nobody,
    count(*) FILTER (WHERE lowest = 1) AS everybody,
    count(*) FILTER (WHERE lowest = highest) AS constant
FROM question
JOIN per_question USING (question)
JOIN per_model USING (benchmark)
GROUP BY benchmark
ORDER BY benchmark
