-- What each pool was brought in by, with how many rows; facts are only added, so it tells one state from another.
SELECT pool, run_id, count(*) AS rows FROM pool_score GROUP BY pool, run_id ORDER BY pool, run_id
