"""The judge: what the rules leave open is put to a model, and its judgement becomes a grade beside theirs.

A judge grades whole answers. Which grade of an answer counts is decided by `cascade`, for each answer and not for each
step: the rule's where it is firm, else the judge's.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.grading import Grade
from core.question import POINTS_TOTAL, Question, QuestionKind
from evaluation.asking import Asker, Prompt, Solved, Unit
from evaluation.grade import grade_answer, grade_row, graders_of, register_showings
from evaluation.graders.cleaning import clean
from evaluation.graders.judge_prompt import (
    PROMPT_VERSION,
    Judgement,
    judge_messages,
    judge_schema,
    nonce_of,
    parse_judgement,
    parts_of,
)
from evaluation.graders.verdicts import Verdict, Why, invalid_response, not_graded, shown, verdict_of
from evaluation.models.catalogue import ModelSpec
from warehouse.analytics import analysis, load_sql
from warehouse.facts import FactStore
from warehouse.ledger import settled_keys, stored_answers

PURPOSE = "judge"
WEAK = "no_match"
# Inspect AI's providers that hold a server to a JSON schema; the prompt asks all others for the same form in words.
_HELD_TO_SCHEMA = frozenset({"google", "grok", "groq", "mistral", "openai", "sglang", "vllm"})
_REASON_KEPT_CHARACTERS = 300
_QUOTED = re.compile(r"""(?<!\w)'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_WEAK = re.compile(r"(?:^|; step \d+ )wrong: no_match: ")
_FOR_A_PERSON = re.compile(r"(?:^|step \d+ )not graded: (?:contradiction|ambiguous): ")
_JUDGE_RESPONSE = re.compile(r"; judge response ([0-9a-f]{64})$")


class Scope(StrEnum):
    """Which answers a judge grades."""

    UNGRADED = "ungraded"
    ALL = "all"


@dataclass(frozen=True)
class Judged:
    """How many answers have points from the judge now, have none, and had some before; and what was asked for it.

    Answers whose judge was not asked for lack of budget are in none of the three: `solved.left` counts their requests.
    """

    graded: int
    ungraded: int
    known: int
    solved: Solved


@dataclass(frozen=True)
class Comparison:
    """Rules beside a judge, over the answers that were given.

    Attributes:
        counts: Answers that both graded, by what the rule says (`right`, `partial`, `wrong`, or `no_match`: a weak
            wrong) and what the judge says (`right`, `partial`, `wrong`).
        by_rule: Answers whose grade the rule settles.
        by_judge: Answers whose grade the judge settles.
        open: Answers without any points.
    """

    counts: Mapping[tuple[str, str], int]
    by_rule: int
    by_judge: int
    open: int

    @property
    def agreement(self) -> float | None:
        """Share of equal verdicts where the rule is firm; None when there are none."""
        firm = self._firm()
        return sum(count for (rule, judge), count in firm.items() if rule == judge) / firm.total() if firm else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa where the rule is firm (Cohen 1960); None when chance alone explains everything."""
        firm, observed = self._firm(), self.agreement
        if observed is None:
            return None
        rules: Counter[str] = Counter()
        judges: Counter[str] = Counter()
        for (rule, judge), count in firm.items():
            rules[rule] += count
            judges[judge] += count
        expected = sum(rules[verdict] * judges[verdict] for verdict in rules) / firm.total() ** 2
        return (observed - expected) / (1 - expected) if expected < 1 else None

    def _firm(self) -> Counter[tuple[str, str]]:
        return Counter({pair: count for pair, count in self.counts.items() if pair[0] != WEAK})


def judge_fingerprint(judge: ModelSpec) -> str:
    """What signs a judge's grades: its name, the prompt's version, and the settings of the model."""
    return f"judge/{judge.name}@{PROMPT_VERSION}-{judge.fingerprint[:8]}"


def is_firm(rule: Grade) -> bool:
    """Whether a rule's grade stands by itself: it has points, and none of its zeros is a weak `no_match`."""
    return rule.points is not None and _WEAK.search(_unquoted(rule.reason)) is None


def is_for_a_person(rule: Grade) -> bool:
    """Whether the rule found what no judge can settle: a letter against its text, a number to be read in two ways."""
    return rule.points is None and _FOR_A_PERSON.search(_unquoted(rule.reason)) is not None


def cascade(rule: Grade | None, judge: Grade | None) -> Grade | None:
    """The grade that counts: the rule's where it is firm or calls for a person, else the judge's, else the rule's.

    A judge that was asked and could not tell leaves the answer without points: a weak zero is no fallback for it.
    """
    if judge is None or (rule is not None and (is_firm(rule) or is_for_a_person(rule))):
        return rule
    return judge


def judge_response_key(reason: str) -> str | None:
    """The key of the judge's response that stands behind a judge's grade, from the grade's reason."""
    found = _JUDGE_RESPONSE.search(reason)
    return found[1] if found else None


def judge_answers(
    asker: Asker, judge: ModelSpec, questions: Mapping[str, Question], scope: Scope = Scope.UNGRADED
) -> Judged:
    """Put stored answers to these questions (by revision id) to a judge and store its grades beside the rules'.

    Only latest first showings that the model answered; rotations and probes belong to quality control. What has points
    from this judge is known. Where it has none, its stored reply is read again, and a call that failed is made again.

    Args:
        asker: Where answers are read from and grades go; its budget holds.
        judge: The model that judges.
        questions: By revision id.
        scope: `ungraded`: what the rules left without points or found wrong for lack of a match; `all`: besides, every
            answer to an open or multi-step question, which tells how far rules and judge agree.

    Raises:
        As `Asker.ask`.
    """
    fingerprint = judge_fingerprint(judge)
    tasks, known = _tasks(asker.facts, judge, questions, scope)
    solved = asker.ask(unit for task in tasks if (unit := task.unit) is not None)
    replies = stored_answers(asker.facts, (task.unit.key for task in tasks if task.unit is not None))
    counts = {"graded": 0, "ungraded": 0}
    with asker.facts.writer("grade", asker.run_id) as writer:
        for task in tasks:
            if task.unit is not None and task.unit.key not in replies:
                continue
            grade = _grade(task, replies, fingerprint)
            counts["ungraded" if grade.points is None else "graded"] += 1
            if grade.reason != task.reason_before:
                writer.add(grade_row(task.response_key, grade, asker.clock))
    return Judged(counts["graded"], counts["ungraded"], known, solved)


def count_unjudged(
    facts: FactStore, judge: ModelSpec, questions: Mapping[str, Question], scope: Scope = Scope.UNGRADED
) -> int:
    """How many questions `judge_answers` would put to the judge."""
    tasks, _ = _tasks(facts, judge, questions, scope)
    keys = {task.unit.request_key for task in tasks if task.unit is not None}
    return len(keys - settled_keys(facts, keys, "request_key"))


def compare(facts: FactStore, judge: ModelSpec, questions: Mapping[str, Question]) -> Comparison:
    """Stored grades of the present rules and of a judge, answer by answer, and what the cascade settles."""
    counts: Counter[tuple[str, str]] = Counter()
    settled: Counter[str] = Counter()
    for answer in _answers(facts, judge, questions):
        rule, judged = answer.rule, answer.judged
        if rule is not None and judged is not None and rule.points is not None and judged.points is not None:
            counts[_verdict(rule) if is_firm(rule) else WEAK, _verdict(judged)] += 1
        counting = cascade(rule, judged)
        settled["open" if counting is None or counting.points is None else "rule" if counting is rule else "judge"] += 1
    return Comparison(dict(counts), settled["rule"], settled["judge"], settled["open"])


def counting_judgements(facts: FactStore, judge: ModelSpec, questions: Mapping[str, Question]) -> dict[str, Grade]:
    """The judge's grades that count, by the key of the response: where no rule settles the answer."""
    answers = _answers(facts, judge, questions)
    return {
        one.response_key: one.judged for one in answers if one.judged and cascade(one.rule, one.judged) is one.judged
    }


@dataclass(frozen=True)
class _Answer:
    """A stored answer with the grades that it has; a rule that has not graded it yet is applied here."""

    response_key: str
    item_name: str
    revision_id: str
    text: str
    rule: Grade | None
    judged: Grade | None


@dataclass(frozen=True)
class _Task:
    """An answer to be judged; without a unit when it says nothing that a judge could grade."""

    response_key: str
    question: Question
    answer: str
    unit: Unit[Prompt] | None
    reason_before: str | None


def _tasks(
    facts: FactStore, judge: ModelSpec, questions: Mapping[str, Question], scope: Scope
) -> tuple[list[_Task], int]:
    asked, known = _held_to_schema(judge), 0
    tasks: list[_Task] = []
    for answer in _answers(facts, judge, questions):
        question = questions[answer.revision_id]
        if not _is_wanted(question, answer.rule, scope):
            continue
        if answer.judged is not None and answer.judged.points is not None:
            known += 1
            continue
        unit = None
        if clean(answer.text):
            prompt = Prompt(judge_messages(question, answer.text), PURPOSE)
            unit = Unit(asked, answer.item_name, answer.revision_id, prompt)
        reason_before = answer.judged.reason if answer.judged else None
        tasks.append(_Task(answer.response_key, question, answer.text, unit, reason_before))
    return tasks, known


def _is_wanted(question: Question, rule: Grade | None, scope: Scope) -> bool:
    if rule is None:
        return True
    if is_for_a_person(rule):
        return False
    return not is_firm(rule) or (scope is Scope.ALL and question.kind is not QuestionKind.CHOICE)


def _answers(facts: FactStore, judge: ModelSpec, questions: Mapping[str, Question]) -> Iterator[_Answer]:
    graders = graders_of(questions)
    with analysis(facts, ["response", "grade"]) as connection:
        register_showings(connection, graders)
        query = load_sql("evaluation.queries", "judged_answers.sql")
        rows = connection.sql(query, params=[judge_fingerprint(judge)]).to_arrow_table()
    for row in (row for batch in rows.to_batches() for row in batch.to_pylist()):
        entry = graders[row["revision_id"]]
        rule = _stored(row, "ruled_by", "rule")
        if rule is None and entry is not None:
            rule = grade_answer(questions[row["revision_id"]], row["state"], row["answer"], entry)
        yield _Answer(
            row["key"], row["item_name"], row["revision_id"], row["answer"], rule, _stored(row, "judged_by", "judge")
        )


def _stored(row: Mapping[str, Any], grader: str, prefix: str) -> Grade | None:
    if row[grader] is None:
        return None
    return Grade(points=row[f"{prefix}_points"], reason=row[f"{prefix}_reason"], grader=row[grader])


def _held_to_schema(judge: ModelSpec) -> ModelSpec:
    """The judge as it is asked: where its server can be held to a schema, it is, unless its settings name another."""
    if judge.provider.partition("/")[0] not in _HELD_TO_SCHEMA or "response_schema" in judge.generate:
        return judge
    schema = {"name": "judgement", "json_schema": judge_schema()}
    return judge.model_copy(update={"generate": {**judge.generate, "response_schema": schema}})


def _grade(task: _Task, replies: Mapping[str, Mapping[str, Any]], fingerprint: str) -> Grade:
    if task.unit is None:
        mark = invalid_response(Why.EMPTY, "nothing stands outside the thinking")
        return _with_steps(mark.signed(fingerprint), task.question, (0.0,) * len(parts_of(task.question)))
    reply = replies[task.unit.key]
    grade = _read(task, reply, fingerprint)
    return grade.model_copy(update={"reason": f"{grade.reason}; judge response {task.unit.key}"})


def _read(task: _Task, reply: Mapping[str, Any], fingerprint: str) -> Grade:
    if reply["state"] != "ok":
        words = f"{reply['state']}: {shown(reply['error'] or reply['answer'] or '', _REASON_KEPT_CHARACTERS)}"
        return not_graded(Why.JUDGE_FAILED, words).signed(fingerprint)
    found = parse_judgement(task.question, reply["answer"], nonce_of(task.question, task.answer))
    if not isinstance(found, Judgement):
        return not_graded(found.why, found.words).signed(fingerprint)
    parts = parts_of(task.question)
    told = "; ".join(
        f"step {one.step} {one.points} of {part.points}: {shown(one.reason, _REASON_KEPT_CHARACTERS)}"
        for one, part in zip(found.steps, parts, strict=True)
    )
    verdict = {0: Verdict.WRONG, POINTS_TOTAL: Verdict.RIGHT}.get(found.total, Verdict.PARTIAL)
    reason = f"{verdict.value}: {found.total} of {POINTS_TOTAL} points; {told}"
    grade = Grade(points=found.total / POINTS_TOTAL, reason=reason, grader=fingerprint)
    shares = tuple(one.points / part.points for one, part in zip(found.steps, parts, strict=True))
    return _with_steps(grade, task.question, shares)


def _with_steps(grade: Grade, question: Question, shares: tuple[float, ...]) -> Grade:
    return grade.model_copy(update={"step_points": shares}) if question.steps else grade


def _verdict(grade: Grade) -> str:
    found = verdict_of(grade)
    return (Verdict.WRONG if found is Verdict.INVALID else found).value


def _unquoted(reason: str) -> str:
    """A reason without what it quotes from answers and keys, which could hold anything."""
    return _QUOTED.sub("''", reason)
