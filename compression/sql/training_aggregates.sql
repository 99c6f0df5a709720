-- Samples in order, with the lowest, the highest and the mean of their values.
SELECT sample_id, min(value) AS lowest, max(value) AS highest, avg(value) AS mean
FROM cell
JOIN sample USING (sample)
GROUP BY sample, sample_id
ORDER BY sample
