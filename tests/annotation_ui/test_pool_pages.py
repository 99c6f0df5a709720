"""The pages of pools in Streamlit's own test runner: list, pool, size, choosing, subset; hostile names; who sees what."""

import csv
import io
import threading

import numpy as np
import pytest

from annotation_ui import accounts
from annotation_ui.background import Background
from annotation_ui.pools import desk
from annotation_ui.pools.desk import NewScores, WantedSubset
from annotation_ui.pools.files import GivenFile
from warehouse.people import Role

WAIT_S = 60
ATTACK = "<img src=x onerror=alert(1)>[x](javascript:alert(2)) :red[**b**] $x$ {0} {name}"
QUESTIONS, MODELS = 60, 6


@pytest.fixture(autouse=True)
def waited_for(monkeypatch):
    """Work is really done in its thread; who starts it waits until it has ended."""
    start = Background.start

    def start_and_wait(self, key, *more):
        start(self, key, *more)
        for thread in threading.enumerate():
            if thread.name == f"work {key}":
                thread.join(WAIT_S)

    monkeypatch.setattr(Background, "start", start_and_wait)


@pytest.fixture
def scores():
    """A file of scores with names that a page must show as they are."""
    drawn = np.random.default_rng(3).random((QUESTIONS, MODELS))
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(["benchmark", "question_id", "model", "family", "score"])
    for question in range(QUESTIONS):
        for model in range(MODELS):
            name = f"{ATTACK} {question}" if question < 2 else f"q{question}"
            score = int(drawn[question, model] < 0.2 + 0.1 * model)
            writer.writerow(
                [("a", ATTACK)[question % 2], name, f"{ATTACK} {model}", f"{ATTACK} of {model // 2}", score]
            )
    return GivenFile("scores.csv", stream.getvalue().encode())


@pytest.fixture
def pool(studio, principal_of, scores):
    desk.bring_in(studio.workspace, principal_of(Role.MAINTAINER), NewScores("small", [scores]))
    return "small"


def shown(app):
    return "\n".join(element.proto.body for element in app.get("html"))


def labels(app):
    kinds = ("button", "selectbox", "text_input", "number_input", "file_uploader", "tab")
    return {widget.label for kind in kinds for widget in app.get(kind)}


def on_tab(app, number):
    app.session_state["pool-tab" if "pool-tab" in app.session_state else "subset-tab"] = app.tabs[number].label
    return app.run()


def pressed(app, label):
    button = next(one for one in app.button if one.label == label)
    app = button.click().run()
    assert not app.exception, app.exception
    return app


def test_a_pool_comes_in_by_a_file_and_is_looked_at_by_itself(visit, token, scores):
    app = visit("pools", token())
    assert "interplay pool import" in shown(app)
    app.file_uploader(key="pool-files-None").upload(scores.name, scores.data, "text/csv")
    app.text_input(key="pool-name").input("small")
    text = shown(pressed(app, "Bring them in"))
    assert "small: 360 scores came in" in text and "60 questions × 6 models" in text
    app.file_uploader(key="pool-files-None").upload("bad.csv", b"question_id,model,score\nq,m,80\n", "text/csv")
    assert "If a full score is 100" in shown(pressed(app, "Bring them in"))
    assert "Choose at least one file" in shown(pressed(visit("pools", token()), "Bring them in"))


def test_a_pool_shows_every_name_as_text_in_both_languages(visit, token, pool, database, people):
    entry = token()
    for language, word in (("en", "Nobody solves"), ("zh", "无人答对")):
        with database.session() as session:
            accounts.set_language(session, people[Role.MAINTAINER].id, language)
        app = visit("pool", entry, name=pool)
        text = shown(app)
        assert word in text and "data:image/png;base64" in text
        models = shown(on_tab(app, 1))
        assert "&lt;img" in models and "<img src=x" not in text + models


def test_the_curve_leads_to_a_size_and_the_size_to_the_form(visit, token, pool):
    app = on_tab(visit("pool", token(), name=pool), 2)
    assert "not worked out yet" in shown(app)
    app.number_input(key="curve-splits").set_value(1)
    app.number_input(key="curve-repeats").set_value(0)
    app.multiselect(key="curve-samplers").set_value(["cghs"])
    app = pressed(app, "Work out the curve")
    assert "data:image/svg+xml" in shown(app) and "is known to within" in shown(app)
    app = app.segmented_control(key="size-way").set_value("budget").run()
    app.number_input(key="size-budget").set_value(0.0)
    assert "too few for a sample" in shown(app.run())
    app = app.segmented_control(key="size-way").set_value("size").run()
    next(iter(app.slider)).set_value(40)
    app = pressed(app.run(), "Choose 40 questions")
    assert app.number_input(key="subset-size-small").value == 40
    assert app.selectbox(key="subset-sampler-small").value == "cghs"


def test_strata_are_looked_at_and_a_subset_is_sealed_once(visit, token, pool):
    app = on_tab(visit("pool", token(), name=pool), 3)
    assert "No subset of this pool yet" in shown(app)
    app.selectbox(key="subset-sampler-small").set_value("cghs")
    app.number_input(key="subset-size-small").set_value(30)
    app.text_input(key="subset-name").input("half")
    app.text_area(key="subset-floors").input("benchmark 4")
    assert "“benchmark 4” is none" in shown(pressed(app, "Choose and seal the subset"))
    app.text_area(key="subset-floors").input("benchmark=4")
    assert "strata by cghs for 30 of 60 questions" in shown(pressed(app, "Look at the strata first"))
    assert "30 of 60 questions" in shown(pressed(app, "Choose and seal the subset"))
    assert "a subset never changes" in shown(pressed(app, "Choose and seal the subset"))
    app = visit("subset", token(), name="half")
    text = shown(app)
    assert "By stratum" in text and "adaptive" not in text and "benchmark 4" in text
    app = on_tab(app, 1)
    assert "30 questions" in shown(app) and "<img src=x" not in shown(app) + text
    app = visit("subset", token(), name="half", which="left", **{"question-search": "q"})
    assert "Left out" in shown(on_tab(app, 1))


def test_a_subset_is_measured_and_made_larger(visit, token, pool, studio, principal_of, database, people):
    desk.choose_subset(studio.workspace, principal_of(Role.MAINTAINER), pool, WantedSubset("half", 30, "cghs"))
    app = on_tab(visit("subset", token(), name="half"), 3)
    assert "Not measured yet" in shown(app) and "interplay compress validate small --size 30" in shown(app)
    app.number_input(key="validity-splits").set_value(1)
    app.number_input(key="validity-repeats").set_value(2)
    app.multiselect(key="validity-samplers").set_value(["cghs"])
    text = shown(pressed(app, "Measure it"))
    assert "Rank correlation" in text and "Subsets of 30 of 60 questions" in text and "Not measured" not in text
    app = on_tab(visit("subset", token(), name="half"), 4)
    assert "No larger subset yet" in shown(app) and "interplay compress extend half --size 60" in shown(app)
    assert "Choose a name of at most 64" in shown(pressed(app, "Extend and seal the subset"))
    app.text_input(key="larger-name").input("most")
    app.number_input(key="larger-size").set_value(45)
    assert "45 of 60 questions" in shown(pressed(app, "Extend and seal the subset"))
    assert "a subset never changes" in shown(pressed(app, "Extend and seal the subset"))
    with database.session() as session:
        accounts.set_language(session, people[Role.MAINTAINER].id, "zh")
    for tab, word in ((3, "等级相关"), (4, "包含此子集的更大子集")):
        assert word in shown(on_tab(visit("subset", token(), name="half"), tab))
    app = visit("subset", token(), name="most")
    assert "half" in shown(app)


def test_who_may_not_compress_reads_and_changes_nothing(visit, token, pool, studio, principal_of):
    desk.choose_subset(studio.workspace, principal_of(Role.MAINTAINER), pool, WantedSubset("half", 30, "random"))
    reader = token(Role.ANNOTATOR)
    seen = labels(visit("pools", reader)) | labels(visit("pool", reader, name=pool))
    for tab in (2, 3):
        app = on_tab(visit("pool", reader, name=pool), tab)
        seen |= labels(app)
        assert "interplay compress" in shown(app) or "half" in shown(app)
    assert not seen & {"Bring them in", "Files of scores", "Work out the curve", "Choose and seal the subset"}
    assert "30 of 60 questions" in shown(visit("subset", reader, name="half"))
    for tab, button in ((3, "Measure it"), (4, "Extend and seal the subset")):
        app = on_tab(visit("subset", reader, name="half"), tab)
        assert button not in labels(app) and "interplay compress" in shown(app)


def test_what_is_not_there_is_told(visit, token):
    for page, name in (("pool", ATTACK), ("subset", "../..")):
        text = shown(visit(page, token(), name=name))
        assert f"There is no {page} of this name" in text and "<img src=x" not in text
