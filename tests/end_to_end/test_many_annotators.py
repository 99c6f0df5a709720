"""Twenty people who write, review and record at once: no lost word, no task with two, no mistake that is not theirs.

They work through the services, on SQLite and on PostgreSQL, and over HTTP at a server that `interplay up` started.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from annotation_ui.studio import open_studio
from warehouse.workspace import open_workspace

PEOPLE = 20
QUESTIONS = 8
REVIEWS_EACH = 2


@pytest.fixture(scope="module")
def crews(load_helper):
    return load_helper("end_to_end/crew.py")


@pytest.fixture(scope="module")
def seed(load_helper):
    return load_helper("annotation_ui/seed.py")


def all_at_once(crew, hands, told):
    """Everybody works; the first mistake of anybody is raised."""

    def work(member):
        with closing(hands(member.name)) as own:
            crew.work(member, own, told, REVIEWS_EACH)

    with ThreadPoolExecutor(PEOPLE) as pool:
        for done in [pool.submit(work, member) for member in crew.members]:
            done.result(timeout=180)


def check_work(crews, crew, told):
    crews.check(crew.workspace, told)
    assert len(told.handed_in) == len(told.takes) == PEOPLE
    assert len(told.asides) > 0, "nobody met anybody in the shared draft"
    # Two reviewers settle a question, so all are done; nobody answered in vain.
    assert len(told.verdicts) == 2 * QUESTIONS and len(told.answers) == 2 * len(told.verdicts)


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_through_the_services(kind, crews, seed, project, request):
    if kind == "postgresql":
        settings = project.root / "interplay.toml"
        settings.write_text(f'database_url = "{request.getfixturevalue("postgres_url")}"\n{settings.read_text()}')
    with open_studio(project.root) as studio:
        crew, told = crews.Crew(studio.workspace, seed, PEOPLE, QUESTIONS), crews.Told()
        all_at_once(crew, lambda name: crews.ByServices(studio, name), told)
        check_work(crews, crew, told)


def test_over_http(crews, seed, load_helper, project, running):
    client = load_helper("streamlit_client.py")
    with open_workspace(project.root) as workspace:
        crew, told = crews.Crew(workspace, seed, PEOPLE, QUESTIONS), crews.Told()
        studio = running()
        all_at_once(crew, lambda name: crews.ByHttp(client, studio.address, name), told)
        code, last_words = studio.stop()
        check_work(crews, crew, told)
    # What goes wrong behind the pages is printed: a lock that did not come, an exception that a page hides.
    assert (code, last_words) == (0, "the studio has stopped\n")
