"""Releases through the studio's services: who may, what is stored, what a killed server leaves, what leaves the house."""

import importlib.util
import io
import json
import signal
import subprocess
import sys
import threading
import traceback
import zipfile
from pathlib import Path

import pytest
from sqlmodel import select

from annotation_ui.forms import new_form_key
from annotation_ui.permissions import AccountInactive, NotAllowed
from annotation_ui.releases import desk, publishing
from annotation_ui.releases.desk import (
    Blocked,
    LicenceUnclear,
    NameUnusable,
    NewRelease,
    NotConfirmed,
    NothingFits,
    NotSealedYet,
    ReleaseGone,
    SealedMeanwhile,
    VersionExists,
    VersionUnusable,
)
from annotation_ui.releases.publishing import (
    FolderTaken,
    HubFailed,
    HubMissing,
    MediaGone,
    NotExported,
    RepositoryUnusable,
    TokenMissing,
    TokenTurnedAway,
    TooLarge,
    UnknownFormat,
    export_folder,
    export_place,
)
from annotation_ui.views.release_build import build_form, fit_words
from annotation_ui.views.release_changes import changes_page, versions_before
from annotation_ui.views.release_findings import TITLES, WORDS, findings_page
from annotation_ui.views.release_past import past_of
from annotation_ui.views.releases import release_coverage, release_detail, releases_page
from annotation_ui.words import words_in
from core.content import Modality
from warehouse import events
from warehouse.lifecycle import Action, Advance, advance
from warehouse.people import Role, get_user
from warehouse.release import push as push_module
from warehouse.release.build import Query, Recipe, fitting
from warehouse.release.checks import Block
from warehouse.release.push import Access, Destination
from warehouse.release.splits import SplitPlan
from warehouse.tables import (
    Item,
    ItemState,
    Material,
    MaterialSource,
    MaterialState,
    Release,
    ReleaseState,
    Run,
)

EN, ZH = words_in("en"), words_in("zh")
RECIPE = Recipe(licence="CC-BY-4.0")


def hub_server():
    spec = importlib.util.spec_from_file_location("hub_server", Path(__file__).parent / "hub_server.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def accepted(seeder, seed):
    """Makes accepted items with a picture and a sound each; gives their (item, revision)."""
    numbers = iter(range(1000))

    def make(*names, licence="CC-BY-4.0", state=MaterialState.KEPT, **more):
        made = []
        for name in names:
            number = next(numbers)
            media = {
                "image_1": seeder.picture(number, licence=licence, state=state),
                "audio_1": seeder.sound(number),
            }
            rounds = [seed.passed(1), seed.passed(2, "judge"), seed.passed(3, "judge")]
            draft = seeder.draft(f"See <image_1>, hear <audio_1>: {name}?", media, "mei", **more)
            made.append(seeder.item(name, draft, Action.SUBMIT, *rounds))
        return made

    return make


@pytest.fixture
def maintainer(principal_of):
    return principal_of(Role.MAINTAINER)


@pytest.fixture
def build(studio, maintainer):
    """Builds zoo in a version; gives the release's id."""

    def do(version="1.0.0", recipe=RECIPE, who=maintainer):
        return desk.build(studio.workspace, who, NewRelease("zoo", version, recipe), studio.clock)

    return do


@pytest.fixture
def seal(studio, maintainer):
    def do(release_id, typed="zoo 1.0.0", allowed=()):
        desk.seal(studio.workspace, maintainer, release_id, typed, allowed, studio.clock)

    return do


@pytest.fixture
def stored(database):
    """The release and all its past as the page would tell it."""

    def look(release_id, who, t=EN, at_work=False):
        with database.reading() as session:
            detail = release_detail(session, who, release_id, t)
            return detail, past_of(session, detail, at_work, t)

    return look


def test_a_release_from_the_draft_to_the_file_in_hand(studio, accepted, build, seal, stored, maintainer, database):
    accepted(*"abcdef")
    built = build(recipe=Recipe(plan=SplitPlan(0.2, 0.5), licence="CC-BY-4.0", salt="pepper"))
    detail, past = stored(built, maintainer)
    assert past.check.findings == [] and detail.row.questions == "6 questions"
    assert detail.row.by_modality == "Image 6 · Audio 6"
    with pytest.raises(NotConfirmed):
        seal(built, "zoo 1.0")
    seal(built, " zoo 1.0.0 ")
    with pytest.raises(SealedMeanwhile):
        seal(built)
    with pytest.raises(SealedMeanwhile), database.session() as session:
        desk.discard(session, maintainer, built)
    detail, past = stored(built, maintainer)
    assert "by Maintainer" in detail.row.made and len(detail.row.manifest) == 64

    desk.verify(studio.workspace, maintainer, built)
    publishing.export(studio.workspace, maintainer, built, "jsonl")
    publishing.export(studio.workspace, maintainer, built, "jsonl")  # the same again is there already
    publishing.verify_export(studio.workspace, maintainer, built, "jsonl")
    detail, past = stored(built, maintainer)
    assert not past.verified[""].damages and not past.verified["jsonl"].damages and not past.cut_off
    data = publishing.zipped(studio.workspace, maintainer, built, "jsonl")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        rows = archive.read("zoo-1.0.0/questions.jsonl").decode().splitlines()
        held_out = dict(detail.splits)["Hold-out"]
        assert len(rows) == 6 - held_out and held_out
    with database.reading() as session:
        did = [(event.action, event.actor) for event in events.history(session, "release", built)]
    assert did == [(act, maintainer.user_id) for act in ("build", "seal", "export", "export")]
    # Neither the salt nor the canary is in anything that a page is drawn from.
    canary = json.loads(studio.workspace.blobs.get(detail.row.manifest))["canary"]
    assert "pepper" not in repr((detail, past)) and canary not in repr((detail, past))


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.REVIEWER, Role.PARTICIPANT])
def test_only_maintainers_write(studio, accepted, build, seal, principal_of, database, role):
    accepted("a")
    built, who, workspace = build(), principal_of(role), studio.workspace
    seal(built)
    with pytest.raises(NotAllowed):
        build("2.0.0", who=who)
    for work in (
        lambda: desk.check(workspace, who, built, ()),
        lambda: desk.seal(workspace, who, built, "zoo 1.0.0"),
        lambda: desk.verify(workspace, who, built),
        lambda: publishing.export(workspace, who, built, "jsonl"),
        lambda: publishing.verify_export(workspace, who, built, "jsonl"),
        lambda: publishing.remove_export(workspace, who, built, "jsonl"),
        lambda: publishing.zipped(workspace, who, built, "jsonl"),
        lambda: publishing.push(workspace, who, built, Destination("a/b", token="x")),
    ):
        with pytest.raises(NotAllowed):
            work()
    with pytest.raises(NotAllowed), database.session() as session:
        desk.discard(session, who, built)
    with pytest.raises(NotAllowed), database.reading() as session:
        build_form(session, who, EN)


def test_whoever_loses_the_role_while_media_are_read_does_not_seal(
    studio, accepted, build, maintainer, database, monkeypatch
):
    accepted("a")
    built = build()
    from warehouse.release import seal as seal_module

    def slow(*given):
        with database.session() as session:
            get_user(session, "maintainer").roles = ["annotator"]
        return []

    monkeypatch.setattr(seal_module, "media_findings", slow)
    with pytest.raises(NotAllowed):
        desk.seal(studio.workspace, maintainer, built, "zoo 1.0.0")
    with database.session() as session:
        assert session.get_one(Release, built).state == ReleaseState.BUILT
        get_user(session, "maintainer").active = False
    with pytest.raises(AccountInactive):
        desk.check(studio.workspace, maintainer, built, ())


@pytest.mark.parametrize(
    ("name", "version", "licence", "told"),
    [
        ("../up", "1.0.0", None, NameUnusable),
        ("a/b", "1.0.0", None, NameUnusable),
        ("zoo", "1", None, VersionUnusable),
        ("zoo", "../1.0.0", None, VersionUnusable),
        ("zoo", "1.0.0", None, VersionExists),
        ("zoo", "2.0.0", "cc by 4", LicenceUnclear),
    ],
)
def test_what_cannot_be_built_is_told(studio, accepted, build, maintainer, name, version, licence, told):
    accepted("a")
    build()
    with pytest.raises(told):
        desk.build(studio.workspace, maintainer, NewRelease(name, version, Recipe(licence=licence)))


def test_the_count_beforehand_is_what_is_built(studio, accepted, seeder, build, maintainer, database):
    accepted("a", "b")
    accepted("中", language="zh-CN", task_type="spot_the_difference")
    media = {"image_1": seeder.picture(500)}
    seeder.item("draft", seeder.draft("See <image_1>.", media, "mei"))
    with database.reading() as session:
        form = build_form(session, maintainer, EN)
    assert (form.name, form.version) == ("", "1.0.0")
    assert form.languages == {"en": "English (2)", "zh": "Chinese (1)"}
    for query in (
        Query(),
        Query(languages=["ZH"]),
        Query(task_types=["counting"]),
        Query(modalities=[Modality.VIDEO]),
        Query(["counting"], ["zh"]),
    ):
        found = fitting(form.shapes, query)
        if not found.chosen:
            with pytest.raises(NothingFits):
                build(recipe=Recipe(query))
            continue
        built = build(recipe=Recipe(query))
        with database.session() as session:
            assert release_detail(session, maintainer, built, EN).row.questions.startswith(f"{found.chosen} ")
            desk.discard(session, maintainer, built)
    words = fit_words(fitting(form.shapes, Query(languages=["zh"])), EN)
    assert words.text == "1 question fits." and words.others == ["2: another language", "1: not accepted (Draft)"]


def test_what_blocks_is_stored_with_its_place_and_mended(studio, accepted, build, seal, stored, maintainer, database):
    accepted("a", licence=None)
    accepted("b", licence="https://x.test/own")
    accepted("c", state=MaterialState.DROPPED)
    built = build()
    with pytest.raises(Blocked):
        seal(built)
    _, past = stored(built, maintainer)
    page = findings_page(past.check.findings, None, 1, EN)
    assert [row.items for row in page.rows] == [["c"], ["a"], ["b"]], "the same kinds stand together"
    assert page.licences == ["https://x.test/own"] and len(page.kinds) == 3
    assert all(row.material_id and row.mend for row in page.rows)
    assert findings_page(past.check.findings, "no_licence", 1, ZH).rows[0].problem == "素材没有登记许可证。"

    with database.session() as session:
        row = session.get_one(Material, page.rows[0].material_id)
        row.state = MaterialState.KEPT
        source = session.exec(
            select(MaterialSource).where(MaterialSource.material_id == page.rows[1].material_id)
        ).one()
        source.licence = "CC0-1.0"
    found = desk.check(studio.workspace, maintainer, built, ["https://x.test/own"])
    assert found == []
    seal(built, allowed=stored(built, maintainer)[1].check.allowed)
    facts = dict(stored(built, maintainer)[0].facts)
    assert facts["Licences allowed when sealing"] == "https://x.test/own"


def test_every_kind_of_finding_has_words_in_both_languages():
    values = {"number": "1", "round": "2", "state": "draft", "splits": "dev test", "reason": "", "licence": "x",
              "placeholder": "image_1", "detail": "d"}  # fmt: skip
    stored = [
        {"kind": kind.value, "values": values, "items": ["i"] * 9, "material_id": None, "problem": "p"}
        for kind in Block
    ]
    assert set(WORDS) == set(TITLES) == set(Block)
    for t in (EN, ZH):
        rows = findings_page(stored, None, 1, t).rows
        assert len(rows) == len(Block) and all("{" not in row.problem + row.mend for row in rows)
        assert {(len(row.items), row.more) for row in rows} == {(5, 4)}
    english, chinese = (findings_page(stored, None, 1, t).rows for t in (EN, ZH))
    assert not {row.problem for row in english} & {row.problem for row in chinese}


def test_a_draft_that_was_built_again_is_not_the_one_that_was_looked_at(studio, accepted, build, maintainer, database):
    accepted("a")
    seen = build()
    with database.session() as session:
        desk.discard(session, maintainer, seen)
    again = build()
    for work in (
        lambda: desk.seal(studio.workspace, maintainer, seen, "zoo 1.0.0"),
        lambda: desk.check(studio.workspace, maintainer, seen, ()),
        lambda: publishing.export(studio.workspace, maintainer, seen, "jsonl"),
    ):
        with pytest.raises(ReleaseGone):
            work()
    with pytest.raises(ReleaseGone), database.session() as session:
        desk.discard(session, maintainer, seen)
    with pytest.raises(NotSealedYet):
        publishing.export(studio.workspace, maintainer, again, "jsonl")


def test_two_who_seal_at_once(studio, accepted, build, maintainer, add_person, sign_in, database):
    accepted(*"abc")
    built = build()
    add_person("second", Role.MAINTAINER)
    people, told = [maintainer, sign_in("second")[1]], []
    together = threading.Barrier(2)

    def work(who):
        together.wait()
        try:
            desk.seal(studio.workspace, who, built, "zoo 1.0.0")
            told.append("sealed")
        except SealedMeanwhile:
            told.append("meanwhile")

    threads = [threading.Thread(target=work, args=(who,)) for who in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == ["meanwhile", "sealed"]
    with database.reading() as session:
        assert len([e for e in events.history(session, "release", built) if e.action == "seal"]) == 1
        assert {item.state for item in session.exec(select(Item))} == {ItemState.RELEASED}


@pytest.mark.parametrize("name", ["../../up", "/etc", "jsonl/../../x", "", "JSONL"])
def test_no_path_comes_from_outside(studio, accepted, build, seal, maintainer, name):
    accepted("a")
    built = build()
    seal(built)
    before = sorted(studio.workspace.project.root.parent.rglob("*"))
    for work in (publishing.export, publishing.verify_export, publishing.remove_export):
        with pytest.raises(UnknownFormat):
            work(studio.workspace, maintainer, built, name)
    with pytest.raises(UnknownFormat):
        publishing.zipped(studio.workspace, maintainer, built, name)
    assert sorted(studio.workspace.project.root.parent.rglob("*")) == before


def test_exports_that_are_damaged_withdrawn_or_too_large(
    studio, accepted, build, seal, stored, maintainer, database, monkeypatch
):
    ((_, revision),) = accepted("a")
    built = build()
    seal(built)
    workspace = studio.workspace
    with pytest.raises(NotExported):
        publishing.zipped(workspace, maintainer, built, "jsonl")
    publishing.export(workspace, maintainer, built, "jsonl")
    with database.reading() as session:
        release = session.get_one(Release, built)
    folder = export_folder(workspace, release, "jsonl")
    assert folder.is_relative_to(workspace.project.root / "exports") and export_place(workspace, release, "jsonl").size
    monkeypatch.setattr(publishing, "MOST_DOWNLOAD_BYTES", 10)
    with pytest.raises(TooLarge):
        publishing.zipped(workspace, maintainer, built, "jsonl")
    (folder / "README.md").write_text("other words")
    publishing.verify_export(workspace, maintainer, built, "jsonl")
    assert "README.md" in stored(built, maintainer)[1].verified["jsonl"].damages[0]
    with pytest.raises(FolderTaken):
        publishing.export(workspace, maintainer, built, "jsonl")
    publishing.remove_export(workspace, maintainer, built, "jsonl")
    assert not folder.exists() and not list(folder.parent.iterdir())
    with pytest.raises(NotExported):
        publishing.remove_export(workspace, maintainer, built, "jsonl")
    publishing.export(workspace, maintainer, built, "jsonl")
    monkeypatch.undo()
    with database.session() as session:
        session.exec(select(Material)).first().state = MaterialState.WITHDRAWN
    assert stored(built, maintainer)[0].shows_withdrawn
    for work in (publishing.export, publishing.zipped):
        with pytest.raises(MediaGone):
            work(workspace, maintainer, built, "jsonl")


def test_what_changed_and_why(studio, accepted, seeder, build, seal, maintainer, database):
    pairs = accepted(*"abcd")
    first = build(recipe=Recipe(plan=SplitPlan(0.0), licence="CC-BY-4.0"))
    seal(first)
    accepted("e")
    with database.session() as session:
        item = session.get_one(Item, pairs[1][0].id)
        advance(session, item.id, item.version, Advance(Action.RETIRE, "mei", ("obsolete",)))
        shown = session.exec(select(Material)).all()[4]
        shown.state = MaterialState.WITHDRAWN
        third = session.get_one(Item, pairs[2][0].id)
        advance(session, third.id, third.version, Advance(Action.RETIRE, "mei", ("obsolete",)))
    second = build("1.1.0", Recipe(plan=SplitPlan(0.0), licence="CC-BY-4.0"))
    with database.reading() as session:
        detail = release_detail(session, maintainer, second, EN)
        assert versions_before(session, detail) == {first: "1.0.0"}
        found = changes_page(session, maintainer, detail, "1.0.0", None, 1, EN)
        only = changes_page(session, maintainer, detail, "1.0.0", "removed", 1, EN)
        table = release_coverage(session, second, EN)
        listed = releases_page(session, maintainer, "1.1", 1, EN)
    assert [(row.how, row.item, row.why) for row in found.rows] == [
        ("added", "e", "accepted or asked for since"),
        ("removed", "b", "it stands at “Retired” now"),
        ("removed", "c", "somebody withdrew what it shows"),
    ]
    assert found.counts == {"added": 1, "changed": 0, "removed": 2} and len(only.rows) == 2
    assert table.columns == ["Image + Audio"] and [counts for _, _, counts in table.rows] == [[3]]
    assert [row.title for row in listed.rows] == ["zoo 1.1.0"] and listed.project_size == 2


@pytest.fixture
def hub(monkeypatch, tmp_path):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    server = hub_server()
    with server.running_hub() as (state, address):
        monkeypatch.setenv("HF_ENDPOINT", address)
        yield state


def test_a_push_and_what_may_go_wrong(studio, accepted, build, seal, stored, maintainer, hub, monkeypatch, database):
    accepted("a", "b")
    built = build()
    seal(built)

    bad = f"hf_{new_form_key()}"

    def push(repository="lab/zoo", token=None, access=Access.GATED):
        return publishing.push(studio.workspace, maintainer, built, Destination(repository, access, token))

    for told, given in (
        (TokenMissing, {}),
        (TokenTurnedAway, {"token": bad}),
        (RepositoryUnusable, {"repository": "../../etc", "token": "hf_good"}),
    ):
        with pytest.raises(told) as caught:
            push(**given)
        assert bad not in "".join(traceback.format_exception(caught.value))
    hub.refusing = True
    with pytest.raises(HubFailed, match="disk is full"):
        push(token="hf_good")
    assert not hub.tags and not stored(built, maintainer)[1].pushes
    hub.refusing = False
    hub.files["lab/zoo"]["of-an-older-version.txt"] = b"x"
    monkeypatch.setenv("HF_TOKEN", "hf_good")
    assert push().url.endswith("/datasets/lab/zoo")
    with database.reading() as session:
        release = session.get_one(Release, built)
        told = [json.dumps(run.settings) + json.dumps(run.summary) for run in session.exec(select(Run))]
    folder = export_folder(studio.workspace, release, "huggingface")
    here = {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert hub.files["lab/zoo"] == hub.tags["1.0.0"] == here, "the tag holds the export, byte by byte, and no more"
    assert hub.settings["lab/zoo"]["gated"] == "manual"
    assert "hf_good" not in "".join(told) and len(stored(built, maintainer)[1].pushes) == 1

    (folder / "README.md").write_text("other words")
    with pytest.raises(FolderTaken):
        push()
    monkeypatch.setattr(push_module, "has_hub", lambda: False)
    publishing.remove_export(studio.workspace, maintainer, built, "huggingface")
    with pytest.raises(HubMissing):
        push()


KILLED = """
import os, signal, sys
from annotation_ui.releases import desk, publishing
from annotation_ui.permissions import as_principal
from annotation_ui.studio import open_studio
from core.progress import watched
from pathlib import Path
from warehouse.people import get_user

def watch(step, done, total):
    if total and done >= total // 2:
        os.kill(os.getpid(), signal.SIGKILL)

with open_studio(Path(sys.argv[1])) as studio:
    with studio.workspace.database.reading() as session:
        who = as_principal(get_user(session, "maintainer"))
    with watched(watch):
        if sys.argv[2] == "seal":
            desk.seal(studio.workspace, who, sys.argv[3], "zoo 1.0.0")
        else:
            publishing.export(studio.workspace, who, sys.argv[3], sys.argv[2])
"""


def killed(studio, act, release_id):
    """The service in a process that is killed when its progress is at the half."""
    root = str(studio.workspace.project.root)
    done = subprocess.run([sys.executable, "-c", KILLED, root, act, release_id], check=False)
    assert done.returncode == -signal.SIGKILL


def test_a_killed_server_leaves_what_can_go_on(studio, accepted, build, seal, stored, maintainer, database):
    accepted(*(f"item-{number:02}" for number in range(12)))
    built = build()
    killed(studio, "seal", built)
    detail, past = stored(built, maintainer)
    assert not detail.is_sealed and past.check is not None
    assert ["Sealing was cut off" in line for line in past.cut_off] == [True]
    assert not stored(built, maintainer, at_work=True)[1].cut_off, "what is at work now is not cut off"
    with database.reading() as session:
        assert {item.state for item in session.exec(select(Item))} == {ItemState.ACCEPTED}
    seal(built)
    killed(studio, "jsonl", built)
    detail, past = stored(built, maintainer)
    with database.reading() as session:
        release = session.get_one(Release, built)
    assert export_place(studio.workspace, release, "jsonl") is None
    assert ["An export was cut off" in line for line in past.cut_off] == [True]
    publishing.export(studio.workspace, maintainer, built, "jsonl")
    publishing.verify_export(studio.workspace, maintainer, built, "jsonl")
    detail, past = stored(built, maintainer)
    assert not past.cut_off and not past.verified["jsonl"].damages
    beside = export_folder(studio.workspace, release, "jsonl").parent.iterdir()
    assert [one.name for one in beside] == ["jsonl"], "what the killed one left is swept up"
