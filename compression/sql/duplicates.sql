-- Cells with more than one row: how many there are, how many of them differ in score, and one that does.
SELECT
    coalesce(sum(rows - 1), 0)::BIGINT AS surplus,
    count(*) FILTER (WHERE lowest <> highest) AS conflicting,
    first({'question': question, 'model': model, 'lowest': lowest, 'highest': highest} ORDER BY question, model)
        FILTER (WHERE lowest <> highest) AS example
FROM (
    SELECT question, model, count(*) AS rows, min(score) AS lowest, max(score) AS highest
    FROM cell
    GROUP BY question, model
    HAVING count(*) > 1
)
