-- What files bring to a pool, beside what it has: `cell`, `question` and `model` are of the files (see compression.pool),
-- `stored` is the pool, `told` the families that --family names.
CREATE TEMP TABLE kin AS
-- Of each model its family: as told now, else as the files say, else as the pool has it.
SELECT name, coalesce(told.family, model.family, earlier.family) AS family, earlier.family AS stored_family
FROM model
FULL JOIN (SELECT model AS name, max(family) AS family FROM stored GROUP BY model) AS earlier USING (name)
LEFT JOIN told USING (name);

CREATE TEMP TABLE known AS
SELECT question.question, model.model, stored.score, stored.family
FROM stored
JOIN question USING (benchmark, question_id)
JOIN model ON model.name = stored.model;

-- Cells that are not in the pool as they are here; `was` is the pool's score.
CREATE TEMP TABLE news AS
SELECT cell.question, cell.model, cell.score, known.score AS was
FROM cell
LEFT JOIN known USING (question, model)
JOIN model USING (model)
JOIN kin USING (name)
WHERE known.score IS DISTINCT FROM cell.score OR known.family IS DISTINCT FROM kin.family;

-- What else the pool has of models whose family is another now.
CREATE TEMP TABLE moved AS
SELECT stored.benchmark, stored.question_id, stored.model, kin.family, stored.score
FROM stored
JOIN kin ON kin.name = stored.model AND kin.family IS DISTINCT FROM stored.family
LEFT JOIN question USING (benchmark, question_id)
LEFT JOIN model ON model.name = stored.model
LEFT JOIN cell ON cell.question = question.question AND cell.model = model.model
WHERE cell.question IS NULL;

CREATE TEMP VIEW fresh AS
SELECT benchmark, question_id, name AS model, kin.family, news.score
FROM news
JOIN question USING (question)
JOIN model USING (model)
JOIN kin USING (name)
UNION ALL
FROM moved
