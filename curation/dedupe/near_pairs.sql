-- All pairs of an asked and a known hash of 64 bits whose Hamming distance is at most $radius.
-- Exact by the pigeonhole principle: two hashes that differ in at most r bits differ, in at least one of their four words
-- of 16 bits, in at most floor(r / 4) bits. `masks` holds every way to flip so few bits of a word, so a join on words
-- finds every such pair, and looks at few others (multi-index hashing: Norouzi, Punjani and Fleet, CVPR 2012).
WITH words AS (
    SELECT unnest(range(4)) AS word
),
known_words AS (
    SELECT row_number, hash, word, (hash >> (16 * word)::INTEGER) & 65535 AS bits FROM known, words
),
asked_words AS (
    SELECT row_number, hash, word, xor((hash >> (16 * word)::INTEGER) & 65535, mask) AS bits FROM asked, words, masks
)
SELECT DISTINCT asked_words.row_number AS asked_row, known_words.row_number AS known_row
FROM asked_words JOIN known_words USING (word, bits)
WHERE bit_count(xor(asked_words.hash, known_words.hash)) <= $radius
ORDER BY asked_row, known_row
