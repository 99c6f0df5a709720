"""Ours: questions planned, asked by `Asker.ask` through `interplay-omni`, every answer stored; graded if told so."""

from datetime import UTC, datetime
from pathlib import Path

from common import Sample, Stopwatch, read_job

from core.content import MediaRef, parse_prompt
from core.question import AnswerKey, Choice, Question
from core.taxonomy import load_taxonomy
from evaluation.asking import Asker
from evaluation.conditions import STANDARD
from evaluation.grade import grade_answers
from evaluation.models.catalogue import ModelSpec
from evaluation.solve import plan
from warehouse.analytics import analysis
from warehouse.blobs import BlobStore
from warehouse.facts import FactStore
from warehouse.tables import ItemRevision


def revision(sample: Sample, blobs: BlobStore, task_type: str) -> tuple[str, ItemRevision]:
    """An item's name and revision, its media in the store."""
    media = {}
    if sample.image is not None:
        picture = Path(sample.image).read_bytes()
        media["image_1"] = MediaRef(
            sha256=blobs.put(picture), media_type="image/png", modality="image", byte_count=len(picture)
        )
    if sample.audio is not None:
        sound = Path(sample.audio).read_bytes()
        media["audio_1"] = MediaRef(
            sha256=blobs.put(sound), media_type="audio/wav", modality="audio", byte_count=len(sound), duration_s=2.0
        )
    question = Question(
        prompt=parse_prompt("".join(f"<{name}>" for name in media) + sample.question, media),
        kind="choice",
        choices=tuple(Choice(text=choice) for choice in sample.choices),
        answer=AnswerKey(correct=(1,)),
        required={ref.modality for ref in media.values()},
        task_type=task_type,
        language="en",
    )
    stored = question.model_dump(mode="json")
    name = f"item-{sample.id:06}"
    return name, ItemRevision(
        id=f"revision-{sample.id:06}", item_id=name, number=1, question=stored, content_hash=question.content_hash,
        notes={}, author="benchmark", created_at=datetime.now(UTC),
    )  # fmt: skip


def main() -> None:
    """Ask, and grade if the job says so."""
    job = read_job()
    blobs = BlobStore(str(job.folder / "blobs"))
    facts = FactStore(str(job.folder / "facts"), job.folder / "journal")
    model = ModelSpec(
        name="instant",
        provider="interplay-omni/instant",
        family="instant",
        arguments={"base_url": job.base_url},
        endpoint="vllm-qwen-omni",
    )
    task_type = next(iter(load_taxonomy().task_types)).id
    items = [revision(sample, blobs, task_type) for sample in job.samples]
    asker = Asker(facts, blobs, job.folder, "benchmark", "run", concurrency=job.concurrency)
    # The first import of Inspect AI takes seconds, whoever asks for it: that is start-up.
    import evaluation.models.omni.provider  # noqa: F401

    watch = Stopwatch()
    asker.ask(plan([model], items, [STANDARD["full"]]))
    if job.options["graded"]:
        grade_answers(facts, "run", {one.id: one.as_question() for _, one in items})
    watch.end()
    with analysis(facts, ["response", "grade"]) as connection:
        (answers,) = connection.sql("SELECT count(*) FROM response WHERE state = 'ok' AND answer <> ''").fetchall()[0]
        (right,) = connection.sql("SELECT count(*) FROM grade WHERE points = 1").fetchall()[0]
    watch.report(job, right if job.options["graded"] else answers)


if __name__ == "__main__":
    main()
