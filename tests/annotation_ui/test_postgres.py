"""What the studio asks of the tables in each database's own dialect: JSON lists, JSON fields, search, locks."""

import pytest
from argon2 import PasswordHasher

from annotation_ui.auth import Auth, SignInLocked, WrongCredentials
from annotation_ui.finding import MaterialQuery
from annotation_ui.forms import new_form_key
from annotation_ui.library import decide_material
from annotation_ui.media_links import MediaLinks
from annotation_ui.targets import Shape, Target, TargetChanged, store_targets
from annotation_ui.views.coverage import coverage, questions, target_rows
from annotation_ui.views.home import home
from annotation_ui.views.items import ItemQuery, item_choices, items_page
from annotation_ui.views.materials import facets, materials_page
from annotation_ui.views.throughput import throughput
from annotation_ui.words import words_in
from warehouse.database import Database
from warehouse.lifecycle import Action

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
        assert item_choices(session).task_types == ["counting"]
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
