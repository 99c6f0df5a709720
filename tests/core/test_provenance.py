import json
import platform
import subprocess
from pathlib import Path

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import core.provenance
from core.provenance import canonical_json, content_hash, describe_environment

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=10,
)


def test_canonical_json_is_sorted_bare_and_unescaped():
    assert canonical_json({"b": [1, True, None, 0.5], "a": "é看\n"}) == '{"a":"é看\\n","b":[1,true,null,0.5]}'


def test_the_hash_is_the_sha256_of_that_text():
    # printf '{"a":"\xc3\xa9","b":[1,null]}' | sha256sum
    expected = "3d92f6368f93f3cb36a4e7a721098054dfbfd705e31fa50409f2d99e0727a08c"
    assert content_hash({"b": [1, None], "a": "é"}) == expected


@given(st.dictionaries(st.text(max_size=4), JSON, max_size=5))
def test_the_order_of_keys_does_not_matter(value):
    turned = dict(reversed(value.items()))
    assert content_hash(value) == content_hash(turned)
    assert json.loads(canonical_json(value)) == value


@given(JSON, JSON)
def test_different_values_have_different_hashes(one, other):
    assert (content_hash(one) == content_hash(other)) == (canonical_json(one) == canonical_json(other))


def test_a_name_that_is_not_utf8_has_a_hash_too():
    name = b"caf\xe9.png".decode("utf-8", "surrogateescape")
    assert len(content_hash({"file": name})) == 64
    assert content_hash({"file": name}) != content_hash({"file": "caf?.png"})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"x": float("-inf")}])
def test_numbers_that_json_lacks_are_refused(value):
    with pytest.raises(ValueError, match="JSON"):
        content_hash(value)


def git(*arguments: str) -> str:
    root = Path(core.provenance.__file__).parent.parent
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=True).stdout.strip()


def test_the_environment_names_what_runs():
    found = describe_environment()
    assert found.python == platform.python_version()
    assert found.packages["pydantic"] == pydantic.VERSION
    assert "torch" not in found.packages
    if not (Path(core.provenance.__file__).parent.parent / ".git").exists():
        assert (found.commit, found.dirty) == (None, None)
    else:
        assert found.commit == git("rev-parse", "HEAD")
        assert found.dirty == (git("status", "--porcelain", "--untracked-files=no") != "")


def test_without_git_the_commit_is_unknown_and_so_is_whether_it_is_dirty(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = describe_environment()
    assert (found.commit, found.dirty) == (None, None)
