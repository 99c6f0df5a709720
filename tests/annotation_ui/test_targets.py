"""Targets: who sets them, how they are read, what of them is missing; and the page on which they are typed."""

import pytest
from sqlmodel import select

from annotation_ui import targets
from annotation_ui.forms import FormMisused, new_form_key
from annotation_ui.permissions import NotAllowed
from annotation_ui.targets import Shape, Target, read_table, store_targets
from annotation_ui.views import targets as view
from annotation_ui.views.coverage import questions, target_cells, target_rows
from annotation_ui.words import words_in
from warehouse.lifecycle import Action
from warehouse.people import Role
from warehouse.spreadsheets import as_csv
from warehouse.tables import CoverageTarget, Event

EN = words_in("en")
COUNTING = Shape("counting", "audio+image", "zh")


@pytest.fixture
def ada(principal_of):
    return principal_of(Role.MAINTAINER)


@pytest.fixture
def put(database, ada, clock):
    """Stores targets as a maintainer."""

    def store(*wanted, who=ada, key=None):
        with database.session() as session:
            return store_targets(session, who, key or new_form_key(), wanted, clock)

    return store


@pytest.fixture
def rows(database):
    def read():
        with database.reading() as session:
            return target_rows(session, questions(session), EN)

    return read


def held(database):
    with database.reading() as session:
        return {targets.shape_of(row): row.target for row in session.exec(select(CoverageTarget))}


class TestSetting:
    def test_set_changed_left_and_taken_away_each_told_by_an_event(self, put, database):
        assert vars(put(Target(COUNTING, 10), Target(Shape(), 500))) == {"changed": 2, "removed": 0, "same": 0}
        assert vars(put(Target(COUNTING, 12, seen=1), Target(Shape(), 500, seen=1))) == {
            "changed": 1, "removed": 0, "same": 1
        }  # fmt: skip
        assert vars(put(Target(Shape(), 0, seen=1))) == {"changed": 0, "removed": 1, "same": 0}
        assert held(database) == {COUNTING: 12}
        with database.reading() as session:
            told = [event.detail for event in session.exec(select(Event).where(Event.subject_kind == "target"))]
        assert [(one["task_type"], one["before"], one["after"]) for one in told] == [
            ("counting", 0, 10), ("", 0, 500), ("counting", 10, 12), ("", 500, 0)
        ]  # fmt: skip

    def test_what_somebody_else_changed_meanwhile_is_not_written_over(self, put, database):
        put(Target(COUNTING, 10))
        put(Target(COUNTING, 20, seen=1))
        for stale in (Target(COUNTING, 30, seen=1), Target(COUNTING, 30, seen=0), Target(COUNTING, 0, seen=1)):
            with pytest.raises(targets.TargetChanged):
                put(Target(Shape("", "", "en"), 5), stale)
        # All or none, and what says the same is no conflict.
        assert held(database) == {COUNTING: 20}
        assert put(Target(COUNTING, 20, seen=1)).same == 1

    def test_a_form_that_comes_twice_is_handled_once(self, put, database, principal_of):
        key = new_form_key()
        put(Target(COUNTING, 10), key=key)
        put(Target(COUNTING, 0))
        assert put(Target(COUNTING, 10), key=key).changed == 0
        assert held(database) == {}
        with pytest.raises(FormMisused):
            put(Target(COUNTING, 10), key="mine")

    @pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.REVIEWER, Role.PARTICIPANT])
    def test_only_maintainers_set_them(self, put, principal_of, role, database):
        with pytest.raises(NotAllowed):
            put(Target(COUNTING, 10), who=principal_of(role))
        assert held(database) == {}

    @pytest.mark.parametrize(
        ("wanted", "error"),
        [
            ([Target(COUNTING, 1), Target(COUNTING, 2)], targets.TargetTwice),
            ([Target(COUNTING, -1)], targets.BadTarget),
            ([Target(COUNTING, targets.MOST + 1)], targets.BadTarget),
            ([Target(Shape("no such type"), 1)], targets.NoSuchKind),
            ([Target(Shape("", "image+audio"), 1)], targets.NoSuchKind),
            ([Target(Shape("", "smell"), 1)], targets.NoSuchKind),
            ([Target(Shape("", "", "<script>"), 1)], targets.NoSuchKind),
            ([Target(Shape(), 1)] * (targets.MOST_ROWS + 1), targets.TooManyTargets),
        ],
    )
    def test_what_is_no_target_is_refused(self, put, wanted, error, database):
        with pytest.raises(error):
            put(*wanted)
        assert held(database) == {}


class TestTables:
    def test_what_is_saved_is_read_again(self, put, rows):
        put(Target(COUNTING, 10), Target(Shape(), 500), Target(Shape("", "text", "en"), 3))
        saved = as_csv(targets.COLUMNS, target_cells(rows()))
        assert {(one.shape, one.count) for one in read_table(saved)} == {
            (COUNTING, 10), (Shape(), 500), (Shape("", "text", "en"), 3)
        }  # fmt: skip

    def test_names_in_any_language_and_semicolons_and_empty_lines(self):
        table = (
            "task_type;media;language;target\n计数;音频、图片;中文;4\n;;;\nSpot the Difference;Image + Video;any;5\n"
        )
        assert read_table(table.encode("utf-8-sig")) == [
            Target(COUNTING, 4),
            Target(Shape("spot_the_difference", "image+video", ""), 5),
        ]
        assert read_table(b"task_type,target\ncounting,7\n") == [Target(Shape("counting"), 7)]

    @pytest.mark.parametrize(
        ("row", "error", "told"),
        [
            ("juggling,,,1", targets.NoTaskType, "Line 3: the taxonomy knows no task type “juggling”"),
            ("counting,smell,,1", targets.NoMedia, "Line 3: “smell”"),
            ("counting,,Klingon!,1", targets.NoLanguage, "“Klingon!”"),
            ("counting,,,many", targets.BadCount, "“many” is no target"),
            ("counting,,,-1", targets.BadCount, "“-1”"),
            ("counting,,,١", targets.BadCount, "no target"),
            ("counting,,,1e3", targets.BadCount, "1e3"),
            ("counting,,,9999999999", targets.BadCount, "100000"),
        ],
    )
    def test_a_row_that_is_wrong_is_told_with_its_line(self, row, error, told):
        with pytest.raises(error, match=told):
            read_table(f"task_type,media,language,target\ncounting,,,1\n{row}\n".encode())

    @pytest.mark.parametrize(
        "data", [b"", b"\xff\x00\xd8", b"name,count\na,1\n", b"task_type,target,extra\na,1,2\n", b'"']
    )
    def test_what_is_no_table_is_told(self, data):
        with pytest.raises(targets.NoTable):
            read_table(data)


class TestMissing:
    def test_accepted_count_and_what_is_underway_does_not_yet(self, put, rows, seeder, seed):
        pair = {"image_1": seeder.picture(1), "audio_1": seeder.sound(1)}
        full = (Action.SUBMIT, seed.passed(1), seed.passed(2), seed.passed(3))
        text = "See <image_1>, hear <audio_1>."
        seeder.item("done", seeder.draft(text, pair, "m", language="zh-CN"), *full)
        seeder.item("under", seeder.draft(text, pair, "m", language="zh"), Action.SUBMIT)
        seeder.item("english", seeder.draft(text, pair, "m"), *full)
        seeder.item("picture", seeder.draft("See <image_1>.", {"image_1": pair["image_1"]}, "m", language="zh"), *full)
        put(
            Target(COUNTING, 5), Target(Shape("counting"), 2), Target(Shape("", "image"), 9),
            Target(Shape("", "", "zh"), 6), Target(Shape("", "text"), 1),
        )  # fmt: skip
        found = [(row.task_type, row.about, row.have, row.underway, row.missing) for row in rows()]
        assert found == [
            ("Any task type", "Image", 1, 0, 8),
            ("Any task type", "Chinese", 2, 1, 4),
            ("Counting", "Image + Audio · Chinese", 1, 1, 4),
            ("Any task type", "Text only", 0, 0, 1),
            ("Counting", "any media, any language", 3, 1, 0),
        ]
        assert [(row.share, row.coming) for row in rows()[-1:]] == [(1.0, 0.0)]


class TestGrid:
    def test_what_was_typed_is_what_is_stored(self, put, rows):
        put(Target(COUNTING, 10), Target(Shape(), 500))
        shown = rows()
        typed = view.grid(shown)
        assert view.changes(shown, typed) == []
        changed = next(row for row in typed if row["task_type"] == "counting")
        changed["target"] = 11
        typed = [changed, {"task_type": "any", "media": "video", "language": "en", "target": 3.0, "have": None}]
        assert view.changes(shown, typed) == [
            Target(Shape(), 0, 1), Target(COUNTING, 11, 1), Target(Shape("", "video", "en"), 3, 0)
        ]  # fmt: skip

    def test_a_half_row_and_one_that_stands_there_twice(self, put, rows, database):
        put(Target(COUNTING, 10))
        shown = rows()
        for missing in ("task_type", "media", "language", "target"):
            with pytest.raises(view.HalfRow, match="Row 2"):
                view.changes(shown, [*view.grid(shown), view.grid(shown)[0] | {missing: None}])
        untouched = {"task_type": "any", "media": "any", "language": "any", "target": None}
        assert view.changes(shown, [*view.grid(shown), untouched, dict.fromkeys(untouched)]) == []
        with pytest.raises(targets.TargetTwice):
            put(*view.changes(shown, view.grid(shown) * 2))

    def test_many_are_every_combination(self):
        found = view.many([["counting", "spot_the_difference"], [], ["en", "zh"]], 7)
        assert len(found) == 4 and Target(Shape("counting", "", "zh"), 7) in found
        with pytest.raises(targets.TooManyTargets):
            view.many([["a"] * 50, ["b"] * 50, []], 7)


def html(app):
    return "\n".join(element.proto.body for element in app.get("html"))


def press(app, label):
    return next(button for button in app.button if button.label == label).click()


def test_the_page_sets_many_at_once_and_takes_a_table_in(visit, token, database, put):
    entry = token()
    app = visit("targets", entry)
    assert "There are no targets yet" in html(app)
    app.multiselect[0].select("counting").select("spot_the_difference")
    app.multiselect[2].select("zh")
    app.number_input[0].set_value(4)
    press(app, "Set for every combination").run()
    assert not app.exception
    assert "2 set, 0 taken away" in html(app)
    assert held(database) == {Shape("counting", "", "zh"): 4, Shape("spot_the_difference", "", "zh"): 4}
    file = app.file_uploader[0]
    file.set_value([("t.csv", b"task_type,language,target\ncounting,zh,0\ncounting,en,<b>\n", "text/csv")])
    app.run()
    press(app, "Set these targets").run()
    assert "Line 3: “&lt;b&gt;” is no target" in html(app)
    assert len(held(database)) == 2
    app.file_uploader[0].set_value([("t.csv", b"task_type,language,target\ncounting,zh,0\n", "text/csv")])
    app.run()
    press(app, "Set these targets").run()
    assert "0 set, 1 taken away" in html(app)
    assert held(database) == {Shape("spot_the_difference", "", "zh"): 4}


def test_what_others_set_while_the_page_is_open_is_not_lost(visit, token, put, database):
    put(Target(COUNTING, 10))
    app = visit("targets", token())
    put(Target(COUNTING, 20))
    press(app, "Save the targets").run()
    # Nothing was typed, so nothing is stored, and the page shows what there is.
    assert "0 set, 0 taken away" in html(app)
    assert held(database) == {COUNTING: 20}


def test_only_maintainers_find_it(visit, token):
    assert "Your roles do not allow this" in html(visit("targets", token(Role.ANNOTATOR)))
