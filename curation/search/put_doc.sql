INSERT INTO doc (material_id, sha256, media_sha256, modality, state, duration_s, uses, origin)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (material_id) DO UPDATE SET
    media_sha256 = excluded.media_sha256,
    state = excluded.state,
    duration_s = excluded.duration_s,
    uses = excluded.uses,
    origin = excluded.origin
RETURNING id
