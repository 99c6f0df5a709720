-- Each value as the share of its group's values that are worse, half of the equal ones among them.
-- {group}: SQL of the group, the source or one number for the whole file; {direction}: from the worst to the best.
WITH grouped AS (
    SELECT sample, source, value, {group} AS ranked_in FROM cell
),
ranked AS (
    SELECT
        ranked_in, value,
        (sum(count(*)) OVER (PARTITION BY ranked_in ORDER BY value {direction}) - count(*) / 2)
            / sum(count(*)) OVER (PARTITION BY ranked_in) AS share
    FROM grouped
    GROUP BY ranked_in, value
)
SELECT sample, source, share AS value
FROM grouped
JOIN ranked USING (ranked_in, value)
