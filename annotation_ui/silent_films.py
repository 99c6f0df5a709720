"""Films without their sound, as models are given them: the sound of a question is a part of its own."""

import tempfile
import threading
from pathlib import Path

from annotation_ui.thumbnails import as_local_file
from warehouse.blobs import BlobStore, appearing


class SilentFilms:
    """Makes them once and keeps them in a folder that may be deleted at any time.

    Films that came in through the library lost their sound there, and are as they are.
    """

    def __init__(self, blobs: BlobStore, folder: Path) -> None:
        self._blobs = blobs
        self._folder = folder
        self._known_silent: set[str] = set()
        # A long film takes seconds to copy, and is copied once.
        self._copying = threading.Lock()

    def get(self, sha256: str) -> Path | None:
        """The file of the film without its sound; None where the film has none.

        Raises:
            MissingBlob: The media is not in the store.
            MediaError: It cannot be read.
        """
        kept = self._folder / sha256[:2] / f"{sha256}.silent"
        if not self._is_known(kept, sha256):
            # Only who asks for a new film waits: players ask for parts of the others all the time.
            with self._copying:
                if not self._is_known(kept, sha256):
                    self._look(kept, sha256)
        return None if sha256 in self._known_silent else kept

    def _is_known(self, kept: Path, sha256: str) -> bool:
        return sha256 in self._known_silent or kept.is_file()

    def _look(self, kept: Path, sha256: str) -> None:
        from core.media.video import demux_into
        from evaluation.recoding import has_sound

        with as_local_file(self._blobs, sha256) as film:
            if not has_sound(film):
                self._known_silent.add(sha256)
                return
            kept.parent.mkdir(parents=True, exist_ok=True)
            with appearing(kept) as place, place.open("w+b") as picture, tempfile.TemporaryFile() as sound:
                demux_into(picture, sound, film)
