"""Pools without a browser: what comes in, what is drawn, what is chosen, and who may."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from annotation_ui.permissions import NotAllowed
from annotation_ui.pools import desk
from annotation_ui.pools.desk import NewScores, WantedSubset
from annotation_ui.pools.files import GivenFile, read_columns, read_floors, safe_name
from annotation_ui.pools.kept import CurveSettings, PoolResults, StrataSettings, ValiditySettings
from annotation_ui.pools.mistakes import (
    AlreadySoLarge,
    ColumnMissing,
    ColumnsUnreadable,
    DrawnWithOthers,
    FileDiffers,
    FileTooLarge,
    FloorUnreadable,
    FormatUnknown,
    ModelNeeded,
    NameTaken,
    NameUnusable,
    NotLookedAt,
    NotOfThisProject,
    PoolDiffers,
    PoolSaysOtherwise,
    Refused,
    ScoresContradict,
    ScoresInWords,
    ScoresMissing,
    ScoresTooLarge,
    TooFewModels,
    UnknownPool,
    UnknownSubset,
)
from annotation_ui.pools.subsets import WantedMore, extend_subset, lacking_files, try_out
from annotation_ui.views import pool_curve as curve_view
from annotation_ui.views import pools as pool_view
from annotation_ui.views import subset as subset_view
from annotation_ui.views import subset_validity as validity_view
from annotation_ui.words import words_in
from compression.importers.base import Reading
from compression.matrix import read_matrix
from compression.pool import open_stored_pool
from compression.select import Selection, extend, select, selection_of
from compression.subset_store import store
from compression.subset_view import QuestionQuery, subset_questions
from compression.validate import Protocol, validate
from core.errors import InterplayError
from warehouse.people import Role
from warehouse.spreadsheets import as_csv

QUESTIONS, MODELS = 60, 8
FORMULA = "=1+1"


def table(rows, head=("benchmark", "question_id", "model", "score")):
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows([head, *rows])
    return stream.getvalue().encode()


def rows(gaps=()):
    """Two benchmarks; model 7 is the best, and the last question of each benchmark the hardest."""
    drawn = np.random.default_rng(5).random((QUESTIONS, MODELS))
    for question in range(QUESTIONS):
        for model in range(MODELS):
            if (question, model) not in gaps:
                chance = 0.15 + 0.1 * model + 0.2 * (1 - (question % 30) / 15)
                name = FORMULA if question == 0 else f"q{question:02}"
                yield "ab"[question % 2], name, f"m{model}", int(drawn[question, model] < chance)


@pytest.fixture
def workspace(studio):
    return studio.workspace


@pytest.fixture
def who(principal_of):
    return principal_of(Role.MAINTAINER)


@pytest.fixture
def t():
    return words_in("en")


@pytest.fixture
def pool(workspace, who):
    desk.bring_in(workspace, who, NewScores("small", [GivenFile("scores.csv", table(rows()))]))
    return "small"


@pytest.fixture
def subset(workspace, who, pool):
    desk.look(workspace, who, pool)
    desk.choose_subset(workspace, who, pool, WantedSubset("half", 30, "cghs"))
    return desk.one_subset(workspace, who, "half")


BAD_FILES = [
    ("a.csv", table([("a", "q", "m", 72)]), ScoresTooLarge, "72 of m on q"),
    ("a.csv", table([("a", "q", "m", "yes")]), ScoresInWords, "'yes'"),
    ("a.csv", table([("a", "q", "m", "")]), ScoresMissing, ""),
    ("a.csv", table([("a", "q", 1)], ("benchmark", "qid", "score")), ColumnMissing, "question_id"),
    ("a.csv", table([("a", "q", "m", 1), ("a", "q", "m", 0)]), ScoresContradict, "m on q: 0 and 1"),
    ("a.csv", b"", ScoresMissing, ""),
    ("a.txt", b"hello", FormatUnknown, "VLMEvalKit"),
    ("x_samples_task.jsonl", b'{"doc_id": 1, "acc": 1}', ModelNeeded, "“Model”"),
    ("a.parquet", b"no parquet", Refused, ""),
    ("a.csv", table([("b", "q01", "m0", 0.5)]), PoolSaysOtherwise, "0.5"),
]


def test_a_file_that_cannot_be_taken_is_told_in_words_and_changes_nothing(workspace, who, pool):
    before = PoolResults(workspace).states()
    for name, data, mistake, told in BAD_FILES:
        with pytest.raises(mistake) as error:
            desk.bring_in(workspace, who, NewScores(pool, [GivenFile(f"../../{name}", data)]))
        assert told in str(error.value) and "/" not in str(error.value) and "--" not in str(error.value)
        assert name in str(error.value) or mistake is PoolSaysOtherwise
    assert PoolResults(workspace).states() == before


def test_names_and_fields_are_read_as_plain_text(workspace, who):
    with pytest.raises(NameUnusable):
        desk.bring_in(workspace, who, NewScores("../x", [GivenFile("a.csv", table(rows()))]))
    assert safe_name("..\\..\\a[*]?'.csv") == "a_____.csv" and safe_name("../..") == "file"
    assert len(safe_name("题" * 300 + ".csv").encode()) < 255
    assert read_columns(" question_id = qid \n\nmodel=a=b") == {"question_id": "qid", "model": "a=b"}
    assert read_floors("benchmark=20\nability = 3") == {"benchmark": 20, "ability": 3}
    for text in ("qid", "nothing=qid", "model="):
        with pytest.raises(ColumnsUnreadable):
            read_columns(text)
    for text in ("benchmark", "benchmark=0", "a=1\na=2", "=3", "a=٣"):
        with pytest.raises(FloorUnreadable):
            read_floors(text)


def test_other_scores_give_way_only_when_that_was_asked(workspace, who, pool):
    percent = NewScores(pool, [GivenFile("p.csv", table([("a", "q02", "m0", 50)]))], Reading(scale=100), replace=True)
    assert desk.bring_in(workspace, who, percent).replaced == 1
    assert desk.bring_in(workspace, who, percent).known == 1  # handed in twice


def test_what_is_drawn_is_right_and_kept_until_scores_come_in(workspace, who, pool, t):
    assert desk.known_pools(workspace, who)[0][1] is None
    desk.look_at_new(workspace, who)
    ((state, picture),) = desk.known_pools(workspace, who)
    scores = np.array([score for *_, score in rows()], dtype=float).reshape(QUESTIONS, MODELS)
    assert picture.mean == pytest.approx(scores.mean())
    best = picture.view.models[0].model
    column = scores[:, int(best[1:])]
    assert picture.view.models[0].mean == pytest.approx(column.mean()) == column.mean().max()
    assert picture.margins[0] == pytest.approx(2.001 * column.std(ddof=1) / np.sqrt(QUESTIONS), rel=1e-3)
    parts = np.array(picture.by_difficulty)
    assert parts.shape == (QUESTIONS, MODELS) and (np.diff(parts.mean(axis=1)) >= -1e-9).all()
    heat = pool_view.heat(picture, t)
    assert heat.address.startswith("data:image/png") and heat.names[0][0] == best and not heat.has_gaps
    (row,) = pool_view.pool_rows([(state, picture)], {}, t)
    assert row.size == "60 questions × 8 models" and "no score missing" in row.facts
    more = GivenFile("more.csv", table([("a", "new", "m0", 1)]))
    desk.bring_in(workspace, who, NewScores(pool, [more]))
    ((_, gone),) = desk.known_pools(workspace, who)
    assert gone is None
    assert (
        pool_view.pool_rows([(state, desk.look(workspace, who, pool))], {}, t)[0].facts.count("7 scores missing") == 1
    )


def test_models_are_sorted_and_found(workspace, who, pool, t):
    picture = desk.look(workspace, who, pool)
    best = [row.name for row in pool_view.models_page(picture, t, "best").rows]
    assert [row.name for row in pool_view.models_page(picture, t, "worst").rows] == best[::-1]
    assert [row.name for row in pool_view.models_page(picture, t, "name").rows] == [f"m{n}" for n in range(MODELS)]
    assert [row.name for row in pool_view.models_page(picture, t, "best", " M3 ").rows] == ["m3"]
    row = pool_view.models_page(picture, t, "best").rows[0]
    assert row.low < row.share < row.high and len(row.by_benchmark) == 2
    (first, *_) = pool_view.model_cells(picture)
    assert len(first) == len(pool_view.model_columns(picture, t))


def test_a_curve_is_kept_for_the_next_visitor_with_pictures_in_both_languages(workspace, who, pool, principal_of, t):
    settings = CurveSettings(samplers=("cghs",), splits=2, repeats=1, margin=0.1)
    desk.work_out_curve(workspace, who, pool, settings)
    desk.work_out_strata(workspace, who, pool, StrataSettings(sampler="cghs", size=30))
    results, state = PoolResults(workspace), desk.pool_state(workspace, principal_of(Role.ANNOTATOR), pool)
    (kept,) = results.curves(state)
    curve = kept.curve
    assert kept.settings == settings and kept.by == who.display_name
    assert b"<svg" in results.curve_picture(kept, "en") and "题目数" in results.curve_picture(kept, "zh").decode()
    sizes = [curve_view.size_for_margin(curve, "cghs", margin) for margin in (0.2, 0.1, 0.05)]
    assert sizes == sorted(sizes) and sizes[1] == curve.of("cghs").needed[0].size == curve_view.start_size(curve)
    assert [row.is_chosen for row in curve_view.size_rows(curve, 30, "cghs", t)] == [False, True]
    assert curve_view.size_for_budget(curve, 1.0, 0.01, 10) == 10
    assert curve_view.size_for_budget(curve, 1e9, 0.01, 10) == QUESTIONS == curve_view.size_for_budget(curve, 1, 0, 1)
    assert len(next(iter(curve_view.curve_cells(curve)))) == len(curve_view.curve_columns(curve, t))
    (strata,) = results.strata(state)
    drawn = [(one.questions, one.drawn) for one in strata.view.strata]
    assert [sum(column) for column in zip(*drawn, strict=True)] == [QUESTIONS, 30]
    desk.bring_in(workspace, who, NewScores(pool, [GivenFile("m.csv", table([("a", "new", "m0", 1)]))]))
    now = desk.pool_state(workspace, who, pool)
    assert results.curves(now) == [] == results.strata(now)
    with pytest.raises(Refused, match="strata"):
        desk.work_out_strata(workspace, who, pool, StrataSettings(sampler="anchor", size=30))
    with pytest.raises(Refused) as error:
        desk.work_out_curve(workspace, who, pool, settings.model_copy(update={"samplers": ("anchor",)}))
    assert "anchor" in str(error.value) and results.curves(now) == []


def test_a_subset_is_the_one_that_the_command_would_choose(workspace, who, pool, tmp_path):
    labels, fixed = table([("q01", "see"), ("q02", "hear")], ("question_id", "ability")), ["q03", "q04"]
    wanted = WantedSubset(
        "half", 30, "cghs", 7, floors={"benchmark": 4, "ability": 1}, labels=GivenFile("l.csv", labels), fixed=fixed
    )
    assert desk.choose_subset(workspace, who, pool, wanted) == "half"
    manifest, sample = desk.one_subset(workspace, who, "half")
    (tmp_path / "l.csv").write_bytes(labels)
    (tmp_path / "f.csv").write_text("question_id\r\nq03\r\nq04\r\n")
    selection = Selection(
        "half", None, 30, "cghs", 7, wanted.floors, tmp_path / "l.csv", None, tmp_path / "f.csv"
    )  # fmt: skip
    with open_stored_pool(pool, workspace) as opened:
        assert select(read_matrix(opened), opened.origin, selection).manifest == manifest
    assert {"q01", "q02", "q03", "q04"} <= set(sample.question_ids)
    with pytest.raises(NameTaken):
        desk.choose_subset(workspace, who, pool, wanted)
    with pytest.raises(NameUnusable):
        desk.choose_subset(workspace, who, pool, WantedSubset("a b", 30))
    with pytest.raises(Refused) as error:
        desk.choose_subset(workspace, who, pool, WantedSubset("x", 30, fixed=["nowhere"]))
    assert "--" not in str(error.value) and "/" not in str(error.value)
    assert [one.name for one in desk.subsets_of(workspace, who, pool)] == ["half"]
    assert desk.subset_counts(workspace, who) == {pool: 1}
    assert desk.label_counts(workspace, who, manifest, sample) == {}  # nobody looked at the pool yet
    desk.look(workspace, who, pool)
    counts = desk.label_counts(workspace, who, manifest, sample)
    assert {(one.label, one.questions, one.kept) for one in counts["ability"]} == {("see", 1, 1), ("hear", 1, 1)}


def test_a_larger_subset_is_the_one_that_the_command_would_make(workspace, who, pool, tmp_path):
    labels = table([("q01", "see"), ("q02", "hear")], ("question_id", "ability"))
    wanted = WantedSubset(
        "half", 30, "cghs", 7, floors={"ability": 1}, labels=GivenFile("l.csv", labels), fixed=["q03", "q04"]
    )
    desk.choose_subset(workspace, who, pool, wanted)
    before, sample = desk.one_subset(workspace, who, "half")
    assert lacking_files(workspace, before) == {"labels": False, "fixed": False}  # chosen here: its files are kept
    assert extend_subset(workspace, who, "half", WantedMore("most", 45)) == "most"
    manifest, larger = desk.one_subset(workspace, who, "most")
    (tmp_path / "l.csv").write_bytes(labels)
    (tmp_path / "f.csv").write_text("question_id\r\nq03\r\nq04\r\n")
    again = selection_of(before, "most", tmp_path / "l.csv", tmp_path / "f.csv")
    with open_stored_pool(pool, workspace) as opened:
        matrix, origin = read_matrix(opened), opened.origin
    assert extend(matrix, origin, (before, sample), again, None, 45).manifest == manifest
    assert set(sample.question_ids) < set(larger.question_ids) and (manifest.extends, manifest.kept) == ("half", 45)
    with pytest.raises(NameTaken):
        extend_subset(workspace, who, "half", WantedMore("most", 50))
    with pytest.raises(NameUnusable):
        extend_subset(workspace, who, "half", WantedMore("", 50))
    with pytest.raises(AlreadySoLarge):
        extend_subset(workspace, who, "most", WantedMore("x", 45))
    with pytest.raises(FileDiffers):
        other = GivenFile("l.csv", labels + b"q05,see\r\n")
        extend_subset(workspace, who, "half", WantedMore("x", 50, labels=other))
    for names, mistake in (({"numpy": "0"}, DrawnWithOthers), ({}, NotOfThisProject)):
        subset = select(matrix, origin, Selection("odd", None, 30, "cghs", 7))
        # What other versions drew: the same strata, another draw.
        other = select(matrix, origin, Selection("odd", None, 30, "cghs", 8))
        told = {"seed": 7, "packages": names} if names else {"pool": "file.csv"}
        unsealed = other.manifest.model_copy(update={"name": f"odd-{len(names)}", **told})
        sealed = unsealed.model_copy(update={"seal": unsealed.content_sha256()})
        store(workspace, "compress select", replace(subset, manifest=sealed, sample=other.sample, data=other.data))
        with pytest.raises(mistake) as error:
            extend_subset(workspace, who, sealed.name, WantedMore("x", 40))
        assert next(iter(names), "file.csv") in str(error.value)
    changed = GivenFile("m.csv", table([("a", "q02", "m0", 0.5)]))
    desk.bring_in(workspace, who, NewScores(pool, [changed], replace=True))
    with pytest.raises(PoolDiffers):
        extend_subset(workspace, who, "half", WantedMore("x", 50))
    assert [one.name for one in desk.subsets_of(workspace, who, pool)] == ["half", "most", "odd-1"]


def test_how_well_subsets_predict_is_what_the_command_tells_and_is_kept(workspace, who, pool, t):
    settings = ValiditySettings(size=30, samplers=("cghs", "anchor"), splits=2, repeats=3, held_out=0.5)
    try_out(workspace, who, pool, settings)
    state = desk.pool_state(workspace, who, pool)
    (kept,) = PoolResults(workspace).validities(state)
    with open_stored_pool(pool, workspace) as opened:
        matrix = read_matrix(opened)
    assert kept.validation == validate(matrix, None, 30, ("cghs", "anchor"), Protocol(2, 3, 0.5))
    assert (kept.settings, kept.by) == (settings, who.display_name)
    rows_ = {row.sampler: row for row in validity_view.validity_rows(kept.validation, "cghs", t)}
    assert [row.is_chosen for row in rows_.values()] == [False, True, False]
    assert rows_["random"].beside == f"{t.percent(1)} of random's"
    cghs = kept.validation.samplers[1]
    assert rows_["cghs"].error == f"{100 * cghs.rmse:.2f}" and rows_["cghs"].coverage == f"{t.percent(cghs.cic)} hold"
    assert rows_["anchor"].margin == "–" and "the other 4: " in validity_view.validity_words(kept, t)
    assert any(note.startswith("anchor: no margin") for note in validity_view.undefined(kept.validation, t))
    assert all(
        len(cells) == len(validity_view.validity_columns(t)) for cells in validity_view.validity_cells(kept.validation)
    )
    lone = GivenFile("one.csv", table([("a", f"q{number}", "m", number % 2) for number in range(40)]))
    desk.bring_in(workspace, who, NewScores("one", [lone]))
    with pytest.raises(TooFewModels):
        try_out(workspace, who, "one", settings)
    with pytest.raises(NotOfThisProject):
        try_out(workspace, who, "nowhere", settings)
    assert PoolResults(workspace).validities(desk.pool_state(workspace, who, "one")) == []


def test_what_is_kept_and_left_adds_up(workspace, who, subset, t):
    manifest, sample = subset
    rows_ = subset_view.benchmark_rows(manifest, sample, t)
    assert [(row.questions, int(row.kept) + int(row.left)) for row in rows_] == [("30", 30), ("30", 30)]
    assert sum(float(row.stands_for) for row in rows_) == pytest.approx(QUESTIONS, abs=1)
    file = desk.questions_file(workspace, who, "small")
    _, kept = subset_questions(manifest, sample, file, QuestionQuery())
    left, others = subset_questions(manifest, sample, file, QuestionQuery(kept=False, page_size=7, page=2))
    assert subset_questions(manifest, sample, file, QuestionQuery(page=99))[1] == 30
    assert (kept, others, len(left)) == (30, 30, 7) and all(row.weight is None for row in left)
    found, count = subset_questions(manifest, sample, file, QuestionQuery("Q0", "a", None))
    assert count == len(found) and all(row.benchmark == "a" and row.question_id[:2] == "q0" for row in found)
    assert subset_questions(manifest, sample, file, QuestionQuery("' OR 1=1 --")) == ([], 0)
    assert subset_questions(manifest, sample, None, QuestionQuery(kept=False)) == ([], 0)
    cells = list(subset_view.member_cells(manifest, sample))
    assert sum(weight for _, _, weight, _ in cells) == pytest.approx(1)
    saved = as_csv(subset_view.MEMBER_COLUMNS, [("a", FORMULA, 1.0, 0)]).decode("utf-8-sig")
    assert f"a,'{FORMULA},1.0,0" in saved


def test_a_new_model_is_estimated_from_its_answers_to_the_subset(workspace, who, pool, t):
    desk.choose_subset(workspace, who, pool, WantedSubset("all", QUESTIONS, "random"))
    answers = [(benchmark, question, "new", score) for benchmark, question, model, score in rows() if model == "m3"]
    found = desk.estimate_upload(workspace, who, "all", GivenFile("new.csv", table(answers)), Reading())
    mean = sum(score for *_, score in answers) / QUESTIONS
    (row,) = subset_view.estimate_rows(found, t)
    assert row.model == "new" and row.mean == t.percent(mean)
    short = desk.estimate_upload(workspace, who, "all", GivenFile("new.csv", table(answers[:-2])), Reading())
    assert "2 of 60" in subset_view.unestimated(short, QUESTIONS, t)[0] and not short.models
    with pytest.raises(ScoresTooLarge):
        desk.estimate_upload(workspace, who, "all", GivenFile("a.csv", table([("a", "q01", "m", 9)])), Reading())
    with pytest.raises(Refused):
        desk.estimate_upload(workspace, who, "all", GivenFile("a.csv", table([("a", "other", "m", 1)])), Reading())
    with pytest.raises(FileTooLarge):
        huge = GivenFile("a.csv", bytes(desk.MOST_ESTIMATE_BYTES + 1))
        desk.estimate_upload(workspace, who, "all", huge, Reading())


def test_only_maintainers_change_pools_and_participants_see_none(workspace, who, subset, principal_of):
    reader, outsider = principal_of(Role.ANNOTATOR), principal_of(Role.PARTICIPANT)
    manifest, sample = subset
    new = NewScores("other", [GivenFile("a.csv", table(rows()))])
    for write in (
        lambda: desk.bring_in(workspace, reader, new),
        lambda: desk.choose_subset(workspace, reader, "small", WantedSubset("mine", 10)),
        lambda: desk.work_out_strata(workspace, reader, "small", StrataSettings(sampler="cghs", size=10)),
        lambda: desk.work_out_curve(workspace, reader, "small", CurveSettings(samplers=("cghs",), splits=1, repeats=0)),
        lambda: extend_subset(workspace, reader, "half", WantedMore("mine", 40)),
        lambda: try_out(workspace, reader, "small", ValiditySettings(size=10, samplers=("cghs",))),
        lambda: desk.known_pools(workspace, outsider),
        lambda: desk.look(workspace, outsider, "small"),
        lambda: desk.one_subset(workspace, outsider, "half"),
        lambda: desk.label_counts(workspace, outsider, manifest, sample),
        lambda: desk.estimate_upload(workspace, outsider, "half", new.files[0], Reading()),
    ):
        with pytest.raises(NotAllowed):
            write()
    assert [state.pool for state, _ in desk.known_pools(workspace, reader)] == ["small"]
    assert desk.one_subset(workspace, reader, "half")[0] == manifest


def test_a_place_on_the_server_is_neither_a_pool_nor_a_subset(workspace, who, pool, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / pool).write_text("not the pool")
    (tmp_path / "folder").mkdir()
    assert desk.look(workspace, who, pool).questions == QUESTIONS
    for name in (".", "folder", str(tmp_path), ""):
        with pytest.raises(UnknownPool):
            desk.look(workspace, who, name)
        with pytest.raises(UnknownSubset):
            desk.one_subset(workspace, who, name)


def test_labels_of_a_pool_that_nobody_looked_at_wait_for_it(workspace, who, pool):
    desk.choose_subset(workspace, who, pool, WantedSubset("half", 30, "random"))
    manifest, sample = desk.one_subset(workspace, who, "half")
    labels = GivenFile("l.csv", table([("q01", "<b>see</b>")], ("question_id", "ability")))
    with pytest.raises(NotLookedAt):
        desk.label_counts(workspace, who, manifest, sample, labels)
    desk.look(workspace, who, pool)
    for _ in range(2):  # counted, and kept
        assert desk.label_counts(workspace, who, manifest, sample, labels)["ability"][0].label == "<b>see</b>"
    with pytest.raises(InterplayError):
        desk.label_counts(workspace, who, manifest, sample, GivenFile("l.csv", b"nothing"))
