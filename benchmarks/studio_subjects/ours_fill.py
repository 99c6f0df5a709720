"""A project full of work: people, media, and items that wait for two blind reviews each."""

import io
from pathlib import Path
from typing import Any

import numpy as np
from argon2 import PasswordHasher
from PIL import Image
from studio_subjects.borrowed import borrowed
from studio_subjects.load import WORDS

from annotation_ui.accounts import create_user
from core.content import Modality
from core.media.audio import encode_wav
from warehouse.lifecycle import Action
from warehouse.people import Role
from warehouse.workspace import init_project, open_workspace

MEDIA = 400
PASSED = (Action.SUBMIT, Action.PASS_ROUND1, Action.PASS_ROUND2)


def fill(root: Path, url: str | None, people: int, tasks: int, password: str) -> dict[str, list[str]]:
    """Make it; gives the ids of its materials by modality."""
    init_project(root, f'database_url = "{url}"\n' if url else "")
    generator = np.random.default_rng(7)
    with open_workspace(root) as workspace:
        seeder = borrowed("annotation_ui/seed.py").Seeder(workspace)
        pictures = [_picture(seeder, generator, number) for number in range(MEDIA)]
        sounds = [_sound(seeder, generator, number) for number in range(MEDIA)]
        for number in range(tasks):
            words = " ".join(generator.choice(WORDS, 20))
            media = {
                "image_1": pictures[generator.integers(MEDIA)],
                "audio_1": sounds[generator.integers(MEDIA)],
            }
            draft = seeder.draft(f"Look at <image_1>, hear <audio_1>. How many {words}?", media, "author")
            seeder.item(f"waiting-{number:05}", draft, *PASSED)
        hashed = PasswordHasher().hash(password)  # once: it is slow by design
        with workspace.database.session() as session:
            for number in range(people):
                roles = [Role.ANNOTATOR, Role.REVIEWER]
                create_user(session, f"annotator-{number}", roles, password_hash=hashed)
        return {"image": [row.id for row, _ in pictures], "audio": [row.id for row, _ in sounds]}


def _picture(seeder: Any, generator: np.random.Generator, number: int) -> Any:
    buffer = io.BytesIO()
    Image.fromarray(generator.integers(0, 256, (48, 64, 3), dtype=np.uint8)).save(buffer, "PNG")
    measures = {"width_px": 64, "height_px": 48, "origin": f"picture-{number}.png"}
    return seeder.material(buffer.getvalue(), Modality.IMAGE, "image/png", **measures)


def _sound(seeder: Any, generator: np.random.Generator, number: int) -> Any:
    data = encode_wav(generator.normal(0, 0.1, 3200).astype(np.float32), 16_000)
    measures = {"duration_s": 0.2, "sample_rate_hz": 16_000, "origin": f"sound-{number}.wav"}
    return seeder.material(data, Modality.AUDIO, "audio/wav", **measures)
