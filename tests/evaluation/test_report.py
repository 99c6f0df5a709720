"""What a report reads and counts: cells by model, condition and kind, and the responses behind them."""

import json
import re

import pytest

from core.question import Step
from evaluation.graders import grader_for
from evaluation.metrics import wilson
from evaluation.report.build import build_report
from evaluation.report.comparisons import conditions_in_order
from evaluation.report.document import ANSWER_KEPT_CHARACTERS, Cell, Number, Report
from evaluation.report.frame import view_of
from evaluation.report.items import ItemFacts, blind_ceiling, clusters_of, item_facts, sound_of
from evaluation.report.page import page


@pytest.fixture
def build(facts, respond):
    """A report of responses given as (revision, model, condition, points, more), each graded as said."""

    def make(asked, rows, clusters=None, twins=None, **options):
        responses, grades = [], []
        for key, (revision, model, condition, points, more) in enumerate(rows):
            kind = asked[revision].kind.value
            row = {"key": f"{key:03}", "request_key": f"{key:03}", "item_name": f"item {revision}", "purpose": "test"}
            steps = more.pop("step_points", [])
            responses.append(
                row
                | {"revision_id": revision, "model": model, "condition": condition, "answer": "x", "kind": kind}
                | more
            )
            if points != "none":
                grader = grader_for(asked[revision]).fingerprint
                grade = {"response_key": f"{key:03}", "grader": grader, "points": points, "step_points": steps}
                grades.append(grade | {"reason": "because"})
        respond(*responses)
        respond(*grades, kind="grade")
        return build_report(facts, "zoo 1.0.0", items(asked, clusters, twins), **options)

    return make


def items(asked, clusters=None, twins=None):
    return {
        revision: ItemFacts(
            name=f"item {revision}",
            question=question,
            cluster=(clusters or {}).get(revision, revision),
            twin_group=(twins or {}).get(revision),
        )
        for revision, question in asked.items()
    }


def rows(*points, revision="c", model="m", condition="full", **more):
    return [(f"{revision}{place}", model, condition, point, dict(more)) for place, point in enumerate(points)]


class TestCells:
    def test_points_of_each_model_condition_and_kind(self, questions, build):
        asked = {f"c{n}": questions.choice() for n in range(4)} | {"s0": questions.steps(), "s1": questions.steps()}
        found = build(
            asked,
            [
                *rows(1.0, 1.0, 1.0, 0.0, model="b"),
                *rows(0.0, 1.0, 0.0, 0.0, model="b", condition="text_only"),
                *rows(1.0, 0.0, model="a"),
                *rows(0.4, 1.0, revision="s", model="a"),
            ],
        )
        said = {(one.kind, one.model, one.condition): (one.points, one.graded, one.chance) for one in found.cells}
        assert said == {
            ("choice", "a", "full"): (50.0, 2, 25.0),
            ("choice", "b", "full"): (75.0, 4, 25.0),
            ("choice", "b", "text_only"): (25.0, 4, 25.0),
            ("multi_step", "a", "full"): (70.0, 2, None),
        }
        assert [one.kind for one in found.cells] == ["choice", "choice", "choice", "multi_step"]

    def test_what_is_not_graded_counts_neither_as_right_nor_as_wrong(self, questions, build):
        asked = {f"c{n}": questions.choice() for n in range(6)}
        found = build(
            asked,
            [
                *rows(1.0, 1.0, 0.0, None),
                ("c4", "m", "full", "none", {"state": "api_error", "answer": None, "error": "down"}),
                ("c5", "m", "full", 0.0, {"state": "refusal"}),
            ],
        )
        (one,) = found.cells
        assert (one.answered, one.graded, one.invalid) == (6, 4, 1)
        assert one.points == pytest.approx(50.0)
        assert (one.worst, one.best) == pytest.approx((100 * 2 / 6, 100 * 4 / 6))
        assert (one.low, one.high) == pytest.approx(tuple(100 * end for end in wilson(2, 4)))

    def test_items_of_one_cluster_are_no_independent_evidence(self, questions, build, facts):
        asked = {f"c{n}": questions.choice() for n in range(40)}
        points = [1.0, 1.0, 0.0, 0.0] * 10
        (alone,) = build(asked, rows(*points), with_tables=False).cells
        clusters = {f"c{n}": f"pair {n // 2}" for n in range(40)}
        (paired,) = build_report(facts, "t", items(asked, clusters), with_tables=False).cells
        assert (alone.clusters, paired.clusters, paired.items) == (40, 20, 40)
        assert paired.high - paired.low > 1.3 * (alone.high - alone.low)

    def test_repetitions_are_one_item(self, questions, build):
        asked = {f"c{n}": questions.choice() for n in range(2)}
        (one,) = build(asked, [*rows(1.0, 0.0), *rows(1.0, 0.0, replicate=1)]).cells
        assert (one.answered, one.items, one.clusters, one.points) == (4, 2, 2, 50.0)

    def test_nothing_graded_has_no_points_and_the_widest_bounds(self, questions, build):
        (one,) = build({"c0": questions.choice()}, rows(None)).cells
        assert (one.points, one.low, one.high, one.worst, one.best) == (None, None, None, 0.0, 100.0)
        assert one.reason == "no answer is graded"

    def test_chance_is_known_where_one_option_is_right(self, questions, build):
        two = questions.choice(choices=questions.choice().choices[:2])
        several = questions.choice(correct=(0, 1))
        (one,) = build({"c0": questions.choice(), "c1": two, "c2": several}, rows(1.0, 1.0, 1.0)).cells
        assert one.chance == pytest.approx(100 * (1 / 4 + 1 / 2) / 2)

    def test_rotations_and_probes_are_no_part_of_it(self, questions, build):
        asked = {"c0": questions.choice()}
        found = build(asked, [*rows(1.0), *rows(0.0, rotation=1), *rows(0.0, condition="text_only_open", kind="open")])
        assert [(one.condition, one.answered) for one in found.cells] == [("full", 1)]

    def test_grades_of_an_older_grader_are_no_part_of_it(self, questions, facts, respond):
        row = {"key": "1", "request_key": "1", "item_name": "i", "revision_id": "c", "answer": "Answer: B"}
        respond(row)
        respond({"response_key": "1", "grader": "choice@0", "points": 1.0}, kind="grade")
        (one,) = build_report(facts, "t", items({"c": questions.choice()})).cells
        assert (one.answered, one.graded) == (1, 0)

    def test_of_two_askings_of_one_thing_the_later_counts(self, questions, build):
        asked = {"c0": questions.choice()}
        (one,) = build(asked, [*rows(0.0), *rows(1.0)]).cells
        assert (one.answered, one.points) == (1, 100.0)

    def test_numbers_of_different_settings_are_never_mixed(self, questions, build):
        asked = {f"c{n}": questions.choice() for n in range(2)}
        hot, cold = (json.dumps({"generate": {"temperature": degrees}}) for degrees in (1, 0))
        found = build(
            asked, [*rows(1.0, 1.0, parameters=hot), *rows(0.0, 0.0, parameters=cold), *rows(1.0, model="other")]
        )
        by_model = {one.model: one.points for one in found.cells}
        labels = [model for model in by_model if model != "other"]
        assert all(re.fullmatch(r"m #[0-9a-f]{6}", label) for label in labels)
        assert sorted(by_model.values()) == [0.0, 100.0, 100.0]
        for label in labels:
            degrees = found.settings[label]["generate"]["temperature"]
            assert by_model[label] == 100.0 * degrees
        assert {row.model for row in found.answers} == set(by_model)

    def test_only_the_wanted_models_and_questions(self, questions, build):
        asked = {"c0": questions.choice()}
        found = build(asked, [*rows(1.0, model="a"), *rows(0.0, model="b")], models=["b"])
        assert [(one.model, one.points) for one in found.cells] == [("b", 0.0)]
        assert [row.model for row in found.answers] == ["b"]

    def test_nothing_asked_is_an_empty_report(self, questions, facts):
        found = build_report(facts, "t", items({"c": questions.choice()}))
        assert (found.cells, found.answers, found.tables) == ((), (), ())
        assert "<h1>t</h1>" in page(found)

    def test_every_number_names_its_responses(self, questions, build):
        asked = {f"c{n}": questions.choice() for n in range(3)}
        found = build(asked, rows(1.0, 0.0, None))
        assert [(row.key, row.points, row.reason) for row in found.answers] == [
            ("000", 1.0, "because"),
            ("001", 0.0, "because"),
            ("002", None, "because"),
        ]
        assert found.cells[0].selection == {"model": ("m",), "kind": ("choice",), "condition": ("full",)}

    def test_of_a_very_long_answer_it_holds_the_beginning(self, questions, build):
        (row,) = build({"c0": questions.choice()}, rows(1.0, answer="ab" * 5_000)).answers
        assert row.answer == "ab" * (ANSWER_KEPT_CHARACTERS // 2)

    def test_the_numbers_alone_load_no_responses(self, questions, build):
        found = build({"c0": questions.choice()}, rows(1.0), with_answers=False, with_tables=False)
        assert (len(found.cells), found.answers, found.items, found.tables) == (1, (), (), ())

    def test_persons_are_known_by_name_or_by_their_import(self, questions, build):
        told = json.dumps({"imported": True, "is_human": True})
        found = build({"c0": questions.choice()}, [
            *rows(1.0, model="human"), *rows(1.0, model="crowd", parameters=told), *rows(1.0, model="m"),
        ])  # fmt: skip
        assert found.people == ("crowd", "human")

    def test_full_comes_first_and_then_what_leaves_out_least(self):
        names = ["options_only", "zzz", "text_only", "without_image", "full", "caption_for_visual", "without_audio"]
        fields = {"model": "m", "kind": "choice", "chance": None, "points": None, "selection": {}}
        assert conditions_in_order(Cell(condition=name, **fields) for name in names) == [
            "full", "without_audio", "without_image", "caption_for_visual", "text_only", "options_only", "zzz",
        ]  # fmt: skip


class TestLeaderboard:
    def test_it_says_when_models_are_graded_on_different_questions(self, questions, build):
        asked = {f"c{n}": questions.choice() for n in range(4)}
        found = build(asked, [*rows(1.0, 1.0, 0.0, 0.0, model="a"), *rows(1.0, 1.0, None, model="b")])
        board = found.table("leaderboard")
        assert [(row.label, row.cells[0].text, row.cells[1].graded) for row in board.rows] == [
            ("b", "1", 2),
            ("a", "2", 4),
        ]
        assert "Of 4 questions 2 are graded for every model" in board.note

    def test_and_not_when_they_are_graded_on_the_same(self, questions, build):
        asked = {f"c{n}": questions.choice() for n in range(4)}
        found = build(asked, [*rows(1.0, 1.0, None, model="a"), *rows(1.0, 0.0, None, None, model="b")])
        assert "graded for every model" not in found.table("leaderboard").note

    def test_models_with_the_same_points_share_a_rank(self, questions, build):
        asked = {f"s{n}": questions.steps() for n in range(3)}
        found = build(
            asked, [*rows(0.1, 0.2, 0.3, revision="s", model="a"), *rows(0.3, 0.2, 0.1, revision="s", model="b")]
        )
        assert [row.cells[0].text for row in found.table("leaderboard").rows] == ["1", "1"]

    def test_one_item_and_one_model(self, questions, build):
        found = build({"c0": questions.choice()}, rows(1.0))
        assert [cell.text for cell in found.table("leaderboard").rows[0].cells[::2]] == ["1", "1"]
        assert found.table("neighbours") is None

    def test_one_item_does_not_settle_who_is_better(self, questions, build):
        found = build({"c0": questions.choice()}, [*rows(1.0, model="a"), *rows(0.0, model="b")])
        assert [row.cells[2].text for row in found.table("leaderboard").rows] == ["1 to 2", "1 to 2"]
        (gap,) = found.table("neighbours").rows
        assert [cell.text for cell in gap.cells[1:]] == ["1.000", "1.000", "-", "no"]


class TestItems:
    @pytest.mark.parametrize(
        ("types", "kind"),
        [
            (["speech"], "speech"),
            (["environment", "music"], "environment"),
            (["environment", "speech", None], "speech"),
            (["environment", None], None),
            ([None], None),
            ([], None),
        ],
    )
    def test_the_sound_of_an_item(self, types, kind):
        assert sound_of(types) == kind

    def test_clusters_hang_together_through_media_and_twins(self, questions):
        def seen(*names):
            media = {f"image_{n}": questions.media_ref("image", name) for n, name in enumerate(names, start=1)}
            return questions.choice(" ".join(f"<{name}>" for name in media), media=media)

        asked = {"a": seen("x"), "b": seen("y", "x"), "c": seen("y"), "d": seen("z"), "e": questions.choice()}
        twins = dict.fromkeys(asked) | {"d": "t", "e": "t"}
        assert clusters_of(asked, twins) == {"a": "a", "b": "a", "c": "a", "d": "d", "e": "d"}
        assert clusters_of({}, {}) == {}
        assert clusters_of({"e": questions.choice()}, {"e": None}) == {"e": "e"}

    def test_from_the_database(self, zoo, sound_items):
        from sqlmodel import select

        from warehouse.tables import Item, ItemRevision, Material

        with zoo.database.session() as session:
            for material in session.exec(select(Material).where(Material.modality == "audio")):
                material.audio_type = "environment"
            revisions = session.exec(select(ItemRevision)).all()
            stored = session.exec(select(Item).order_by(Item.name)).all()
            names = {item.id: item.name for item in stored}
            for item, group in zip(stored, ("pair", "pair", "half of one", None), strict=True):
                item.twin_group = group
            found = item_facts(session, [one.id for one in revisions])
            assert [found[one.id].name for one in revisions] == [names[one.item_id] for one in revisions]
            assert [found[one.id].question for one in revisions] == [one.as_question() for one in revisions]
        assert {(one.scope, one.sound) for one in found.values()} == {("omni", "environment")}
        # A group of which the report has one member alone is none there.
        by_name = sorted(found.values(), key=lambda one: one.name)
        assert [one.twin_group for one in by_name] == ["pair", "pair", None, None]
        assert by_name[0].cluster == by_name[1].cluster

    def test_attributes(self, questions):
        media = {"audio_1": questions.media_ref("audio"), "video_1": questions.media_ref("video")}
        question = questions.choice("<audio_1> <video_1>", media=media, task_type="event_ordering")
        row = ItemFacts(name="i", question=question, cluster="c", twin_group="t").row("r")
        assert (row.scope, row.modalities, row.branch, row.ability) == ("omni", "audio+video", "reasoning", "temporal")
        assert (row.sound, row.twin, row.steps) == ("not stated", "yes", "0")
        foreign = questions.choice(task_type="of another benchmark")
        row = ItemFacts(name="i", question=foreign, cluster="c").row("r")
        assert (row.scope, row.branch, row.ability, row.sound, row.twin) == ("text", "not stated", "none", "none", "no")

    def test_a_blind_policy_gets_no_two_twins_right_that_read_the_same(self, questions):
        def twin(seed, correct, text="Look: <image_1>", **changes):
            return questions.choice(text, (correct,), {"image_1": questions.media_ref("image", seed)}, **changes)

        assert blind_ceiling([twin("a", 0), twin("b", 1)]) == 0.0
        assert blind_ceiling([twin("a", 0), twin("b", 0)]) == 1.0
        assert blind_ceiling([twin("a", 0), twin("b", 1, "See: <image_1>")]) == 1.0
        # Choices in another order: a policy that knows words, not places, still has one answer for both.
        turned = tuple(reversed(questions.choice().choices))
        assert blind_ceiling([twin("a", 0), twin("b", 3, choices=turned)]) == 1.0
        assert blind_ceiling([twin("a", 0), twin("b", 0, choices=turned)]) == 0.0
        assert blind_ceiling([questions.open(), questions.open(accepted=("5", "4"))]) == 1.0
        assert blind_ceiling([questions.open(), questions.open(accepted=("5",))]) == 0.0
        other = questions.steps()
        other = other.model_copy(
            update={"steps": (other.steps[0], Step(ask="Where?", points=6, answer={"accepted": ("right",)}))}
        )
        assert blind_ceiling([questions.steps(), questions.steps()]) == 1.0
        assert blind_ceiling([questions.steps(), other]) == 0.0


class TestViews:
    @pytest.mark.parametrize(
        ("condition", "modalities", "view"),
        [
            ("full", "none", "full"),
            ("without_image", "audio+image", "audio_only"),
            ("without_image", "audio+image+video", "none"),
            ("without_visual", "audio+image+video", "audio_only"),
            ("without_video", "audio+video", "audio_only"),
            ("without_audio", "audio+video", "visual_only"),
            ("without_image", "image", "none"),
            ("without_audio", "audio", "none"),
            ("caption_for_video", "audio+video", "audio_and_caption"),
            ("transcript_for_audio", "audio+image", "visual_and_words"),
            ("donor_for_audio", "audio+image", "none"),
        ],
    )
    def test_what_a_condition_shows(self, condition, modalities, view):
        assert view_of(condition, modalities)[0] == view

    def test_one_response_stands_for_what_two_conditions_show(self, questions, build):
        media = {"audio_1": questions.media_ref("audio"), "image_1": questions.media_ref("image")}
        asked = {f"c{n}": questions.choice("<audio_1> <image_1>", media=media) for n in range(2)}
        found = build(asked, [
            *rows(1.0, 1.0), *rows(1.0, 0.0, condition="without_image"), *rows(0.0, condition="without_visual"),
        ])  # fmt: skip
        views = [(row.condition, row.revision_id, row.view) for row in found.answers if row.condition != "full"]
        assert views == [
            ("without_image", "c0", "none"), ("without_image", "c1", "audio_only"), ("without_visual", "c0", "audio_only"),
        ]  # fmt: skip
        overall = found.table("table4").rows[0].cells[6]
        assert (overall.points, overall.answered) == (0.0, 2)


class TestSteps:
    def test_points_of_steps_by_hand(self, questions, build):
        media = {"audio_1": questions.media_ref("audio"), "image_1": questions.media_ref("image")}
        prompt = questions.choice("<audio_1> <image_1>", media=media).prompt
        key = {"accepted": ("1",)}
        three = tuple(Step(ask=str(worth), points=worth, answer=key) for worth in (2, 3, 5))
        asked = {"a": questions.steps(prompt=prompt), "b": questions.steps(prompt=prompt, steps=three)}
        found = build(asked, [
            ("a", "m", "full", 0.4, {"step_points": [1.0, 0.0]}),
            ("b", "m", "full", 0.8, {"step_points": [0.0, 1.0, 1.0]}),
            ("b", "n", "full", None, {"step_points": [1.0, None, 1.0]}),
        ])  # fmt: skip
        table = found.table("table6")
        assert [column.title for column in table.columns[-4:]] == ["Q1", "Q2", "Q3+", "Total"]
        good, open_ = (row.cells[-4:] for row in table.rows)
        # Q1: 4 and 0 of ten; Q2: 0 and 3; Q3: 5 of the one that has it; in all 4 and 8.
        assert [cell.points for cell in good] == pytest.approx([20.0, 15.0, 50.0, 60.0])
        assert [cell.graded for cell in good] == [2, 2, 1, 2]
        assert [cell.points for cell in open_] == [None] * 4
        assert [(cell.worst, cell.best) for cell in open_] == [(0, 20), (0, 30), (0, 50), (0, 100)]


class TestTwins:
    def test_groups_are_right_when_all_members_are(self, questions, build):
        asked = {f"c{n}": questions.choice(correct=(n % 2,)) for n in range(6)}
        twins = {f"c{n}": f"pair {n // 2}" for n in range(6)}
        found = build(asked, [*rows(1.0, 1.0, 1.0, 0.0, 1.0, None), *rows(1.0, 1.0, model="n")], twins=twins)
        table = found.table("twins")
        by_label = {row.label: row.cells[0] for row in table.rows}
        assert (by_label["m"].points, by_label["m"].answered, by_label["m"].graded) == (50.0, 3, 2)
        assert (by_label["m"].worst, by_label["m"].best) == pytest.approx((100 / 3, 200 / 3))
        assert (by_label["n"].points, by_label["n"].answered) == (100.0, 1)
        assert (by_label["at most, without any media"].value, by_label["guessing"].value) == (0.0, 6.25)

    def test_a_member_that_was_never_asked_leaves_its_group_open(self, questions, build):
        asked = {f"c{n}": questions.choice(correct=(n % 2,)) for n in range(2)}
        found = build(asked, rows(1.0), twins=dict.fromkeys(asked, "pair"))
        (cell,) = found.table("twins").rows[0].cells
        assert (cell.points, cell.answered, cell.graded, cell.reason) == (None, 1, 0, "no group is graded")


class TestCosts:
    def test_each_call_counts_once(self, questions, build):
        asked = {f"c{n}": questions.choice() for n in range(3)}
        priced = {"input_tokens": 100, "output_tokens": 10, "cost_usd": 0.5}
        found = build(asked, [
            ("c0", "m", "full", 1.0, {"request_key": "same", **priced}),
            ("c0", "m", "without_audio", 1.0, {"request_key": "same", **priced}),
            ("c1", "m", "full", 1.0, {**priced}),
            ("c2", "m", "full", "none", {"state": "api_error", "answer": None}),
            ("c0", "n", "full", 1.0, {"request_key": "same", **priced}),
            ("c0", "human", "full", 1.0, {"purpose": "imported"}),
        ])  # fmt: skip
        table = found.table("costs")
        titles = [column.title for column in table.columns]
        told = {row.label: dict(zip(titles, (cell.value for cell in row.cells), strict=True)) for row in table.rows}
        assert set(told) == {"m", "n", "all"}
        assert told["m"] == {
            "Calls": 3, "Input tokens": 200, "Output tokens": 20, "Tokens unknown": 1, "Cost, USD": 1.0,
            "Cost unknown": 1, "api error": 1,
        }  # fmt: skip
        assert (told["n"]["Calls"], told["n"]["Cost, USD"]) == (1, 0.5)
        assert (told["all"]["Calls"], told["all"]["Cost, USD"]) == (3, 1.0)

    def test_unknown_prices_are_unknown_and_not_nought(self, questions, build):
        table = build({"c0": questions.choice()}, rows(1.0)).table("costs")
        cells = dict(zip((column.title for column in table.columns), table.rows[0].cells, strict=True))
        assert (cells["Cost, USD"].value, cells["Cost, USD"].text) == (None, "unknown")


def test_a_report_comes_back_from_its_json(questions, build):
    found = build({"c0": questions.choice()}, [*rows(1.0), *rows(0.0, condition="text_only")])
    back = Report.model_validate_json(found.model_dump_json())
    assert back.model_dump(mode="json") == found.model_dump(mode="json")
    assert isinstance(back.table("leaderboard").rows[0].cells[1], Number)
