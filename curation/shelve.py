"""How an examined file enters the tables: all of its rows in the caller's transaction, or none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, select

from core.content import Modality
from core.ids import Clock, utc_now
from curation.addresses import host_of
from curation.entries import Claims, Rejected, Wanted
from curation.examine import Examination, Examined
from curation.materials import sound_of
from curation.tagging.tags import PEOPLE, Tag, say
from warehouse import events
from warehouse.caption_texts import BY_PEOPLE
from warehouse.tables import IngestFailure, Material, MaterialSource, MaterialState

SOUND_SUFFIX = "#sound"
_SOURCE_FIELDS = ("source", "licence", "author", "consent_id")


@dataclass(frozen=True)
class Shelver:
    """Writes rows for one run."""

    session: Session
    run_id: str
    clock: Clock = utc_now

    @property
    def actor(self) -> str:
        """Who the events are by."""
        return f"run:{self.run_id}"

    def add(self, sha256: str, examination: Examination, original_kept: bool) -> Material:
        """A new material, and the sound of a video as its child; the rows for where they come from are `describe`'s."""
        material = self._new(sha256, examination.main)
        material.original_kept = original_kept
        if examination.sound is not None:
            sound = {"sha256": examination.sound.ref.sha256, "offset_s": examination.offset_s}
            material.measures = material.measures | {"sound": sound}
        self.session.add(material)
        self.session.flush()
        self._tell(material, "ingest", sha256=sha256)
        if examination.sound is not None:
            self._add_sound(material, examination.sound, examination.offset_s)
        return material

    def describe(self, material: Material, entry: Wanted) -> None:
        """Note where a material comes from, and what is said of it; what is noted already is left alone."""
        sound = sound_of(self.session, material)
        self._add_source(material, entry.origin, entry.claims)
        about_itself = entry.claims.caption
        if sound is not None:
            self._add_source(sound, f"{entry.origin}{SOUND_SUFFIX}", entry.claims)
            self._add_content(sound, entry.claims.audio_content, entry.claims)
        elif about_itself is None:
            about_itself = entry.claims.audio_content
        self._add_content(material, about_itself, entry.claims)
        self._forget_failures(entry.origin)
        if entry.claims.sound_of is not None:
            self._join(material, entry.origin, entry.claims.sound_of, entry.claims.offset_s or 0.0)

    def reject(self, rejected: Rejected) -> None:
        """Note a failure; one row for each file, which tells of its last attempt."""
        self._forget_failures(rejected.origin, but=rejected.reason)
        same = (IngestFailure.origin == rejected.origin, IngestFailure.reason == rejected.reason)
        held = self.session.exec(select(IngestFailure).where(*same)).first()
        if held is None:
            held = IngestFailure(
                origin=rejected.origin,
                reason=rejected.reason,
                message=rejected.message,
                run_id=self.run_id,
                created_at=self.clock(),
            )
        held.message = rejected.message
        self.session.add(held)

    def _new(self, sha256: str, examined: Examined) -> Material:
        return Material(
            sha256=sha256,
            state=state_of(examined),
            media=examined.ref.model_dump(mode="json", exclude_none=True),
            modality=examined.ref.modality.value,
            drop_reason=examined.drop_reason,
            drop_measure=examined.drop_measure,
            measures=examined.measures,
            looks=examined.looks,
            run_id=self.run_id,
            created_at=self.clock(),
        )

    def _add_sound(self, video: Material, sound: Examined, offset_s: float) -> None:
        held = self.session.exec(select(Material).where(Material.sha256 == sound.ref.sha256)).first()
        if held is not None:
            self._adopt(held, video, offset_s)
            return
        child = self._new(sound.ref.sha256, sound)
        child.parent_id, child.parent_offset_s = video.id, offset_s
        self.session.add(child)
        self.session.flush()
        self._tell(child, "ingest", sha256=child.sha256, parent_id=video.id)

    def _join(self, sound: Material, origin: str, film_origin: str, offset_s: float) -> None:
        """Make a sound that came in a file of its own the child of its film, as if it had been taken out of it."""
        query = select(Material).join(MaterialSource).where(MaterialSource.origin == film_origin)
        film = self.session.exec(query.where(Material.modality == Modality.VIDEO.value)).first()
        held = None if film is None else film.measures.get("sound")
        if film is None or sound.modality != Modality.AUDIO or (held and held["sha256"] != sound.sha256):
            why = "there is no such film" if film is None else "the film has another sound, or this is none"
            self.reject(Rejected(origin, "no_film", f"it is said to be the sound of {film_origin}: {why}"))
        elif held is None:
            told = {"sha256": sound.sha256, "copy": sound.media["sha256"], "offset_s": offset_s}
            film.measures = film.measures | {"sound": told}
            film.version += 1
            self.session.add(film)
            self._adopt(sound, film, offset_s)

    def _adopt(self, sound: Material, video: Material, offset_s: float) -> None:
        """The same sound came alone, or with another video whose child it stays: `measures` of each lead to it."""
        if sound.parent_id is None:
            sound.parent_id, sound.parent_offset_s = video.id, offset_s
            sound.version += 1
            self.session.add(sound)
        self._tell(sound, "share_sound", video_id=video.id, offset_s=offset_s, version=sound.version)

    def _add_source(self, material: Material, origin: str, claims: Claims) -> None:
        query = select(MaterialSource).where(
            MaterialSource.material_id == material.id, col(MaterialSource.origin) == origin
        )
        held = self.session.exec(query).first()
        said = {name: value for name in _SOURCE_FIELDS if (value := getattr(claims, name)) is not None}
        if held is None:
            held = MaterialSource(material_id=material.id, origin=origin, run_id=self.run_id, created_at=self.clock())
            host = host_of(origin)
            changed: dict[str, Any] = ({"source": host} if host else {}) | said
        else:
            changed = {name: value for name, value in said.items() if getattr(held, name) != value}
            if not changed:
                return
        for name, value in changed.items():
            setattr(held, name, value)
        self.session.add(held)
        self._tell(material, "add_source", origin=origin, **changed)

    def _add_content(self, material: Material, content: str | None, claims: Claims) -> None:
        """Tags are added; a description or a type is taken only where no person gave one, who may have edited it."""
        changed: dict[str, Any] = {}
        for tag in claims.tags:
            say(self.session, material, Tag.parse(tag), PEOPLE, clock=self.clock)
        if content is not None and (material.audio_content is None or material.audio_content_by != BY_PEOPLE):
            changed |= {"audio_content": content, "audio_content_by": BY_PEOPLE}
        if claims.audio_type is not None and material.audio_type_by != BY_PEOPLE and material.modality == "audio":
            changed |= {"audio_type": claims.audio_type, "audio_type_by": BY_PEOPLE}
        if not changed:
            return
        for name, value in changed.items():
            setattr(material, name, value)
        material.version += 1
        self.session.add(material)
        self._tell(material, "describe", **changed)

    def _forget_failures(self, origin: str, but: str | None = None) -> None:
        for failure in self.session.exec(select(IngestFailure).where(IngestFailure.origin == origin)):
            if failure.reason != but:
                self.session.delete(failure)

    def _tell(self, material: Material, action: str, **detail: Any) -> None:
        events.record(self.session, self.actor, "material", material.id, action, self.clock, **detail)


def state_of(examined: Examined) -> MaterialState:
    """The state that the filters give."""
    return MaterialState.DROPPED if examined.drop_reason else MaterialState.KEPT


def shelve(
    shelver: Shelver, sha256: str, entries: Sequence[Wanted], examination: Examination | None, original_kept: bool
) -> tuple[Material, bool]:
    """Write all rows of one file: a new material, or more sources of a known one; returns it and whether it is new."""
    material = shelver.session.exec(select(Material).where(Material.sha256 == sha256)).first()
    is_new = material is None
    if material is None:
        assert examination is not None, f"{sha256} is neither known nor examined"
        material = shelver.add(sha256, examination, original_kept)
    for entry in entries:
        shelver.describe(material, entry)
    return material, is_new
