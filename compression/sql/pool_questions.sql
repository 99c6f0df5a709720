-- Each question: how many models have a score for it, and their mean.
SELECT benchmark, question_id, count(cell.score)::INTEGER AS answers, avg(cell.score)::FLOAT AS mean
FROM question
LEFT JOIN cell USING (question)
GROUP BY question, benchmark, question_id
ORDER BY question
