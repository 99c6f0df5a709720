"""Drawing, the queue, findings, and the same through a spreadsheet."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event
from sqlmodel import func, select

import qc.audit.findings
from core.content import Modality
from core.errors import UnknownName
from qc.audit.findings import (
    AlreadyFound,
    BadFinding,
    NothingTaken,
    Said,
    next_audit,
    open_items,
    record_finding,
    taken_item,
)
from qc.audit.sample import BadSampleSize, NoSample, OtherSeed, draw_sample, latest_sample, sample_size
from qc.audit.sheet import BadSheet, SheetExists, read_sheet, write_sheet
from qc.audit.subjects import Member, Subject, open_subject
from warehouse.audits import AuditCounts, counts_of, finished_counts, items_of
from warehouse.events import history
from warehouse.guards import ImmutableRow
from warehouse.people import NotAllowed, get_user
from warehouse.spreadsheets import neutral, plain
from warehouse.tables import (
    Assignment,
    AssignmentState,
    AuditAnswer,
    AuditFinding,
    AuditSample,
    Decision,
    Item,
    Run,
    Verdict,
)
from warehouse.verdicts import OwnItem

YES, NO, UNSURE = AuditAnswer.YES, AuditAnswer.NO, AuditAnswer.UNSURE
FINE = Said(YES, YES)
LEAKS = Said(YES, NO, frozenset({Modality.IMAGE}), "the text tells")


@pytest.fixture
def zoo(house):
    house.release(12)
    return open_subject(house.workspace, "zoo", "1.0.0")


@pytest.fixture
def sample(house, zoo):
    return draw_sample(house.database, zoo, 5, "max")


def names(house, sample):
    with house.database.reading() as session:
        return [item.qid for item in items_of(session, sample)]


def counts(house, sample):
    with house.database.reading() as session:
        return counts_of(session, sample)


def say(house, sample, qid, by, said):
    with house.database.session() as session:
        return record_finding(session, sample, qid, get_user(session, by), said)


def test_a_sample_is_drawn_once_and_is_kept(house, zoo, sample):
    again = draw_sample(house.database, zoo, 5, "somebody else")
    assert (again.id, again.drawn_by, again.population, again.seed) == (sample.id, "max", 12, 1)
    assert len(set(names(house, sample))) == 5
    with house.database.reading() as session:
        assert session.exec(select(func.count()).select_from(AuditSample)).one() == 1
        (run,) = session.exec(select(Run).where(Run.id == sample.run_id))
        assert (run.command, run.seed, run.settings["size"]) == ("qc audit", 1, 5)
        assert [event.action for event in history(session, "audit_sample", sample.id)] == ["draw"]
    with pytest.raises(ImmutableRow), house.database.session() as session:
        session.get(AuditSample, sample.id).seed = 2


def test_a_larger_sample_begins_with_the_smaller(house, zoo, sample):
    larger = draw_sample(house.database, zoo, 9, "max")
    assert names(house, larger)[:5] == names(house, sample)
    assert draw_sample(house.database, zoo, 5, "max").id == sample.id
    with house.database.reading() as session:
        assert latest_sample(session, zoo).id == larger.id
    with pytest.raises(BadSampleSize, match=r"of zoo 1\.0\.0 9 items are drawn already"):
        draw_sample(house.database, zoo, 7, "max")


def test_it_does_not_depend_on_the_order_of_the_members(house, new_house, zoo, sample):
    turned = Subject(zoo.name, zoo.sha256, zoo.members[::-1], zoo.release_id)
    other = new_house("other")
    other.release(12)
    bare = [Member(member.qid, member.shown) for member in turned.members]
    drawn = draw_sample(other.database, Subject(zoo.name, zoo.sha256, bare), 5, "max")
    assert names(other, drawn) == names(house, sample)


def test_another_seed_draws_others_and_is_refused_once_one_is_drawn(house, new_house, zoo, sample):
    other = new_house("other")
    other.release(12)
    drawn = draw_sample(other.database, open_subject(other.workspace, "zoo@1.0.0"), 5, "max", seed=2)
    assert set(names(other, drawn)) != set(names(house, sample))
    with pytest.raises(OtherSeed, match="sampled with seed 1; leave out --seed"):
        draw_sample(house.database, zoo, 6, "max", seed=2)


@pytest.mark.parametrize(
    ("population", "release_id", "size", "share", "wanted"),
    [
        (1_000, "r", None, None, 149),
        (149, "r", None, None, 149),
        (148, "r", None, None, 148),
        (1_000, None, None, None, 150),
        (1_000, "r", None, 0.1, 100),
        (1_001, None, None, 0.2, 201),
        (10, None, 10, None, 10),
        (1, None, None, None, 1),
    ],
)
def test_how_many_are_drawn(population, release_id, size, share, wanted):
    subject = Subject("x", "0" * 64, [Member(str(number), {}) for number in range(population)], release_id)
    assert sample_size(subject, size, share) == wanted


@pytest.mark.parametrize(("size", "share"), [(13, None), (0, None), (None, 0.0), (None, 1.1)])
def test_a_sample_lies_within_what_there_is(zoo, size, share):
    with pytest.raises(BadSampleSize, match="holds 12 items; draw between 1 and 12"):
        sample_size(zoo, size, share)


def test_two_auditors_never_get_the_same_item(any_house, clock):
    house = any_house
    house.release(3)
    zoo = open_subject(house.workspace, "zoo@1.0.0")
    with pytest.raises(NoSample, match="draw one with 'interplay qc audit'"), house.database.reading() as session:
        latest_sample(session, zoo)
    sample = draw_sample(house.database, zoo, 3, "max", clock=clock)

    def take(name):
        with house.database.session() as session:
            taken = next_audit(session, sample, get_user(session, name), clock)
            return taken and taken[0].qid

    order = names(house, sample)
    assert [take("rita"), take("raj"), take("rita")] == [order[0], order[1], order[0]]
    with house.database.session() as session:
        rita = get_user(session, "rita")
        assert taken_item(session, sample, rita, clock).qid == order[0]
        record_finding(session, sample, order[0], rita, FINE, clock)
        with pytest.raises(NothingTaken, match="take one with 'interplay qc audit-next'"):
            taken_item(session, sample, rita, clock)
    assert take("rita") == order[2]
    clock.advance(minutes=31)
    # Both leases ran out: what was abandoned is offered again.
    assert take("max") == order[1]
    # Who is slow may hand in all the same.
    with house.database.session() as session:
        record_finding(session, sample, order[2], get_user(session, "rita"), LEAKS, clock)
        record_finding(session, sample, order[1], get_user(session, "max"), FINE, clock)
    assert take("raj") is None
    assert counts(house, sample) == AuditCounts(drawn=3, audited=3, answers_right=3, needs_all=2, unsure=0)


def test_what_somebody_answers_between_the_look_and_the_lease_is_offered_no_more(any_house, clock, monkeypatch):
    house = any_house
    house.release(2)
    sample = draw_sample(house.database, open_subject(house.workspace, "zoo@1.0.0"), 2, "max", clock=clock)
    first, second = names(house, sample)
    take = qc.audit.findings.take

    def answered_first(session, *arguments, **more):
        record_finding(session, sample, first, get_user(session, "raj"), FINE, clock)
        return take(session, *arguments, **more)

    monkeypatch.setattr(qc.audit.findings, "take", answered_first)
    with house.database.session() as session:
        item, assignment = next_audit(session, sample, get_user(session, "rita"), clock)
        assert item.qid == second
        live = session.exec(select(Assignment).where(Assignment.state == AssignmentState.LIVE)).all()
        assert [one.id for one in live] == [assignment.id]


def test_nobody_audits_what_they_wrote_or_judged(any_house):
    house = any_house
    house.release(4, author="somebody")
    sample = draw_sample(house.database, open_subject(house.workspace, "zoo@1.0.0"), 4, "max")
    with house.database.session() as session:
        rita, raj = get_user(session, "rita"), get_user(session, "raj")
        made, wrote, judged, free = (item for item in items_of(session, sample))
        session.exec(select(Item).where(Item.name == made.qid)).one().created_by = rita.name
        old = session.exec(select(Item).where(Item.name == wrote.qid)).one()
        house.revise(session, old, author=rita.id)
        verdict = Verdict(
            revision_id=judged.revision_id, round=3, by_person=True, decider=rita.name, decision=Decision.PASS,
            idempotency_key="k",
        )  # fmt: skip
        session.add(verdict)
        session.flush()
        assert [item.qid for item in open_items(session, sample, rita)] == [free.qid]
        assert len(open_items(session, sample, raj)) == 4
        for item in (made, wrote, judged):
            with pytest.raises(OwnItem, match=f"rita wrote '{item.qid}' or gave a verdict on it"):
                record_finding(session, sample, item.qid, rita, FINE)


def test_only_reviewers_and_maintainers_audit(house, sample):
    qid = names(house, sample)[0]
    with pytest.raises(NotAllowed, match="ann is annotator; this needs the role reviewer or maintainer"):
        say(house, sample, qid, "ann", FINE)
    with pytest.raises(NotAllowed), house.database.session() as session:
        next_audit(session, sample, get_user(session, "ann"))
    say(house, sample, qid, "max", FINE)


def test_the_same_said_twice_is_stored_once_and_something_else_is_refused(house, sample):
    qid = names(house, sample)[0]
    assert say(house, sample, qid, "rita", LEAKS).id == say(house, sample, qid, "rita", LEAKS).id
    with pytest.raises(AlreadyFound, match=f"rita already found something else about '{qid}'"):
        say(house, sample, qid, "rita", FINE)
    with pytest.raises(UnknownName, match=r"unknown item in the sample of zoo 1\.0\.0 'q9'"):
        say(house, sample, "q9", "rita", FINE)
    assert counts(house, sample).audited == 1


@pytest.mark.parametrize(
    ("findings", "right", "failures", "unsure"),
    [
        ([("rita", FINE)], 1, 0, 0),
        ([("rita", FINE), ("raj", LEAKS)], 1, 1, 0),
        ([("rita", FINE), ("raj", Said(YES, UNSURE))], 1, 1, 1),
        ([("rita", Said(UNSURE, YES)), ("raj", FINE)], 0, 0, 0),
        ([("rita", Said(NO, UNSURE)), ("raj", LEAKS)], 0, 1, 0),
    ],
)
def test_a_doubt_of_anybody_counts_against_an_item(house, sample, findings, right, failures, unsure):
    for by, said in findings:
        say(house, sample, names(house, sample)[0], by, said)
    found = counts(house, sample)
    assert (found.audited, found.pending, found.answers_right, found.failures, found.unsure) == (
        1, 4, right, failures, unsure,
    )  # fmt: skip


def test_what_was_found_holds_in_every_sample_of_the_same_content(house, zoo, sample):
    house.fill(sample, failures=1)
    assert counts(house, sample) == AuditCounts(5, 5, 5, 4, 0)
    larger = draw_sample(house.database, zoo, 8, "max")
    assert counts(house, larger) == AuditCounts(8, 5, 5, 4, 0)
    with house.database.reading() as session:
        assert [item.qid for item in open_items(session, larger)] == names(house, larger)[5:]
        # An audit that is not done says nothing; the smaller one is.
        assert finished_counts(session, zoo.sha256) == counts(house, sample)
    first = names(house, larger)[0]
    with house.database.reading() as session:
        known = session.exec(select(AuditFinding)).first()
    with pytest.raises(AlreadyFound):
        say(house, larger, first, "rita", FINE if known.needs_all is NO else LEAKS)
    house.fill(larger)
    with house.database.reading() as session:
        assert finished_counts(session, zoo.sha256) == AuditCounts(8, 8, 8, 7, 0)


def test_answers_that_contradict_one_another_are_refused():
    with pytest.raises(BadFinding, match="needs_all is yes, so solvable_without must be empty, and names audio, image"):
        Said(YES, YES, frozenset({Modality.IMAGE, Modality.AUDIO}))
    with pytest.raises(BadFinding, match="must name at least one of text, image, audio, video"):
        Said(YES, NO)


@given(st.text("'=+-@\t\rab 是,\n\"", max_size=6))
def test_no_cell_is_a_formula_and_each_comes_back(cell):
    assert not neutral(cell).startswith(tuple("=+-@\t\r"))
    assert plain(neutral(cell)) == cell


def rows_of(file):
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def fill(file, rows, encoding="utf-8-sig", delimiter=","):
    with file.open("w", encoding=encoding, newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return file


@pytest.fixture
def sheet(house, sample, tmp_path):
    """What rita is given."""
    with house.database.reading() as session:
        assert write_sheet(session, sample, tmp_path / "audit.csv", "rita") == 5
    return tmp_path / "audit.csv"


def take_sheet(house, sample, file, by="rita"):
    with house.database.session() as session:
        return read_sheet(session, sample, file, by)


def test_a_sheet_shows_what_is_open_to_a_spreadsheet(house, sample, sheet):
    assert sheet.read_bytes().startswith(b"\xef\xbb\xbfid,question,")
    rows = rows_of(sheet)
    assert [row["id"] for row in rows] == names(house, sample)
    assert "哪一个" in rows[0]["question"]
    # The choices of these questions begin with "=".
    assert rows[0]["choices"].split("\n") == ["'= 0", "= 1", "= 2", "= 3"]
    assert {rows[0][name] for name in ("answer_right", "needs_all", "solvable_without", "comment")} == {""}
    with pytest.raises(SheetExists), house.database.reading() as session:
        write_sheet(session, sample, sheet, "rita")


@pytest.mark.parametrize(("encoding", "delimiter"), [("utf-8-sig", ","), ("utf-8", ";"), ("utf-8", "\t")])
def test_a_filled_sheet_is_read_once(house, sample, sheet, encoding, delimiter):
    rows = rows_of(sheet)
    rows[0] |= {"answer_right": "yes", "needs_all": "Yes ", "comment": neutral("=fine")}
    rows[1] |= {"answer_right": "否", "needs_all": "否", "solvable_without": "图片、audio"}
    rows[2] |= {"answer_right": "unsure", "needs_all": "不确定"}
    fill(sheet, rows, encoding, delimiter)
    stored = take_sheet(house, sample, sheet)
    assert [(one.answer_right, one.needs_all, one.solvable_without, one.comment) for one in stored] == [
        (YES, YES, [], "=fine"),
        (NO, NO, ["audio", "image"], None),
        (UNSURE, UNSURE, [], None),
    ]
    assert [one.id for one in take_sheet(house, sample, sheet)] == [one.id for one in stored]
    assert counts(house, sample) == AuditCounts(drawn=5, audited=3, answers_right=1, needs_all=1, unsure=1)


def test_a_long_sheet_takes_no_more_queries_than_a_short_one(house, zoo, tmp_path):
    """So that thousands of lines are written and read in seconds."""

    def statements(size: int) -> tuple[int, int]:
        sample, file = draw_sample(house.database, zoo, size, "max"), tmp_path / f"{size}.csv"
        asked: list[str] = []
        count = event.listens_for(house.database.engine, "before_cursor_execute")
        count(lambda _connection, _cursor, statement, *_: asked.append(statement.split()[0]))
        with house.database.reading() as session:
            written = write_sheet(session, sample, file, "rita")
        rows = [row | {"answer_right": "yes", "needs_all": "yes"} for row in rows_of(file)]
        looked_up = asked.count("SELECT")
        assert len(take_sheet(house, sample, fill(file, rows))) == written
        return looked_up, asked.count("SELECT") - looked_up

    assert statements(2) == statements(12)


def test_a_sheet_with_a_bad_line_stores_nothing_and_tells_every_one(house, sample, sheet):
    rows = rows_of(sheet)
    rows[0] |= {"answer_right": "yes", "needs_all": "yes"}
    rows[1] |= {"answer_right": "maybe", "needs_all": "yes"}
    rows[2] |= {"answer_right": "yes"}
    rows[3] |= {"answer_right": "yes", "needs_all": "no", "solvable_without": "image smell"}
    rows[4] |= {"answer_right": "yes", "needs_all": "no"}
    doubled, foreign = dict(rows[0]), rows[0] | {"id": "q9"}
    fill(sheet, [*rows, doubled, foreign])
    with pytest.raises(BadSheet) as caught:
        take_sheet(house, sample, sheet)
    assert [problem.partition(";")[0] for problem in caught.value.problems] == [
        "line 3: column answer_right: 'maybe' is none of yes, no, unsure, 是, 否, 不确定",
        "line 4: column needs_all: is empty",
        "line 5: column solvable_without: 'smell' is none of text, image, audio, video, 文字, 图片, 音频, 视频",
        "line 6: needs_all is no, so solvable_without must name at least one of text, image, audio, video",
        f"line 7: column id: '{rows[0]['id']}' stands on line 2 already",
        "line 8: unknown item in the sample of zoo 1.0.0 'q9'",
    ]
    assert "\n" not in str(caught.value)
    assert counts(house, sample).audited == 0


def test_the_sheet_of_something_else_is_not_read_to_its_end(house, sample, sheet):
    (row, *_) = rows_of(sheet)
    filled = {"answer_right": "yes", "needs_all": "yes"}
    fill(sheet, [row | filled | {"id": f"other-{number}"} for number in range(150)])
    with pytest.raises(BadSheet, match="and 91 more; nothing was stored") as caught:
        take_sheet(house, sample, sheet)
    assert caught.value.problems[100:] == ["the lines after line 101 were not read"]


def test_a_sheet_that_is_none_is_told(house, sample, tmp_path, sheet):
    rows = rows_of(sheet)
    rows[0] |= {"answer_right": "yes", "needs_all": "yes"}
    with pytest.raises(BadSheet, match=r"not in UTF-8 .* as the file type 'CSV UTF-8'"):
        take_sheet(house, sample, fill(sheet, rows, "gb18030"))
    (tmp_path / "other.csv").write_text("id,needs_all\n")
    with pytest.raises(BadSheet, match="line 1: there is no column answer_right, solvable_without, comment"):
        take_sheet(house, sample, tmp_path / "other.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(BadSheet, match="line 1: there is no column id"):
        take_sheet(house, sample, tmp_path / "empty.csv")
    with pytest.raises(NotAllowed):
        take_sheet(house, sample, fill(sheet, rows), "ann")
