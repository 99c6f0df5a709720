"""Exams: who is asked what under which condition, what people know already, and one answer each."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from sqlmodel import select

from core.condition import OPTIONS_ONLY, Condition
from core.errors import UnknownName
from core.question import AnswerKey, Choice
from evaluation.conditions import PLACEBO
from evaluation.exam import holding, sitting, timing
from evaluation.exam.design import Candidate, condition_at, draw_sample
from evaluation.exam.known_items import known_items, shut_items
from evaluation.exam.sheet import Sheet
from evaluation.prompts import render
from warehouse.database import Database
from warehouse.guards import ImmutableRow
from warehouse.people import NotAllowed, Role, get_user
from warehouse.tables import (
    Assignment,
    AuditAnswer,
    AuditFinding,
    AuditItem,
    AuditSample,
    Caption,
    CaptionKind,
    Consent,
    Contributor,
    Decision,
    DraftVersion,
    ExamPlace,
    Item,
    ItemDraft,
    ItemRevision,
    Material,
    MaterialState,
    PlaceState,
    Recording,
    Review,
    Run,
    Verdict,
)


def places(bench, seat):
    with bench.database.reading() as session:
        query = select(ExamPlace).where(ExamPlace.seat_id == seat.id).order_by(ExamPlace.position)
        return session.exec(query).all()


class TestDesign:
    @pytest.fixture
    def candidates(self):
        """Ten strata of unequal size; the first two of each are twins."""
        return [
            Candidate(f"{stratum}-{number}", f"s{stratum}", f"a{stratum // 3}", f"{stratum}-{max(number, 1)}")
            for stratum in range(10)
            for number in range(3 + 4 * stratum)
        ]

    @pytest.mark.parametrize("size", [1, 4, 10, 40, 999])
    def test_each_stratum_has_one_before_any_has_two_and_twins_are_never_both_in(self, candidates, size):
        drawn = draw_sample(candidates, size, 7)
        sample = [one for one in drawn if one.place is not None]
        families = {one.revision_id: one.family for one in candidates}
        assert len(drawn) == len(candidates) and len({one.revision_id for one in drawn}) == len(drawn)
        assert sorted(one.place for one in sample) == list(range(len(sample)))
        assert len(sample) == min(size, len(set(families.values())))
        assert len({families[one.revision_id] for one in sample}) == len(sample)
        assert len({one.stratum for one in sample}) == min(size, 10)
        abilities = {f"a{int(one.stratum[1:]) // 3}" for one in sample}
        assert len(abilities) == min(size, 4), "a small sample reaches every ability before strata repeat one"
        if size == 40:
            counts = [sum(one.stratum == f"s{place}" for one in sample) for place in range(10)]
            assert counts == sorted(counts) and counts[9] > 2 * counts[2]
        assert drawn == draw_sample(candidates[::-1], size, 7)
        assert size == 999 or drawn != draw_sample(candidates, size, 8)

    @pytest.mark.parametrize("count", [1, 2, 3, 5])
    def test_conditions_rotate_as_in_a_latin_square(self, count):
        square = [[condition_at(range(count), turn, number) for turn in range(count)] for number in range(count)]
        assert all(sorted(row) == list(range(count)) for row in [*square, *zip(*square, strict=True)])


class TestKnowing:
    """Whoever had to do with an item, in whatever way, is not asked it."""

    @pytest.fixture
    def mei(self, bench):
        bench.ask("den")
        bench.ask("zoo")
        return bench.person("mei", role=Role.REVIEWER)

    def known(self, bench, user):
        with bench.database.session() as session:
            ids = known_items(session, get_user(session, user.name))
            return {item.name for item in session.exec(select(Item)) if item.id in ids}

    def test_a_stranger_knows_nothing(self, bench, mei):
        assert self.known(bench, mei) == set()

    @pytest.mark.parametrize("by_id", [True, False])
    def test_authors_of_any_revision(self, bench, mei, by_id):
        author = mei.id if by_id else "mei"
        with bench.database.session() as session:
            session.add(ItemRevision(item_id=bench.items["zoo"][0].id, number=2, content_hash="x", author=author))
        assert self.known(bench, mei) == {"zoo"}

    @pytest.mark.parametrize("how", ["open", "helped", "discarded"])
    def test_drafts_open_handed_in_or_thrown_away(self, bench, mei, how):
        item, _ = bench.items["zoo"]
        ann = bench.person("ann")
        draft = ItemDraft(
            author=ann.id if how == "helped" else mei.id, item_id=item.id, saved_by=ann.id,
            closed_at=bench.clock() if how == "discarded" else None,
            closed_as="discarded" if how == "discarded" else None,
        )  # fmt: skip
        with bench.database.session() as session:
            session.add(draft)
            session.flush()
            if how == "helped":
                session.add(DraftVersion(draft_id=draft.id, version=1, is_aside=True, saved_by=mei.id))
        assert self.known(bench, mei) == {"zoo"}

    def test_reviewers_judges_and_who_took_it_up(self, bench, mei):
        _, revision = bench.items["zoo"]
        lease = Assignment(task_kind="review", task_id=f"{revision.id}/a", user_id=mei.id)
        with bench.database.session() as session:
            session.add(lease)
        assert self.known(bench, mei) == {"zoo"}
        rita, rob = bench.person("rita"), bench.person("rob")
        with bench.database.session() as session:
            session.add(Review(revision_id=revision.id, reviewer="rita", assignment_id=lease.id, is_gold=True))
            session.add(Verdict(
                revision_id=revision.id, round=3, by_person=True, decider=rob.id, decision=Decision.PASS,
                idempotency_key="k",
            ))  # fmt: skip
        assert self.known(bench, rita) == {"zoo"} and self.known(bench, rob) == {"zoo"}

    def test_auditors(self, bench, mei):
        _, revision = bench.items["zoo"]
        with bench.database.session() as session:
            run = Run(command="test", fingerprint="0" * 64, host="t", process_id=1)
            session.add(run)
            session.flush()
            sample = AuditSample(
                subject="zoo", subject_sha256="s", population=2, size=1, seed=1, drawn_by="x", run_id=run.id
            )
            session.add(sample)
            session.flush()
            one = AuditItem(sample_id=sample.id, position=0, qid="zoo", revision_id=revision.id)
            session.add(one)
            session.flush()
            session.add(AuditFinding(
                audit_item_id=one.id, auditor="mei", answer_right=AuditAnswer.YES, needs_all=AuditAnswer.YES
            ))  # fmt: skip
        assert self.known(bench, mei) == {"zoo"}

    def test_who_spoke_in_it_and_who_put_it_into_words(self, bench, mei):
        picture = bench.materials["zoo"]["image_1"]
        ann = bench.person("ann", contributor_id="c1")
        with bench.database.session() as session:
            session.add(Caption(
                material_id=picture.id, kind=CaptionKind.CAPTION, language="en", text="t", author="mei", by_person=True
            ))  # fmt: skip
            session.add(Contributor(id="c1", pseudonym="p"))
            session.flush()
            session.add(Consent(id="k", contributor_id="c1", text_version="1"))
            session.flush()
            session.add(Recording(
                contributor_id="c1", consent_id="k", material_id=picture.id, script="s", sha256="0" * 64
            ))  # fmt: skip
        assert self.known(bench, mei) == {"zoo"} and self.known(bench, ann) == {"zoo"}

    def test_a_twin_is_known_with_its_sibling(self, bench, mei):
        bench.ask("twin-a", twin_group="g", author="mei")
        bench.ask("twin-b", twin_group="g")
        assert self.known(bench, mei) == {"twin-a", "twin-b"}

    def test_who_was_asked_it_before(self, bench, mei):
        bench.release()
        _, seats = bench.exam("mei", size=1, name="first")
        assert len(self.known(bench, mei)) == 1, "a question that is going to be asked is not asked twice"
        with bench.database.session() as session:
            holding.close_exam(session, "first", "mara", clock=bench.clock)
        assert self.known(bench, mei) == set(), "one that was never shown may come in another exam"
        _, seats = bench.exam("mei", size=1, name="second")
        bench.next(seats["mei"])
        with bench.database.session() as session:
            holding.close_exam(session, "second", "mara", clock=bench.clock)
        assert len(self.known(bench, mei)) == 1


class TestSeats:
    def test_people_see_the_same_questions_each_under_every_condition_over_all_seats(self, bench):
        for number in range(6):
            bench.ask(f"zoo-{number}")
        bench.release()
        names = ("full", "without_image", "without_audio")
        for person in ("a", "b", "c"):
            bench.person(person)
        _, seats = bench.exam("a", "b", "c", conditions=names)
        seen = {}
        for seat in seats.values():
            theirs = places(bench, seat)
            counts = [sum(one.condition["name"] == name for one in theirs) for name in names]
            assert counts == [2, 2, 2], "each person sees as many under each"
            for one in theirs:
                seen.setdefault(one.revision_id, set()).add(one.condition["name"])
        assert len(seen) == 6 and all(conditions == set(names) for conditions in seen.values())
        orders = [[one.revision_id for one in places(bench, seat)] for seat in seats.values()]
        assert len({tuple(order) for order in orders}) == 3, "the order is each person's own"

    def test_what_somebody_knows_is_replaced_from_its_stratum_or_told_as_missing(self, bench):
        bench.ask("counting-1", author="mei")
        bench.ask("counting-2")
        bench.ask("ocr-1", "puzzle", author="mei")
        bench.release()
        bench.person("mei", role=Role.ANNOTATOR)
        bench.person("jo")
        bench.person("all", role=Role.ANNOTATOR)
        _, seats = bench.exam("mei", "jo", size=2)
        own = {bench.items[name][1].id for name in ("counting-1", "ocr-1")}
        assert not own & {one.revision_id for one in places(bench, seats["mei"])}
        assert seats["mei"].missing == {"puzzle, audio+image": 1} and len(places(bench, seats["mei"])) == 1
        assert seats["jo"].missing == {} and len(places(bench, seats["jo"])) == 2
        with bench.database.session() as session:
            for name in ("counting-1", "counting-2", "ocr-1"):
                session.add(ItemDraft(
                    author=get_user(session, "all").id, item_id=bench.items[name][0].id,
                    saved_by=get_user(session, "all").id,
                ))  # fmt: skip
        with pytest.raises(holding.NothingToAsk, match="no question of 'spring' that all does not know"), \
             bench.database.session() as session:  # fmt: skip
            holding.invite(session, "spring", ["all"], "mara")

    def test_an_invitation_is_taken_back_until_it_is_taken_up_and_its_turn_goes_to_the_next(self, bench):
        bench.ask("zoo")
        bench.release()
        for person in ("a", "b", "c"):
            bench.person(person)
        _, seats = bench.exam("a", "b")
        bench.next(seats["b"])
        with bench.database.session() as session:
            holding.uninvite(session, seats["a"].id, "mara")
            (third,) = holding.invite(session, "spring", ["c"], "mara")
            assert third.number == seats["a"].number
        for person, mistake in (("b", holding.AlreadyInvited), ("nobody", UnknownName)):
            with pytest.raises(mistake), bench.database.session() as session:
                holding.invite(session, "spring", [person], "mara")
        with pytest.raises(holding.SeatBegun), bench.database.session() as session:
            holding.uninvite(session, seats["b"].id, "mara")

    def test_only_maintainers_hold_exams_and_nothing_is_done_twice_or_too_late(self, bench):
        bench.ask("zoo")
        bench.release()
        bench.person("mei", role=Role.ANNOTATOR)
        bench.exam(opened=False)
        with pytest.raises(NotAllowed), bench.database.session() as session:
            holding.open_exam(session, "spring", "mei")
        with pytest.raises(holding.ExamExists):
            bench.exam()
        with pytest.raises(holding.ExamChanged), bench.database.session() as session:
            holding.open_exam(session, "spring", "mara", version=9)
        with bench.database.session() as session:
            holding.open_exam(session, "spring", "mara", version=1)
        for step in (holding.open_exam, holding.discard_exam):
            with pytest.raises(holding.WrongExamState), bench.database.session() as session:
                step(session, "spring", "mara")

    @pytest.mark.parametrize(
        "odd",
        [{"name": " "}, {"name": "x" * 65}, {"size": 0}, {"conditions": ()}, {"limit_s": 1}, {"seed": -1}],
    )
    def test_an_exam_that_cannot_be_held_is_refused(self, bench, odd):
        bench.ask("zoo")
        bench.release()
        with pytest.raises(holding.BadExam):
            bench.exam(**odd)

    def test_where_no_condition_applies_there_is_nothing_to_ask(self, bench):
        bench.ask("zoo", heard=False)
        bench.release()
        with pytest.raises(holding.NothingToAsk):
            bench.exam(conditions=("without_video",))

    def test_a_draft_is_thrown_away_with_its_seats(self, bench):
        bench.ask("zoo")
        bench.release()
        bench.person("jo")
        bench.exam("jo", opened=False)
        with bench.database.session() as session:
            holding.discard_exam(session, "spring", "mara")
        with bench.database.reading() as session:
            assert holding.all_exams(session) == [] and not session.exec(select(ExamPlace)).all()


class TestSitting:
    @pytest.fixture
    def jo(self, bench):
        """Jo's seat in an exam of one question of each kind."""
        bench.mixed()
        bench.release()
        bench.person("jo")
        return bench.exam("jo")[1]["jo"]

    @pytest.mark.parametrize("name", ["full", "without_audio", "text_only", "options_only", "donor_for_image"])
    def test_what_is_shown_is_what_a_model_is_shown(self, bench, name):
        bench.mixed()
        bench.ask("several", answer=AnswerKey(correct=(0, 2)))
        # A placebo is never an item's with the same answer.
        others = tuple(Choice(text=one) for one in ("x", "y", "z"))
        bench.ask("other", heard=False, answer=AnswerKey(correct=(2,)), choices=others)
        bench.release()
        bench.person("jo")
        seat = bench.exam("jo", conditions=(name,))[1]["jo"]
        by_id = {revision.id: revision.as_question() for _, revision in bench.items.values()}
        for place in places(bench, seat):
            asked = bench.next(seat)
            condition, original = Condition.model_validate(place.condition), by_id[place.revision_id]
            message = render(condition.apply(original))[0]
            assert asked.prompt == message.parts[:-1] and condition.name == name
            tail = message.parts[-1].text
            assert all(choice in tail for choice in asked.choices) and all(step.ask in tail for step in asked.steps)
            assert ("More than one" in tail) == asked.several_are_right
            assert "answer" not in asked.model_dump() and "task_type" not in asked.model_dump()
            bench.answer(seat, asked, cannot_tell=True)
        assert bench.next(seat) is None
        if name in PLACEBO:
            assert condition.donors and asked.prompt != original.prompt
        if name == OPTIONS_ONLY.name:
            assert "withheld" in asked.prompt[0].text

    def test_each_kind_is_answered_as_a_model_writes_it(self, bench, jo):
        fill = {
            "choice": {"chosen": (1,)},
            "open": {"texts": ("  about 4 ",)},
            "multi_step": {"texts": ("3", "line\nbreak")},
        }
        bench.sit(jo, lambda asked: fill[asked.kind.value])
        assert {one.answer for one in places(bench, jo)} == {"B", "about 4", "Step 1: 3\nStep 2: line break"}
        assert all(one.state is PlaceState.ANSWERED for one in places(bench, jo))

    def test_an_answer_is_given_once_in_its_turn_and_by_its_person(self, bench, jo):
        bench.person("eve")
        _, others = bench.exam("eve", name="other")
        asked, foreign = bench.next(jo), bench.next(others["eve"])
        later = next(one for one in places(bench, jo) if one.id != asked.place_id)
        with pytest.raises(sitting.NoSeat):
            bench.answer(jo.model_copy(update={"user_id": others["eve"].user_id}), asked, cannot_tell=True)
        with pytest.raises(sitting.NotThisQuestion):
            bench.answer(jo, foreign, cannot_tell=True)
        with pytest.raises(sitting.NotThisQuestion):
            bench.answer(jo, asked.model_copy(update={"place_id": later.id}), cannot_tell=True)
        with pytest.raises(sitting.EmptyAnswer):
            bench.answer(jo, asked, texts=(" \n",), chosen=())
        assert bench.answer(jo, asked, cannot_tell=True) is PlaceState.ABSTAINED
        assert bench.answer(jo, asked, cannot_tell=True) is PlaceState.ABSTAINED, "the same again changes nothing"
        with pytest.raises(sitting.AnsweredBefore):
            bench.answer(jo, asked, chosen=(0,), texts=("1", "2"))
        first = places(bench, jo)[0]
        assert (first.answer, first.state) == (None, PlaceState.ABSTAINED)
        with pytest.raises(ImmutableRow), bench.database.session() as session:
            session.get(ExamPlace, first.id).answer = "B"
        assert bench.next(jo).number == 2
        with bench.database.session() as session:
            holding.close_exam(session, "spring", "mara", clock=bench.clock)
        with pytest.raises(sitting.ExamNotOpen):
            bench.answer(jo, asked, cannot_tell=True)

    @pytest.mark.parametrize("chosen", [(), (7,), (0, 1)])
    def test_a_choice_that_is_none_is_no_answer(self, bench, chosen):
        bench.ask("zoo")
        bench.release()
        bench.person("jo")
        seat = bench.exam("jo")[1]["jo"]
        with pytest.raises(sitting.EmptyAnswer):
            bench.answer(seat, bench.next(seat), chosen=chosen)

    def test_confidence_is_asked_for_where_the_exam_says_so(self, bench):
        bench.ask("zoo")
        bench.release()
        bench.person("jo")
        seat = bench.exam("jo", asks_confidence=True)[1]["jo"]
        asked = bench.next(seat)
        with pytest.raises(sitting.NoConfidence):
            bench.answer(seat, asked, chosen=(1,))
        bench.answer(seat, asked, chosen=(1,), confidence=75)
        assert places(bench, seat)[0].confidence == 75

    def test_what_is_filled_in_waits_and_time_is_the_server_s_with_its_pauses(self, bench, jo):
        asked = bench.next(jo)
        sheet = Sheet(texts=("three",), chosen=(2,))

        def told(act, *more, **options):
            with bench.database.session() as session:
                return act(session, jo.id, jo.user_id, asked.place_id, *more, clock=bench.clock, **options)

        bench.clock.turn(20)
        assert told(sitting.save, sheet)
        bench.clock.turn(3_600)  # the tab was closed; it comes back
        assert bench.next(jo).saved == sheet and bench.next(jo).place_id == asked.place_id
        told(sitting.note_seen, begins=True)
        bench.clock.turn(10)
        bench.answer(jo, asked, cannot_tell=True)
        first = places(bench, jo)[0]
        assert (timing.taken_s(first), timing.seen_s(first)) == (3_630, 30)
        assert not told(sitting.save, sheet), "what comes late of a question that is over is dropped"

    @pytest.mark.postgres
    def test_no_answer_is_stored_in_an_exam_that_is_being_closed(
        self, postgres_url, workspace, library, small_media, bench_module, request
    ):
        """On PostgreSQL, where transactions run side by side: who closes it waits for the answer that is on its way."""
        database = Database(postgres_url)
        request.addfinalizer(database.close)
        object.__setattr__(workspace, "database", database)
        bench = bench_module.Bench(workspace, library, small_media["audio"])
        bench.ask("zoo")
        bench.release()
        bench.person("jo")
        seat = bench.exam("jo")[1]["jo"]
        asked = bench.next(seat)
        with database.session() as session:
            sitting.hand_in(session, seat.id, seat.user_id, asked.place_id, Sheet(chosen=(1,)), bench.clock)
            with pytest.raises(OperationalError, match="lock timeout"), database.session() as other:
                other.exec(text("SET LOCAL lock_timeout = '1ms'"))
                holding.close_exam(other, "spring", "mara", clock=bench.clock)

    def test_a_question_whose_time_is_over_ends_as_such(self, bench):
        for name in ("a", "b", "c"):
            bench.ask(name)
        bench.release()
        bench.person("jo")
        seat = bench.exam("jo", limit_s=60)[1]["jo"]
        first = bench.next(seat)
        assert (first.ends_at - bench.clock.now).total_seconds() == 60
        assert bench.answer(seat, first, 65, chosen=(1,)) is PlaceState.ANSWERED, "a little late on the way"
        second = bench.next(seat)
        assert bench.answer(seat, second, 75, chosen=(1,)) is PlaceState.TIMED_OUT
        bench.next(seat)
        bench.clock.turn(9_000)
        with bench.database.session() as session:
            holding.close_exam(session, "spring", "mara", clock=bench.clock)
        last = places(bench, seat)[2]
        assert (last.state, timing.taken_s(last), last.answer) == (PlaceState.TIMED_OUT, 60, None)

    def test_what_was_kept_before_the_time_was_over_counts_whoever_hands_it_in(self, bench):
        for name in ("a", "b", "c", "d"):
            bench.ask(name)
        bench.release()
        bench.person("jo")
        seat = bench.exam("jo", limit_s=60)[1]["jo"]

        def kept(asked, seconds, **sheet):
            bench.clock.turn(seconds)
            with bench.database.session() as session:
                return sitting.save(session, seat.id, seat.user_id, asked.place_id, Sheet(**sheet), bench.clock)

        first = bench.next(seat)
        assert kept(first, 30, chosen=(1,)) and not kept(first, 45, chosen=(2,)), "too late, and not kept"
        second = bench.next(seat)
        assert kept(second, 5, cannot_tell=True)
        bench.clock.turn(9_000)
        third = bench.next(seat)
        assert kept(third, 5, chosen=(0,))
        assert bench.answer(seat, third, 99, chosen=(2,)) is PlaceState.ANSWERED
        fourth = bench.next(seat)
        assert kept(fourth, 5, chosen=(0,))
        assert bench.answer(seat, fourth, 60) is PlaceState.TIMED_OUT, "they took it back in time"
        found = places(bench, seat)
        assert [one.answer for one in found] == ["B", None, "A", None]
        assert [one.state for one in found[:2]] == [PlaceState.ANSWERED, PlaceState.ABSTAINED]
        assert timing.taken_s(found[0]) == 60

    def test_what_they_came_to_know_or_was_withdrawn_meanwhile_is_exchanged(self, bench):
        for name in ("a", "b", "c", "d"):
            bench.ask(name)
        bench.release()
        jo = bench.person("jo", role=Role.ANNOTATOR)
        seat = bench.exam("jo", size=2)[1]["jo"]
        names = {revision.id: name for name, (_, revision) in bench.items.items()}
        first, second = (names[one.revision_id] for one in places(bench, seat))
        with bench.database.session() as session:
            session.add(ItemDraft(author=jo.id, item_id=bench.items[first][0].id, saved_by=jo.id))
            withdrawn = session.get(Material, bench.materials[second]["image_1"].id)
            withdrawn.state = MaterialState.WITHDRAWN
            session.add(withdrawn)
        shown = [names[next(one for one in places(bench, seat) if one.id == asked.place_id).revision_id]
                 for _ in range(2) if (asked := bench.next(seat)) and bench.answer(seat, asked, cannot_tell=True)]  # fmt: skip
        assert len(set(shown)) == 2 and not {first, second} & set(shown)
        assert bench.next(seat) is None

    def test_without_anything_in_its_stead_the_place_is_void_and_told(self, bench):
        bench.ask("a")
        bench.ask("b", "puzzle")
        bench.release()
        jo = bench.person("jo", role=Role.ANNOTATOR)
        seat = bench.exam("jo")[1]["jo"]
        with bench.database.session() as session:
            session.add(ItemDraft(author=jo.id, item_id=bench.items["a"][0].id, saved_by=jo.id))
        asked = bench.next(seat)
        assert (asked.number, asked.total) in {(1, 1), (1, 2)}
        bench.answer(seat, asked, cannot_tell=True)
        assert bench.next(seat) is None
        with bench.database.reading() as session:
            (view,) = sitting.seats_of(session, jo.id)
            assert (view.done, view.total) == (1, 1) and view.finished_at is not None

    def test_they_may_fetch_the_media_before_them_and_see_no_page_of_the_items(self, bench, jo):
        def now():
            with bench.database.reading() as session:
                return sitting.shown_media(session, jo.user_id), shut_items(session, jo.user_id)

        assert now()[0] == set(), "nothing before it is shown"
        asked = bench.next(jo)
        media = {part.media.sha256 for part in asked.prompt if hasattr(part, "media")}
        assert len(media) == 2 and now() == (media, {item.id for item, _ in bench.items.values()})
        while asked is not None:
            bench.answer(jo, asked, cannot_tell=True)
            asked = bench.next(jo)
        assert now() == (set(), set())
