-- What each model lacks: questions without a score.
SELECT name, (SELECT count(*) FROM question) - count(cell.question) AS lacking
FROM model
LEFT JOIN cell USING (model)
GROUP BY name
HAVING lacking > 0
ORDER BY lacking DESC, name
