"""What the studio asks of the tables in each database's own dialect: JSON lists, JSON fields, search, locks."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from argon2 import PasswordHasher
from sqlmodel import select

from annotation_ui.auth import Auth, SignInLocked, WrongCredentials
from annotation_ui.finding import MaterialQuery
from annotation_ui.forms import new_form_key
from annotation_ui.library import decide_material
from annotation_ui.media_links import MediaLinks
from annotation_ui.permissions import as_principal
from annotation_ui.recording import script_writing
from annotation_ui.recording.script_writing import Written, write_script
from annotation_ui.targets import Shape, Target, TargetChanged, store_targets
from annotation_ui.views.coverage import coverage, questions, target_rows
from annotation_ui.views.home import home
from annotation_ui.views.items import ItemQuery, item_choices, items_page
from annotation_ui.views.materials import facets, materials_page
from annotation_ui.views.throughput import throughput
from annotation_ui.words import words_in
from warehouse.database import Database
from warehouse.lifecycle import Action
from warehouse.people import Role, add_user
from warehouse.tables import Event, Script

pytestmark = pytest.mark.postgres
EN = words_in("en")


def test_the_studio_on_postgresql(studio, seed, clock, postgres_url):
    database = Database(postgres_url)
    object.__setattr__(studio.workspace, "database", database)  # the same project with its tables elsewhere
    seeder = seed.Seeder(studio.workspace)
    auth = Auth(database, studio.key, clock, PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    who = auth.principal(auth.set_up(auth.first_link(), "correct horse battery", "ada").token)
    links = MediaLinks(studio.key, clock)
    picture = seeder.picture(1, tags=["门", "door"], origin="red_door.png")
    seeder.picture(2, tags=["door"], origin="reddoor.png")
    seeder.item("钟声", seeder.draft("请看<image_1>?", {"image_1": picture}, "ada", language="zh"))

    def titles(**query):
        return [card.title for card in materials_page(studio.workspace, who, MaterialQuery(**query), links, EN).cards]

    assert facets(studio.workspace, EN).tags == [("door", "door", 2), ("门", "门", 1)]
    assert titles(tag="门") == titles(text="red_D") == titles(text="门") == ["red_door.png"]
    assert sorted(titles(text="DOOR")) == ["red_door.png", "reddoor.png"]
    assert titles(text="\x00") == titles()
    with database.reading() as session:
        rows = items_page(session, who, ItemQuery(text="请看", language="zh", mine=True), clock(), EN).rows
        assert [row.name for row in rows] == ["钟声"]
        assert item_choices(session, who).task_types == ["counting"]
        assert coverage(questions(session), EN).rows == [("Counting", [1])]
        assert home(session, who, clock(), EN).happenings[0].what == "wrote 钟声"
    handed_in = seeder.item("bell", seeder.draft("See <image_1>.", {"image_1": picture}, "ada"), Action.SUBMIT)
    with database.session() as session:
        seeder.act(session, *handed_in, "ada", seed.passed(1))
        for version, count in ((0, 4), (1, 5)):
            store_targets(session, who, new_form_key(), [Target(Shape("counting"), count, version)])
    with pytest.raises(TargetChanged), database.session() as session:
        store_targets(session, who, new_form_key(), [Target(Shape("counting"), 6, 1)])
    with database.reading() as session:
        found = throughput(session, who, clock(), EN, mine=True)
        assert [one.total for one in found.measures] == [1, 1, 0, 0, 0, 0, 0]
        assert [wait.label for wait in found.waits] == ["Round 1"]
        (row,) = target_rows(session, questions(session), EN)
        assert (row.target, row.version, row.underway) == (5, 2, 2)
    with database.session() as session:
        assert decide_material(session, who, picture[0].id, 1, False, "blurred").version == 2
    for _ in range(5):
        with pytest.raises(WrongCredentials):
            auth.sign_in("ada", "wrong")
    with pytest.raises(SignInLocked):
        auth.sign_in("ada", "correct horse battery")
    database.close()


@pytest.mark.parametrize(("texts", "names"), [(("一。", "二。"), ["zh-001", "zh-002"]), (("一。", "一。"), ["zh-001"])])
def test_scripts_without_a_topic_at_one_moment_have_a_number_each(postgres_url, clock, monkeypatch, texts, names):
    database, both = Database(postgres_url), threading.Barrier(2)
    with database.session() as session:
        writers = [as_principal(add_user(session, name, {Role.ANNOTATOR}, actor="test")) for name in ("ana", "bo")]
    free_name, asked = script_writing._free_name, set()

    def together(*args):
        name = free_name(*args)
        if threading.get_ident() not in asked:  # the second time it is after the first has stored its own
            asked.add(threading.get_ident())
            both.wait(timeout=30)
        return name

    def write(who, text):
        with database.session() as session:
            return write_script(session, who, new_form_key(), Written(text, "zh"), clock)

    monkeypatch.setattr(script_writing, "_free_name", together)
    with ThreadPoolExecutor(2) as pool:
        ids = list(pool.map(write, writers, texts))
    with database.reading() as session:
        found = session.exec(select(Script).order_by(Script.name)).all()
        assert [script.name for script in found] == names and {script.id for script in found} == set(ids)
        assert [session.get(Script, id_).text for id_ in ids] == list(texts)
        created = session.exec(select(Event).where(Event.subject_kind == "script", Event.action == "create")).all()
        assert len(created) == len(names)
    database.close()
