import numpy as np
import pytest

from compression.importers.base import BadPool
from compression.matrix import MissingRule, read_matrix
from compression.pool import open_pool

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def read(write_pool):
    def read_(rows, rule=MissingRule.DROP):
        with open_pool(write_pool(rows), None) as pool:
            return read_matrix(pool, rule)

    return read_


def rows_of(table, benchmark="b"):
    """Rows from a text of one line a question, one letter a model; a dot is a missing score."""
    lines = table.split()
    return [
        (benchmark, f"q{number:02}", "mnop"[place], int(letter) / 9)
        for number, line in enumerate(lines)
        for place, letter in enumerate(line)
        if letter != "."
    ]


# n lacks 1 of 20 (5%, tolerated), o lacks 2 of 20 (10%).
TWENTY = "9.9 99. 90. " + "909 " * 17


class TestMissing:
    def test_drop_leaves_out_models_that_lack_more_than_5_percent_then_questions(self, read):
        matrix = read(rows_of(TWENTY))
        assert (matrix.models, len(matrix)) == (("m", "n"), 19)
        assert matrix.question_ids[0] == "q01"
        told = matrix.missing
        assert (told.rule, told.cells, told.lacking) == (MissingRule.DROP, 3, (("o", 2), ("n", 1)))
        assert (told.dropped_models, told.dropped_questions, told.imputed_cells) == (("o",), 1, 0)

    def test_drop_questions_keeps_all_models(self, read):
        matrix = read(rows_of(TWENTY), MissingRule.DROP_QUESTIONS)
        assert (matrix.models, len(matrix)) == (("m", "n", "o"), 17)
        assert (matrix.missing.dropped_models, matrix.missing.dropped_questions) == ((), 3)

    def test_drop_models_keeps_all_questions(self, read):
        matrix = read(rows_of(TWENTY), MissingRule.DROP_MODELS)
        assert (matrix.models, len(matrix)) == (("m",), 20)
        assert (matrix.missing.dropped_models, matrix.missing.dropped_questions) == (("n", "o"), 0)

    @pytest.mark.parametrize("rule", MissingRule)
    def test_what_has_no_score_at_all_is_told_and_left_out_by_every_rule(self, read, rule):
        rows = [("b", f"q{place}", model, float(place % 2)) for place in range(4) for model in "mn"]
        silent = [
            *(("b", f"q{place}", "o", None) for place in range(4)),
            ("b", "q4", "m", None),
            ("b", "q4", "n", None),
        ]
        matrix = read(rows + silent, rule)
        assert (matrix.models, list(matrix.question_ids)) == (("m", "n"), ["q0", "q1", "q2", "q3"])
        told = matrix.missing
        assert (told.dropped_models, told.dropped_questions, told.imputed_cells) == (("o",), 1, 0)
        assert (told.cells, told.lacking) == (7, (("o", 5), ("m", 1), ("n", 1)))

    def test_impute_fills_with_the_model_s_mean_of_like_questions(self, read):
        # Mean scores of the questions: 1, 1, 1 (fifth 4), then 0, 0 and 0 of those given (fifth 0).
        matrix = read(rows_of("999 999 99. 000 090 .00"), MissingRule.IMPUTE)
        assert matrix.scores[2, 2] == 1.0  # o has 1 and 1 in the easiest fifth
        # q04 has a mean of 1/3: alone in its fifth, so m's only like question to q05 is q03.
        assert matrix.scores[5, 0] == 0.0
        assert (matrix.missing.imputed_cells, matrix.imputed.tolist()) == (2, [True, False, True])
        assert (matrix.missing.dropped_models, matrix.missing.dropped_questions) == ((), 0)

    def test_impute_falls_back_to_the_benchmark_then_to_the_question(self, read):
        # o has no other hard question of b: its mean in b is 0.5. It has nothing of c: the question's mean is 2/3.
        rows = [*rows_of("999 990 00.", "b"), *rows_of("93.", "c")]
        matrix = read(rows, MissingRule.IMPUTE)
        assert matrix.scores[2, 2] == pytest.approx(0.5)
        assert matrix.scores[3, 2] == pytest.approx((1 + 1 / 3) / 2)
        assert matrix.benchmarks == ("b", "c")

    def test_imputed_questions_share_a_pattern_when_all_their_scores_are_equal(self, read):
        # o's gap in q2 becomes 1, as in the first two.
        matrix = read(rows_of("999 999 99. 000"), MissingRule.IMPUTE)
        assert matrix.patterns[0] == matrix.patterns[1] == matrix.patterns[2] != matrix.patterns[3]

    @pytest.mark.parametrize("rule", [MissingRule.DROP_QUESTIONS, MissingRule.DROP_MODELS, MissingRule.DROP])
    def test_nothing_left_is_an_error_with_another_way_out(self, read, rule):
        with pytest.raises(BadPool, match=rf"2 scores are missing, and by the rule '{rule}' nothing is left.*impute"):
            read(rows_of("9. .9"), rule)

    @pytest.mark.parametrize("rule", MissingRule)
    def test_without_gaps_every_rule_leaves_all(self, read, rule):
        matrix = read(rows_of("909 999"), rule)
        assert (matrix.scores * 9).round().tolist() == [[9, 0, 9], [9, 9, 9]]
        assert (matrix.missing.rule, matrix.missing.cells, matrix.imputed.any()) == (rule, 0, False)

    def test_a_benchmark_without_questions_left_is_gone(self, read):
        rows = [*rows_of("99 " * 20, "c"), *rows_of("9.", "b")]
        matrix = read(rows)
        assert (matrix.benchmarks, set(matrix.benchmark_of), len(matrix)) == (("c",), {0}, 20)


class TestFingerprint:
    def rows(self):
        rng = np.random.default_rng(0)
        return [(f"b{q % 2}", f"q{q}", f"m{m}", round(float(rng.random()), 3)) for q in range(30) for m in range(5)]

    def test_it_does_not_depend_on_the_order_of_rows(self, read):
        rows = self.rows()
        shuffled = [rows[place] for place in np.random.default_rng(1).permutation(len(rows))]
        first, second = read(rows), read(shuffled)
        assert first.fingerprint == second.fingerprint
        assert (first.patterns == second.patterns).all()

    @pytest.mark.parametrize("column", range(4))
    def test_it_changes_with_one_name_or_one_score(self, read, column):
        rows = self.rows()
        others = [list(row) for row in rows]
        for row in others:
            if row[column] == rows[7][column] and (column < 3 or row[1:3] == list(rows[7][1:3])):
                # The order of names stays.
                row[column] = row[column] + "!" if column < 3 else row[column] / 2
        assert read(rows).fingerprint != read(others).fingerprint


class TestPatterns:
    def test_equal_rows_of_one_benchmark_share_one(self, read):
        rows = [*rows_of("99 09 99 09 90", "b"), *rows_of("99 99", "c")]
        patterns = read(rows).patterns.tolist()
        assert patterns == [0, 1, 0, 1, 4, 5, 5]

    def test_of_models_and_of_questions_keep_what_belongs_together(self, read):
        matrix = read([(*row, "fam-" + row[2]) for row in rows_of("139 357 111")])
        some = matrix.of_models(np.array([2, 0])).of_questions(np.array([True, False, True]))
        assert (some.models, some.families) == (("o", "m"), ("fam-o", "fam-m"))
        assert (some.scores * 9).round().tolist() == [[9, 1], [1, 1]]
        assert some.question_ids.tolist() == ["q00", "q02"]
        assert matrix.of_models(np.array([False, True, False])).models == ("n",)
