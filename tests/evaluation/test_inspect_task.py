"""The release as a task of Inspect AI: the same samples, bytes, answers and grades as our own runner."""

import ast
import json
import math
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
from sqlmodel import select

from core.question import Question
from evaluation.models.catalogue import find_models
from evaluation.models.client import UnreadableReply
from evaluation.run import Order, evaluate, release_revisions
from warehouse.analytics import analysis
from warehouse.release.export import export_release
from warehouse.release.manifest import FUNNEL_STAGES, Manifest, ManifestMedia, ManifestRow, canary_of, row_hash
from warehouse.tables import Release, ReleaseItem, ReleaseState, Run

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STORED = """
SELECT item_name, state, answer, sent, points, reason, grader, step_points
FROM response LEFT JOIN grade ON grade.response_key = response.key
WHERE model = $model AND condition = $condition
"""


def manifest_of(rows: list[tuple[str, str, Question]], version: str) -> Manifest:
    """A release of these questions: name, split, question."""
    media = {part.media.sha256: part.media for _, _, question in rows for part in question.media}
    documents = [
        {
            "qid": name,
            "split": split,
            "revision": question.content_hash,
            "question": question.model_dump(mode="json"),
            "media": list(dict.fromkeys(part.media.sha256 for part in question.media)),
        }
        for name, split, question in rows
    ]
    return Manifest(
        name="zoo",
        version=version,
        canary=canary_of("zoo"),
        certificate="None",
        taxonomy="1",
        licence=None,
        seed=0,
        dev_share=0,
        holdout_share=0,
        funnel=dict.fromkeys(FUNNEL_STAGES, len(rows)),
        rounds=(),
        media={sha256: ManifestMedia(media=ref, papers=()) for sha256, ref in media.items()},
        rows=tuple(ManifestRow(**row, sha256=row_hash(row)) for row in documents),
        holdout=(),
    )


def export(workspace, rows: list[tuple[str, str, Question]], folder: Path, format_name: str = "jsonl") -> Path:
    """Export a sealed release of these questions: zoo 2.0.0 from a project that has one release, and so on."""
    with workspace.database.session() as session:
        releases = session.exec(select(Release)).all()
        version = f"{len(releases) + 1}.0.0"
        session.add(
            Release(
                name="zoo",
                version=version,
                run_id=releases[0].run_id,
                state=ReleaseState.SEALED,
                manifest_sha256=workspace.blobs.put(manifest_of(rows, version).to_bytes()),
            )
        )
    return export_release(workspace.database, workspace.blobs, "zoo", version, format_name, folder).folder


def zoo_rows(zoo) -> list[tuple[str, str, Question]]:
    return [(name, "test", revision.as_question()) for name, revision in release_revisions(zoo, "zoo", "1.0.0")]


@pytest.fixture
def exported(zoo, tmp_path):
    """Export the questions of the release zoo in a format, once; gives the folder."""

    @cache
    def folder(format_name: str) -> Path:
        return export(zoo, zoo_rows(zoo), tmp_path / f"out-{format_name}", format_name)

    return folder


@pytest.fixture
def release_of(workspace, put, tmp_path):
    """Make the release zoo of questions without media, by name; gives the exported folder."""

    def make(questions: dict[str, Question]) -> Path:
        run = Run(command="test", fingerprint="0" * 64, host="test", process_id=1, started_at=NOON)
        release = Release(name="zoo", version="1.0.0", run_id=run.id)
        with workspace.database.session() as session:
            session.add(run)
            session.flush()
            session.add(release)
        for position, (name, question) in enumerate(questions.items()):
            _, revision = put(name, question)
            with workspace.database.session() as session:
                session.add(
                    ReleaseItem(release_id=release.id, revision_id=revision.id, split="test", position=position)
                )
        rows = [(name, "test", question) for name, question in questions.items()]
        return export(workspace, rows, tmp_path / "out")

    return make


@pytest.fixture
def inspect_eval(tmp_path):
    """Run the task on a model; gives the log."""

    def run(model, folder: Path, arguments: dict | None = None, epochs: int = 1, **parameters):
        import inspect_ai

        from interplay.inspect_entry import omni

        (log,) = inspect_ai.eval(
            omni(folder=str(folder), **parameters),
            model=model,
            model_args=arguments or {},
            epochs=epochs,
            log_dir=str(tmp_path / "logs"),
            display="none",
            fail_on_error=False,
        )
        return log

    return run


def stored(workspace, model: str, condition: str = "full") -> dict[str, dict]:
    """What our own runner stored, by item."""
    with analysis(workspace.facts, ["response", "grade"]) as connection:
        rows = connection.sql(STORED, params={"model": model, "condition": condition}).to_arrow_table().to_pylist()
    return {row["item_name"]: row for row in rows}


def grade_of(sample) -> tuple:
    """Points (None where unscored), reason, grader and step points of a sample."""
    score = sample.scores["interplay_grade"]
    told = score.metadata or {}
    points = None if math.isnan(score.value) else score.value
    return points, score.explanation, told.get("grader"), told.get("step_points", [])


def metrics(log) -> dict[str, float]:
    return {name: metric.value for score in log.results.scores for name, metric in score.metrics.items()}


def test_simulated_members_are_asked_and_graded_as_by_our_own_runner(zoo, exported, gallery_file, inspect_eval):
    members = {"keen": {"seed": 1}, "deaf": {"seed": 2, "dropped": ["audio"]}}
    conditions = ["full", "without_audio", "options_only"]
    evaluate(zoo, "zoo", "1.0.0", Order(find_models(list(members), zoo.project.settings.models), conditions))
    seen = set()
    for name, knobs in members.items():
        for condition in conditions:
            arguments = {"gallery": str(gallery_file), **knobs}
            folder = exported("huggingface" if condition == "full" else "jsonl")
            log = inspect_eval(f"interplay-sim/{name}", folder, arguments, condition=condition)
            ours = stored(zoo, name, condition)
            assert log.status == "success"
            assert {sample.id for sample in log.samples} == ours.keys()
            for sample in log.samples:
                row = ours[sample.id]
                assert sample.output.completion == row["answer"]
                assert sample.store["interplay_delivery"]["sent"] == json.loads(row["sent"])
                assert grade_of(sample) == (row["points"], row["reason"], row["grader"], row["step_points"])
                seen.add(row["points"])
            assert metrics(log)["mean"] == pytest.approx(sum(row["points"] for row in ours.values()) / len(ours))
    assert {0.0, 1.0} <= seen, "members that are always right or always wrong would show no difference"


def test_a_sample_tells_what_it_is(zoo, exported, gallery_file, inspect_eval, sound_items):
    arguments = {"gallery": str(gallery_file), "seed": 1}
    log = inspect_eval("interplay-sim/keen", exported("jsonl"), arguments, condition="without_audio")
    sample = next(one for one in log.samples if one.id == sound_items[0].name)
    assert sample.metadata["condition"] == "without_audio"
    assert sample.metadata["kind"] in ("choice", "open", "multi_step")
    assert sample.metadata["required"] == ["audio", "image"]
    assert "<image_1>" in sample.input
    assert "[audio not provided]" in sample.input or "[未提供音频]" in sample.input
    assert "base64" not in sample.input
    question = Question.model_validate(sample.metadata["question"])
    assert sample.metadata["revision"] == question.content_hash
    assert log.eval.metadata["canary"] == canary_of("zoo")
    assert (log.eval.metadata["asked"], log.eval.metadata["left_out"]) == (4, 0)
    assert log.eval.task_version == "2.0.0"


def refusal():
    from inspect_ai.model import ModelOutput

    return ModelOutput.from_content("m", "I cannot help with that.", stop_reason="content_filter")


def truncated():
    from inspect_ai.model import ModelOutput

    return ModelOutput.from_content("m", "Answer: B", stop_reason="max_tokens")


def failed():
    from inspect_ai.model import ModelOutput

    return ModelOutput.from_content("m", "", error="the endpoint is on fire")


def unreadable():
    return UnreadableReply("the reply is no chat completion")


# The reply, and what Inspect AI's score must say: points, reason.
REPLIES = {
    "right": (lambda: "Answer: B", 1.0, None),
    "wrong": (lambda: "Answer: A", 0.0, None),
    "refusal": (refusal, 0.0, "refusal"),
    "truncated": (truncated, 0.0, "truncated"),
    "empty": (lambda: "  ", 0.0, "empty"),
    "unread": (lambda: "It is hard to say which.", None, "unread"),
    "error": (failed, None, "api_error"),
    "unparsed": (unreadable, None, "unparsed"),
}


def test_replies_that_are_no_answers_get_the_same_state_and_points(
    workspace, release_of, scripted, questions, inspect_eval
):
    asked = {name: questions.choice(f"Which colour has {name}?") for name in REPLIES}
    folder = release_of(asked)

    def reply(text, count):
        return next(make() for name, (make, *_) in REPLIES.items() if f"has {name}?" in text)

    spec, _ = scripted(reply)
    evaluate(workspace, "zoo", "1.0.0", Order([spec], ["full"]))
    ours = stored(workspace, spec.name)
    log = inspect_eval(spec.provider, folder)
    samples = {sample.id: sample for sample in log.samples}
    assert samples.keys() == REPLIES.keys()
    for name, (_, points, reason) in REPLIES.items():
        score = samples[name].scores["interplay_grade"]
        assert (grade_of(samples[name])[0], score.reason) == (points, reason), name
        assert ours[name]["points"] == points, name
        if ours[name]["reason"] is not None:
            assert grade_of(samples[name]) == (
                points,
                *(ours[name][key] for key in ("reason", "grader", "step_points")),
            )
    # One right of the five that have points; the three others are in no mean.
    assert metrics(log)["mean"] == pytest.approx(1 / 5)
    assert (metrics(log)["graded"], metrics(log)["invalid"]) == (5, 3)
    assert {score.unscored_samples for score in log.results.scores if "mean" in score.metrics} == {3}


def test_nothing_graded_has_no_mean(release_of, scripted, questions, inspect_eval):
    spec, _ = scripted("It is hard to say.")
    found = metrics(inspect_eval(spec.provider, release_of({"a": questions.choice()})))
    assert math.isnan(found["mean"])
    assert (found["graded"], found["invalid"]) == (0, 0)


def test_steps_and_kinds_have_means_of_their_own(release_of, scripted, questions, inspect_eval):
    folder = release_of({"steps": questions.steps(), "open": questions.open(), "choice": questions.choice()})
    spec, _ = scripted(lambda text, count: "Step 1: 3\nStep 2: right" if "Step 1" in text else "Answer: 4")
    log = inspect_eval(spec.provider, folder)
    steps = next(sample for sample in log.samples if sample.id == "steps").scores["interplay_grade"]
    assert (steps.value, steps.metadata["step_points"]) == (pytest.approx(0.4), [1.0, 0.0])
    found = metrics(log)
    assert (found["mean_multi_step"], found["mean_open"]) == (pytest.approx(0.4), 1.0)


def test_questions_that_share_media_are_one_cluster(zoo, inspect_eval, sound_items, scripted, questions, tmp_path):
    first = zoo_rows(zoo)[0][2]
    other = first.model_copy(update={"task_type": first.task_type, "required": frozenset()})
    plain = questions.choice()
    folder = export(zoo, [("a", "test", first), ("b", "test", other), ("c", "test", plain)], tmp_path / "clusters")
    spec, _ = scripted(lambda text, count: "Answer: B")
    log = inspect_eval(spec.provider, folder)
    assert {sample.id: sample.metadata["cluster"] for sample in log.samples} == {"a": "a", "b": "a", "c": "c"}


def test_a_server_that_takes_no_sound_is_not_asked(zoo, exported, scripted, inspect_eval):
    spec, script = scripted("Answer: A")
    log = inspect_eval(spec.provider, exported("jsonl"), delivery={"audio": False})
    assert script.asked == []
    for sample in log.samples:
        score = sample.scores["interplay_grade"]
        assert (math.isnan(score.value), score.reason) == (True, "blocked")
        assert "takes no audio" in score.explanation


def test_a_model_that_knows_its_server_is_believed(exported, inspect_eval):
    import inspect_ai.model

    import interplay.inspect_entry  # noqa: F401 - registers the provider

    deaf = inspect_ai.model.get_model(
        "interplay-omni/m", base_url="http://127.0.0.1:9/v1", delivery={"audio": False}, memoize=False
    )
    log = inspect_eval(deaf, exported("jsonl"))
    assert {sample.scores["interplay_grade"].reason for sample in log.samples} == {"blocked"}
    log = inspect_eval(deaf, exported("jsonl"), endpoint="dashscope")
    assert all("give 'endpoint' and 'delivery' as model arguments (-M)" in one.error.message for one in log.samples)


def test_settings_of_our_providers_are_said_without_a_traceback():
    from inspect_ai._util.error import PrerequisiteError

    from interplay.inspect_entry import interplay_omni, interplay_sim

    for provider, told in ((interplay_sim, "the argument gallery"), (interplay_omni, "give the argument base_url")):
        with pytest.raises(PrerequisiteError) as error:
            provider(model_name="m")
        assert told in error.value.message


def test_repeated_questions_are_counted_each_time(release_of, scripted, questions, inspect_eval):
    folder = release_of({"a": questions.choice(), "b": questions.choice("Which?")})
    replies = iter(["  ", "Answer: B", "Answer: B", "Answer: B"])
    spec, _ = scripted(lambda text, count: next(replies))
    found = metrics(inspect_eval(spec.provider, folder, epochs=2))
    assert (found["graded"], found["invalid"], found["mean"]) == (4, 1, pytest.approx(3 / 4))


def test_logs_can_be_graded_again_without_the_release(release_of, scripted, questions, inspect_eval):
    from inspect_ai import score

    from interplay.inspect_entry import interplay_grade

    folder = release_of({"a": questions.choice(), "b": questions.choice("Which?", correct=(0,))})
    spec, script = scripted("Answer: B")
    log = inspect_eval(spec.provider, folder)
    shutil.rmtree(folder)
    for sample in log.samples:
        sample.scores = {}
    again = score(log, interplay_grade(), action="overwrite", display="none")
    assert {sample.id: grade_of(sample)[0] for sample in again.samples} == {"a": 1.0, "b": 0.0}
    assert len(script.asked) == 2


def test_what_a_condition_does_not_apply_to_is_left_out_and_counted(zoo, scripted, questions, inspect_eval, tmp_path):
    with_sound = zoo_rows(zoo)[0][2]
    rows = [("sounds", "test", with_sound), ("silent", "test", questions.choice())]
    folder = export(zoo, rows, tmp_path / "mixed")
    spec, _ = scripted("Answer: A")
    log = inspect_eval(spec.provider, folder, condition="without_audio")
    assert [sample.id for sample in log.samples] == ["sounds"]
    assert (log.eval.metadata["asked"], log.eval.metadata["left_out"]) == (1, 1)


def test_splits_and_languages_are_chosen(workspace, release_of, questions, tmp_path):
    from interplay.inspect_entry import omni

    release_of({"a": questions.choice()})
    rows = [
        ("dev-en", "dev", questions.choice("one")),
        ("test-en", "test", questions.choice("two")),
        ("test-zh", "test", questions.choice("三", language="zh-Hant")),
    ]
    folder = str(export(workspace, rows, tmp_path / "splits"))

    def names(**chosen):
        return [sample.id for sample in omni(folder=folder, **chosen).dataset]

    assert names() == ["test-en", "test-zh"]
    assert names(split="dev") == ["dev-en"]
    assert names(split="all") == ["dev-en", "test-en", "test-zh"]
    assert names(language="zh") == names(language="zh-Hant") == ["test-zh"]


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"condition": "without_adio"}, "unknown condition 'without_adio'; did you mean 'without_audio'"),
        ({"split": "tests"}, "unknown split 'tests'; did you mean 'test'"),
        ({"split": "holdout"}, "held-out questions are in no export"),
        ({"split": "dev"}, "zoo 2.0.0 has no questions in split 'dev'; splits with some: test"),
        ({"language": "fr"}, "zoo 2.0.0 has no questions in language 'fr'; it has en"),
        ({"condition": "without_video"}, "'without_video' applies to none of the 1 questions of zoo 2.0.0"),
        ({"endpoint": "vlm"}, "unknown endpoint 'vlm'"),
        ({"delivery": {"frames": 0}}, "frames"),
    ],
)
def test_what_cannot_be_asked_is_said_on_one_line(release_of, questions, chosen, told):
    from inspect_ai._util.error import PrerequisiteError

    from interplay.inspect_entry import omni

    folder = release_of({"a": questions.choice()})
    with pytest.raises(PrerequisiteError) as error:
        omni(folder=str(folder), **chosen)
    assert told in error.value.message
    assert "\n" not in error.value.message


def test_a_folder_that_is_no_export_is_said_so(tmp_path):
    from inspect_ai._util.error import PrerequisiteError

    from interplay.inspect_entry import omni

    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(PrerequisiteError) as error:
            omni(folder=str(folder))
        assert "'interplay release export' made" in error.value.message


@pytest.mark.parametrize("format_name", ["jsonl", "huggingface"])
def test_a_damaged_export_is_not_asked(exported, format_name):
    from inspect_ai._util.error import PrerequisiteError

    from interplay.inspect_entry import omni

    for file in [one for one in exported(format_name).rglob("*") if one.is_file() and one.name != "SHA256SUMS"]:
        data = file.read_bytes()
        file.write_bytes(data[:-3] + b"???")
        with pytest.raises(PrerequisiteError) as error:
            omni(folder=str(exported(format_name)))
        assert "is damaged" in error.value.message
        assert file.name in error.value.message
        file.write_bytes(data)
    omni(folder=str(exported(format_name)))


def test_media_that_change_while_the_task_runs_are_an_error_and_no_grade(exported, scripted, inspect_eval, monkeypatch):
    from warehouse.release.opened import Export

    spec, script = scripted("Answer: A")
    real = Export.get

    def get(self, sha256):
        for file in (exported("jsonl") / "media").iterdir():
            file.write_bytes(file.read_bytes() + b"?")
        return real(self, sha256)

    monkeypatch.setattr(Export, "get", get)
    log = inspect_eval(spec.provider, exported("jsonl"))
    assert script.asked == []
    assert all("is damaged; get the release again" in sample.error.message for sample in log.samples)
    assert all(not sample.scores for sample in log.samples)


def test_a_folder_must_be_named():
    from inspect_ai._util.error import PrerequisiteError

    from interplay.inspect_entry import omni

    with pytest.raises(PrerequisiteError, match="-T folder=FOLDER"):
        omni()


def test_other_samples_are_not_graded(scripted, tmp_path):
    import inspect_ai
    from inspect_ai.dataset import Sample

    from interplay.inspect_entry import interplay_grade

    spec, _ = scripted("Answer: A")
    task = inspect_ai.Task(dataset=[Sample(input="?", target="A")], scorer=interplay_grade())
    (log,) = inspect_ai.eval(task, model=spec.provider, log_dir=str(tmp_path), display="none", fail_on_error=False)
    assert "holds no question of a release" in log.samples[0].error.message


def test_the_command_of_the_how_to_runs_without_a_network(exported, tmp_path):
    """Any attempt to reach the network would meet a proxy that is not there."""
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("inspect")),
            "eval",
            "interplay/omni",
            "--model",
            "mockllm/model",
            "-T",
            f"folder={exported('jsonl')}",
            "--log-dir",
            str(tmp_path / "logs"),
            "--display",
            "plain",
        ],
        env={**os.environ, **nowhere, "TIKTOKEN_CACHE_DIR": str(tmp_path / "empty")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = (tmp_path / "logs").glob("*.eval")

    from inspect_ai.log import read_eval_log

    log = read_eval_log(str(file))
    assert (log.status, log.eval.task) == ("success", "interplay/omni")
    assert len(log.samples) == 4
    assert {sample.error for sample in log.samples} == {None}


LOADED = """
import sys
from unittest.mock import MagicMock

for name in ("", "._util", "._util.error", ".model", ".scorer", ".solver"):
    sys.modules[f"inspect_ai{name}"] = MagicMock()
import interplay.inspect_entry

print(sorted({name.split(".")[0] for name in sys.modules}))
"""


def test_every_inspect_command_loads_little_of_us():
    # What Inspect AI itself loads takes seconds, and is not the question.
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    loaded = set(ast.literal_eval(done.stdout.splitlines()[-1]))
    assert "interplay" in loaded
    assert not loaded & {"warehouse", "evaluation", "av", "pyarrow", "sqlmodel", "duckdb", "scipy"}
