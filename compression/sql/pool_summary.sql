-- What a pool holds, what it lacks of every question by every model, and the runs it came from.
WITH question AS (
    SELECT benchmark, question_id, count(DISTINCT model) AS answers
    FROM pool_score
    WHERE pool = $pool
    GROUP BY benchmark, question_id
),
whole AS (
    SELECT count(DISTINCT model) AS models, list(DISTINCT run_id ORDER BY run_id) AS runs
    FROM pool_score
    WHERE pool = $pool
)
SELECT
    count(DISTINCT benchmark) AS benchmarks,
    count(*) AS questions,
    any_value(models) AS models,
    sum(answers)::BIGINT AS scores,
    (count(*) * any_value(models) - sum(answers))::BIGINT AS missing,
    any_value(runs) AS runs
FROM question, whole
