-- One row for each question in order, one column for each model number (NULL: no score); equal rows of one benchmark
-- share `pattern`, the number of the first of them. {codes}: 0, 1, ...; {names}: "0", "1", ...
WITH pivoted AS (
    PIVOT cell ON model IN ({codes}) USING max(score) GROUP BY question
)
SELECT question, benchmark, question_id, {names},
    min(question) OVER (PARTITION BY benchmark, {names}) AS pattern
FROM question
LEFT JOIN pivoted USING (question)
ORDER BY question
