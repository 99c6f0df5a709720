"""What blocks sealing, what sealing writes, and that it is final."""

import hashlib
import json
import sqlite3
import uuid
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import av
import pytest
from PIL import PngImagePlugin
from sqlmodel import select

from core.content import parse_prompt
from core.media.limits import MediaLimits
from warehouse import events
from warehouse.audits import content_sha256
from warehouse.guards import ImmutableRow
from warehouse.items import Draft, get_item, revise_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.release import seal as sealing
from warehouse.release.build import Query, Recipe, build_release, describe_release, discard_release
from warehouse.release.licences import may_publish
from warehouse.release.manifest import canary_of
from warehouse.release.media_checks import MediaChecks
from warehouse.release.records import get_release, members_of
from warehouse.release.seal import BuiltAnew, SealBlocked, SealOrder, check_release, seal_release
from warehouse.release.splits import SplitPlan
from warehouse.release.weighing import weigh
from warehouse.tables import (
    AuditSample,
    Certificate,
    Consent,
    Decision,
    DuplicateLink,
    Event,
    Item,
    ItemState,
    Material,
    MaterialSource,
    MaterialState,
    Release,
    ReleaseState,
    Verdict,
)


def build(world, version="1.0.0", plan=None, salt=None):
    recipe = Recipe(Query(), plan or SplitPlan(), salt=salt)
    return build_release(world.database, "zoo", version, recipe, "max", world.clock)


def seal(world, version="1.0.0", **options):
    return seal_release(world.database, world.blobs, SealOrder("zoo", version, "max", **options), world.clock)


def findings(world, **options):
    with pytest.raises(SealBlocked) as caught:
        seal(world, **options)
    return caught.value.findings


def manifest_of(world, version="1.0.0"):
    with world.database.session() as session:
        release = get_release(session, "zoo", version)
    return json.loads(world.blobs.get(release.manifest_sha256))


def canonical_sha256(value):
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def blob_file(world, sha256):
    return Path(world.blobs.url) / sha256[:2] / sha256


def test_all_findings_come_at_once(world):
    """A missing verdict, a missing licence, a withdrawn consent and a damaged blob, each in another item."""
    good = world.choice_item("good", 1)
    unlicensed = world.material(world.picture(10), licence=None)
    world.accept("unlicensed", world.open_question(unlicensed), {"image_1": unlicensed})
    consent = world.consent(withdrawn_at=world.clock())
    withdrawn = world.material(world.sound(500), consent=consent)
    world.accept("withdrawn", world.open_question(withdrawn), {"audio_1": withdrawn})
    damaged = world.material(world.picture(11))
    world.accept("damaged", world.open_question(damaged), {"image_1": damaged})
    skipped = world.material(world.picture(12))
    item, _ = world.accept("skipped", world.open_question(skipped), {"image_1": skipped}, rounds=1)
    with world.database.session() as session:
        # Past the verdicts of rounds 2 and 3, as only code that leaves them out could do.
        advance(session, item.id, item.version, Advance(Action.PASS_ROUND2, "x"), world.clock)
        advance(session, item.id, item.version + 1, Advance(Action.ACCEPT, "x"), world.clock)
    build(world)
    blob_file(world, damaged.media_ref.sha256).write_bytes(b"rot")

    found = {(one.subject, one.problem.split(" (")[0]): one for one in findings(world)}
    assert {subject: problem for subject, problem in found if subject != "skipped"} == {
        "unlicensed <image_1>": "no licence is on record",
        "withdrawn <audio_1>": f"consent {consent.id} was withdrawn on 2026-03-01",
        "damaged <image_1>": f"media {damaged.media_ref.sha256} cannot be read",
    }
    assert {problem for subject, problem in found if subject == "skipped"} == {
        "revision 1 has no passing verdict of round 2",
        "revision 1 has no passing verdict of round 3",
    }
    assert all(finding.mend and "\n" not in finding.line() for finding in found.values())
    # Nothing was written.
    with world.database.session() as session:
        assert get_release(session, "zoo", "1.0.0").state == ReleaseState.BUILT
    assert world.reload("good").version == good.version
    assert world.reload("good").state == ItemState.ACCEPTED


def test_a_dry_check_finds_the_same_and_writes_nothing(world):
    unlicensed = world.material(world.picture(10), licence=None)
    world.accept("unlicensed", world.open_question(unlicensed), {"image_1": unlicensed})
    build(world)
    order = SealOrder("zoo", "1.0.0", "max")
    assert check_release(world.database, world.blobs, order, world.clock) == findings(world)


@pytest.mark.parametrize(
    ("scope", "moments", "problem"),
    [
        (["train"], {}, "covers train, not publish"),
        ([], {}, "covers nothing, not publish"),
        (["publish"], {"expires_at": timedelta(0)}, "ended on 2026-03-01"),
        (["publish"], {"withdrawn_at": timedelta(days=-1)}, "was withdrawn on 2026-02-28"),
        (["publish", "voice"], {"expires_at": timedelta(seconds=1)}, None),
    ],
)
def test_consent_must_cover_publishing_now(world, scope, moments, problem):
    consent = world.consent(scope, **{name: world.clock() + by for name, by in moments.items()})
    spoken = world.material(world.sound(500), consent=consent)
    world.accept("spoken", world.open_question(spoken), {"audio_1": spoken})
    build(world)
    if problem is None:
        assert seal(world).now
    else:
        assert [problem in one.problem for one in findings(world)] == [True]


def test_what_came_with_a_film_holds_for_its_sound(world):
    consent = world.consent(["train"])
    shown = world.material(world.film(80), consent=consent, licence="proprietary")
    heard = world.material(world.sound(500), licence=None, parent=shown)
    world.accept("heard", world.open_question(heard), {"audio_1": heard})
    build(world)
    problems = [one.problem for one in findings(world)]
    assert problems == [
        "licence proprietary is not known to allow publishing",
        f"consent {consent.id} covers train, not publish",
    ]


@pytest.mark.parametrize("state", [MaterialState.DROPPED, MaterialState.WITHDRAWN])
def test_dropped_and_withdrawn_materials_block(world, state):
    used = world.material(world.picture(3))
    world.accept("a", world.open_question(used), {"image_1": used})
    world.accept("b", world.open_question(used, language="zh"), {"image_1": used})
    build(world)
    with world.database.session() as session:
        session.get(Material, used.id).state = state
    found = findings(world)
    assert [one.subject for one in found] == ["a <image_1>, b <image_1>"], "one finding a material, not one an item"
    assert state.value in found[0].problem


def test_a_licence_that_is_not_listed_must_be_allowed_by_name(world):
    url = "https://example.org/terms"
    used = world.material(world.picture(3), licence=url)
    world.accept("a", world.open_question(used), {"image_1": used})
    build(world)
    assert [f"--allow-licence '{url}'" in one.mend for one in findings(world)] == [True]
    assert [one.problem for one in findings(world, allowed_licences=["https://example.org/"])]
    assert seal(world, allowed_licences=[url]).now
    with world.database.session() as session:
        assert get_release(session, "zoo", "1.0.0").settings["allowed_licences"] == [url]


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        *[(name, True) for name in ("CC0-1.0", "CC-BY-4.0", "cc-by-sa-3.0", "CC-BY-NC-SA-4.0", "CC-BY-3.0-US", "MIT")],
        *[(name, True) for name in ("GPL-2.0-or-later", "GPL-3.0-only", "Apache-2.0", "GFDL-1.3-only", "BSD-3-Clause")],
        *[(name, False) for name in ("CC-BY-ND-4.0", "CC-BY-NC-ND-4.0", "MITX", "CC-BY-", "proprietary", "GPL-20")],
        ("https://creativecommons.org/licenses/by/4.0/", False),
        ("BSD-3-Clause-No-Nuclear-License", False),
        ("CC-BY-4.0 OR proprietary", False),
    ],
)
def test_licences_that_allow_publishing(licence, allowed):
    assert may_publish(licence) is allowed


def test_metadata_and_sound_in_a_film_block(world, tmp_path):
    info = PngImagePlugin.PngInfo()
    info.add_text("Author", "Ana Example")
    telling = world.material(world.picture(5, pnginfo=info))
    world.accept("telling", world.open_question(telling), {"image_1": telling})
    with av.open(str(tmp_path / "loud.mp4"), "w") as out:
        stream = out.add_stream("libx264", rate=10)
        stream.width = stream.height = 32
        stream.pix_fmt = "yuv420p"
        track = out.add_stream("aac", rate=8000, layout="mono")
        for _ in range(5):
            out.mux(stream.encode(av.VideoFrame(32, 32, "yuv420p")))
        for place in range(4):
            quiet = av.AudioFrame(format="fltp", layout="mono", samples=1024)
            quiet.rate, quiet.pts = 8000, place * 1024
            for plane in quiet.planes:
                plane.update(bytes(plane.buffer_size))
            out.mux(track.encode(quiet))
        out.mux(stream.encode(None))
        out.mux(track.encode(None))
    loud = world.material((tmp_path / "loud.mp4").read_bytes())
    world.accept("loud", world.open_question(loud), {"video_1": loud})
    build(world)
    found = {one.subject: one.problem for one in findings(world)}
    assert "carries metadata" in found["telling <image_1>"]
    assert "carries sound" in found["loud <video_1>"]


def test_media_beyond_the_limits_and_media_that_is_gone_block(world):
    large = world.material(world.picture(5))
    world.accept("large", world.open_question(large), {"image_1": large})
    gone = world.material(world.sound(600))
    world.accept("gone", world.open_question(gone), {"audio_1": gone})
    build(world)
    blob_file(world, gone.media_ref.sha256).unlink()
    found = {one.subject: one.mend for one in findings(world, media=MediaChecks(MediaLimits(max_pixels=95)))}
    assert "12 x 8 pixels" in found["large <image_1>"]
    assert "is not in" in found["gone <audio_1>"]


def test_a_question_that_does_not_hold_blocks(world):
    used, other = world.material(world.picture(5)), world.material(world.picture(6))
    text = parse_prompt("What is <image_1>?", {"image_1": used.media_ref})
    split_text = (*text, *parse_prompt("Say it.", {}))
    questions = {
        "unknown-type": world.open_question(used, task_type="juggling"),
        "needs-sound": world.open_question(used, required={"audio"}),
        "side-by-side": world.open_question(used, prompt=split_text),
        "other-media": world.open_question(used),
        "no-material": world.open_question(used, language="zh"),
    }
    for name, question in questions.items():
        materials = {"other-media": {"image_1": other}, "no-material": {}}.get(name, {"image_1": used})
        world.accept(name, question, materials)
    build(world)
    found = {one.subject: one.problem for one in findings(world)}
    assert found.keys() == questions.keys()
    assert "juggling" in found["unknown-type"]
    assert "requires audio" in found["needs-sound"]
    assert "written form" in found["side-by-side"]
    assert f"not the working copy of material {other.id}" in found["other-media"]
    assert "no material" in found["no-material"]


def test_items_that_changed_since_the_build_block(world):
    revised, rejected = world.choice_item("revised", 1), world.choice_item("rejected", 2)
    linked = [world.material(world.picture(shade)) for shade in (100, 101)]
    for number, material in enumerate(linked):
        world.accept(f"linked-{number}", world.open_question(material), {"image_1": material})
    # With this seed the two linked items part.
    build(world, plan=SplitPlan(0.5, 0, 5))
    with world.database.session() as session:
        assert (
            len(
                {
                    m.split
                    for m in members_of(session, get_release(session, "zoo", "1.0.0"))
                    if m.item.name.startswith("linked")
                }
            )
            == 2
        )
        advance(session, rejected.id, rejected.version, Advance(Action.REJECT, "x", ("redundant",)), world.clock)
        item = get_item(session, "revised")
        material = session.exec(select(Material).where(Material.modality == "image")).first()
        draft = Draft(world.open_question(material), {"image_1": material.id}, "writer-7")
        revise_item(session, item, revised.version, draft, world.clock)
        first, second = sorted(material.id for material in linked)
        session.add(DuplicateLink(first_id=first, second_id=second, method="phash@1", distance=0, run_id=world.run_id))
    found = {one.subject: one.problem for one in findings(world)}
    assert found == {
        "revised": "revision 1 was chosen, but the item has a newer one",
        "rejected": "the item is rejected",
        "linked-0, linked-1": "twins or duplicates lie in dev and test",
    }


def one_more_draft(session, world):
    session.add(Item(name="idea", created_by="writer-7"))


def rejected(session, world):
    item = get_item(session, "a")
    advance(session, item.id, item.version, Advance(Action.REJECT, "x", ("redundant",)), world.clock)


def revised(session, world):
    item = get_item(session, "a")
    used = session.exec(select(Material).where(Material.modality == "image")).first()
    revise_item(
        session, item, item.version, Draft(world.open_question(used), {"image_1": used.id}, "writer-7"), world.clock
    )


def judged_again(session, world):
    revision_id = get_item(session, "a").current_revision_id
    session.add(
        Verdict(
            revision_id=revision_id, round=3, by_person=True, decider="judge-8", decision=Decision.PASS,
            idempotency_key="late",
        )
    )  # fmt: skip


def certified(session, world):
    release = get_release(session, "zoo", "1.0.0")
    members = members_of(session, release)
    sample = AuditSample(
        subject="zoo 1.0.0", population=3, size=0, seed=1, drawn_by="max", run_id=world.run_id,
        subject_sha256=content_sha256(one.revision.content_hash for one in members),
    )  # fmt: skip
    session.add(sample)
    session.flush()
    session.add(
        Certificate(
            sample_id=sample.id, release_id=release.id, audited=0, failures=0, bound=1, confidence=0.95,
            text="Certified late", run_id=world.run_id,
        )
    )  # fmt: skip


def paper_changed(session, world):
    for paper in session.exec(select(MaterialSource)):
        paper.author = "Ben"


def withdrawn(session, world):
    session.exec(select(Material)).first().state = MaterialState.WITHDRAWN


def consent_taken_back(session, world):
    session.exec(select(Consent)).one().withdrawn_at = world.clock()


def linked(session, world):
    first, second = sorted(session.exec(select(Material.id).where(Material.modality == "image")))
    session.add(DuplicateLink(first_id=first, second_id=second, method="phash@1", distance=0, run_id=world.run_id))


def three_items(world):
    world.choice_item("a", 1)
    world.choice_item("b", 2)
    spoken = world.material(world.sound(500), consent=world.consent())
    world.accept("c", world.open_question(spoken), {"audio_1": spoken})
    # With this seed the items with pictures part.
    build(world, plan=SplitPlan(0.5, 0, 3))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (one_more_draft, '"written":4'),
        (judged_again, '"by_people":4'),
        (certified, "Certified late"),
        (paper_changed, '"author":"Ben"'),
    ],
)
def test_the_manifest_tells_what_changed_since_it_was_composed(any_world, monkeypatch, change, told):
    world, weighings = any_world, []
    three_items(world)

    def counted(*given):
        weighings.append(given)
        return weigh(*given)

    monkeypatch.setattr(sealing, "weigh", counted)
    sealed = seal(world, guard=lambda session: change(session, world))
    data = world.blobs.get(sealed.release.manifest_sha256)
    assert told in data.decode()
    with world.database.reading() as session:
        assert weigh(session, sealed.release, (), world.clock()).manifest.to_bytes() == data
    # An item that is written elsewhere is only counted: in a busy project there is always one.
    assert len(weighings) == (1 if change is one_more_draft else 2)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (rejected, "the item is rejected"),
        (revised, "the item has a newer one"),
        (withdrawn, "is withdrawn"),
        (consent_taken_back, "was withdrawn on"),
        (linked, "lie in dev and test"),
    ],
)
def test_what_blocks_since_the_release_was_weighed_is_found(any_world, change, problem):
    world = any_world
    three_items(world)
    with pytest.raises(SealBlocked) as caught:
        seal(world, guard=lambda session: change(session, world))
    assert [problem in one.problem for one in caught.value.findings] == [True]
    with world.database.reading() as session:
        assert get_release(session, "zoo", "1.0.0").state == ReleaseState.BUILT


def test_a_consent_that_ends_between_weighing_and_sealing_blocks(world):
    spoken = world.material(world.sound(500), consent=world.consent(expires_at=world.clock() + timedelta(hours=1)))
    world.accept("spoken", world.open_question(spoken), {"audio_1": spoken})
    build(world)
    late = []

    def clock():
        return world.clock() + timedelta(hours=2 * len(late))

    order = SealOrder("zoo", "1.0.0", "max", guard=late.append)
    with pytest.raises(SealBlocked, match="ended on 2026-03-01"):
        seal_release(world.database, world.blobs, order, clock)


def test_a_draft_built_anew_between_weighing_and_sealing_is_not_sealed_unseen(world, monkeypatch):
    world.choice_item("a", 1)
    build(world)

    def then_rebuilt(*given):
        monkeypatch.setattr(sealing, "weigh", weigh)
        found = weigh(*given)
        with world.database.session() as session:
            discard_release(session, "zoo", "1.0.0", "max", world.clock)
        world.choice_item("b", 2)
        build(world)
        return found

    monkeypatch.setattr(sealing, "weigh", then_rebuilt)
    with pytest.raises(BuiltAnew, match="seal it again"):
        seal(world)
    assert world.reload("b").state == ItemState.ACCEPTED
    seal(world)
    assert [row["qid"] for row in manifest_of(world)["rows"]] == ["a", "b"]
    assert world.reload("b").state == ItemState.RELEASED


def test_no_write_waits_while_a_release_is_weighed(world, monkeypatch):
    """Of ten thousand items that takes seconds."""
    world.choice_item("a", 1)
    build(world)
    calls = []

    def weighed(*given):
        with closing(sqlite3.connect(world.database.engine.url.database, timeout=0)) as other:
            other.execute("BEGIN IMMEDIATE")
        calls.append(given)
        return weigh(*given)

    monkeypatch.setattr(sealing, "weigh", weighed)
    assert seal(world).now and len(calls) == 1


def test_sealing_releases_the_items_and_tells_of_it(world):
    world.choice_item("a", 1)
    built = build(world)
    sealed = seal(world)
    assert sealed.now
    assert sealed.release.state == ReleaseState.SEALED
    assert sealed.release.sealed_at == world.clock()
    item = world.reload("a")
    assert item.state == ItemState.RELEASED
    with world.database.session() as session:
        assert [one.action for one in events.history(session, "release", built.release.id)] == ["build", "seal"]
        assert events.history(session, "item", item.id)[-1].action == "release"


def test_a_second_seal_says_so_and_writes_nothing(world):
    world.choice_item("a", 1)
    build(world)
    first = seal(world)
    with world.database.session() as session:
        before = len(session.exec(select(Event)).all())
    again = seal(world)
    assert not again.now
    assert again.release.manifest_sha256 == first.release.manifest_sha256
    with world.database.session() as session:
        assert len(session.exec(select(Event)).all()) == before


def test_a_sealed_release_cannot_be_changed(world):
    world.choice_item("a", 1)
    built = build(world)
    seal(world)
    with pytest.raises(ImmutableRow, match="sealed"), world.database.session() as session:
        session.get(Release, built.release.id).version = "2.0.0"


def test_a_released_item_goes_into_the_next_version_as_it_is(world):
    world.choice_item("a", 1)
    build(world)
    seal(world)
    build(world, "1.1.0")
    assert seal(world, "1.1.0").now
    assert manifest_of(world)["rows"] == manifest_of(world, "1.1.0")["rows"]


def test_the_manifest_says_what_is_in_the_release(world):
    world.choice_item("b", 2)
    world.steps_item("a", 1)
    draft = world.material(world.picture(77))
    world.accept("waiting", world.open_question(draft), {"image_1": draft}, rounds=1)
    built = build(world)
    sealed = seal(world)
    data = world.blobs.get(sealed.release.manifest_sha256)
    found = json.loads(data)
    assert [row["qid"] for row in found["rows"]] == ["a", "b"]
    with world.database.session() as session:
        members = {one.item.name: one for one in members_of(session, get_release(session, "zoo", "1.0.0"))}
        assert describe_release(session, "zoo", "1.0.0").splits == built.splits
    for row in found["rows"]:
        member = members[row["qid"]]
        assert row["question"] == member.revision.question
        assert row["revision"] == member.revision.content_hash
        assert row["split"] == member.split
        shown = [part["media"]["sha256"] for part in row["question"]["prompt"] if part["type"] == "media"]
        assert row["media"] == shown
        assert row["sha256"] == canonical_sha256({key: value for key, value in row.items() if key != "sha256"})
    assert found["media"].keys() == {sha256 for row in found["rows"] for sha256 in row["media"]}
    for sha256 in found["media"]:
        assert hashlib.sha256(world.blobs.get(sha256)).hexdigest() == sha256
    papers = {paper["licence"] for media in found["media"].values() for paper in media["papers"]}
    assert papers == {"CC-BY-4.0", "MIT"}
    assert found["taxonomy"] == "1"
    assert found["certificate"].startswith("None")
    assert uuid.UUID(found["canary"]).version == 5
    assert found["funnel"]["written"] == 3
    assert found["funnel"]["in_review"] == 1
    assert found["funnel"]["in_this_release"] == 2
    assert found["rounds"] == [
        {"round": 1, "by_people": 0, "by_checks": 2, "checks": ["check_1@1"]},
        {"round": 2, "by_people": 0, "by_checks": 2, "checks": ["check_2@1"]},
        {"round": 3, "by_people": 2, "by_checks": 0, "checks": []},
    ]


def test_the_canary_depends_on_the_name_alone(world):
    """So that text of any version is found by one search; the GUID must never change from one Interplay to the next."""
    assert canary_of("zoo") == str(uuid.uuid5(uuid.UUID("6f0f7c0e-2f0b-5d3f-9c55-7a1f0a4c1b7d"), "zoo"))
    assert canary_of("zoo") != canary_of("zoo-2")


def test_the_manifest_tells_nothing_of_people_machines_and_moments(world):
    world.choice_item("a", 1)
    build(world)
    seal(world)
    with world.database.session() as session:
        release = get_release(session, "zoo", "1.0.0")
    text = world.blobs.get(release.manifest_sha256).decode()
    for private in ("/home/ana", "writer-7", "judge-7", release.id, world.run_id, "2026"):
        assert private not in text


def test_two_projects_with_the_same_items_make_the_same_manifest(new_world):
    manifests = []
    for folder, names in (("one", ["a", "b", "c"]), ("two", ["c", "a", "b"])):
        world = new_world(folder)
        for name in names:
            world.choice_item(name, ord(name))
        world.steps_item("film", 9)
        build(world, plan=SplitPlan(0.3, 0.3, 5), salt="pepper")
        manifests.append(world.blobs.get(seal(world).release.manifest_sha256))
    assert manifests[0] == manifests[1]


def test_of_the_hold_out_there_are_only_names_and_salted_hashes(world):
    for number in range(8):
        world.choice_item(f"item-{number}", number)
    build(world, plan=SplitPlan(0, 0.5, 1), salt="pepper")
    seal(world)
    found = manifest_of(world)
    held = {row["qid"]: row for row in found["holdout"]}
    shown = {row["qid"] for row in found["rows"]}
    assert 0 < len(held) < 8
    assert held.keys() | shown == {f"item-{number}" for number in range(8)}
    with world.database.session() as session:
        members = {one.item.name: one for one in members_of(session, get_release(session, "zoo", "1.0.0"))}
    for qid, row in held.items():
        assert row == {"qid": qid, "commitment": canonical_sha256(["pepper", qid, members[qid].revision.question])}
        for part in members[qid].revision.question["prompt"]:
            assert part["type"] == "text" or part["media"]["sha256"] not in found["media"]
    assert "pepper" not in json.dumps(found)
