"""What vectors cost, and which sentences a threshold joins.

python benchmarks/embedding.py neighbours            # all pairs among 100 000 vectors of 512 numbers
python benchmarks/embedding.py pictures              # open_clip's ViT-B-32 with random weights, by batch
python benchmarks/embedding.py texts FOLDER          # a model of sentence-transformers, by batch
python benchmarks/embedding.py sentences FOLDER FILE # pairs of a file's lines by cosine
Seconds are of processor time, one thread.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from curation.embedding.neighbours import BATCH, near_rows

COUNT, DIMENSIONS, TWINS = 100_000, 512, 1_000
SAMPLE = 256
SENTENCE = "the {} men walked along the river and talked about the weather of yesterday"


def spent_s(work: Callable[[], object]) -> float:
    """Processor time of a call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def neighbours() -> None:
    """Compare all with all, and a thousand new ones with all."""
    generator = np.random.default_rng(0)
    vectors = generator.standard_normal((COUNT, DIMENSIONS), dtype=np.float32)
    noise = generator.standard_normal((TWINS, DIMENSIONS), dtype=np.float32)
    vectors[1 :: COUNT // TWINS] = vectors[:: COUNT // TWINS] + 0.1 * noise
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = 0

    def everything() -> None:
        nonlocal found
        for start in range(0, COUNT, BATCH):
            found += sum(map(len, near_rows(vectors[start : start + BATCH], vectors, 0.95)))

    with threadpool_limits(1):
        took_s = spent_s(everything)
        new_s = spent_s(lambda: near_rows(vectors[:1000], vectors, 0.95))
    print(f"all with all: {took_s:.0f} s, {(found - COUNT) // 2} of {TWINS} pairs; 1000 new with all: {new_s:.1f} s")


def pictures() -> None:
    """One picture at a time, and several."""
    import open_clip
    import torch

    torch.set_num_threads(1)
    model = open_clip.create_model("ViT-B-32").eval()
    pixels = torch.zeros(32, 3, 224, 224)
    with torch.inference_mode():
        model.encode_image(pixels)
        for size in (1, 16, 32):
            took_s = spent_s(lambda size=size: [model.encode_image(part) for part in pixels.split(size)])
            print(f"batch {size}: {1000 * took_s / len(pixels):.0f} ms a picture")


def texts(folder: str) -> None:
    """One text at a time, and several."""
    from curation.embedding import text

    embedder = text.TextEmbedder(folder, Path.cwd())
    sentences = [SENTENCE.format(number) for number in range(SAMPLE)]
    embedder.embed_texts(sentences)
    for size in (1, 32):
        text.BATCH = size
        print(f"batch {size}: {1000 * spent_s(lambda: embedder.embed_texts(sentences)) / SAMPLE:.1f} ms a text")


def sentences(folder: str, file: str) -> None:
    """How many pairs have a cosine, and examples."""
    from curation.embedding.text import TextEmbedder

    lines = sorted({line.strip() for line in Path(file).read_text(encoding="utf-8").splitlines()} - {""})
    vectors = TextEmbedder(folder, Path.cwd()).embed_texts(lines)
    first, second = np.triu_indices(len(lines), 1)
    cosines = (vectors @ vectors.T)[first, second]
    for least in (0.8, 0.85, 0.9, 0.95):
        above = np.flatnonzero(cosines >= least)
        print(f"{least}: {len(above)} of {len(cosines)} pairs; just above:")
        for place in above[np.argsort(cosines[above])[:4]]:
            print(f"  {cosines[place]:.3f}  {lines[first[place]]}  |  {lines[second[place]]}")


if __name__ == "__main__":
    {one.__name__: one for one in (neighbours, pictures, texts, sentences)}[sys.argv[1]](*sys.argv[2:])
