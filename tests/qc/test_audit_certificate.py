"""What an audit proves, where that stands, and when models contradict it."""

import csv
import io
import json
import re
import shlex
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import typer
from PIL import Image
from scipy.stats import binom
from sqlmodel import select

import qc.audit.cli
from core.content import parse_prompt
from core.question import AnswerKey, Choice, Question, QuestionKind, choice_label
from evaluation.imports import import_answers
from evaluation.metrics import holm
from evaluation.run import report_release
from interplay.cli import app as root
from qc.audit.alarm import model_estimates, p_value
from qc.audit.certificate import certify, sentence
from qc.audit.sample import draw_sample
from qc.audit.subjects import open_subject
from warehouse.audits import AuditCounts, standing_certificate
from warehouse.items import Draft, create_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.release.build import Recipe, build_release
from warehouse.release.export import export_release, sealed_manifest
from warehouse.release.manifest import NO_CERTIFICATE
from warehouse.release.records import get_release
from warehouse.release.seal import SealOrder, seal_release
from warehouse.release.splits import SplitPlan
from warehouse.release.verify import verify_release
from warehouse.tables import AuditSample, Certificate, Decision, MaterialSource
from warehouse.verdicts import Judgement, record_verdict, settle_round


@pytest.fixture
def call(house, call_command):
    """A command as people call it; these commands stand in a group of their own."""

    def run(line: str, code: int = 0, app=qc.audit.cli.app):
        arguments = [*shlex.split(line), "--project", str(house.workspace.project.root)]
        return call_command(app, arguments, code)

    return run


def draw(house, size, name="zoo@1.0.0", **more):
    return draw_sample(house.database, open_subject(house.workspace, name), size, "max", **more)


def audited(house, size, failures=0, **more):
    house.fill(draw(house, size), failures, **more)
    return certify(house.workspace, "zoo", "1.0.0")


def stored(house):
    with house.database.reading() as session:
        return session.exec(select(Certificate).order_by(Certificate.created_at)).all()


@pytest.mark.parametrize(
    ("size", "failures", "needs", "text"),
    [
        (149, 0, "no", "At most 2.0% of these items are solvable without some modality, at 95% confidence: 0 of 149 items "
                       "audited by people at random (seed 1) were."),
        (236, 1, "no", "At most 2.0% of these items are solvable without some modality, at 95% confidence: 1 of 236 items "
                       "audited by people at random (seed 1) were."),
        (149, 1, "unsure", "At most 3.2% of these items are solvable without some modality, at 95% confidence: 1 of 149 "
                           "items audited by people at random (seed 1) were (people were unsure of 1 of them)."),
    ],
)  # fmt: skip
def test_the_sentence_tells_the_real_numbers(house, size, failures, needs, text):
    house.release(300)
    done = audited(house, size, failures, needs=needs)
    certificate = done.certificate
    assert (certificate.text, certificate.audited, certificate.failures) == (text, size, failures)
    # The bound is the share of failures under which so few are seen one time of twenty.
    assert binom.cdf(failures, size, certificate.bound) == pytest.approx(0.05)
    assert done.why_not is None
    assert (done.short_of_target is None) == (certificate.bound <= 0.02)


def test_a_bound_is_never_rounded_down():
    # 0 of 148: 2.004%.
    text = sentence(AuditCounts(148, 148, 148, 148, 0), AuditSample(seed=7))
    assert text.startswith("At most 2.1% of these items")
    assert "(seed 7)" in text


def test_until_all_are_looked_at_nothing_is_certified(house):
    house.release(20)
    assert certify(house.workspace, "zoo", "1.0.0").why_not == (
        "no sample is drawn; draw one with 'interplay qc audit zoo 1.0.0'"
    )
    sample = draw(house, 10)
    house.fill(sample, upto=9)
    done = certify(house.workspace, "zoo", "1.0.0")
    assert (done.certificate, done.why_not) == (None, "not complete: 1 of the 10 items in the sample are pending")
    assert stored(house) == []
    house.fill(sample)
    done = certify(house.workspace, "zoo", "1.0.0")
    assert done.certificate is not None
    assert done.short_of_target == (
        "the bound is 25.89%, not 2%; with 0 that fail, 149 items must be audited, 139 more"
    )


def test_the_same_findings_make_one_certificate_and_new_ones_another(house):
    house.release(20)
    first = audited(house, 5).certificate
    assert certify(house.workspace, "zoo", "1.0.0").certificate.id == first.id
    assert len(stored(house)) == 1
    sample = draw(house, 5)
    house.doubt(sample)
    with house.database.reading() as session:
        # The certificate speaks of fewer failures than there are now: it is none any more.
        assert standing_certificate(session, sample.subject_sha256) is None
    second = certify(house.workspace, "zoo", "1.0.0").certificate
    assert [one.failures for one in stored(house)] == [0, 1]
    with house.database.reading() as session:
        assert standing_certificate(session, sample.subject_sha256).id == second.id


def test_eight_who_certify_at_once_make_one_certificate(any_house):
    any_house.release(20)
    any_house.fill(draw(any_house, 5))
    start = threading.Barrier(8)

    def run(_number):
        start.wait(timeout=60)
        return certify(any_house.workspace, "zoo", "1.0.0").certificate.id

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(run, range(8))) == {one.id for one in stored(any_house)}
    assert len(stored(any_house)) == 1


def test_an_extended_sample_says_so_and_the_smaller_certificate_stands_meanwhile(house):
    house.release(40)
    small = audited(house, 10, failures=1).certificate
    assert "extended" not in small.text
    draw(house, 20)
    done = certify(house.workspace, "zoo", "1.0.0")
    assert (done.certificate.id, done.why_not) == (
        small.id,
        "not complete: 10 of the 20 items in the sample are pending",
    )
    large = audited(house, 20).certificate
    assert (large.audited, large.failures) == (20, 1)
    assert large.text.endswith(" The sample was extended from 10 items; that confidence is of a size fixed beforehand.")


def test_a_sample_that_nobody_looked_at_can_be_made_larger_freely(house):
    house.release(40)
    draw(house, 10)
    assert "extended" not in audited(house, 20).certificate.text
    assert " extended from 20 items" in audited(house, 30).certificate.text


def test_another_content_has_no_certificate_and_the_same_under_another_name_has(house):
    house.release(12)
    first = audited(house, 6).certificate
    with house.database.session() as session:
        zoo = get_release(session, "zoo", "1.0.0")
        for version, count in (("1.0.1", 12), ("2.0.0", 11)):
            house.copy(session, zoo, version, count)
    same = certify(house.workspace, "zoo", "1.0.1").certificate
    assert (same.text, same.release_id != first.release_id) == (first.text, True)
    assert certify(house.workspace, "zoo", "2.0.0").why_not.startswith("no sample is drawn")


def accept(house, library, name, number):
    """An item that may be released: media with a licence, and three passing verdicts."""
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (number, 40, 40)).save(buffer, "PNG")
    material = library.add(buffer.getvalue())
    question = Question(
        prompt=parse_prompt("Which? <image_1>", {"image_1": material.media_ref}),
        kind=QuestionKind.CHOICE,
        choices=tuple(Choice(text=text) for text in "abcd"),
        answer=AnswerKey(correct=(number % 4,)),
        required={"image"},
        task_type="human_and_animal_recognition",
        language="en",
    )
    with house.database.session() as session:
        session.add(
            MaterialSource(material_id=material.id, origin="x", licence="CC-BY-4.0", author="A", run_id=house.run_id)
        )
        item, revision = create_item(session, name, Draft(question, {"image_1": material.id}, author="writer"))
        advance(session, item.id, item.version, Advance(Action.SUBMIT, "writer"))
        for place, decider in enumerate(("check@1", "check@1", "judge"), start=1):
            judgement = Judgement(place, decider, place == 3, Decision.PASS)
            settle_round(session, revision, record_verdict(session, revision, judgement))


@pytest.fixture
def real_zoo(house, library):
    for number in range(4):
        accept(house, library, f"q{number}", number)
    build_release(house.database, "zoo", "1.0.0", Recipe(plan=SplitPlan(dev_share=0)), "max")
    return house


def seal(house):
    release = seal_release(house.database, house.workspace.blobs, SealOrder("zoo", "1.0.0", "max")).release
    return sealed_manifest(house.workspace.blobs, release)[0]


def damages(house):
    return verify_release(house.database, house.workspace.blobs, "zoo", "1.0.0").damages


def test_of_a_set_that_was_audited_as_a_whole_nothing_is_left_to_infer(house):
    house.release(21)
    found = audited(house, 21)
    assert (found.certificate.bound, found.short_of_target) == (0.0, None)
    assert found.certificate.text == (
        "0 of these 21 items, all of which people audited, are solvable without some modality."
    )


def test_a_whole_set_that_fails_is_told_what_to_do(house):
    house.release(20)
    found = audited(house, 20, failures=1)
    assert found.certificate.bound == pytest.approx(0.05)
    assert found.short_of_target == "5.00% of the items fail, and 2% may: mend or retire those that do"


def test_a_sealed_manifest_holds_the_certificate_and_is_whole(real_zoo, call, tmp_path):
    certificate = audited(real_zoo, 3).certificate
    manifest = seal(real_zoo)
    # 1 - .05^(1/3) = 63.16%
    assert manifest.certificate == certificate.text
    assert manifest.certificate.startswith("At most 63.2% of these items are solvable without some modality")
    assert damages(real_zoo) == []
    assert "whole" in call("release verify zoo 1.0.0", app=root)
    export_release(real_zoo.database, real_zoo.workspace.blobs, "zoo", "1.0.0", "jsonl", tmp_path / "out")
    export = open_subject(real_zoo.workspace, str(tmp_path / "out"))
    release = open_subject(real_zoo.workspace, "zoo@1.0.0")
    # An export is the same set of questions: its audit is that of the release.
    assert (export.sha256, list(export.members)) == (release.sha256, list(release.members))
    assert draw(real_zoo, 3, str(tmp_path / "out")).id == certificate.sample_id


def test_a_release_that_was_sealed_before_its_audit_keeps_its_manifest(real_zoo, call):
    manifest = seal(real_zoo)
    assert manifest.certificate == NO_CERTIFICATE
    certificate = audited(real_zoo, 4).certificate
    assert seal(real_zoo) == manifest
    assert damages(real_zoo) == []
    assert call("certificate zoo 1.0.0").startswith(certificate.text)


def test_sealing_takes_no_certificate_that_findings_contradict(real_zoo):
    audited(real_zoo, 4)
    real_zoo.doubt(draw(real_zoo, 4))
    assert seal(real_zoo).certificate == NO_CERTIFICATE


def answers(house, tmp_path, model, condition, right, of, wrong=1):
    """The model's answers to the first `of` items of the release: the first `right` are."""
    file = tmp_path / f"{model}-{condition}.jsonl"
    with file.open("w") as stream:
        for number in range(of):
            choice = (number + (0 if number < right else wrong)) % 4
            line = {"item": f"q{number:04}", "answer": choice_label(choice), "condition": condition}
            stream.write(json.dumps(line) + "\n")
    import_answers(house.workspace, ("zoo", "1.0.0"), file, model)


def test_table_1_shows_what_people_found(house, tmp_path):
    house.release(60)
    answers(house, tmp_path, "m", "full", 40, 60)

    def cells():
        table = report_release(house.workspace, "zoo", "1.0.0").table("benchmarks")
        return [cell.text for cell in table.rows[0].cells[-2:]]

    assert cells() == ["not measured", "not measured"]
    sample = draw(house, 50)
    house.fill(sample, failures=1, upto=49)
    assert cells() == ["not measured", "not measured"]
    house.fill(sample)
    # Clopper-Pearson: 50/50 from (.025)^(1/50) = 92.9; 49/50 as statistics books tabulate it.
    assert cells() == ["100.0% [92.9, 100.0] (50/50)", "98.0% [89.4, 99.9] (49/50)"]


def test_models_at_chance_raise_no_alarm_and_one_that_answers_without_looking_does(house, tmp_path, call):
    house.release(200)
    assert audited(house, 149).certificate.bound < 0.02
    # 60% where guessing gives 25% means that (.6 - .25) / .75 = 46.7% are solvable; 26% is what guessing gives.
    at_chance = {"without_audio": 45, "text_only": 52, "options_only": 58}
    for condition, right in at_chance.items():
        answers(house, tmp_path, "guesser", condition, right, 200)
    document = call("certificate zoo 1.0.0 --json")
    assert (document["alarm"], [one["condition"] for one in document["models"]]) == (False, list(at_chance))
    assert "alarm" not in call("certificate zoo 1.0.0")
    answers(house, tmp_path, "seer", "text_only", 120, 200)
    answers(house, tmp_path, "seer", "full", 200, 200)
    found = model_estimates(house.workspace, "zoo", "1.0.0", 0.02)
    *_, seer = found
    assert [(one.model, one.condition) for one in found] == [
        *(("guesser", one) for one in at_chance),
        ("seer", "text_only"),
    ]
    assert (seer.items, seer.accuracy, seer.chance) == (200, pytest.approx(0.6), pytest.approx(0.25))
    assert seer.solvable == pytest.approx((0.6 - 0.25) / 0.75)
    assert seer.low < seer.solvable < seer.high
    wanted = [binom.sf(right - 1, 200, 0.25 + 0.02 * 0.75) for right in (*at_chance.values(), 120)]
    assert [one.p for one in found] == pytest.approx(wanted)
    # Holm: the least of four counts four times, the others are not significant anyway.
    assert seer.p_holm == pytest.approx(4 * wanted[3])
    assert [one.p_holm for one in found] == pytest.approx(holm(wanted))
    told = call("certificate zoo 1.0.0", code=1)
    assert re.search(r"seer, text_only: 46\.7% \[[\d.]+, [\d.]+\] of 200 items, p <\.001", told)
    assert "alarm: seer solves more under text_only than the certificate leaves" in told
    assert "alarm: guesser" not in told
    document = call("certificate zoo 1.0.0 --json", code=1)
    assert document["alarm"] is True
    assert [one["conflict"] for one in document["models"]] == [False, False, False, True]


def test_of_a_part_of_the_items_more_may_be_solvable(house, tmp_path):
    """At most 2% of 200 are 4 items; all of them may be among the 40 that were asked, which makes 10%."""
    house.release(200)
    answers(house, tmp_path, "m", "text_only", 20, 40)
    (one,) = model_estimates(house.workspace, "zoo", "1.0.0", 0.02)
    assert one.p == pytest.approx(binom.sf(19, 40, 0.25 + 0.1 * 0.75))


def test_without_a_certificate_the_estimates_stand_alone(house, tmp_path, call):
    house.release(30)
    assert "no evaluated model was asked with something missing" in call("certificate zoo 1.0.0", code=1)
    answers(house, tmp_path, "m", "text_only", 30, 30)
    told = call("certificate zoo 1.0.0", code=1)
    assert told.startswith("no certificate\nno sample is drawn; draw one with 'interplay qc audit zoo 1.0.0'\n")
    assert "m, text_only: 100.0%" in told
    assert "alarm" not in told


def test_the_p_of_shares_is_rounded_to_the_safe_side():
    assert p_value(9.5, 20, 0.25, 0.0) == pytest.approx(binom.sf(8, 20, 0.25))
    assert p_value(0.1 * 3 * 10, 20, 0.25, 0.0) == pytest.approx(binom.sf(2, 20, 0.25))
    # Chances of .5 and .1 in turn vary less than .3 throughout: the exact tail, by convolution, is smaller.
    exact = np.array([1.0])
    for chance in [0.5, 0.1] * 10:
        exact = np.convolve(exact, [1 - chance, chance])
    for right in range(7, 20):
        assert exact[right:].sum() <= p_value(right, 20, 0.3, 0.0)


def commands():
    group = typer.main.get_command(qc.audit.cli.app)
    return [pytest.param(command, id=name) for name, command in sorted(group.commands.items())]


@pytest.mark.parametrize("command", commands())
def test_every_command_has_an_example_and_json(command):
    assert re.search(rf"^Example: interplay qc {command.name}\b", command.help, re.MULTILINE)
    assert any("--json" in option.opts for option in command.params)
    assert all(option.help for option in command.params)


def test_an_audit_from_the_command_line(house, call, tmp_path):
    house.release(20)
    assert call("audit zoo 1.0.0 --dry-run --json") == {"subject": "zoo 1.0.0", "population": 20, "size": 20}
    with house.database.reading() as session:
        assert session.exec(select(AuditSample)).all() == []
    assert call("audit zoo 1.0.0 --share 0.2 --by max").splitlines() == [
        "zoo 1.0.0: 4 of 20 items drawn with seed 1",
        "  right answers: undefined, no item is audited",
        "  need every modality: undefined, no item is audited",
        "  solvable without some modality, or perhaps: undefined, no item is audited",
        "  pending: 4",
    ]
    assert call("audit zoo 1.0.0 --dry-run") == "zoo 1.0.0: 4 of 20 items are drawn already\n"
    taken = call("audit-next zoo@1.0.0 --by rita --json")
    assert call("audit-next zoo@1.0.0 --by rita --json")["item"] == taken["item"]
    assert taken["choices"] == ["= 0", "= 1", "= 2", "= 3"]
    assert taken["asked"]["needs_all"].keys() == {"en", "zh"}
    told = call("audit-next zoo 1.0.0 --by rita")
    assert told.startswith(f"{taken['item']}\nQuestion ")
    assert "Is the key right? 答案正确吗？" in told
    line = "audit-answer zoo 1.0.0 --by rita --answer-right yes --needs-all no"
    assert call(line) == "needs_all is no, so solvable_without must name at least one of text, image, audio, video"
    assert call(f"{line} --without image") == f"{taken['item']}: stored; 3 items are pending\n"
    assert call(f"{line} --without image").startswith("rita holds no item of this audit")
    sheet = tmp_path / "sheet.csv"
    told = call(f"audit zoo 1.0.0 --by rita --sheet {sheet}")
    assert f"{sheet}: 3 open items; fill in yes, no, unsure / 是, 否, 不确定:\n" in told
    assert (
        "  solvable_without: If not: without which modalities can you answer? 如果不是：缺少哪些模态仍能作答？\n"
        in told
    )
    with sheet.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    with sheet.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"answer_right": "yes", "needs_all": "yes"} for row in rows)
    assert call(f"audit zoo 1.0.0 --findings {sheet}", code=2) == ""
    found = call(f"audit zoo 1.0.0 --by rita --findings {sheet} --json")
    assert (found["stored"], found["pending"], found["audited"]) == (3, 0, 4)
    # Of 4: exact intervals are 1 - .975^(1/4) = .6 and 1 - .0875... as beta quantiles give them.
    assert found["right_answers"] == {"count": 4, "share": 1.0, "low": pytest.approx(0.025**0.25), "high": 1.0}
    assert found["solvable_without_some"]["count"] == 1
    assert found["solvable_without_some"]["low"] == pytest.approx(1 - 0.975**0.25)
    told = call("audit zoo 1.0.0")
    assert "  need every modality: 75.0% [19.4, 99.4] (3/4)" in told
    assert "At most 75.2% of these items" in call("certificate zoo 1.0.0")
    assert call("audit-next zoo 1.0.0 --by raj") == "zoo 1.0.0: nothing is left for raj\n"


def test_an_audit_of_a_public_set(house, call, tmp_path):
    file = tmp_path / "public.csv"
    file.write_text("number,question,A,B,answer\n" + "".join(f"{n},Q{n}?,x,y,A\n" for n in range(40)))
    assert "has no column for id among number" in call(f"audit {file}")
    assert call(f"audit {file} --column id", code=2) == ""
    assert "unknown user 'mix'; did you mean 'max'?" in call(f"audit {file} --column id=number --by mix")
    drawn = call(f"audit {file} --column id=number --by max --json")
    assert (drawn["size"], drawn["population"], drawn["subject"]) == (6, 40, "public.csv")
    shown = call(f"audit-next {file} --column id=number --by rita --json")
    assert (shown["question"], shown["choices"]) == (f"Q{shown['item']}?", ["x", "y"])
    answer = f"audit-answer {file} --column id=number --by rita --answer-right no --needs-all unsure --json"
    done = call(answer)
    assert (done["item"], done["pending"], done["finding"]["answer_right"]) == (shown["item"], 5, "no")
    assert call(f"audit {file} --column id=number --size 3 --share 0.1", code=2) == ""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("audit zoo 1.0.0 --size 21", "zoo 1.0.0 holds 20 items; draw between 1 and 20, not 21"),
        ("audit zoo", "'zoo' is no file and no folder; write a release as NAME VERSION"),
        ("audit-next zoo 1.0.0 --by rita", "no sample of zoo 1.0.0 is drawn yet"),
        ("certificate zoo 2.0.0", "unknown release 'zoo 2.0.0'; did you mean 'zoo 1.0.0'?"),
        ("certificate zoo 1.0.0 --by x", None),
    ],
)
def test_mistakes_are_one_line_with_the_mend(house, call, line, said):
    house.release(20)
    if said is None:
        assert call(line, code=2) == ""
    else:
        assert call(line).startswith(said)
