-- Each model: how many scores it has, and their standard deviation.
SELECT name AS model, count(*) AS answered, coalesce(stddev_samp(score), 0) AS spread
FROM cell
JOIN model USING (model)
GROUP BY name
