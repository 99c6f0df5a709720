-- Rows of `given` that cannot be used, counted by what is wrong, with the first of each.
SELECT
    count(*) AS rows,
    count(*) FILTER (WHERE coalesce(sample_id, '') = '' OR coalesce(source, '') = '') AS nameless,
    min(line) FILTER (WHERE coalesce(sample_id, '') = '' OR coalesce(source, '') = '') AS nameless_line,
    count(*) FILTER (WHERE value IS NULL AND no_number IS NULL) AS empty,
    count(no_number) AS no_number,
    arg_min(no_number, line) FILTER (WHERE no_number IS NOT NULL) AS no_number_example,
    count(*) FILTER (WHERE NOT isfinite(value)) AS endless,
    arg_min(sample_id, line) FILTER (WHERE NOT isfinite(value)) AS endless_sample,
    count(*) FILTER (WHERE isfinite(value) AND NOT value BETWEEN {lowest} AND {highest}) AS outside,
    arg_min({{'sample_id': sample_id, 'value': value}}, line)
        FILTER (WHERE isfinite(value) AND NOT value BETWEEN {lowest} AND {highest}) AS outside_example
FROM given
