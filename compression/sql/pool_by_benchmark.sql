-- Each model in each benchmark of which it has scores.
SELECT benchmark, name AS model, avg(score) AS mean
FROM cell
JOIN question USING (question)
JOIN model USING (model)
GROUP BY benchmark, name
ORDER BY benchmark, name
