import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UnknownName
from evaluation.models.catalogue import BadModelSettings, ModelSpec, find_models

KEY = "sk-live-0123456789"
SETTINGS = {
    "keen": {"provider": "google/gemini-2.5-flash", "family": "gemini", "panel": True, "generate": {"temperature": 0}},
    "plain": {"provider": "openai/gpt-4o"},
}


def spec(**fields) -> ModelSpec:
    return ModelSpec(**{"name": "m", "provider": "openai/gpt-4o", "family": "m"} | fields)


def test_a_project_s_own_name_brings_its_settings():
    (found,) = find_models(["keen"], SETTINGS)
    assert (found.name, found.provider, found.family, found.panel) == (
        "keen",
        "google/gemini-2.5-flash",
        "gemini",
        True,
    )
    assert found.generate == {"temperature": 0}


def test_any_provider_works_by_its_own_name_and_without_a_family_is_one_of_its_own():
    models = find_models(["plain", "vllm/Qwen/Qwen2.5-Omni-7B"], SETTINGS)
    assert [(one.name, one.provider, one.family) for one in models] == [
        ("plain", "openai/gpt-4o", "plain"),
        ("vllm/Qwen/Qwen2.5-Omni-7B", "vllm/Qwen/Qwen2.5-Omni-7B", "vllm/Qwen/Qwen2.5-Omni-7B"),
    ]


@pytest.mark.parametrize("name", ["kene", "kene/", "/kene"])
def test_a_name_that_is_neither_offers_the_nearest(name):
    with pytest.raises(UnknownName, match=r"unknown model '.*kene.*'; did you mean 'keen'"):
        find_models([name], SETTINGS)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"providr": "a/b"}, r"\[models.x\] in interplay.toml: 'provider' must be Inspect AI's provider/model"),
        ({"provider": "gpt"}, "'provider' must be Inspect AI's provider/model, as 'google/gemini-2.5-flash'"),
        (
            {"provider": "a/b", "temperature": 1},
            "unknown field 'temperature'; did you mean 'generate'",
        ),
        # The fields that a model has are none of a price's.
        (
            {"provider": "a/b", "price": {"input": 1, "output": 1, "cache": 1}},
            r"price\.cache: no such field is known",
        ),
        (
            {"provider": "a/b", "panel": "perhaps"},
            r"\[models.x\] in interplay.toml: panel: must be true or false",
        ),
    ],
)
def test_a_table_that_cannot_be_read_says_where_and_why(table, said):
    with pytest.raises(BadModelSettings, match=said):
        find_models(["x"], {"x": table})


def test_a_provider_that_cannot_be_one_is_told_without_a_table():
    with pytest.raises(BadModelSettings, match="model 'google/gemini 2': 'provider' must be"):
        find_models(["google/gemini 2"], {})


def test_project_files_become_paths_and_nothing_else_does(tmp_path):
    model = spec(arguments={"gallery": "project:data/g.npz", "seed": 3, "note": "a project: x"})
    assert model.resolved_arguments(tmp_path) == {
        "gallery": str(tmp_path / "data" / "g.npz"),
        "seed": 3,
        "note": "a project: x",
    }


class TestIdentity:
    def test_what_decides_the_answers_decides_it(self):
        changes = [
            {},
            {"provider": "openai/gpt-4o-mini"},
            {"arguments": {"base_url": "http://a/v1"}},
            {"generate": {"temperature": 0}},
            {"generate": {"max_tokens": 10}},
            {"generate": {"reasoning_tokens": 128}},
            {"generate": {"seed": 1}},
        ]
        assert len({spec(**change).fingerprint for change in changes}) == len(changes)

    def test_a_changed_copy_is_another_model(self):
        model = spec()
        assert (model.fingerprint, model.capability) != ("", None)
        warm = model.model_copy(update={"generate": {"temperature": 1}, "delivery": {"frames": 3}})
        fresh = spec(generate={"temperature": 1}, delivery={"frames": 3})
        assert (warm.fingerprint, warm.capability) == (fresh.fingerprint, fresh.capability)
        assert warm.fingerprint != model.fingerprint

    @pytest.mark.parametrize(
        "change",
        [
            {"name": "other"},
            {"family": "other"},
            {"panel": True},
            {"generate": {"max_connections": 64, "max_retries": 1, "timeout": 5, "attempt_timeout": 5, "batch": True}},
            {"arguments": {"api_key": KEY}},
            {"arguments": {"headers": {"Authorization": f"Bearer {KEY}"}}, "generate": {}},
        ],
    )
    def test_what_does_not_asks_nothing_again(self, change):
        bare = spec(arguments={"headers": {}} if "headers" in change.get("arguments", {}) else {})
        assert spec(**change).fingerprint == bare.fingerprint

    def test_a_new_key_is_the_same_model(self):
        first, second = (spec(arguments={"api_key": key, "base_url": "http://a/v1"}) for key in ("old", "new"))
        assert first.fingerprint == second.fingerprint
        assert first.resolved_arguments(None)["api_key"] == "old"

    @pytest.mark.parametrize(
        "fields",
        [
            {"arguments": {"api_key": KEY}},
            {"arguments": {"x-api-key": KEY, "hf_token": KEY, "client_secret": KEY, "password": KEY, "Cookie": KEY}},
            {"arguments": {"default_headers": {"Authorization": KEY}}},
            {"arguments": {"servers": [{"token": KEY}]}},
            {"generate": {"extra_headers": {"Authorization": KEY}, "extra_body": {"auth": KEY}}},
            {"arguments": {"base_url": f"https://ann:{KEY}@host:8000/v1"}},
            {"arguments": {"base_url": f"https://host/v1?api_key={KEY}&region=eu"}},
        ],
    )
    def test_no_secret_is_stored_and_errors_do_not_tell_it(self, fields):
        model = spec(**fields)
        assert KEY not in json.dumps([model.request_identity, model.settings])
        assert model.hide_secrets(f"401 for {KEY}: no") == "401 for ***: no"

    def test_the_rest_of_an_address_stays(self):
        model = spec(arguments={"base_url": f"https://ann:{KEY}@host:8000/v1?api_key={KEY}&region=eu"})
        assert model.request_identity["arguments"]["base_url"] == "https://host:8000/v1?region=eu"

    def test_fields_that_only_sound_secret_stay(self):
        model = spec(generate={"max_tokens": 5, "reasoning_tokens": 6, "logprobs": True, "stop_seqs": ["key:"]})
        assert model.request_identity["generate"] == dict(model.generate)
        assert model.hide_secrets("max_tokens 5") == "max_tokens 5"

    @given(st.text(st.characters(exclude_categories=["Cs"])))
    def test_any_text_that_is_no_address_of_somebody_stays_as_it_is(self, text):
        if "@" not in text and "?" not in text:
            assert spec(arguments={"note": text}).request_identity["arguments"] == {"note": text}


def test_a_setting_of_generation_that_only_sounds_secret_still_names_the_request():
    one, other = (spec(generate={"extra_body": {"stop_token": token}}) for token in ("<end>", "<stop>"))
    assert one.fingerprint != other.fingerprint
    assert "<end>" not in str(one.request_identity)
    first, second = (spec(generate={"extra_headers": {"api-key": key}}) for key in ("abcdefgh", "ijklmnop"))
    assert first.fingerprint == second.fingerprint
