"""A small project with people in every role, and a clock that tests turn."""

import importlib.util
import shutil
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
import streamlit as st
from argon2 import PasswordHasher
from streamlit import config
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from annotation_ui import session as session_module
from annotation_ui.accounts import create_user
from annotation_ui.auth import Auth
from annotation_ui.server import SCRIPT
from annotation_ui.studio import open_studio
from warehouse.people import Role
from warehouse.workspace import init_project

PASSWORD = "correct horse battery"
WAIT_S = 30


def _load_seed():
    spec = importlib.util.spec_from_file_location("studio_seed", Path(__file__).parent / "seed.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Clock:
    """A clock that stands until it is turned."""

    def __init__(self):
        self.now = datetime(2026, 3, 3, 12, 0, tzinfo=UTC)

    def __call__(self):
        return self.now

    def turn(self, **span):
        self.now += timedelta(**span)


@pytest.fixture(scope="session")
def seed():
    return _load_seed()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(scope="session")
def new_project(tmp_path_factory):
    """An empty project to copy: making its tables takes longer than most tests."""
    folder = tmp_path_factory.mktemp("template") / "project"
    init_project(folder)
    return folder


@pytest.fixture
def studio(tmp_path, new_project, clock):
    shutil.copytree(new_project, tmp_path / "project")
    with open_studio(tmp_path / "project", clock) as opened:
        yield opened


@pytest.fixture
def database(studio):
    return studio.workspace.database


@pytest.fixture
def auth(studio, clock):
    # Cheap hashing: what is tested is the handling of passwords, not argon2.
    return Auth(studio.workspace.database, studio.key, clock, PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


@pytest.fixture
def seeder(studio, seed):
    return seed.Seeder(studio.workspace)


@pytest.fixture
def add_person(auth, database, clock):
    """Makes somebody who can sign in with PASSWORD; returns their row."""

    def add(name, *roles):
        with database.session() as session:
            return create_user(
                session, name, list(roles), display_name=name.title(), clock=clock,
                password_hash=auth.hash_password(name, PASSWORD),
            )  # fmt: skip

    return add


@pytest.fixture
def people(add_person):
    """One person for each role, by role."""
    return {role: add_person(role.value, role) for role in Role}


@pytest.fixture
def sign_in(auth):
    """Signs somebody in; returns (token, principal)."""

    def enter(name):
        token = auth.sign_in(name, PASSWORD).token
        return token, auth.principal(token)

    return enter


@pytest.fixture
def principal_of(people, sign_in):
    """The principal of a role."""
    return lambda role: sign_in(role.value)[1]


@pytest.fixture
def visit(studio, clock, monkeypatch):
    """Opens a page with a session token in the browser's cookie; the query names what the address would."""

    def open_page(page="home", token=None, /, **query):
        monkeypatch.setattr(session_module, "browser_cookies", lambda: {studio.cookie_name: token} if token else {})
        app = AppTest.from_file(str(SCRIPT), default_timeout=WAIT_S)
        app.secrets["studio"] = {"project": str(studio.workspace.project.root)}
        for name, value in query.items():
            app.query_params[name] = value
        if page != "home":
            app._page_hash = calc_hash(page)  # its own switch_page knows pages that are files only
        app.run()
        assert not app.exception, app.exception
        return app

    monkeypatch.setattr(session_module, "open_studio", partial(open_studio, clock=clock))
    config.set_option("runner.postScriptGC", False)  # as the server does
    yield open_page
    st.cache_resource.clear()


@pytest.fixture
def token(people, sign_in):
    return lambda role=Role.MAINTAINER: sign_in(role.value)[0]
