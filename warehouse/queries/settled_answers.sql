-- One settled answer for each request.
-- ?: the states that count as settled.
SELECT
    request_key,
    first(state ORDER BY recorded_at, key) AS state,
    first(answer ORDER BY recorded_at, key) AS answer,
    first(error ORDER BY recorded_at, key) AS error,
    first(sent ORDER BY recorded_at, key) AS sent,
    first(served_model ORDER BY recorded_at, key) AS served_model,
    first(input_tokens ORDER BY recorded_at, key) AS input_tokens,
    first(output_tokens ORDER BY recorded_at, key) AS output_tokens,
    first(reasoning_tokens ORDER BY recorded_at, key) AS reasoning_tokens,
    first(tokens_by_modality ORDER BY recorded_at, key) AS tokens_by_modality,
    first(attempts ORDER BY recorded_at, key) AS attempts,
    first(latency_s ORDER BY recorded_at, key) AS latency_s,
    first(cost_usd ORDER BY recorded_at, key) AS cost_usd
FROM response
WHERE list_contains(?, state)
GROUP BY request_key
