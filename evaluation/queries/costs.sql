-- What the answers of each model cost. An answer that was used again carries the tokens and the price of the call that
-- brought it: each request counts once, and in the last row (no model) once for all models together.
WITH calls AS (
    SELECT DISTINCT ON (model, parameters, request_key)
        model, parameters, request_key, state, input_tokens, output_tokens, cost_usd
    FROM graded_answers
    WHERE purpose <> 'imported' AND purpose NOT LIKE 'exam %'
    ORDER BY model, parameters, request_key, key
),

once AS (
    SELECT DISTINCT ON (request_key) * FROM calls ORDER BY request_key, model, parameters
)

SELECT
    model,
    parameters,
    count(*) AS calls,
    sum(input_tokens)::BIGINT AS input_tokens,
    sum(output_tokens)::BIGINT AS output_tokens,
    count(*) FILTER (WHERE input_tokens IS NULL OR output_tokens IS NULL) AS tokens_unknown,
    sum(cost_usd::DECIMAL(38, 12))::DOUBLE AS cost_usd,  -- the same in any order
    count(*) FILTER (WHERE cost_usd IS NULL) AS cost_unknown,
    histogram(state) AS states
FROM (FROM calls UNION ALL BY NAME SELECT * REPLACE (NULL AS model, NULL AS parameters) FROM once)
GROUP BY model, parameters
ORDER BY model NULLS LAST, parameters
