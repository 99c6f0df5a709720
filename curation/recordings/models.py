"""The project's own speech models, as the checks of takes use them; loaded when the first take is listened to."""

from core.errors import InterplayError
from core.media.audio import Samples
from core.settings import Settings
from curation.recordings.listening import Counts, Ears, Transcribes
from curation.speech.catalogue import LIGHT_DIARIZER, MODEL_DIARIZER, TRANSCRIBER, diarizers, transcribers
from curation.speech.heard import Diarizer, Transcriber
from curation.speech.vad import find_speech


class LanguageNotHeard(InterplayError):
    """A take in a language that the model which writes down speech does not know."""


def project_ears(settings: Settings) -> Ears:
    """The transcriber and the diarizer that the project names; without the extra `speech` none, and why."""
    by = MODEL_DIARIZER if settings.diarization_model else LIGHT_DIARIZER
    try:
        transcriber = transcribers()[TRANSCRIBER].load()(settings.asr_model)
        diarizer = diarizers()[by].load()(settings.diarization_model)
        return Ears(
            Transcribes(transcriber.fingerprint, lambda samples, language: _words(transcriber, samples, language)),
            Counts(diarizer.fingerprint, lambda samples: _speakers(diarizer, samples), diarizer.lighter),
        )
    except InterplayError as error:
        return Ears(why=(str(error), f"无法调用语音模型：{error}"))


def _words(transcriber: Transcriber, samples: Samples, language: str) -> str:
    """What is said; nothing where nobody speaks.

    Raises:
        LanguageNotHeard: The model would hear words of another language in it.
    """
    if language.partition("-")[0].lower() not in transcriber.languages():
        raise LanguageNotHeard(
            f"{transcriber.fingerprint} does not know the script's language {language!r}; name a model that does in "
            "asr_model in interplay.toml, or listen to the take"
        )
    speech = find_speech(samples)
    return "".join(word.text for word in transcriber.transcribe(samples, speech)).strip() if speech else ""


def _speakers(diarizer: Diarizer, samples: Samples) -> int:
    speech = find_speech(samples)
    return len({turn.speaker for turn in diarizer.diarize(samples, speech)}) if speech else 0
