-- What the files hold, and what of it is not in the pool as it is here.
SELECT
    (SELECT count(DISTINCT benchmark) FROM question) AS benchmarks,
    (SELECT count(*) FROM question) AS questions,
    (SELECT count(*) FROM model) AS models,
    count(*) FILTER (WHERE was IS NULL) AS added,
    (SELECT count(*) FROM cell) - count(*) AS known,
    count(*) FILTER (WHERE was <> score) AS replaced,
    count(*) FILTER (WHERE was = score) + (SELECT count(*) FROM moved) AS regrouped
FROM news
