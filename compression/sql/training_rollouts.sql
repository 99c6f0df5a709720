-- Rollouts that have a reward, numbered from 0 by prompt, reward and id; prompts numbered in the order of theirs.
-- Further columns of `given` may follow the reward.
CREATE OR REPLACE TEMP TABLE rollout AS
SELECT
    line, value AS reward{fields},
    dense_rank() OVER (ORDER BY sample_id) - 1 AS prompt,
    row_number() OVER (ORDER BY sample_id, value, source) - 1 AS rollout
FROM given
WHERE value IS NOT NULL
ORDER BY rollout;

DROP TABLE given;
