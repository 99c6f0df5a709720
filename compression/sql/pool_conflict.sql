-- One cell of the files that the pool has with another score.
SELECT benchmark, question_id, name, news.score, was
FROM news
JOIN question USING (question)
JOIN model USING (model)
WHERE was <> news.score
ORDER BY question, model
LIMIT 1
