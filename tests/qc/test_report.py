"""Where items stand and why, from verdicts that are told one by one."""

from datetime import UTC, datetime, timedelta

import pytest

from core.content import TextPart
from core.question import AnswerKey, Question
from qc.audit.certificate import certify
from qc.audit.sample import draw_sample
from qc.audit.subjects import open_subject
from qc.reasons import REASONS, reason
from qc.report.build import item_history, qc_report
from qc.report.page import page
from qc.report.terminal import history_lines, report_lines
from warehouse.items import Draft, create_item, get_item, revise_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.people import Role, add_user
from warehouse.tables import Assignment, Decision, Review, Run
from warehouse.verdicts import Judgement, record_verdict, settle_round


def draft(text: str, author: str = "mei") -> Draft:
    asked = Question(
        prompt=(TextPart(text=text),),
        kind="open",
        answer=AnswerKey(accepted=("3",)),
        task_type="counting",
        language="zh",
    )
    return Draft(asked, {}, author)


@pytest.fixture
def tick():
    minutes = iter(range(1000))
    return lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=next(minutes))


@pytest.fixture
def story(workspace, tick):
    """Make an item and judge it: (round, decider, decision, codes) one after the other."""

    def tell(name: str, *judged: tuple, submit: bool = True, author: str = "mei"):
        with workspace.database.session() as session:
            item, revision = create_item(session, name, draft(name, author), clock=tick)
            if submit:
                advance(session, item.id, item.version, Advance(Action.SUBMIT, "mei"), tick)
            for number, decider, decision, *codes in judged:
                judgement = Judgement(number, decider, "@" not in decider, Decision(decision), codes)
                verdict = record_verdict(session, revision, judgement, tick)
                session.flush()
                settle_round(session, revision, verdict, tick)

    return tell


def move(workspace, name: str, action: Action, *codes: str) -> None:
    with workspace.database.session() as session:
        item = get_item(session, name)
        advance(session, item.id, item.version, Advance(action, "max", codes))


def flow(workspace, number: int) -> dict[str, int]:
    return qc_report(workspace).rounds[number - 1].model_dump(exclude={"round"})


class TestFunnel:
    def test_it_counts_every_state(self, workspace, story):
        story("a", submit=False)
        story("b")
        story("c", (1, "check@1", "pass"))
        story("d", (1, "check@1", "return", "suspect_key"))
        story("e", (1, "check@1", "pass"), (2, "check@1", "reject", "redundant_modality"))
        found = qc_report(workspace)
        assert found.funnel == {
            "draft": 1, "submitted": 1, "round1_passed": 1, "round2_passed": 0, "accepted": 0, "released": 0,
            "retired": 0, "returned": 1, "rejected": 1,
        }  # fmt: skip
        assert [(one.code, one.items) for one in found.reasons] == [
            ("redundant_modality", ("e",)),
            ("suspect_key", ("d",)),
        ]
        assert [item.name for item in found.items] == list("abcde")

    def test_what_entered_a_round_is_what_left_it_and_what_is_open(self, workspace, story):
        story("a", submit=False)
        story("b")
        story("c", (1, "check@1", "pass"))
        story("d", (1, "check@1", "return", "suspect_key"))
        story("e", (1, "check@1", "pass"), (2, "check@1", "reject", "redundant_modality"))
        story("f", (1, "check@1", "unknown", "unsolved"))
        story("g", (1, "check@1", "unknown", "unsolved"), (1, "rita", "reject", "unanswerable"))
        nothing = dict.fromkeys(("entered", "passed", "returned", "rejected", "open", "left"), 0)
        people = {"settled_by_person": 0, "overruled": 0}
        assert flow(workspace, 1) == {
            "entered": 6, "passed": 2, "returned": 1, "rejected": 1, "open": 2, "left": 0,
            "settled_by_person": 1, "overruled": 0,
        }  # fmt: skip
        assert flow(workspace, 2) == nothing | people | {"entered": 2, "rejected": 1, "open": 1}
        assert flow(workspace, 3) == nothing | people

    def test_a_rejection_that_a_person_takes_back_is_overruled_until_it_is_submitted_again(self, workspace, story):
        story("a", (1, "check@1", "pass"), (2, "check@1", "reject", "redundant_modality"))
        move(workspace, "a", Action.REOPEN)
        (item,) = qc_report(workspace).items
        assert (item.state, item.reason_codes) == ("draft", ())
        assert (flow(workspace, 2)["rejected"], flow(workspace, 2)["overruled"]) == (1, 1)
        move(workspace, "a", Action.SUBMIT)
        assert (flow(workspace, 1)["open"], flow(workspace, 2)["entered"]) == (1, 0)

    def test_what_is_moved_without_a_verdict_left_its_round(self, workspace, story):
        story("a", (1, "check@1", "unknown", "unsolved"))
        move(workspace, "a", Action.REJECT, "inappropriate")
        assert flow(workspace, 1)["left"] == 1
        assert qc_report(workspace).items[0].reason_codes == ("inappropriate",)


class TestReasons:
    def test_the_last_verdict_of_each_round_counts(self, workspace, story):
        story(
            "a", (1, "check@1", "unknown", "unsolved"), (1, "rita", "pass"), (2, "check@1", "unknown", "needs_a_person")
        )
        (item,) = qc_report(workspace).items
        assert (item.state, item.reason_codes) == ("round1_passed", ("needs_a_person",))
        assert [(one.round, one.outcome, [verdict.decider for verdict in one.verdicts]) for one in item.rounds] == [
            (1, "passed", ["check@1", "rita"]),
            (2, "open", ["check@1"]),
        ]

    def test_they_are_told_in_sentences(self, workspace, story, tick):
        """What checks found and what the panel says of the question, then what people decided."""
        reviews = {
            "valid": ["f0", "f1", "f2"],
            "objections": {
                "answerable": [{"family": "f1", "words": "no such thing", "response_key": "k1"},
                               {"family": "f2", "words": "nor here", "response_key": "k2"}],
                "unambiguous": [{"family": "f1", "words": "two readings", "response_key": "k1"}],
                "one_answer": [], "fits_task_type": [],
            },
            "invalid": {"f3": "refusal"},
        }  # fmt: skip
        findings = [
            {"code": "unanswerable", "severity": "warning", "message": "2 of 3 model families say so: ..."},
            {"code": "too_easy", "severity": "warning", "message": "all 4 answers were right"},
        ]
        told = {
            "a": ({"findings": [{"code": "duplicate_question", "severity": "error", "message": "as b"}]}, "return", "duplicate_question"),
            "b": ({"findings": findings, "reviews": reviews}, "unknown", "unanswerable"),
        }  # fmt: skip
        for name, (evidence, decision, code) in told.items():
            with workspace.database.session() as session:
                item, revision = create_item(session, name, draft(name), clock=tick)
                advance(session, item.id, item.version, Advance(Action.SUBMIT, "mei"), tick)
                judgement = Judgement(1, "check@1", False, Decision(decision), (code,), evidence)
                verdict = record_verdict(session, revision, judgement, tick)
                session.flush()
                settle_round(session, revision, verdict, tick)
        story("c", (1, "check@1", "unknown", "unsolved"), (1, "rita", "reject", "unanswerable"))
        a, b, c = qc_report(workspace).items
        assert [why.en for why in a.why] == ["another item asks the same: as b"]
        assert [why.en for why in b.why] == ["2 of 3 model families say: what is asked is in none of the materials"]
        assert [why.zh for why in b.why] == ["3 个模型家族中有 2 个认为：素材中没有题目所问的信息"]
        assert [finding.code for finding in b.in_round(1).by_check.asides] == ["too_easy"]
        assert [why.en for why in c.why] == ["rita decided so"]
        assert "    another item asks the same: as b" in report_lines(qc_report(workspace))

    def test_a_person_s_pass_takes_the_reason_away(self, workspace, story):
        story("a", (1, "check@1", "unknown", "unsolved"), (1, "rita", "pass"))
        assert qc_report(workspace).reasons == ()

    def test_verdicts_on_older_revisions_are_history(self, workspace, story):
        story("a", (1, "check@1", "return", "suspect_key"))
        with workspace.database.session() as session:
            item = get_item(session, "a")
            revise_item(session, item, item.version, draft("a, mended"))
        (item,) = qc_report(workspace).items
        assert (item.state, item.revision, item.reason_codes) == ("submitted", 2, ())
        assert [(one.round, one.outcome, one.verdicts) for one in item.rounds] == [(1, "open", ())]

    def test_every_reason_has_words_in_both_languages(self):
        for code, one in REASONS.items():
            assert reason(code) is one
            assert one.text("en") == one.text("de") == one.en
            assert one.text("zh") == one.text("zh-TW") == one.zh
            assert any("\u4e00" <= letter <= "\u9fff" for letter in one.zh)
            assert one.en.isascii()


class TestPeople:
    def test_authors(self, workspace, story):
        story("a", (1, "check@1", "return", "suspect_key"))
        with workspace.database.session() as session:
            item = get_item(session, "a")
            revise_item(session, item, item.version, draft("a, mended"))
        story("b", (1, "check@1", "return", "suspect_key"))
        story("c", (1, "check@1", "pass"), (2, "check@1", "reject", "redundant_modality"), author="li")
        authors = {one.author: one for one in qc_report(workspace).authors}
        assert [authors["mei"].items, authors["mei"].returned, authors["mei"].times_returned] == [2, 1, 2]
        assert authors["mei"].reasons == {"suspect_key": 1}
        assert (authors["li"].rejected, authors["li"].reasons) == (1, {"redundant_modality": 1})

    def test_reviewers_by_name_whether_their_verdicts_hold_names_or_ids(self, workspace, story):
        with workspace.database.session() as session:
            rita = add_user(session, "rita", frozenset({Role.REVIEWER}), actor="test").id
        story("a", (1, "check@1", "pass"), (2, "check@1", "pass"), (3, "rita", "unknown"))
        story("b", (1, "check@1", "unknown", "unsolved"), (1, rita, "pass"))
        story("c", (1, "check@1", "unknown", "unsolved"), (1, rita, "reject", "ambiguous"))
        (found,) = qc_report(workspace).reviewers
        assert (found.reviewer, found.verdicts, found.pass_share) == ("rita", 3, 0.5)
        assert found.decisions == {"pass": 1, "return": 0, "reject": 1, "unknown": 1}
        assert found.items == ("a", "b", "c")

    def test_a_reviewer_s_items_are_those_of_all_the_verdicts(self, workspace, story):
        """On revisions that are history, too: the number of verdicts leads to them."""
        story("a", (1, "check@1", "unknown", "unsolved"), (1, "rita", "return", "ambiguous"))
        with workspace.database.session() as session:
            item = get_item(session, "a")
            revise_item(session, item, item.version, draft("a, mended"))
        found = qc_report(workspace)
        assert [(one.verdicts, one.items) for one in found.reviewers] == [(1, ("a",))]
        assert 'data-filter="{&#34;names&#34;:[&#34;a&#34;]}">1</a>' in page(found, "en")

    def test_who_never_decided_has_no_pass_share(self, workspace, story):
        story("a", (1, "check@1", "pass"), (2, "check@1", "pass"), (3, "rita", "unknown"))
        assert qc_report(workspace).reviewers[0].pass_share is None

    def test_people_s_blind_answers_by_hidden_modality(self, workspace, story, tick):
        story("a", (1, "check@1", "pass"), (2, "check@1", "pass"))
        with workspace.database.session() as session:
            revision = get_item(session, "a").current_revision_id
            for reviewer, hidden, partial, full in (
                ("rita", "audio", 1.0, 1.0),
                ("raj", "audio", 0.0, 1.0),
                ("ro", "image", None, 0.0),
            ):
                user = add_user(session, reviewer, frozenset({Role.REVIEWER}), actor="test")
                lease = lease_of(session, user.id, f"{revision}:{reviewer}", tick)
                answer = None if partial is None else "3"
                session.add(
                    Review(
                        revision_id=revision, reviewer=reviewer, assignment_id=lease, hidden=hidden, partial_answer=answer,
                        partial_points=partial, partial_at=tick(), full_answer="3", full_points=full, full_at=tick(),
                    )
                )  # fmt: skip
        found = qc_report(workspace)
        assert found.solves == found.items[0].solves
        assert [(one.hidden, one.right, one.answered) for one in found.solves] == [
            (None, 2, 3),
            ("audio", 1, 2),
            ("image", 0, 1),
        ]
        assert "people without audio: 1 of 2 right" in "\n".join(history_lines(item_history(workspace, "a")))
        assert "被人工推翻" in page(found, "zh")
        assert "人工消融作答" in page(found, "zh")


def lease_of(session, user_id: str, task_id: str, clock) -> str:
    lease = Assignment(task_kind="review", task_id=task_id, user_id=user_id, taken_at=clock(), expires_at=clock())
    session.add(lease)
    session.flush()
    return lease.id


class TestAudits:
    def test_the_certificate_is_shown_with_its_release_and_falls_with_later_findings(self, any_house):
        house = any_house
        assert qc_report(house.workspace).certificates == ()
        house.release(5)
        sample = draw_sample(house.database, open_subject(house.workspace, "zoo", "1.0.0"), 5, "max")
        assert [(one.subject, one.audited, one.drawn) for one in qc_report(house.workspace).audits] == [
            ("zoo 1.0.0", 0, 5)
        ]
        house.fill(sample)
        text = certify(house.workspace, "zoo", "1.0.0").certificate.text
        found = qc_report(house.workspace)
        assert [(one.release, one.text, one.stands) for one in found.certificates] == [("zoo 1.0.0", text, True)]
        house.doubt(sample)
        (after,) = qc_report(house.workspace).certificates
        assert (after.text, after.stands) == (text, False)


class TestTerminal:
    def test_the_lines_say_why_in_words(self, workspace, story):
        story("a", (1, "check@1", "pass"))
        story("b", (1, "check@1", "return", "suspect_key"))
        assert report_lines(qc_report(workspace)) == [
            "funnel: 1 round1_passed, 1 returned",
            "round 1: 2 entered, 1 passed, 1 returned, 0 rejected, 0 open",
            "round 2: 1 entered, 0 passed, 0 returned, 0 rejected, 1 open",
            "certificate: none; an audit of a release by people gives one: interplay qc audit NAME VERSION",
            "reasons: 1 suspect_key",
            "  b: returned: suspect_key (the models agree on a choice that is not the key)",
        ]

    def test_an_empty_project_is_told_what_comes_next(self, workspace):
        found = qc_report(workspace)
        assert (found.items, found.reasons, set(found.funnel.values())) == ((), (), {0})
        assert report_lines(found) == ["no items yet; next: interplay item import FILE"]
        assert "interplay item import FILE" in page(found, "en")

    def test_items_that_wait_for_the_first_round_are_told_what_comes_next(self, workspace, story):
        story("a")
        assert report_lines(qc_report(workspace))[-1] == "no round has run yet; next: interplay qc run"
        assert "interplay qc run" in page(qc_report(workspace), "zh")

    def test_an_item_s_story_holds_all_revisions_with_what_changed(self, workspace, story):
        story("a", (1, "check@1", "return", "suspect_key"))
        with workspace.database.session() as session:
            item = get_item(session, "a")
            revise_item(session, item, item.version, draft("a, mended"))
        history = item_history(workspace, "a")
        assert [(one.number, [change.part for change in one.changes]) for one in history.revisions] == [
            (1, []),
            (2, ["prompt"]),
        ]
        lines = history_lines(history)
        assert "  prompt: a -> a, mended" in lines
        assert "    check@1: return: suspect_key (the models agree on a choice that is not the key)" in lines

    def test_evidence_of_another_form_is_said_to_be_so(self, workspace, tick):
        with workspace.database.session() as session:
            item, revision = create_item(session, "a", draft("a"), clock=tick)
            advance(session, item.id, item.version, Advance(Action.SUBMIT, "mei"), tick)
            evidence = {"votes": [{"condition": "full", "solved": 0.5}], "thresholds": {"version": "1"}}
            judgement = Judgement(1, "check@1", False, Decision.PASS, (), evidence)
            record_verdict(session, revision, judgement, tick)
        (verdict,) = qc_report(workspace).items[0].rounds[0].verdicts
        assert (verdict.gates, "stored in another form" in verdict.note.en) == ((), True)


def test_the_last_run_of_each_round(workspace, tick):
    with workspace.database.session() as session:
        for asked in (5, 7):
            settings = {"models": [{"name": "m0"}], "limit": {"calls": 9, "usd": None}}
            summary = {"asked": asked, "quarantined": {"m1": ["audio"]}}
            session.add(
                Run(command="qc round 1", fingerprint="0" * 64, host="test", process_id=1, started_at=tick(), settings=settings, summary=summary)
            )  # fmt: skip
    (run,) = qc_report(workspace).runs
    assert (run.round, run.models, run.limit["calls"]) == (1, ("m0",), 9)
    assert run.summary == {"asked": 7, "quarantined": {"m1": ["audio"]}}
