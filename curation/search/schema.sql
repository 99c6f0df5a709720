-- The index of a library: what search asks of its tables, in a shape that answers at once.
CREATE TABLE mark (name TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE doc (
    id INTEGER PRIMARY KEY,
    material_id TEXT NOT NULL UNIQUE,
    sha256 TEXT NOT NULL,
    media_sha256 TEXT NOT NULL,
    modality TEXT NOT NULL,
    state TEXT NOT NULL,
    duration_s REAL,
    uses INTEGER NOT NULL,
    origin TEXT
);
CREATE INDEX doc_media ON doc (media_sha256);
CREATE INDEX doc_kind ON doc (state, modality);

-- Whatever a material can be chosen by: licence, source, dialect, language, audio_type, tag, and each facet of tags.
CREATE TABLE label (
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    doc INTEGER NOT NULL,
    PRIMARY KEY (kind, value, doc)
) WITHOUT ROWID;
CREATE INDEX label_doc ON label (doc);

CREATE VIRTUAL TABLE words USING fts5 (said, told, named, tokenize = 'porter unicode61 remove_diacritics 2');

-- One file of float32 rows for each embedder, which only grows. In `docs` the doc that each row speaks of or -1, int64.
CREATE TABLE space (
    embedder TEXT PRIMARY KEY,
    dimension INTEGER NOT NULL,
    row_count INTEGER NOT NULL,
    vectors_file TEXT NOT NULL,
    docs BLOB
);
-- The latest vector of each subject, `recorded_at` in microseconds.
CREATE TABLE vector (
    embedder TEXT NOT NULL,
    subject TEXT NOT NULL,
    row_number INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (embedder, subject)
) WITHOUT ROWID;
CREATE TABLE seen_file (name TEXT PRIMARY KEY) WITHOUT ROWID;
