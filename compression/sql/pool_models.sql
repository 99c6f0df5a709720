-- Each model: its family, how many questions it has a score for and how many not, and its mean score.
SELECT
    name AS model,
    any_value(family) AS family,
    count(*) AS answered,
    (SELECT count(*) FROM question) - count(*) AS lacking,
    avg(score) AS mean
FROM model
JOIN cell USING (model)
GROUP BY name
ORDER BY mean DESC, name
