"""Score files as the programs write them, read to the rows of a pool."""

import json
import zipfile

import duckdb
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from compression.importers import load_scores
from compression.importers.base import BadPool, Reading
from core.errors import UnknownName


def read(path, **reading):
    """Rows of `raw`, sorted, and what read them."""
    with duckdb.connect() as connection:
        origin = load_scores(connection, path, Reading(**reading))
        rows = connection.execute("SELECT benchmark, question_id, model, score FROM raw").fetchall()
    return origin, sorted(rows, key=repr)


def refusal(path, **reading) -> str:
    with pytest.raises(BadPool) as caught:
        read(path, **reading)
    return str(caught.value)


# ---- Parquet and CSV


def test_a_table_of_another_shape_is_read_by_the_names_given(tmp_path):
    file = tmp_path / "scores.csv"
    file.write_text("QID,who,points\n007,a,50\n7,a,100\n", encoding="utf-8")
    columns = {"question_id": "qid", "model": "who", "score": "points"}
    origin, rows = read(file, columns=columns, scale=100.0, benchmark="b")
    assert origin == "long@1"
    assert rows == [("b", "007", "a", 0.5), ("b", "7", "a", 1.0)]


def test_the_file_names_the_benchmark_and_an_option_the_model(tmp_path):
    file = tmp_path / "BLINK [v2].csv"  # brackets are patterns to DuckDB
    file.write_text("question_id,score\nq,1\n", encoding="utf-8")
    assert read(file, model="m")[1] == [("BLINK [v2]", "q", "m", 1.0)]
    assert "no column 'model', only question_id, score; name another" in refusal(file)


@pytest.mark.parametrize(("name", "sign"), [("s.csv", ","), ("s.csv", ";"), ("s.tsv", "\t")])
def test_no_line_is_taken_for_a_comment_and_no_id_for_a_number(tmp_path, name, sign):
    file = tmp_path / name
    lines = [
        ("question_id", "model", "score"),
        ("#1", '"m, x"', "1"),
        ("1e5", "m", "0"),
        ("z", "'m'", ""),
        ("007", "m", "0.5"),
    ]
    file.write_text("\ufeff" + "".join(sign.join(line) + "\r\n" for line in lines), encoding="utf-8")
    rows = [("#1", "m, x", 1.0), ("007", "m", 0.5), ("1e5", "m", 0.0), ("z", "'m'", None)]
    assert [row[1:] for row in read(file)[1]] == rows


def test_a_torn_line_far_down_is_told(tmp_path):
    file = tmp_path / "s.csv"
    lines = [f"q{number},m,1" for number in range(50_000)]
    file.write_text("\n".join(["question_id,model,score", *lines[:-9], "q,m", *lines[-9:]]), encoding="utf-8")
    assert "CSV Error on Line: 49993" in refusal(file)


def test_another_column_can_be_the_score(tmp_path):
    file = tmp_path / "s.csv"
    file.write_text("question_id,model,score,f1\nq,m,1,0.25\n", encoding="utf-8")
    assert read(file, metric="f1")[1] == [("s", "q", "m", 0.25)]


def test_names_keep_every_character(tmp_path):
    names = ['a,"b"', "line\nbreak", "模型 '一'", "m", "M"]
    table = pa.table({"benchmark": ["b"] * 5, "question_id": names, "model": names, "score": [1.0] * 5})
    pq.write_table(table, tmp_path / "s.parquet")
    assert {row[2] for row in read(tmp_path / "s.parquet")[1]} == set(names)


def test_what_would_make_several_models_one_is_refused(tmp_path):
    file = tmp_path / "s.csv"
    file.write_text("question_id,model,score\nq,a,1\nq,b,0\n", encoding="utf-8")
    assert "several models, as a, b, which --model c would make one" in refusal(file, model="c")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("s.parquet", b"question_id,model,score\n", "cannot be read as Parquet"),
        ("s.parquet", b"", "is empty"),
        ("s.csv", b"", "is empty"),
        ("s.csv", b"question_id,model,score\nq,m,1,7\nr,m,0\n", "cannot be read as CSV"),
        ("s.csv", b'question_id,model,score\nq,"m,1\n', "cannot be read as CSV"),
        ("s.csv", b"\xff\xfe\x00", "cannot be read as CSV"),
        ("s.csv", b"made in May\nquestion_id,model,score\nq,m,1\n", "s.csv"),
        ("s.csv", b"question_id,score\nq,1\n", "no column 'model'"),
        ("s.csv", b"question_id,model,score\nq,m,good\nr,m,bad\n", "2 scores are no numbers, 'good' for one"),
        ("s.txt", b"question_id,model,score\n", "is not in a known format"),
        ("s.json", b'{"a": 1}', "is not in a known format"),
        ("s.eval", b"no zip", "cannot be read as a log of Inspect"),
        ("s.eval", b"PK\x03\x04 and nothing more", "cannot be read as a log of Inspect"),
        ("s.xlsx", b"index,hit\n", "cannot be read as an .xlsx workbook"),
        ("d_samples_t.jsonl", b"{\n", "line 1 is no JSON"),
        ("d_samples_t.jsonl", b"[1]\n", "line 1 is no sample of lmms-eval"),
        ("per_instance_stats.json", b"[", "is no JSON"),
        ("per_instance_stats.json", b"[1]", "not as HELM writes it"),
        ("per_instance_stats.json", b"[]", "tells no scores"),
        ("r.json", b'{"details": 3}', "has no details of each question"),
        ("r.json", b'{"details": {"0": {"pred": "A"}}}', "tells no scores"),
    ],
)
def test_a_wrong_file_is_told_with_its_name(tmp_path, name, content, told):
    folder = tmp_path / "gsm:model=m"
    folder.mkdir()
    (folder / name).write_bytes(content)
    message = refusal(folder / name)
    assert told in message
    assert name in message


def test_a_folder_without_anything_and_a_path_without_a_file(tmp_path):
    assert "holds nothing in a known format" in refusal(tmp_path)
    assert "no such file or folder" in refusal(tmp_path / "none")
    for name in ("helm", "inspect", "lmms-eval", "opencompass", "vlmevalkit"):
        assert "holds no" in refusal(tmp_path, format=name)


def test_an_unknown_format_is_told(tmp_path):
    with pytest.raises(UnknownName, match="did you mean 'vlmevalkit'"):
        read(tmp_path, format="vlmeval-kit")


def test_columns_are_only_of_tables(tmp_path):
    lmms(tmp_path / "m", "t", [{"doc_id": 0, "acc": 1}])
    assert "leave --column away" in refusal(tmp_path, columns={"score": "acc"})


def test_a_folder_of_several_formats_is_read_by_the_one_that_is_named(tmp_path):
    lmms(tmp_path / "m", "t", [{"doc_id": 0, "acc": 1}])
    compass(tmp_path / "m", "d", {"0": {"correct": True}})
    assert "several formats (lmms-eval, opencompass)" in refusal(tmp_path)
    assert read(tmp_path, format="opencompass")[1] == [("d", "0", "m", 1.0)]


# ---- lmms-eval


def lmms(folder, task, samples, date="20250101_120000"):
    """As EvaluationTracker.save_results_samples writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    always = {
        "target": "A",
        "filtered_resps": ["A"],
        "doc_hash": "x",
        "prompt_hash": "y",
        "target_hash": "z",
        "input": "?",
    }
    lines = [json.dumps(always | sample, ensure_ascii=False) for sample in samples]
    file = folder / f"{date}_samples_{task}.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def test_lmms_eval_numbers_and_records(tmp_path):
    numbers = lmms(tmp_path / "org__m", "pope", [{"doc_id": 0, "acc": 1.0}, {"doc_id": 1, "acc": False}])
    assert read(numbers) == ("lmms-eval@1", [("pope", "0", "org__m", 1.0), ("pope", "1", "org__m", 0.0)])
    record = {"question_id": "x.png", "category": "count", "score": 1.0}
    mme = [{"doc_id": 0, "mme_perception_score": record}, {"doc_id": 1, "mme_cognition_score": record | {"score": 0}}]
    lmms(tmp_path / "org__m", "mme", mme)
    assert [row[:2] for row in read(tmp_path)[1]] == [("mme", "0"), ("mme", "1"), ("pope", "0"), ("pope", "1")]


def test_lmms_eval_one_of_several_metrics(tmp_path):
    file = lmms(tmp_path / "m", "t", [{"doc_id": 0, "CIDEr": 0.25, "Bleu_4": 0.5}, {"doc_id": 1, "Bleu_4": 1}])
    assert "several metrics, Bleu_4, CIDEr; name one with --metric" in refusal(file)
    assert read(file, metric="CIDEr")[1] == [("t", "0", "m", 0.25), ("t", "1", "m", None)]
    assert "no metric 'anls', only Bleu_4, CIDEr" in refusal(file, metric="anls")
    usual = lmms(tmp_path / "m", "u", [{"doc_id": 0, "exact_match": 1, "length": 9}])
    assert read(usual)[1] == [("u", "0", "m", 1.0)]


def test_lmms_eval_without_a_score_is_not_zero(tmp_path):
    file = lmms(tmp_path / "m", "t", [{"doc_id": 0, "acc": None}, {"doc_id": 1, "acc": float("nan")}])
    assert [row[3] for row in read(file)[1]] == [None, None]
    parsed = lmms(tmp_path / "m", "mmmu", [{"doc_id": 0, "mmmu_acc": {"answer": "A", "parsed_pred": "B"}}])
    assert "none of mmmu_acc is a number" in refusal(parsed)
    text = lmms(tmp_path / "m", "text", [{"doc_id": 0, "acc": {"score": "good"}}])
    assert "none of acc is a number" in refusal(text)


# ---- OpenCompass


def compass(folder, dataset, details, **more):
    """As OpenICLEvalTask writes results with --dump-eval-details."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{dataset}.json"
    document = {"accuracy": 50.0, **more, "details": details}
    file.write_text(json.dumps(document, ensure_ascii=False, indent=4), encoding="utf-8")
    return file


def test_opencompass_details_by_index(tmp_path, caplog):
    details = {"0": {"pred": "A", "answer": "A", "correct": True}, "1": {"pred": "B", "answer": "A", "correct": False}}
    compass(tmp_path / "results" / "qwen-7b", "ceval", {"type": "GEN", **details})
    (tmp_path / "predictions" / "qwen-7b").mkdir(parents=True)
    (tmp_path / "predictions" / "qwen-7b" / "ceval.json").write_text('{"0": {"prediction": "A"}}', encoding="utf-8")
    (tmp_path / "results" / "qwen-7b" / "cmmlu.json").write_text('{\n    "accuracy": 50.0\n}', encoding="utf-8")
    assert read(tmp_path) == ("opencompass@1", [("ceval", "0", "qwen-7b", 1.0), ("ceval", "1", "qwen-7b", 0.0)])
    assert [one.message for one in caplog.records] == [
        f"{tmp_path}: left out for lack of details (opencompass --dump-eval-details): cmmlu.json"
    ]


def test_opencompass_runs_are_repeats(tmp_path):
    """BaseEvaluator.evaluate makes lists of the runs' values, and names each example."""
    details = [{"example_abbr": "all_7", "pred": ["A", "B"], "correct": [True, False]}]
    assert read(compass(tmp_path / "m", "aime", details))[1] == [
        ("aime", "all_7", "m", 0.0),
        ("aime", "all_7", "m", 1.0),
    ]


def test_opencompass_metric_and_absent_scores(tmp_path):
    details = {"0": {"is_correct": True, "score": 40}, "1": {"is_correct": None}}
    file = compass(tmp_path / "m", "d", details)
    assert read(file)[1] == [("d", "0", "m", 1.0), ("d", "1", "m", None)]
    assert read(file, metric="score", scale=100.0)[1] == [("d", "0", "m", 0.4), ("d", "1", "m", None)]
    assert "no metric 'rouge', only is_correct, score" in refusal(file, metric="rouge")
    assert "is no number" in refusal(compass(tmp_path / "m", "e", {"0": {"correct": True}, "1": {"correct": "yes"}}))


# ---- HELM


def helm(folder, entries, spec=None):
    """As helm.benchmark.runner writes a run: one entry for each metric class, instance and trial."""
    folder.mkdir(parents=True)
    (folder / "per_instance_stats.json").write_text(json.dumps(entries, indent=2), encoding="utf-8")
    if spec:
        (folder / "run_spec.json").write_text(json.dumps(spec), encoding="utf-8")
    return folder


def stats(instance, means, trial=0, perturbation=None):
    split = {"split": "test"} | ({"perturbation": perturbation} if perturbation else {})
    listed = [
        {"name": {"name": name, **split}, "count": 0 if mean is None else 1, **({} if mean is None else {"mean": mean})}
        for name, mean in means.items()
    ]
    entry = {"instance_id": instance, "train_trial_index": trial, "stats": listed}
    return entry | ({"perturbation": perturbation} if perturbation else {})


def test_helm_run_is_named_without_its_model(tmp_path):
    typos = {"name": "typos", "prob": 0.05}
    entries = [
        stats("id7", {"exact_match": 1.0, "quasi_exact_match": 1.0}),
        stats("id7", {"num_output_tokens": 12.0}),
        stats("id7", {"exact_match": 0.0}, perturbation=typos),
        stats("id8", {"exact_match": 0.0, "quasi_exact_match": 1.0}),
        stats("id9", {"exact_match": None}),
    ]
    run = "mmlu:subject=anatomy,method=multiple_choice_joint,model=openai_gpt-4"
    helm(tmp_path / run, entries)
    name = "mmlu:subject=anatomy,method=multiple_choice_joint"
    rows = [(name, "id7", "openai_gpt-4", 1.0), (name, "id8", "openai_gpt-4", 0.0), (name, "id9", "openai_gpt-4", None)]
    assert read(tmp_path) == ("helm@1", rows)
    spec = {"name": "gsm:model=openai_gpt-4,stop=none", "adapter_spec": {"model": "openai/gpt-4"}}
    other = helm(tmp_path / "other", [stats("id1", {"final_number_exact_match": 1.0, "exact_match": 0.0})], spec)
    assert read(other / "per_instance_stats.json")[1] == [("gsm:stop=none", "id1", "openai/gpt-4", 1.0)]


def test_helm_metrics(tmp_path):
    means = {"exact_match": 0.0, "f1_score": 0.75, "num_output_tokens": 3.0}
    known = helm(tmp_path / "narrative_qa:model=m", [stats("id1", means)])
    assert [row[3] for row in read(known)[1]] == [0.75]
    unknown = helm(tmp_path / "quac:model=m", [stats("id1", means)])
    assert "several metrics, exact_match, f1_score, num_output_tokens" in refusal(unknown)
    assert [row[3] for row in read(unknown, metric="f1_score")[1]] == [0.75]
    plain = helm(tmp_path / "boolq:model=m", [stats("id1", {"exact_match": 1.0, "num_output_tokens": 3.0})])
    assert [row[3] for row in read(plain)[1]] == [1.0]


def test_helm_trials_are_repeats_and_the_model_may_be_named(tmp_path):
    entries = [stats("id1", {"exact_match": 1.0}), stats("id1", {"exact_match": 0.0}, trial=1)]
    folder = helm(tmp_path / "mmlu", entries)
    assert "name it with --model" in refusal(folder)
    assert read(folder, model="m")[1] == [("mmlu", "id1", "m", 0.0), ("mmlu", "id1", "m", 1.0)]


# ---- VLMEvalKit


def sheet(file, header, *rows):
    file.parent.mkdir(parents=True, exist_ok=True)
    book = openpyxl.Workbook()
    book.active.append(header)
    for row in rows:
        book.active.append(row)
    book.save(file)
    return file


HEADER = ["index", "question", "A", "B", "answer", "category", "prediction"]


def test_vlmevalkit_folder_of_a_model(tmp_path, caplog):
    """image_mcq.py adds hit and log; image_yorn.py adds score; the answers alone lie beside."""
    folder = tmp_path / "outputs" / "llava_v1.5_7b"
    answers = [3, "what?", "x", "y", "A", "Counting", "A"]
    sheet(folder / "llava_v1.5_7b_BLINK.xlsx", HEADER, answers)
    hits = [[*answers, 1, "log"], [4.0, "是什么?", "x", "y", "A", "Counting", "B", 0, "log"]]
    sheet(folder / "llava_v1.5_7b_BLINK_exact_matching_result.xlsx", [*HEADER, "hit", "log"], *hits)
    sheet(folder / "llava_v1.5_7b_POPE_auxmatch.xlsx", ["index", "answer", "score"], [0, "Yes", True], [1, "No", False])
    model = "llava_v1.5_7b"
    rows = [
        ("BLINK", "3", model, 1.0),
        ("BLINK", "4", model, 0.0),
        ("POPE", "0", model, 1.0),
        ("POPE", "1", model, 0.0),
    ]
    assert read(tmp_path / "outputs") == ("vlmevalkit@1", rows)
    assert caplog.records == []
    sheet(folder / "llava_v1.5_7b_MathVista_gpt-4o-mini.xlsx", [*HEADER, "res", "log"], [*answers, "A", "log"])
    assert read(tmp_path / "outputs")[1] == rows
    assert "left out for lack of a column hit or score" in caplog.text
    assert "MathVista_gpt-4o-mini.xlsx" in caplog.text


def test_vlmevalkit_file_alone(tmp_path):
    one = sheet(tmp_path / "GPT4o_MMStar.xlsx", ["index", "hit"], [1, 1])
    assert read(one)[1] == [("MMStar", "1", "GPT4o", 1.0)]
    two = sheet(tmp_path / "Yi_VL_6B_MMBench_DEV_EN_openai_result.xlsx", ["index", "hit"], [1, 1], [None, None])
    assert "name it with --model" in refusal(two)
    assert read(two, model="Yi_VL_6B")[1] == [("MMBench_DEV_EN", "1", "Yi_VL_6B", 1.0)]
    assert read(two, benchmark="MMBench_DEV_EN")[1] == [("MMBench_DEV_EN", "1", "Yi_VL_6B", 1.0)]


def test_vlmevalkit_a_model_that_was_not_reached_has_no_score(tmp_path):
    failed = [1, "Failed to obtain answer via API.", 0]
    file = sheet(tmp_path / "m_b.xlsx", ["index", "prediction", "hit"], failed, [2, "A", None], [3, "A", 0])
    assert [row[3] for row in read(file)[1]] == [None, None, 0.0]


def test_vlmevalkit_columns(tmp_path):
    other = sheet(tmp_path / "m_b.xlsx", ["index", "relevance", "fluency"], [1, 0.5, 1])
    assert "several metrics, fluency, relevance" in refusal(other)
    assert [row[3] for row in read(other, metric="fluency")[1]] == [1.0]
    assert "no column index" in refusal(sheet(tmp_path / "m_c.xlsx", ["id", "hit"], [1, 1]))
    assert "is 'FAIL', which is no number" in refusal(
        sheet(tmp_path / "m_d.xlsx", ["index", "hit"], [1, 1], [2, "FAIL"])
    )
    assert "line 3" in refusal(tmp_path / "m_d.xlsx")
    assert "no column index" in refusal(sheet(tmp_path / "m_e.xlsx", []))


# ---- Inspect


@pytest.fixture(scope="module")
def inspect_logs(tmp_path_factory):
    """Two logs, `.eval` and `.json`, of one real evaluation: q1 right, q2 wrong, q3 left unscored, q4 an error."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, match, mean, scorer
    from inspect_ai.solver import solver

    @scorer(metrics={"near": [mean()], "far": [mean()]})
    def both():
        async def score(state, target):
            return Score(value={"near": 0.25, "far": 1})

        return score

    @scorer(metrics=[mean()])
    def sometimes():
        async def score(state, target):
            return Score.unscored() if state.sample_id == "q3" else Score(value=0.5)

        return score

    @solver
    def ask():
        async def solve(state, generate):
            if state.sample_id == "q4":
                raise ValueError("no answer")
            return await generate(state)

        return solve

    answer = ModelOutput.from_content("mockllm/model", "yes")
    answer.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else its tokens would be counted
    samples = [Sample(id=f"q{n}", input="?", target="yes" if n != 2 else "no") for n in range(1, 5)]
    task = Task(name="tiny", dataset=MemoryDataset(samples), solver=[ask()], scorer=[match(), sometimes(), both()])
    folder = tmp_path_factory.mktemp("logs")
    for form in ("eval", "json"):
        model = get_model("mockllm/model", custom_outputs=[answer] * 8)
        eval(
            task,
            model=model,
            log_dir=str(folder / form),
            log_format=form,
            display="none",
            fail_on_error=False,
            epochs=2,
        )
    return folder


@pytest.mark.parametrize("form", ["eval", "json"])
def test_inspect_first_scorer_epochs_and_errors(inspect_logs, form):
    origin, rows = read(inspect_logs / form)
    assert origin == "inspect@1"
    expected = [("q1", 1.0), ("q2", 0.0), ("q3", 1.0), ("q4", None)]
    assert rows == [("tiny", question, "mockllm/model", score) for question, score in expected for _ in range(2)]
    (file,) = (inspect_logs / form).iterdir()
    assert read(file)[1] == rows


@pytest.mark.parametrize(
    ("metric", "scores"),
    [
        ("match", [1.0, 0.0, 1.0, None]),
        ("sometimes", [0.5, 0.5, None, None]),
        ("both/near", [0.25, 0.25, 0.25, None]),
        ("both/far", [1.0, 1.0, 1.0, None]),
    ],
)
def test_inspect_scorers(inspect_logs, metric, scores):
    assert [row[3] for row in read(inspect_logs / "eval", metric=metric)[1]][::2] == scores


def test_inspect_what_cannot_be_told(inspect_logs):
    assert "name one with --metric: both/near, both/far" in refusal(inspect_logs / "eval", metric="both")
    assert "name one with --metric: both/near, both/far" in refusal(inspect_logs / "eval", metric="both/nearest")
    assert "no scorer 'exact', only match, sometimes, both" in refusal(inspect_logs / "eval", metric="exact")
    renamed = read(inspect_logs / "eval", model="m", benchmark="b")[1]
    assert {row[::2] for row in renamed} == {("b", "m")}


def test_inspect_a_damaged_log(inspect_logs, tmp_path):
    (log,) = (inspect_logs / "eval").iterdir()
    whole = log.read_bytes()
    cut = tmp_path / "cut.eval"
    cut.write_bytes(whole[: len(whole) // 2])
    assert "cannot be read as a log of Inspect" in refusal(cut)
    other = tmp_path / "other.eval"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("readme.txt", "no log")
    assert "cannot be read as a log of Inspect" in refusal(other)
