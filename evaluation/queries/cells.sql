-- The points of each model (under one set of settings), condition and kind of question.
-- ?: the states that are an answer of the model's own making, but no valid one.
SELECT
    model,
    parameters,
    condition,
    question_kind,
    count(*) AS answered,
    list(points ORDER BY key) FILTER (WHERE points IS NOT NULL) AS points,
    count(*) FILTER (WHERE points IS NOT NULL AND list_contains(?, state)) AS invalid,
    avg(chance) AS chance
FROM graded_answers
GROUP BY ALL
ORDER BY ALL
