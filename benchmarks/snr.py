"""How far the blind estimate of noise is from the truth: real speech, white noise added at known ratios.

Usage: python benchmarks/snr.py FILE.wav ...
"""

import sys
from pathlib import Path

import numpy as np

from core.media.audio import load_audio
from core.media.probe import probe
from curation.filters.spectrum import noise_of
from curation.filters.views import Sound

RATIOS_DB = (-5, 0, 5, 10, 20, 30)
SHORTEST_S = 2.0


def main(files: list[Path]) -> None:
    """Print the errors in dB for each ratio."""
    generator = np.random.default_rng(0)
    errors: dict[int, list[float]] = {ratio_db: [] for ratio_db in RATIOS_DB}
    for file in sorted(files):
        rate_hz, clean = probe(file).sample_rate_hz, load_audio(file, None)
        assert rate_hz is not None
        if clean.size / rate_hz < SHORTEST_S:
            continue
        for ratio_db in RATIOS_DB:
            scale = np.sqrt(np.mean(clean**2) / 10 ** (ratio_db / 10))
            noisy = (clean + scale * generator.standard_normal(clean.size)).astype(np.float32)
            found = noise_of(Sound(clean.size / rate_hz, rate_hz, noisy[np.newaxis]))
            if found is not None:
                errors[ratio_db].append(found.snr_db - ratio_db)
    for ratio_db, held in errors.items():
        far = np.abs(held)
        print(
            f"{ratio_db:3d} dB: {len(held)} files, mean error {np.mean(held):5.2f} dB, "
            f"95% within {np.percentile(far, 95):.2f} dB, all within {far.max():.2f} dB"
        )


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
