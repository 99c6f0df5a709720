-- The vectors of one embedder, the latest of each subject.
SELECT subject, vector
FROM embedding
WHERE embedder = $embedder
QUALIFY row_number() OVER (PARTITION BY subject ORDER BY recorded_at DESC, run_id DESC) = 1
ORDER BY subject
