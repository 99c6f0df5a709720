-- The answers that may be put to a judge: the latest asking of each first showing (no rotation, options as they are) of
-- the wanted revisions, if the model answered; with the grade of the present rule, and with the judge's.
-- ?: the judge's fingerprint.
WITH latest AS (
    SELECT response.*, wanted.grader AS rule
    FROM response
    JOIN wanted USING (revision_id)
    WHERE response.rotation = 0
        AND response.kind <> 'prompt'
        AND NOT ends_with(response.condition, '_open')
    QUALIFY row_number() OVER (
        PARTITION BY response.model, response.parameters, response.revision_id, response.condition, response.replicate
        ORDER BY response.recorded_at DESC, response.key DESC
    ) = 1
)

SELECT
    latest.key,
    latest.item_name,
    latest.revision_id,
    latest.state,
    latest.answer,
    latest.rule,
    ruled.grader AS ruled_by,
    ruled.points AS rule_points,
    ruled.reason AS rule_reason,
    judged.grader AS judged_by,
    judged.points AS judge_points,
    judged.reason AS judge_reason
FROM latest
LEFT JOIN grade AS ruled ON ruled.response_key = latest.key AND ruled.grader = latest.rule
LEFT JOIN grade AS judged ON judged.response_key = latest.key AND judged.grader = ?
WHERE latest.state = 'ok'
ORDER BY latest.key
