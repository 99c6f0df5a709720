import asyncio
import json
import shutil

import pytest

from core.condition import FULL, OPTIONS_ONLY, TEXT_ONLY, without
from core.content import Modality
from core.errors import UnknownName
from evaluation.models.catalogue import BadModelSettings, ModelSpec
from evaluation.models.client import ERROR_KEPT_CHARACTERS, ModelUnavailable
from evaluation.solve import plan
from warehouse.facts import FactStore, FactWriter


def units(models, items, conditions=(FULL,), **more):
    return list(plan(models, items, conditions, **more))


@pytest.fixture
def items(put, questions):
    """Five items with a question of their own each."""
    return [put(f"item-{number}", questions.choice(f"Which colour is number {number}?")) for number in range(5)]


@pytest.fixture
def seen(library, small_media, questions, put):
    """An item with a picture and a sound that are in the library."""
    media = {f"{kind}_1": library.add(data).media_ref for kind, data in small_media.items()}
    return put("seen", questions.choice("See <image_1>, hear <audio_1>.", media=media))


class TestPlan:
    def test_every_model_item_and_condition_that_applies(self, seen, items, scripted):
        models = [scripted("Answer: A")[0] for _ in range(2)]
        planned = units(models, [seen, items[0]], [FULL, without(Modality.AUDIO), without(Modality.VIDEO), TEXT_ONLY])
        found = [(unit.model.name, unit.item_name, unit.showing.condition.name) for unit in planned]
        names = [model.name for model in models]
        seen_under = ["full", "without_audio", "text_only"]
        of_bare = {condition for _, item, condition in found if item == "item-0"}
        assert [one for one in found if one[1] == "seen"] == [(m, "seen", c) for c in seen_under for m in names]
        assert of_bare == {"full"}

    def test_rotations_put_every_choice_at_every_place(self, items, scripted):
        model, _ = scripted("Answer: A")
        planned = units([model], items[:1], rotate=True)
        assert [unit.showing.rotation for unit in planned] == [0, 1, 2, 3]
        for place in range(4):
            texts = {unit.showing.question.choices[place].text for unit in planned}
            assert texts == {"red", "blue", "green", "grey"}
        assert len({unit.request_key for unit in planned}) == len({unit.key for unit in planned}) == 4

    def test_a_question_without_choices_is_not_turned(self, put, questions, scripted):
        (unit,) = units([scripted("4")[0]], [put("open", questions.open())], rotate=True)
        assert unit.showing.rotation == 0


class TestAsking:
    def test_what_is_stored_of_an_answer(self, seen, scripted, asker, stored):
        model, script = scripted("Answer: B", name="ada", family="f", generate={"temperature": 0, "max_retries": 1})
        done = asker(purpose="a test").ask(units([model], [seen]))
        assert (done.asked, done.reused, done.known, done.failures) == (1, 0, 0, {})
        (row,) = stored()
        wanted = {
            "purpose": "a test",
            "model": "ada",
            "family": "f",
            "item_name": "seen",
            "revision_id": seen[1].id,
            "condition": "full",
            "condition_fingerprint": FULL.fingerprint,
            "kind": "choice",
            "rotation": 0,
            "replicate": 0,
            "state": "ok",
            "answer": "Answer: B",
            "error": None,
            "input_tokens": 7,
            "output_tokens": 2,
            "attempts": 1,
            "served_model": model.provider.partition("/")[2],
        }
        assert {name: row[name] for name in wanted} == wanted
        parameters = json.loads(row["parameters"])
        assert parameters.pop("delivery") == model.capability.identity
        assert parameters == {"arguments": {}, "generate": {"temperature": 0}, "provider": model.provider}
        assert row["latency_s"] >= 0
        sent = json.loads(row["sent"])
        assert [(one["name"], [part["media_type"] for part in one["sent"]]) for one in sent] == [
            ("image_1", ["image/png"]),
            ("audio_1", ["audio/wav"]),
        ]
        assert script.contents[0] == [
            "ContentText", "ContentImage", "ContentText", "ContentAudio", "ContentText", "ContentText",
        ]  # fmt: skip

    def test_a_second_call_asks_nothing_and_stores_nothing(self, items, scripted, asker, stored):
        model, script = scripted("Answer: A")
        asker().ask(units([model], items))
        before = stored()
        done = asker().ask(units([model], items))
        assert (done.asked, done.reused, done.known) == (0, 0, 5)
        assert (len(script.asked), stored()) == (5, before)

    def test_only_what_is_missing_is_asked(self, items, scripted, asker):
        model, script = scripted("Answer: A")
        asker().ask(units([model], items[:2]))
        done = asker().ask(units([model], items))
        assert (done.asked, done.known, len(script.asked)) == (3, 2, 5)

    def test_equal_requests_are_asked_once_in_one_call(self, put, questions, scripted, asker, stored):
        twice = [put(f"copy-{number}", questions.choice()) for number in range(2)]
        model, script = scripted("Answer: A", name="one")
        renamed = model.model_copy(update={"name": "two", "family": "other"})
        done = asker().ask(units([model, renamed], twice))
        assert (len(script.asked), done.asked, done.reused) == (1, 1, 3)
        assert sorted((row["model"], row["item_name"], row["answer"]) for row in stored()) == [
            (name, f"copy-{number}", "Answer: A") for name in ("one", "two") for number in range(2)
        ]

    def test_and_over_calls_with_what_came_back_the_first_time(self, items, scripted, asker, stored):
        model, script = scripted(lambda text, count: f"Answer: {'ABCDE'[count - 1]}", name="one")
        asker().ask(units([model], items))
        renamed = model.model_copy(update={"name": "two"})
        done = asker().ask(units([renamed], items))
        assert (done.asked, done.reused, len(script.asked)) == (0, 5, 5)
        answers = {(row["model"], row["item_name"]): row["answer"] for row in stored()}
        for name, _ in items:
            assert answers["one", name] == answers["two", name]

    def test_other_settings_are_asked_anew_and_other_patience_is_not(self, items, scripted, asker):
        model, script = scripted("Answer: A")
        for generate in ({}, {"temperature": 0}, {"temperature": 0, "max_retries": 9, "max_connections": 2}):
            asker().ask(units([model.model_copy(update={"generate": generate})], items[:1]))
        assert len(script.asked) == 2

    def test_no_more_calls_at_once_than_allowed_and_no_model_waits_for_another(self, put, questions, scripted, asker):
        many = [put(f"many-{number}", questions.choice(f"Number {number}?")) for number in range(12)]
        made = [scripted("Answer: A") for _ in range(2)]
        asker(concurrency=3).ask(units([model for model, _ in made], many))
        assert [len(script.asked) for _, script in made] == [12, 12]
        assert all(script.most_at_once <= 3 for _, script in made)

    def test_inspect_ai_s_transcript_does_not_pile_up_what_was_sent(self, items, scripted, asker):
        model, script = scripted("Answer: A")
        asker(concurrency=1).ask(units([model], items))
        assert script.in_transcript == [1] * 5

    def test_an_answer_with_half_a_surrogate_pair_costs_nothing_else(self, items, scripted, asker, stored):
        model, _ = scripted("Answer: A \ud83d")
        assert asker().ask(units([model], items[:1])).failures == {}
        assert stored()[0]["answer"] == "Answer: A ?"

    def test_nothing_to_ask_is_nothing(self, asker, stored):
        assert asker().ask([]).asked == 0
        assert stored() == []


class TestFailures:
    def test_one_call_that_fails_stops_no_other(self, items, scripted, asker, stored):
        def reply(text, count):
            return ValueError("no such\n  thing") if "number 2" in text else "Answer: A"

        model, _ = scripted(reply)
        done = asker().ask(units([model], items))
        assert (done.asked, done.failures) == (5, {"api_error": 1})
        by_name = {row["item_name"]: row for row in stored()}
        assert (by_name["item-2"]["state"], by_name["item-2"]["answer"]) == ("api_error", None)
        assert by_name["item-2"]["error"] == "ValueError: no such thing"
        assert by_name["item-2"]["input_tokens"] is None
        assert {row["state"] for name, row in by_name.items() if name != "item-2"} == {"ok"}

    def test_a_failed_call_is_asked_again_and_a_settled_one_is_not(self, items, scripted, asker, stored):
        replies = {"works": False}

        def reply(text, count):
            return "Answer: A" if replies["works"] or "number 2" not in text else ValueError("down")

        model, _ = scripted(reply)
        asker().ask(units([model], items))
        replies["works"] = True
        done = asker().ask(units([model], items))
        assert (done.asked, done.known, done.failures) == (1, 4, {})
        assert {row["state"] for row in stored()} == {"ok"}

    @pytest.mark.parametrize(("stop_reason", "state"), [("content_filter", "refusal"), ("max_tokens", "truncated")])
    def test_answers_that_are_none_are_settled_under_their_own_state(
        self, items, scripted, asker, stored, stop_reason, state
    ):
        from inspect_ai.model import ModelOutput

        model, _ = scripted(lambda text, count: ModelOutput.from_content("m", "Sorry", stop_reason=stop_reason))
        assert asker().ask(units([model], items[:1])).failures == {state: 1}
        assert asker().ask(units([model], items[:1])).known == 1
        assert (stored()[0]["state"], stored()[0]["answer"]) == (state, "Sorry")

    @pytest.mark.parametrize("text", ["", "  \n "])
    def test_an_empty_answer(self, items, scripted, asker, stored, text):
        model, _ = scripted(text)
        assert asker().ask(units([model], items[:1])).failures == {"empty": 1}
        assert stored()[0]["state"] == "empty"

    def test_an_error_in_the_output_is_a_failure(self, items, scripted, asker, stored):
        from inspect_ai.model import ModelOutput

        model, _ = scripted(lambda text, count: ModelOutput(model="m", error="quota is used up"))
        asker().ask(units([model], items[:1]))
        assert (stored()[0]["state"], stored()[0]["error"]) == ("api_error", "quota is used up")

    @pytest.mark.parametrize(("generate", "attempts"), [({}, 7), ({"max_retries": 2}, 3), ({"max_retries": 0}, 1)])
    def test_a_busy_server_is_asked_a_few_times_more_and_the_reason_is_told(
        self, items, scripted, asker, stored, generate, attempts
    ):
        model, script = scripted(lambda text, count: RuntimeError("429 busy"), generate=generate)
        asker().ask(units([model], items[:1]))
        assert len(script.asked) == attempts
        tried = f" (after {attempts} attempts)" if attempts > 1 else ""
        assert stored()[0]["error"] == f"RuntimeError: 429 busy{tried}"

    def test_patience_is_bounded_and_a_model_s_own_settings_win(self, items, scripted, asker):
        told = {
            (6, 600, 3600): {},
            (6, 2, 5): {"timeout": 5, "attempt_timeout": 2},
            (6, None, None): {"batch": True},  # a provider's batch interface answers within a day
        }
        for wanted, generate in told.items():
            model, script = scripted("Answer: A", generate=generate)
            asker(concurrency=5).ask(units([model], items[:1]))
            config = script.config
            assert (config.max_retries, config.attempt_timeout, config.timeout) == wanted
            assert config.max_connections == 5

    def test_an_answer_after_retries_is_an_answer(self, items, scripted, asker, stored):
        model, _ = scripted(lambda text, count: RuntimeError("busy") if count < 3 else "Answer: A")
        assert asker().ask(units([model], items[:1])).failures == {}
        assert stored()[0]["answer"] == "Answer: A"

    def test_a_call_that_its_own_client_cancels_is_a_failure_and_not_lost(self, items, scripted, asker, stored):
        def reply(text, count):
            return asyncio.CancelledError("stream closed") if "number 1" in text else "Answer: A"

        model, _ = scripted(reply)
        assert asker(concurrency=1).ask(units([model], items)).failures == {"api_error": 1}
        assert len(stored()) == 5

    def test_media_that_are_gone_are_asked_for_again_once_they_are_back(
        self, seen, scripted, asker, stored, workspace, small_media
    ):
        sha256 = seen[1].as_question().media[0].media.sha256
        (file,) = [file for file in (workspace.project.root / "blobs").rglob("*") if file.name == sha256]
        file.unlink()
        model, script = scripted("Answer: A")
        assert asker().ask(units([model], [seen])).failures == {"api_error": 1}
        assert sha256 in stored()[0]["error"]
        workspace.blobs.put(small_media["image"])
        assert asker().ask(units([model], [seen])).failures == {}
        assert len(script.asked) == 1

    def test_media_that_do_not_decode_block_the_question_for_good(self, put, questions, workspace, scripted, asker):
        data = b"fLaC" + b"\x00" * 50
        ref = questions.media_ref("audio", sha256=workspace.blobs.put(data), media_type="audio/flac")
        item = put("odd", questions.choice("Hear <audio_1>.", media={"audio_1": ref}))
        model, script = scripted("Answer: A")
        assert asker().ask(units([model], [item])).failures == {"blocked": 1}
        assert (asker().ask(units([model], [item])).known, script.asked) == (1, [])

    def test_an_error_that_a_provider_gives_back_is_told_without_the_request(
        self, items, scripted, asker, stored, answered
    ):
        model, _ = scripted(lambda text, count: answered(ValueError("the image is too large")))
        asker().ask(units([model], items[:1]))
        assert stored()[0]["error"] == "ValueError: the image is too large"

    def test_errors_are_kept_short(self, items, scripted, asker, stored):
        model, _ = scripted(lambda text, count: ValueError("no. " * 1_000))
        asker().ask(units([model], items[:1]))
        assert len(stored()[0]["error"]) == ERROR_KEPT_CHARACTERS


class TestSecrets:
    def test_a_key_in_the_settings_is_used_and_stored_nowhere(self, items, scripted, asker, workspace):
        model, script = scripted(
            lambda text, count: ValueError("401: key sk-secret-1 is no good"), arguments={"api_key": "sk-secret-1"}
        )
        asker().ask(units([model], items[:1]))
        assert script.key == "sk-secret-1"
        root = workspace.project.root
        kept = [file for file in root.rglob("*") if file.is_file() and b"sk-secret-1" in file.read_bytes()]
        assert kept == []

    def test_a_new_key_asks_nothing_again(self, items, scripted, asker):
        model, script = scripted("Answer: A", arguments={"api_key": "old"})
        asker().ask(units([model], items))
        asker().ask(units([model.model_copy(update={"arguments": {"api_key": "new"}})], items))
        assert len(script.asked) == 5


class TestModelsThatCannotBeUsed:
    def test_an_unknown_provider(self, items, asker):
        model = ModelSpec(name="x", provider="gogle/gemini", family="x")
        with pytest.raises(UnknownName, match="unknown provider 'gogle'; did you mean 'google'"):
            asker().ask(units([model], items))

    def test_a_missing_key_is_told_without_markup(self, items, asker, monkeypatch):
        monkeypatch.delenv("FOO_API_KEY", raising=False)
        model = ModelSpec(name="x", provider="openai-api/foo/bar", family="x")
        with pytest.raises(ModelUnavailable) as raised:
            asker().ask(units([model], items))
        assert str(raised.value) == (
            "model 'x' (openai-api/foo/bar) cannot be used: "
            "Unable to initialise foo client No FOO_API_KEY defined in the environment."
        )

    def test_a_missing_package_says_what_to_install(self, items, asker, monkeypatch):
        from inspect_ai._util.error import pip_dependency_error

        def refuse(*_, **__):
            raise pip_dependency_error("Google API", ["google-genai"])

        monkeypatch.setattr("inspect_ai.model.get_model", refuse)
        with pytest.raises(
            ModelUnavailable, match=r"Google API requires optional dependencies. Install with: pip insta"
        ):
            asker().ask(units([ModelSpec(name="x", provider="google/y", family="x")], items))

    def test_a_module_that_is_not_there(self, items, asker, monkeypatch):
        def refuse(*_, **__):
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

        monkeypatch.setattr("inspect_ai.model.get_model", refuse)
        with pytest.raises(ModelUnavailable, match="needs the Python package 'torch': pip install torch"):
            asker().ask(units([ModelSpec(name="x", provider="hf/y", family="x")], items))

    @pytest.mark.parametrize(
        ("generate", "said"),
        [
            ({"temprature": 1}, "generate: Unknown .*temprature"),
            ({"temperature": "hot"}, "generate: temperature: must be a number"),
        ],
    )
    def test_generation_settings_that_are_none(self, items, scripted, asker, generate, said):
        model, _ = scripted("Answer: A", generate=generate)
        with pytest.raises(BadModelSettings, match=said) as raised:
            asker().ask(units([model], items))
        assert "\n" not in str(raised.value)

    def test_then_nothing_was_asked(self, items, scripted, asker, stored):
        good, script = scripted("Answer: A")
        bad = ModelSpec(name="x", provider="nonsense/y", family="x")
        with pytest.raises(UnknownName):
            asker().ask(units([good, bad], items))
        assert (script.asked, stored()) == ([], [])


class TestInterruption:
    def test_ctrl_c_keeps_what_was_answered_and_the_next_call_goes_on(self, items, scripted, asker, stored):
        def reply(text, count):
            if count == 3:
                raise KeyboardInterrupt
            return "Answer: A"

        model, _ = scripted(reply)
        with pytest.raises(KeyboardInterrupt):
            asker(concurrency=1).ask(units([model], items))
        assert len(stored()) == 2
        done = asker(concurrency=1).ask(units([model], items))
        assert (done.known, done.asked, len(stored())) == (2, 3, 5)

    def test_a_process_that_dies_loses_no_answer_that_had_come(self, items, scripted, asker, workspace, tmp_path):
        root = workspace.project.root
        left = tmp_path / "left"

        def reply(text, count):
            if count == 4:  # what a kill -9 now would leave on the disk
                shutil.copytree(root, left)
            return "Answer: A"

        model, _ = scripted(reply)
        asker(concurrency=1).ask(units([model], items))
        facts = FactStore(str(left / "facts"), left / workspace.facts.journal_folder.relative_to(root))
        again, _ = scripted("Answer: A")
        same = again.model_copy(update={"name": model.name, "provider": model.provider})
        done = asker(facts=facts).ask(units([same], items))
        assert (done.known, done.asked) == (3, 2)

    def test_a_full_disk_is_told_as_it_is(self, items, scripted, asker, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(FactWriter, "add", full)
        with pytest.raises(OSError, match="No space left"):
            asker().ask(units([scripted("Answer: A")[0]], items))


def test_simulated_members_answer_by_what_they_are_sent(gallery_file, seen, asker, stored):
    arguments = {"gallery": str(gallery_file), "seed": 1}
    model = ModelSpec(name="ada", provider="interplay-sim/ada", family="ada", arguments=arguments)
    done = asker().ask(units([model], [seen], [FULL, TEXT_ONLY, OPTIONS_ONLY]))
    assert (done.asked, done.failures) == (3, {})
    assert {row["condition"] for row in stored()} == {"full", "text_only", "options_only"}


def test_an_answer_that_is_too_long_to_keep_is_no_whole_answer(items, scripted, asker, stored):
    model, _ = scripted("x" * 1_000_001)
    asker().ask(units([model], items[:1]))
    (row,) = stored()
    assert (row["state"], len(row["answer"])) == ("truncated", 1_000_000)
