"""Settings of a project, read once at the door and passed down as plain values."""

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from core.errors import InterplayError, first_problem
from core.executor import Backend
from core.media.limits import MediaLimits

PROJECT_FILE = "interplay.toml"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class NoProject(InterplayError):
    """A command that needs a project was called where there is none."""

    def __init__(self, place: Path) -> None:
        super().__init__(
            f"no Interplay project at {place} or above it; make one with 'interplay init {place}', "
            f"or name one with --project or INTERPLAY_PROJECT"
        )


class BadSettings(InterplayError):
    """A setting that cannot be read or has an impossible value."""


class Oidc(BaseModel):
    """A sign-in service that speaks OpenID Connect: the table `[oidc]`.

    Attributes:
        issuer: Its URL as its tokens name it; `/.well-known/openid-configuration` is read below it.
        client_id, client_secret: As the service gave them to this studio; a public client has no secret.
        label: What its button is called; empty takes the issuer's host.
        allowed_domains, allowed_emails: Whose verified e-mail is let in; both empty let everybody of the service in.
        new_people: Whether somebody whom the project does not know is refused, or waits for a maintainer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    issuer: str
    client_id: str = Field(min_length=1)
    client_secret: SecretStr | None = None
    label: str = Field(default="", max_length=64)
    allowed_domains: tuple[str, ...] = ()
    allowed_emails: tuple[str, ...] = ()
    new_people: Literal["refuse", "waiting"] = "refuse"

    @property
    def shown_label(self) -> str:
        """What the service is called."""
        return self.label or urlsplit(self.issuer).hostname or self.issuer

    @field_validator("issuer")
    @classmethod
    def _is_issuer(cls, url: str) -> str:
        return _web_address(url)


class Settings(BaseSettings):
    """What a project can set in `interplay.toml`, or the environment under `INTERPLAY_<NAME>` (which wins).

    A value of a table is `INTERPLAY_<TABLE>__<NAME>`, as in `INTERPLAY_OIDC__CLIENT_SECRET`.

    Attributes:
        database_url: SQLAlchemy URL; None means `interplay.db` in the project folder.
        blobs_url: fsspec URL for media bytes; None means `blobs/` in the project folder.
        facts_url: fsspec URL for Parquet facts; None means `facts/` in the project folder.
        executor: Where units of work run.
        workers: Units in flight at once; 0 means one for each core.
        originals: Whether the bytes as received are kept sealed, or dropped once a stripped working copy exists.
        max_file_bytes: Largest file that ingest reads.
        max_duration_s: Longest audio or video that ingest accepts, in seconds.
        fetch_allowed_hosts: Hosts, named as URLs name them, that URLs are fetched from though private or loopback.
        asr_model: faster-whisper's name of a model (fetched from the hub), or a folder that holds one.
        diarization_model: Hub id, or folder or file, of a pyannote pipeline; None means the lighter way without one.
        clip_model: open_clip's `ARCHITECTURE/PRETRAINED`; the second part is a tag (fetched from the hub) or a file.
        text_model: sentence-transformers' name of a model (fetched from the hub), or a folder that holds one.
        languages: What is spoken or written in other languages than these (primary subtags) is dropped; () takes all.
        allowed_licences: Licences that a release may publish beside those known as open.
        filter_thresholds: Table of limits at which the filters of the library drop, where they are not the usual ones.
        models: Tables `[models.NAME]` that evaluation reads: provider, family, arguments, generate.
        studio_url: Where people reach the studio, as their browsers show it; needed behind a proxy and for `oidc`.
        oidc: A sign-in service beside the local accounts.
    """

    model_config = SettingsConfigDict(env_prefix="INTERPLAY_", env_nested_delimiter="__", extra="forbid", frozen=True)

    database_url: str | None = None
    blobs_url: str | None = None
    facts_url: str | None = None
    executor: Backend = "local"
    workers: int = Field(default=0, ge=0)
    originals: Literal["sealed", "dropped"] = "sealed"
    max_file_bytes: int = Field(default=2 * 1024**3, gt=0)
    max_duration_s: float = Field(default=4 * 3600.0, gt=0)
    fetch_allowed_hosts: tuple[str, ...] = ()
    asr_model: str = "small"
    diarization_model: str | None = None
    clip_model: str = "ViT-B-32/laion2b_s34b_b79k"
    text_model: str = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
    languages: tuple[Annotated[str, Field(pattern="^[a-z]{2,3}$")], ...] = ()
    allowed_licences: tuple[str, ...] = ()
    filter_thresholds: dict[str, float] = {}
    models: dict[str, dict[str, Any]] = {}
    studio_url: str | None = None
    oidc: Oidc | None = None

    @field_validator("studio_url")
    @classmethod
    def _is_origin(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/") or parts.query:
            raise ValueError("give scheme and host, such as 'https://studio.example.org'")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _callback_is_known(self) -> Self:
        if self.oidc is not None and self.studio_url is None:
            raise ValueError("[oidc] needs studio_url: the sign-in service sends people back there")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then the environment, then the project's file."""
        del dotenv_settings, file_secret_settings
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


class Project:
    """An opened project: its folder and resolved places."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self.root = root
        self.settings = settings

    @classmethod
    def open(cls, named: Path | None = None) -> Self:
        """Find the project: as named, by INTERPLAY_PROJECT, or the nearest parent folder that holds `interplay.toml`.

        Raises:
            NoProject: None is there.
            BadSettings: Its file or the environment cannot be read as settings.
        """
        given = named or (Path(found) if (found := os.environ.get("INTERPLAY_PROJECT")) else None)
        start = (given or Path.cwd()).resolve()
        places = [start] if given else [start, *start.parents]
        for place in places:
            if (place / PROJECT_FILE).is_file():
                return cls(place, _with_own_models(_read_settings(place / PROJECT_FILE), place))
        raise NoProject(start)

    @property
    def database_url(self) -> str:
        """SQLAlchemy URL of the tables; a relative SQLite file lies in the project folder, wherever one calls from."""
        url = self.settings.database_url or "sqlite:///interplay.db"
        scheme, _, file = url.partition(":///")
        relative = scheme.startswith("sqlite") and file and not file.startswith(("/", ":memory:", "file:"))
        return f"{scheme}:///{self.root / file}" if relative else url

    @property
    def blobs_url(self) -> str:
        """fsspec URL of the media bytes."""
        return self._place(self.settings.blobs_url, "blobs")

    @property
    def facts_url(self) -> str:
        """fsspec URL of the Parquet facts."""
        return self._place(self.settings.facts_url, "facts")

    @property
    def thumbnail_folder(self) -> Path:
        """Where small pictures of media are kept; they can be deleted at any time."""
        return self.root / "cache" / "thumbnails"

    @property
    def search_folder(self) -> Path:
        """Where this machine's index of the library lies; it can be deleted at any time."""
        return self.root / "cache" / "search"

    @property
    def pool_folder(self) -> Path:
        """Where this machine keeps what was worked out of pools of scores; it can be deleted at any time."""
        return self.root / "cache" / "pools"

    @property
    def media_limits(self) -> MediaLimits:
        """How much of one media file is taken."""
        return MediaLimits(max_bytes=self.settings.max_file_bytes, max_duration_s=self.settings.max_duration_s)

    @property
    def workers(self) -> int:
        """Units in flight at once."""
        return self.settings.workers or os.cpu_count() or 1

    def _place(self, given: str | None, folder: str) -> str:
        if given is None:
            return str(self.root / folder)
        return given if urlsplit(given).scheme else str(self.root / given)


def _with_own_models(settings: Settings, root: Path) -> Settings:
    """Speech models that lie in the project folder by their whole path, for one may call from anywhere."""
    named = {"asr_model": settings.asr_model, "diarization_model": settings.diarization_model}
    own = {setting: str(root / name) for setting, name in named.items() if name and (root / name).exists()}
    return settings.model_copy(update=own)


def _web_address(url: str) -> str:
    parts = urlsplit(url)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not is_safe or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("give an https URL without a query, as the service's tokens name it")
    return url


def environment_value(name: str) -> str | None:
    """A variable of the environment that other programs name (a service's key); None where it is not set or empty."""
    return os.environ.get(name) or None


def _read_settings(file: Path) -> Settings:
    class FromFile(Settings):
        model_config = SettingsConfigDict(toml_file=file)

    try:
        return FromFile()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSettings(f"{file} is not valid TOML: {error}; correct that line") from error
    except ValidationError as error:
        problem = first_problem(error, Settings.model_fields, "setting")
        variables = [f"INTERPLAY_{str(one['loc'][0]).upper()}" for one in error.errors() if one["loc"]]
        place = next((name for name in variables if name in os.environ), file)
        raise BadSettings(f"{place}: {problem}") from error
    except SettingsError as error:
        raise BadSettings(_variable_problem(error)) from error


def _variable_problem(error: SettingsError) -> str:
    """Which variable holds a list or a table that cannot be read; pydantic-settings names the field alone."""
    held = {name: os.environ.get(f"INTERPLAY_{name.upper()}") for name in Settings.model_fields}
    for name, text in held.items():
        if text is None or f'"{name}"' not in str(error):
            continue
        return (
            f'INTERPLAY_{name.upper()} is {text!r:.80}, which is not valid JSON; write a list as \'["zh", "en"]\', '
            'a table as \'{"name": "value"}\', or unset it'
        )
    return f"an INTERPLAY_ variable is not valid JSON: {error}; correct it or unset it"
