-- The answers that may be put to a judge: the latest ones that a model gave, with the grade of the present rule, and with
-- the judge's.
-- ?: the judge's fingerprint.
SELECT
    latest.key,
    latest.item_name,
    latest.revision_id,
    latest.state,
    latest.answer,
    latest.wanted_grader AS rule,
    ruled.grader AS ruled_by,
    ruled.points AS rule_points,
    ruled.reason AS rule_reason,
    judged.grader AS judged_by,
    judged.points AS judge_points,
    judged.reason AS judge_reason
FROM latest_showing AS latest
LEFT JOIN grade AS ruled ON ruled.response_key = latest.key AND ruled.grader = latest.wanted_grader
LEFT JOIN grade AS judged ON judged.response_key = latest.key AND judged.grader = ?
WHERE latest.state = 'ok'
ORDER BY latest.key
