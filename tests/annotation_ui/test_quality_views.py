"""What the pages of quality control say, without a browser: who may see what, numbers of the report, words for them."""

from dataclasses import asdict
from itertools import count

import pytest
from sqlmodel import select

from annotation_ui import labels
from annotation_ui.media_links import MediaLinks
from annotation_ui.permissions import NotAllowed
from annotation_ui.quality import freshness
from annotation_ui.views import item_analysis, quality, quality_item, quality_items, quality_people
from annotation_ui.views.item import UnderYourReview, item_detail
from annotation_ui.views.items import ItemQuery, item_choices, items_page
from annotation_ui.views.quality_item import StillBlind
from annotation_ui.views.quality_items import QualityQuery
from annotation_ui.words import words_in
from core.errors import UnknownName
from qc.audit.certificate import certify
from qc.audit.findings import Said, record_finding
from qc.audit.sample import draw_sample
from qc.audit.subjects import open_subject
from qc.gates import Thresholds
from qc.panel import Votes
from qc.report import standing
from qc.report.build import qc_report
from qc.review.gold import add_gold
from qc.review.queue import take_review
from qc.review.solves import solves_of
from warehouse.lifecycle import Action
from warehouse.people import Role
from warehouse.tables import Assignment, AuditAnswer, Decision, Review, User
from warehouse.verdicts import Judgement

EN, ZH = words_in("en"), words_in("zh")
MODELS = ("ada", "bo", "chen", "dia")
CONDITIONS = ("full", "text_only", "without_audio", "without_image")
WORKING = (Role.ANNOTATOR, Role.REVIEWER, Role.MAINTAINER)
# Shares of the choices; the key is B.
RIGHT, WRONG, GUESS = (0.0, 1.0, 0.0, 0.0), (0.75, 0.0, 0.25, 0.0), (0.25, 0.25, 0.25, 0.25)
BLIND = {"text_only": GUESS, "without_audio": GUESS, "without_image": GUESS}


def votes(name, condition, shares):
    """The votes of four models of as many families, asked once each."""
    return Votes(
        condition=condition,
        key=(1,),
        solved=shares[1],
        shares=shares,
        solved_range=(shares[1], shares[1]),
        share_ranges=[(share, share) for share in shares],
        planned=4,
        asked=4,
        valid=4,
        families=4,
        responses=[f"{model}/{name}/{condition}" for model in MODELS],
    ).model_dump(mode="json")


def check(name, number, decision, *codes, **shares):
    """A check's verdict with its votes, by condition."""
    told = [votes(name, condition, one) for condition, one in shares.items()]
    decider = ("model_check@2", "ablation@2")[number - 1]
    evidence = {"thresholds": asdict(Thresholds()), "votes": told}
    return Judgement(number, decider, False, Decision(decision), codes, evidence)


def stories(name, reviewer, maintainer):
    """Ways to every place in the life of an item, by where they end."""

    def person(by, decision, *codes):
        return Judgement(3, by, True, Decision(decision), codes)

    first = [Action.SUBMIT, check(name, 1, "pass", full=RIGHT)]
    second = [*first, check(name, 2, "pass", **BLIND)]
    return {
        "draft": [],
        "submitted": [Action.SUBMIT],
        "open1": [Action.SUBMIT, check(name, 1, "unknown", "unsolved", full=GUESS)],
        "suspect": [Action.SUBMIT, check(name, 1, "return", "suspect_key", full=WRONG)],
        "before2": first,
        "textonly": [*first, check(name, 2, "reject", "answerable_from_text", text_only=RIGHT)],
        "before3": second,
        "accepted": [*second, person(maintainer, "pass")],
        "released": [*second, person(reviewer, "pass"), Action.RELEASE],
    }


@pytest.fixture
def bench(studio, seeder, people):
    """Items in every state with the panel's answers; the annotator wrote those whose name begins with "own"."""
    media = {"image_1": seeder.picture(1), "audio_1": seeder.sound(1)}
    by = people[Role.REVIEWER].id, people[Role.MAINTAINER].id
    made = {}
    for prefix, author in (("", "mei"), ("own-", people[Role.ANNOTATOR].id)):
        for place in stories("", *by):
            name = prefix + place
            draft = seeder.draft(f"See <image_1>, hear <audio_1>: {name}?", media, author)
            made[name] = seeder.item(name, draft, *stories(name, *by)[place])
    seeder.responses(
        [
            (revision, name, model, condition, None, "ABCD"[place])
            for name, (_, revision) in made.items()
            for condition in CONDITIONS
            for place, model in enumerate(MODELS)
        ],
        family="one",
        purpose="qc round 1",
    )
    return made


@pytest.fixture
def counted(bench, studio):
    return studio.quality.count(studio.workspace, studio.clock)


def listed(studio, counted, who, t=EN, **query):
    """Names of all items that fit, and the first page."""
    with studio.workspace.database.reading() as session:
        items = quality_items.seen_items(session, counted.report, who, studio.clock())
        first = quality_items.quality_list(session, items, counted.report, who, QualityQuery(**query), t)
    rows = quality_items.quality_rows(
        studio.workspace.database, counted.report, who, QualityQuery(**query), studio.clock(), t
    )
    names = [row[0] for row in rows]
    assert [row.name for row in first.rows] == names[: quality_items.PAGE_SIZE]
    return names, first


def look(studio, who, name, number=None, t=EN):
    return quality_item.item_quality(studio.workspace, who, name, number, studio.clock(), t)


class TestWhoSeesAnswers:
    def test_the_list_and_the_item_agree_for_each_role(self, studio, counted, bench, principal_of):
        seen = {}
        for role in WORKING:
            who = principal_of(role)
            names, found = listed(studio, counted, who)
            assert len(names) + found.hidden == len(bench)
            for name in bench:
                if name in names:
                    assert look(studio, who, name).name == name
                else:
                    with pytest.raises(StillBlind):
                        look(studio, who, name)
            seen[role] = set(names)
        settled = {"textonly", "accepted", "released", "own-textonly", "own-accepted", "own-released"}
        assert seen[Role.MAINTAINER] == set(bench)
        assert seen[Role.REVIEWER] == settled
        assert seen[Role.ANNOTATOR] == settled | {name for name in bench if name.startswith("own-")}

    def test_who_has_judged_a_revision_sees_it_until_there_is_another(
        self, studio, seeder, counted, bench, principal_of, people
    ):
        who, (item, revision) = principal_of(Role.REVIEWER), bench["before3"]
        with studio.workspace.database.session() as session:
            seeder.act(session, item, revision, "mei", Judgement(3, who.user_id, True, Decision.RETURN, ("ambiguous",)))
        assert "before3" in listed(studio, counted, who)[0]
        assert look(studio, who, "before3").rounds[-1].verdicts[0].decision == "return"
        media = {"image_1": seeder.picture(2), "audio_1": seeder.sound(2)}
        seeder.revise(item.id, seeder.draft("Other words: <image_1>, <audio_1>?", media, "mei"))
        assert "before3" not in listed(studio, counted, who)[0]
        with pytest.raises(StillBlind):
            look(studio, who, "before3")

    def test_while_there_is_gold_a_reviewer_sees_what_they_judged_and_others_as_before(
        self, studio, counted, bench, principal_of, people
    ):
        def see(role):
            who = principal_of(role)
            names, found = listed(studio, counted, who)
            assert len(names) + found.hidden == len(bench)
            for name in set(bench) - set(names):
                with pytest.raises(StillBlind) as told:
                    look(studio, who, name)
                assert ("review is over" in told.value.text) == (role is not Role.REVIEWER)
            with studio.workspace.database.reading() as session:
                for name in bench:
                    links = MediaLinks(studio.key, studio.clock)
                    one = item_detail(session, who, name, links, studio.workspace.blobs, studio.clock(), EN)
                    assert one.key_visible == (name in names) == (not one.key_waits) and (
                        one.key_visible or not one.rounds
                    )
                states = {row.name: row.state for row in items_page(session, who, ItemQuery(), studio.clock(), EN).rows}
            return set(names), states

        before = {role: see(role) for role in (Role.ANNOTATOR, Role.MAINTAINER)}
        with studio.workspace.database.session() as session:
            add_gold(session, "accepted", Decision.PASS, by="maintainer", clock=studio.clock)
        assert {role: see(role) for role in before} == before
        names, states = see(Role.REVIEWER)
        assert names == {"released", "own-released"}
        assert {name for name, state in states.items() if state == labels.UNDISCLOSED} == {
            f"{own}{name}" for own in ("", "own-") for name in ("accepted", "textonly", "before3")
        }
        assert (states["released"], states["open1"]) == ("released", "submitted")
        with studio.workspace.database.reading() as session:
            who, now = principal_of(Role.REVIEWER), studio.clock()
            totals = {
                state: items_page(session, who, ItemQuery(state=state), now, EN).total
                for state, _ in item_choices(session, who).states
            }
            assert totals == dict(item_choices(session, who).states)
            assert (totals["undisclosed"], totals["released"]) == (6, 2) and "accepted" not in totals
            assert items_page(session, who, ItemQuery(state="accepted"), now, EN).rows == []

    def test_nobody_sees_what_they_are_judging_not_even_a_maintainer(self, studio, counted, add_person, sign_in):
        add_person("max", Role.MAINTAINER, Role.REVIEWER)
        with studio.workspace.database.session() as session:
            task = take_review(session, "max", studio.clock)
        who = sign_in("max")[1]
        names, found = listed(studio, counted, who)
        assert task.item not in names and found.hidden == 1
        with pytest.raises(UnderYourReview):
            look(studio, who, task.item)

    def test_a_participant_sees_nothing_at_all(self, studio, counted, principal_of):
        who, database = principal_of(Role.PARTICIPANT), studio.workspace.database
        with database.reading() as session:
            for ask in (
                lambda: quality_items.seen_items(session, counted.report, who, studio.clock()),
                lambda: quality_people.people_quality(session, counted.report, who, EN),
                lambda: quality_people.agreement_lines(counted.report.agreement, who, EN),
                lambda: quality.audits(session, who, EN),
                lambda: item_analysis.releases(session, who),
                lambda: look(studio, who, "released"),
            ):
                with pytest.raises(NotAllowed):
                    ask()

    def test_an_item_that_is_not_there_is_said_so(self, studio, counted, principal_of):
        with pytest.raises(UnknownName):
            look(studio, principal_of(Role.MAINTAINER), "../../etc/passwd")


class TestList:
    def test_it_is_narrowed_by_everything_that_is_offered(self, studio, counted, principal_of):
        who = principal_of(Role.MAINTAINER)
        for query, names in (
            ({"reason": "suspect_key"}, ["own-suspect", "suspect"]),
            ({"suspect": True}, ["own-suspect", "suspect"]),
            ({"decision": "2:rejected"}, ["own-textonly", "textonly"]),
            ({"decision": "1:open"}, ["open1", "own-open1", "own-submitted", "submitted"]),
            ({"state": "accepted", "author": "mei"}, ["accepted"]),
            ({"text": "ACCEPTED?", "task_type": "counting"}, ["accepted", "own-accepted"]),
            ({"text": "\x00"}, None),
            ({"state": "accepted", "page": 99}, ["accepted", "own-accepted"]),
            ({"reason": "no such thing"}, []),
        ):
            found = listed(studio, counted, who, **query)[0]
            assert names is None or found == names, query
        mine, _ = listed(studio, counted, principal_of(Role.ANNOTATOR), mine=True)
        assert len(mine) == 9 and all(name.startswith("own-") for name in mine)

    def test_choices_count_what_one_may_see_and_authors_are_for_maintainers(self, studio, counted, principal_of):
        with studio.workspace.database.reading() as session:
            of = {}
            for role in (Role.REVIEWER, Role.MAINTAINER):
                who = principal_of(role)
                items = quality_items.seen_items(session, counted.report, who, studio.clock())
                of[role] = quality_items.quality_choices(session, items, who, EN)
        assert of[Role.MAINTAINER].suspects == 2 and of[Role.REVIEWER].suspects == 0
        assert of[Role.MAINTAINER].authors == {"annotator": "Annotator", "mei": "mei"}
        assert not of[Role.REVIEWER].authors and "suspect_key" not in of[Role.REVIEWER].reasons
        assert of[Role.MAINTAINER].decisions["1:returned"] == "Round 1: Returned (2)"

    def test_what_stopped_comes_first_and_says_why(self, studio, counted, principal_of):
        _, first = listed(studio, counted, principal_of(Role.MAINTAINER))
        assert [bool(row.reasons) for row in first.rows] == [True] * 6 + [False] * 12
        row = next(row for row in first.rows if row.name == "suspect")
        assert row.rounds == [(1, "returned", "Returned")]
        assert row.reasons == ["the models agree on a choice that is not the key"]


class TestItem:
    def test_conditions_stand_against_models(self, studio, counted, principal_of):
        found = look(studio, principal_of(Role.MAINTAINER), "released")
        assert found.table.models == list(MODELS)
        assert [shown for shown, _ in found.table.rows] == [
            "with everything given", "with the text alone", "without audio", "without image",
        ]  # fmt: skip
        assert [(cell.marks, cell.right, cell.valid) for cell in found.table.rows[0][1]] == [
            ("A", 0, 1), ("B", 1, 1), ("C", 0, 1), ("D", 0, 1),
        ]  # fmt: skip
        lines = quality_item.answer_lines(found.story, EN, model="bo", condition="full")
        assert [(line.mark, line.is_right, line.text) for line in lines] == [("B", True, "B")]
        assert len(list(quality_item.answer_rows(found.story, EN))) == 16 and not found.story.lost

    def test_gates_say_why_in_both_languages_and_name_the_suspect_key(self, studio, counted, principal_of):
        who = principal_of(Role.MAINTAINER)
        found = look(studio, who, "suspect")
        (suspect,) = found.suspect
        assert "75% for choice A" in suspect and "not the key" in suspect
        (gate,) = found.rounds[0].verdicts[0].gates
        assert (gate.says, gate.says_label, gate.solved) == ("stop", "Flagged", "0.0%")
        assert gate.choices[:2] == [("A", "75.0%", False), ("B", "0.0%", True)]
        assert "选择 A 者 75%" in look(studio, who, "suspect", t=ZH).suspect[0]
        assert not look(studio, who, "released").suspect

    def test_responses_that_are_gone_are_counted(self, studio, seeder, bench, principal_of):
        media = {"image_1": seeder.picture(3)}
        draft = seeder.draft("See <image_1>.", media, "mei")
        seeder.item("gone", draft, Action.SUBMIT, check("gone", 1, "pass", full=RIGHT))
        found = look(studio, principal_of(Role.MAINTAINER), "gone")
        assert not found.table.rows and found.story.lost == 4 and found.rounds[0].verdicts[0].gates

    def test_an_older_revision_keeps_its_own_verdicts(self, studio, seeder, bench, principal_of):
        item, _ = bench["suspect"]
        media = {"image_1": seeder.picture(2), "audio_1": seeder.sound(2)}
        seeder.revise(item.id, seeder.draft("Other words: <image_1>, <audio_1>?", media, "mei"))
        who = principal_of(Role.MAINTAINER)
        assert look(studio, who, "suspect", 1).suspect and not look(studio, who, "suspect").suspect
        assert look(studio, who, "suspect").revision == 2 == look(studio, who, "suspect", 77).revision


class TestCounting:
    def test_numbers_are_those_of_the_report(self, studio, counted):
        report = qc_report(studio.workspace)
        for name in ("funnel", "rounds", "reasons", "decoys", "authors", "reviewers", "agreement", "solves", "drift"):
            assert getattr(counted.report, name) == getattr(report, name), name
        assert [item.reason_codes for item in counted.report.items] == [item.reason_codes for item in report.items]

    def test_only_what_changed_is_read_again(self, studio, seeder, bench, counted, monkeypatch, people):
        assert studio.quality.count(studio.workspace, studio.clock) is counted
        read = []
        load = standing.load_current
        monkeypatch.setattr(standing, "load_current", lambda session, ids: read.append(ids) or load(session, ids))
        item, revision = bench["before3"]
        with studio.workspace.database.session() as session:
            judge = people[Role.REVIEWER].id
            seeder.act(session, item, revision, "mei", Judgement(3, judge, True, Decision.UNKNOWN, ("ambiguous",)))
            assert freshness(session, counted).changes == 1
        again = studio.quality.count(studio.workspace, studio.clock)
        assert read == [[item.id]]
        assert again.report.reviewers == qc_report(studio.workspace).reviewers != counted.report.reviewers
        with studio.workspace.database.reading() as session:
            assert freshness(session, again).changes == 0

    def test_a_reviewer_s_blind_answers_are_changes_too(self, studio, bench, counted, people):
        known = standing.Standing()
        with studio.workspace.database.reading() as session:
            assert not any(story.solves for story in known.read(session))
        with studio.workspace.database.session() as session:
            task = take_review(session, people[Role.REVIEWER].name, studio.clock)
            (review,) = session.exec(select(Review)).all()
            review.full_answer, review.full_points, review.full_at = "B", 1.0, studio.clock()
        with studio.workspace.database.reading() as session:
            (solved,) = [story for story in known.read(session) if story.solves]
        assert (solved.name, solved.solves[0].right) == (task.item, 1)

    def test_no_count_tells_a_reviewer_whether_their_first_blind_answer_is_right(self, studio, bench, people):
        with studio.workspace.database.session() as session:
            take_review(session, people[Role.REVIEWER].name, studio.clock)
            (review,) = session.exec(select(Review)).all()
            review.hidden, review.partial_answer, review.partial_points = "image", "B", 1.0
            review.partial_at = studio.clock()
        with studio.workspace.database.reading() as session:
            assert solves_of(standing.current_reviews(session)) == ()
        with studio.workspace.database.session() as session:
            (review,) = session.exec(select(Review)).all()
            review.full_answer, review.full_points, review.full_at = "B", 1.0, studio.clock()
        with studio.workspace.database.reading() as session:
            found = solves_of(standing.current_reviews(session))
        assert [(one.hidden, one.right) for one in found] == [(None, 1), ("image", 1)]


class TestBenchmark:
    def test_rounds_count_what_became_of_what_entered(self, counted):
        first, second, third = quality.round_lines(counted.report, EN)
        assert (first.entered, dict(first.counts)) == (
            16, {"passed": 10, "open": 4, "returned": 2, "rejected": 0, "left": 0},
        )  # fmt: skip
        assert sum(share for _, share in first.parts) == pytest.approx(1)
        assert dict(second.counts)["rejected"] == 2 and dict(third.counts)["passed"] == 4
        assert len(quality.round_columns(EN)) == 2 + len(first.counts) + 2

    def test_decoys_are_told_for_each_condition(self, counted):
        lines = {line.shown: line for line in quality.decoy_lines(counted.report.decoys, EN)}
        assert (lines["with the text alone"].flagged, lines["with the text alone"].estimate) == (2, "0.0%")
        assert lines["without audio"].estimate == "undefined"
        curve = quality.decoy_curve(counted.report.decoys, EN)
        assert all(len(told) == len(lines) for _, told in curve)

    def test_agreement_that_is_undefined_says_why(self, counted, principal_of):
        who = principal_of(Role.REVIEWER)
        first, _ = quality_people.agreement_lines(counted.report.agreement, who, EN)
        assert first.alpha == quality_people.Figure("undefined", "no revision has two verdicts")
        (chinese, _) = quality_people.agreement_lines(counted.report.agreement, who, ZH)
        assert chinese.alpha == quality_people.Figure("未定义", "没有版本得到两次裁定")

    def test_what_is_missing_for_a_certificate_is_told_with_its_command(self, studio, seeder, bench, principal_of):
        workspace, who = studio.workspace, principal_of(Role.MAINTAINER)

        def told():
            with workspace.database.reading() as session:
                (line,) = quality.audits(session, who, EN)
            return line

        seeder.release("bells", "1.0.0", [bench[name][1] for name in ("released", "own-released")])
        assert told().missing[0][1] == "interplay qc audit bells 1.0.0 --by maintainer"
        sample = draw_sample(workspace.database, open_subject(workspace, "bells", "1.0.0"), 2, "maintainer")
        (pending,) = told().missing
        assert pending[0].startswith("2 items") and pending[1].startswith("interplay qc audit-next bells 1.0.0")
        with workspace.database.session() as session:
            user = session.get(User, who.user_id)
            for name in ("released", "own-released"):
                record_finding(session, sample, name, user, Said(AuditAnswer.YES, AuditAnswer.YES), studio.clock)
        assert told().missing[0][1] == "interplay qc certificate bells 1.0.0"
        certify(workspace, "bells", "1.0.0", studio.clock)
        line = told()
        assert (line.bound, line.audited, line.failures, line.missing) == ("0.0%", 2, 0, [])


class TestPeople:
    @pytest.fixture
    def found(self, studio, bench, people, principal_of):
        with studio.workspace.database.session() as session:
            for role, kind in ((Role.ANNOTATOR, "expert"), (Role.REVIEWER, "crowd")):
                user = session.get(User, people[role].id)
                user.profile = {**user.profile, "kind": kind}
                session.add(user)
            add_gold(session, "accepted", Decision.PASS, by="maintainer", clock=studio.clock)
            numbers = count()
            for name in ("reviewer", "maintainer"):
                lease = Assignment(
                    user_id=people[Role(name)].id, task_kind="review", task_id=f"x-{next(numbers)}",
                    taken_at=studio.clock(), expires_at=studio.clock(),
                )  # fmt: skip
                session.add(lease)
                session.flush()
                session.add(
                    Review(
                        revision_id=bench["accepted"][1].id, reviewer=name, is_gold=True, assignment_id=lease.id,
                        decision="pass", started_at=studio.clock(), finished_at=studio.clock(),
                    )
                )  # fmt: skip
        report = studio.quality.count(studio.workspace, studio.clock).report

        def of(role):
            with studio.workspace.database.reading() as session:
                return quality_people.people_quality(session, report, principal_of(role), EN)

        return of

    def test_a_maintainer_sees_everybody_by_kind(self, found):
        all_of_them = found(Role.MAINTAINER)
        assert [(line.name, line.kind, line.items) for line in all_of_them.authors] == [
            ("Everybody", "2 people", 18), ("Expert", "1 person", 9), ("No profile", "1 person", 9),
            ("Annotator", "Expert", 9), ("mei", "No profile", 9),
        ]  # fmt: skip
        assert {line.name: (line.verdicts, line.gold) for line in all_of_them.reviewers} == {
            "Everybody": (4, ""), "Crowd": (2, ""), "No profile": (2, ""),
            "Maintainer": (2, "1/1"), "Reviewer": (2, "1/1"),
        }  # fmt: skip
        assert all_of_them.apart == 1
        columns = quality_people.reviewer_columns(all_of_them, EN)
        assert all(len(row) == len(columns) for row in quality_people.reviewer_rows(all_of_them))
        assert all(
            len(row) == len(quality_people.author_columns(EN)) for row in quality_people.author_rows(all_of_them)
        )

    def test_others_see_the_totals_and_themselves_and_no_gold(self, found):
        own = found(Role.REVIEWER)
        assert [line.name for line in own.authors if not line.is_total] == []
        assert [line.name for line in own.reviewers if not line.is_total] == ["Reviewer"]
        assert next(line for line in own.reviewers if line.name == "Everybody").verdicts == 4
        assert not any(line.gold for line in own.reviewers) and not own.pairs and not own.apart
        told = [(name, measure) for name, measure, _ in own.untold]
        assert {name for name, _ in told} == {"Reviewer"}
        assert "Right on gold items" not in {measure for _, measure in told}
        assert "Right on gold items" in {measure for _, measure, _ in found(Role.MAINTAINER).untold}
        assert [line.name for line in found(Role.ANNOTATOR).authors if not line.is_total] == ["Annotator"]


class TestAnalysis:
    @pytest.fixture
    def analysed(self, studio, seeder, bench):
        release = seeder.release("bells", "1.0.0", [bench[name][1] for name in ("released", "own-released")])
        seeder.responses(
            [
                (bench[name][1], name, model, "full", float(place != 3 or name == "released"), "BBBA"[place])
                for name in ("released", "own-released")
                for place, model in enumerate(MODELS)
            ]
        )
        return release, studio.quality.analyse(studio.workspace, release).analysis

    def test_it_is_told_for_each_item_with_undefined_numbers_as_such(self, studio, analysed, principal_of):
        _, found = analysed
        who, now = principal_of(Role.REVIEWER), studio.clock()
        with studio.workspace.database.reading() as session:
            page = item_analysis.analysis_page(session, found, who, item_analysis.AnalysisQuery(), now, EN)
            easy = item_analysis.AnalysisQuery(flag="everybody_right")
            (line,) = item_analysis.analysis_page(session, found, who, easy, now, EN).rows
            assert item_analysis.flag_choices(session, found, who, now, EN) == {
                "everybody_right": "Everybody right (1)"
            }
        assert page.total == 2 and line.item == "released"
        assert line.difficulty.text == "1.000"
        assert line.discrimination == quality_people.Figure("undefined", "too few models: 4 of the 10 needed")
        rows = item_analysis.analysis_rows(
            studio.workspace.database, found, who, item_analysis.AnalysisQuery(), now, EN
        )
        assert [row[0] for row in rows] == ["released", "own-released"]

    def test_what_is_under_review_again_is_left_out(self, studio, seeder, analysed, bench, principal_of):
        _, found = analysed
        media = {"image_1": seeder.picture(2), "audio_1": seeder.sound(2)}
        seeder.revise(bench["released"][0].id, seeder.draft("Other words: <image_1>, <audio_1>?", media, "mei"))
        with studio.workspace.database.reading() as session:
            query, now = item_analysis.AnalysisQuery(), studio.clock()
            (line,) = item_analysis.analysis_page(session, found, principal_of(Role.ANNOTATOR), query, now, EN).rows
        assert line.item == "own-released"

    def test_keys_are_set_against_chance(self, analysed):
        places, traits = item_analysis.key_lines(analysed[1], EN)
        assert [(label, number) for label, number, _ in places.places] == [("A", 0), ("B", 2), ("C", 0), ("D", 0)]
        assert [line.questions for line in traits] == [2, 2, 0] and traits[2].p.text == "undefined"
