import json

import pytest

from evaluation.imports import BadAnswerFile, import_answers
from evaluation.run import release_revisions, report_release
from warehouse.analytics import analysis


@pytest.fixture
def answers(tmp_path):
    def write(*rows) -> object:
        file = tmp_path / "answers.jsonl"
        file.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), "utf-8")
        return file

    return write


def responses(zoo):
    with analysis(zoo.facts, ["response"]) as connection:
        return connection.sql("FROM response").fetchall()


def cells(zoo):
    report = report_release(zoo, "zoo", "1.0.0")
    return {(cell.model, cell.condition): (cell.points, cell.answered) for cell in report.cells}


@pytest.fixture
def right(zoo):
    """Item name to the right letter."""
    return {
        name: "ABCDEFGH"[revision.as_question().answer.correct[0]]
        for name, revision in release_revisions(zoo, "zoo", "1.0.0")
    }


def test_people_s_answers_stand_beside_those_of_models(zoo, answers, right):
    first, *others = right
    wrong = "B" if right[first] == "A" else "A"
    file = answers({"item": first, "answer": wrong}, *({"item": one, "answer": right[one]} for one in others))
    count, graded = import_answers(zoo, ("zoo", "1.0.0"), file, "human", human=True)
    assert (count, graded.graded) == (4, 4)
    assert cells(zoo) == {("human", "full"): (75.0, 4)}


def test_the_same_file_again_changes_nothing(zoo, answers, right):
    file = answers(*({"item": one, "answer": letter} for one, letter in right.items()))
    for _ in range(2):
        import_answers(zoo, ("zoo", "1.0.0"), file, "human")
    assert len(responses(zoo)) == 4 and cells(zoo) == {("human", "full"): (100.0, 4)}


def test_another_answer_takes_the_place_of_the_first(zoo, answers, right):
    one = next(iter(right))
    wrong = "B" if right[one] == "A" else "A"
    for letter in (right[one], wrong):
        import_answers(zoo, ("zoo", "1.0.0"), answers({"item": one, "answer": letter}), "human")
    assert cells(zoo) == {("human", "full"): (0.0, 1)}


def test_several_people_are_told_apart(zoo, answers, right):
    one = next(iter(right))
    wrong = "B" if right[one] == "A" else "A"
    given = answers({"item": one, "answer": right[one], "who": "p1"}, {"item": one, "answer": wrong, "who": "p2"})
    import_answers(zoo, ("zoo", "1.0.0"), given, "human")
    assert cells(zoo) == {("human", "full"): (50.0, 2)}


def test_no_answer_is_zero_points_with_its_reason(zoo, answers, right):
    import_answers(zoo, ("zoo", "1.0.0"), answers({"item": next(iter(right)), "state": "refusal"}), "human")
    assert cells(zoo) == {("human", "full"): (0.0, 1)}


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ('{"item": "x"', r"line 2: "),
        ({"item": "nobody", "answer": "A"}, r"line 2: unknown item of the release 'nobody'"),
        ({"item": "FIRST", "answer": "A", "condition": "ful"}, r"line 2: unknown condition 'ful'; did you mean 'full'"),
        (
            {"item": "FIRST", "answer": "A", "condition": "without_video"},
            r"line 2: .* has nothing that 'without_video'",
        ),
        ({"item": "FIRST"}, r"line 2: there is no answer; say why with state"),
        ({"item": "FIRST", "anser": "A"}, r"line 2: unknown field 'anser'; did you mean 'answer'"),
        ({"item": "SECOND", "answer": "C"}, r"line 2: .* was answered on line 1 already; tell people apart with 'who'"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_stored(zoo, answers, right, row, told):
    first, second, *_ = right
    names = {"FIRST": first, "SECOND": second}
    row = row if isinstance(row, str) else row | {"item": names.get(row["item"], row["item"])}
    with pytest.raises(BadAnswerFile, match=told):
        import_answers(zoo, ("zoo", "1.0.0"), answers({"item": second, "answer": "A"}, row), "human")
    assert responses(zoo) == []


def test_an_empty_file_says_how_to_write_one(zoo, answers):
    with pytest.raises(BadAnswerFile, match="holds no answer; write one a line"):
        import_answers(zoo, ("zoo", "1.0.0"), answers(), "human")
