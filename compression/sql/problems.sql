-- Rows that are no score, counted by what is wrong, with one example each.
SELECT
    count(*) AS rows,
    count(*) FILTER (WHERE coalesce(benchmark, '') = '' OR coalesce(question_id, '') = '' OR coalesce(model, '') = '')
        AS nameless,
    count(*) FILTER (WHERE score IS NULL OR isnan(score)) AS empty,
    count(*) FILTER (WHERE NOT isnan(score) AND NOT score BETWEEN 0 AND 1) AS outside,
    any_value({'benchmark': benchmark, 'question_id': question_id, 'model': model, 'score': score})
        FILTER (WHERE NOT isnan(score) AND NOT score BETWEEN 0 AND 1) AS outside_example,
    max(score) FILTER (WHERE NOT isnan(score) AND NOT isinf(score)) AS highest
FROM raw
