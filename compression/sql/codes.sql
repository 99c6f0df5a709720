-- Questions and models in the order of their names, numbered from 0, and cells by these numbers. A row without a score
-- makes its question and its model known, which lack it.
CREATE TEMP TABLE question AS
SELECT benchmark, question_id, (row_number() OVER (ORDER BY benchmark, question_id) - 1)::INTEGER AS question
FROM (SELECT DISTINCT benchmark, question_id FROM pool);

CREATE TEMP TABLE model AS
SELECT model AS name, family, (row_number() OVER (ORDER BY model) - 1)::INTEGER AS model
FROM (SELECT model, min(nullif(family, '')) AS family FROM pool GROUP BY model);

CREATE TEMP TABLE cell AS
SELECT question.question, model.model, pool.score::FLOAT AS score
FROM pool
JOIN question USING (benchmark, question_id)
JOIN model ON model.name = pool.model
WHERE pool.score IS NOT NULL AND NOT isnan(pool.score);
