-- Samples that have a value and sources, each numbered from 0 in the order of their names, and values by these numbers.
-- {source}: SQL of a row's source.
CREATE OR REPLACE TEMP TABLE valued AS
SELECT DISTINCT sample_id, {source} AS source, value FROM given WHERE value IS NOT NULL;

CREATE OR REPLACE TEMP TABLE sample AS
SELECT sample_id, (row_number() OVER (ORDER BY sample_id) - 1)::INTEGER AS sample
FROM (SELECT DISTINCT sample_id FROM valued);

CREATE OR REPLACE TEMP TABLE source AS
SELECT source, (row_number() OVER (ORDER BY source) - 1)::INTEGER AS code
FROM (SELECT DISTINCT source FROM valued);

CREATE OR REPLACE TEMP TABLE cell AS
SELECT sample.sample, source.code AS source, valued.value
FROM valued
JOIN sample USING (sample_id)
JOIN source USING (source);
