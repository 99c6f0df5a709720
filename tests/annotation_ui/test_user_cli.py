"""`interplay user ...` and the errors of `interplay up`, as somebody types them."""

import json

import pytest
from typer.testing import CliRunner

from annotation_ui.auth import LINK_PATH
from annotation_ui.user_cli import app
from core.errors import InterplayError, MissingExtra, UnknownName
from core.ids import utc_now

PASSWORD = "correct horse battery"


@pytest.fixture
def run(studio):
    def call(*arguments, typed=None):
        return CliRunner().invoke(app, [*arguments, "--project", str(studio.workspace.project.root)], input=typed)

    return call


def test_somebody_is_added_with_a_link_that_works(run, auth, clock):
    told = json.loads(
        run("add", "mei", "--role", "reviewer", "--role", "annotator", "--url", "https://x.test/", "--json").stdout
    )
    assert told["roles"] == ["annotator", "reviewer"] and told["has_password"] is False
    address, link = told["link"].rsplit("/", 1)
    assert address == f"https://x.test{LINK_PATH}"
    clock.now = utc_now()  # the command goes by the real clock
    assert auth.principal(auth.set_up(link, PASSWORD).token).name == "mei"


def test_a_password_comes_from_the_input(run, auth):
    said = run("add", "mei", "--role", "annotator", "--password-stdin", typed=f"{PASSWORD}\n")
    assert said.exit_code == 0 and LINK_PATH not in said.stdout and PASSWORD not in said.stdout
    assert auth.sign_in("mei", PASSWORD).token


def test_people_are_listed_and_changed(run, people):
    assert run("roles", "annotator", "--role", "reviewer").stdout == "annotator is now reviewer\n"
    assert run("deactivate", "annotator").stdout == "annotator is switched off\n"
    everybody = {one["name"]: one for one in json.loads(run("list", "--json").stdout)}
    assert (everybody["annotator"]["roles"], everybody["annotator"]["active"]) == (["reviewer"], False)
    assert "switched off" in run("list").stdout
    assert run("activate", "annotator").exit_code == 0
    assert LINK_PATH in run("link", "annotator").stdout


def test_profiles_are_set_and_what_is_not_named_stays(run):
    run("add", "mei", "--role", "annotator", "--kind", "expert", "--language", "zh", "--dialect", "Hakka")
    told = json.loads(run("profile", "mei", "--language", "yue", "--language", "en", "--json").stdout)
    assert (told["kind"], told["languages"], told["dialects"]) == ("expert", ["yue", "en"], ["Hakka"])
    assert "expert, yue, en, Hakka" in run("list").stdout
    assert "20 languages" in str(run("profile", "mei", "--language", "Cantonese").exception)


def test_links_begin_with_where_the_settings_say_that_people_go(run, studio):
    file = studio.workspace.project.root / "interplay.toml"
    file.write_text(f'studio_url = "https://studio.test/"\n{file.read_text()}')
    told = json.loads(run("add", "mei", "--role", "annotator", "--json").stdout)
    assert told["link"].startswith(f"https://studio.test{LINK_PATH}/")
    assert "http://x.test/auth" in run("link", "mei", "--url", "http://x.test").stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("add", "annotator", "--role", "annotator"), "is taken"),
        (("add", "two words", "--role", "annotator"), "sign-in name"),
        (("add", "new", "--role", "anotator"), "did you mean 'annotator'"),
        (("add", "new", "--role", "annotator", "--password-stdin"), "at least 10 characters"),
        (("link", "nobody"), "unknown user"),
        (("deactivate", "maintainer"), "only maintainer"),
        (("roles", "maintainer", "--role", "reviewer"), "only maintainer"),
    ],
)
def test_mistakes_are_one_line_with_the_mend(run, people, arguments, problem):
    error = run(*arguments, typed="short\n").exception
    assert isinstance(error, InterplayError) and problem in str(error) and "\n" not in str(error)


def test_a_refused_role_leaves_nobody_behind(run, database):
    assert isinstance(run("add", "new", "--role", "x").exception, UnknownName)
    assert run("list", "--json").stdout.strip() == "[]"


def test_up_without_a_project_offers_the_demo(tmp_path):
    from interplay.up import NothingToOpen, up

    with pytest.raises(NothingToOpen, match=r"interplay init.*interplay demo"):
        up("127.0.0.1", None, False, tmp_path)


def test_up_without_the_extra_says_what_to_install(monkeypatch, tmp_path):
    import interplay.up as module

    monkeypatch.setattr(module, "find_spec", lambda name: None if name == "streamlit" else object())
    with pytest.raises(MissingExtra, match=r"interplay\[studio\]"):
        module.up("127.0.0.1", None, False, tmp_path)


def test_up_on_a_busy_port_says_so(studio):
    import socket

    from annotation_ui.server import PortBusy
    from interplay.up import up

    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(PortBusy):
        up("127.0.0.1", taken.getsockname()[1], False, studio.workspace.project.root)
