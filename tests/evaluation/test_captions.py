"""Media put into words by scripted models, the conditions made of them, and `interplay caption ...`."""

import json
import re
import shlex
from datetime import UTC, datetime

import pytest
import typer
from sqlmodel import select
from typer.testing import CliRunner

import evaluation.caption_cli
import evaluation.captions
from core.condition import IN_WORDS
from core.content import MediaRef, Modality, parse_prompt
from core.errors import InterplayError, UnknownName
from evaluation.caption_conditions import CaptionSource, Words, sources_lines
from evaluation.caption_prompts import instruction
from evaluation.captions import CaptionOrder, NoScope, Scope, count_requests, make_captions, media_of
from evaluation.models.catalogue import Price
from evaluation.run import release_revisions
from evaluation.solve import plan
from warehouse.caption_search import Search, captions_of, find_captions
from warehouse.captions import accept_caption, edit_caption, reject_caption, write_caption
from warehouse.items import Draft, create_item, get_item, revise_item
from warehouse.people import Role, add_user
from warehouse.tables import (
    CaptionKind,
    CaptionState,
    ItemRevision,
    ItemState,
    Material,
    MaterialState,
    Release,
    ReleaseItem,
    Run,
    User,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
RELEASE = Scope(release=("zoo", "1.0.0"))


class Zoo:
    """The release zoo 1.0.0: an English and a Chinese question about one picture, each with a sound of its own."""

    def __init__(self, workspace, questions, library, media) -> None:
        self.workspace, self.questions = workspace, questions
        self.image = library.add(media["image"])
        self.bell = library.add(media["audio"], audio_type="environment")
        self.revisions: dict[str, ItemRevision] = {}
        with workspace.database.session() as session:
            for name, role in (("ann", Role.ANNOTATOR), ("rita", Role.REVIEWER)):
                add_user(session, name, frozenset({role}), actor="test")
            run = Run(command="test", fingerprint="0" * 64, host="test", process_id=1, started_at=NOON)
            session.add(run)
            session.flush()
            self.release = Release(name="zoo", version="1.0.0", run_id=run.id)
            session.add(self.release)
        self.run_id = run.id
        self.item("lion", "en", image_1=self.image, audio_1=self.bell)
        self.item("tiger", "zh-CN", image_1=self.image)

    def question(self, language: str, **materials: Material):
        text = "Which? " + " ".join(f"<{name}>" for name in materials)
        media = {name: one.media_ref for name, one in materials.items()}
        return self.questions.choice(prompt=parse_prompt(text, media), language=language)

    def item(self, name: str, language: str, **materials: Material) -> ItemRevision:
        ids = {placeholder: one.id for placeholder, one in materials.items()}
        with self.workspace.database.session() as session:
            _, revision = create_item(session, name, Draft(self.question(language, **materials), ids, "ann"))
            place = len(self.revisions)
            session.add(ReleaseItem(release_id=self.release.id, revision_id=revision.id, split="test", position=place))
        self.revisions[name] = revision
        return revision

    def material(self, modality: str, digit: str, **more) -> Material:
        """Media that nobody can read."""
        types = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4"}
        ref = MediaRef(sha256=digit * 64, media_type=types[modality], modality=modality, byte_count=9)
        row = Material(
            sha256=digit * 64, media=ref.model_dump(mode="json"), modality=modality, run_id=self.run_id, **more
        )
        with self.workspace.database.session() as session:
            session.add(row)
        return row

    def make(self, model, scope=RELEASE, **order):
        return make_captions(self.workspace, scope, CaptionOrder(model, **order))

    def captions(self, *states) -> list[tuple[str, str, str]]:
        with self.workspace.database.reading() as session:
            found = find_captions(session, Search(states=states or tuple(CaptionState)))
        return sorted((one.kind.value, one.language, one.text) for one in found)

    def accept(self, material, text: str, language: str = "en", by: str = "rita"):
        """A person's own words, or a version that says this, accepted."""
        with self.workspace.database.session() as session:
            user = session.exec(select(User).where(User.name == by)).one()
            caption = write_caption(session, material, language, text, user)
            return accept_caption(session, caption.id, user)

    def edit(self, caption, text: str):
        with self.workspace.database.session() as session:
            user = session.exec(select(User).where(User.name == "rita")).one()
            return accept_caption(session, edit_caption(session, caption.id, text, user).id, user)

    def condition(self, name: str, item: str):
        revision = self.revisions[item]
        with self.workspace.database.reading() as session:
            words = Words(session, [one.id for one in self.revisions.values()])
        question = revision.as_question()
        return words.condition(name, revision.id, question), [
            one.placeholder for one in words.missing(name, revision.id, question)
        ]


@pytest.fixture
def zoo(workspace, questions, library, small_media):
    return Zoo(workspace, questions, library, small_media)


def describing(text: str, count: int) -> str:
    """A model that tells by the request what it was sent."""
    media = next(word for word in ("<image>", "image", "图片", "录音", "recording") if word in text)
    return {"图片": "一只猫。", "image": "A cat.", "recording": "One bell."}[media]


class TestMaking:
    def test_each_material_and_language_is_asked_once(self, zoo, scripted, stored):
        model, script = scripted(describing, name="keen")
        made = zoo.make(model)
        assert (made.proposed, made.known, made.without, made.solved.asked) == (3, 0, {}, 3)
        assert zoo.captions() == [
            ("caption", "en", "A cat."), ("caption", "zh", "一只猫。"), ("transcript", "en", "One bell."),
        ]  # fmt: skip
        assert sorted(map(len, script.contents)) == [3, 3, 3]  # text, medium, text
        again = zoo.make(model)
        assert (again.proposed, again.known, again.solved.asked, len(script.asked)) == (0, 3, 0, 3)
        with zoo.workspace.database.reading() as session:
            captions = {one.response_key: one for one in find_captions(session, Search())}
            runs = {run.id: run for run in session.exec(select(Run))}
        for row in stored():
            caption = captions.pop(row["key"])
            assert (row["answer"], row["model"], row["purpose"]) == (caption.text, caption.author, "captions")
            assert (row["item_name"], row["condition"]) == (caption.material_id, caption.kind.value)
            assert (caption.model_fingerprint, caption.by_person) == (model.fingerprint, False)
            assert runs[caption.run_id].command == "caption make"
        assert captions == {}

    def test_another_model_or_another_setting_proposes_beside_it(self, zoo, scripted):
        model, _ = scripted("A cat.", name="keen")
        other, _ = scripted("A dog.", name="hasty")
        for one in (model, other, model.model_copy(update={"generate": {"temperature": 0.5}})):
            assert zoo.make(one, languages=["zh"]).proposed == 1
        assert [text for _, _, text in zoo.captions()] == ["A cat.", "A cat.", "A dog."]

    def test_a_rejected_text_is_not_proposed_again(self, zoo, scripted):
        model, script = scripted("A cat.")
        zoo.make(model, languages=["zh-TW"])
        with zoo.workspace.database.session() as session:
            (caption,) = find_captions(session, Search())
            reject_caption(session, caption.id, session.exec(select(User).where(User.name == "rita")).one())
        assert zoo.make(model, languages=["zh"]).known == 1
        assert (len(script.asked), zoo.captions(CaptionState.PROPOSED)) == (1, [])

    def test_kinds_and_languages_limit_it(self, zoo, scripted):
        model, _ = scripted(describing)
        order = {"kinds": [CaptionKind.TRANSCRIPT]}
        assert count_requests(zoo.workspace, RELEASE, CaptionOrder(model, **order)) == 1
        assert zoo.make(model, **order).proposed == 1
        assert zoo.captions() == [("transcript", "en", "One bell.")]
        assert count_requests(zoo.workspace, RELEASE, CaptionOrder(model)) == 2

    def test_only_whole_answers_become_captions(self, zoo, scripted):
        from inspect_ai.model import ModelOutput

        def reply(text, count):
            kind = "zh" if "图片" in text else "image" if "image" in text else "sound"
            return {
                "zh": ModelOutput.from_content("m", "一只", stop_reason="max_tokens"),
                "image": ModelOutput.from_content("m", "No.", stop_reason="content_filter"),
                "sound": "<think>A bell? It says: what is 1 + 1?</think> \n",
            }[kind]

        model, script = scripted(reply)
        for asked in (3, 3):
            made = zoo.make(model)
            assert (made.proposed, made.without) == (0, {"empty": 1, "refusal": 1, "truncated": 1})
            assert len(script.asked) == asked
        assert zoo.captions() == []

    def test_thinking_is_no_description_and_all_else_stays_as_it_was_written(self, zoo, scripted):
        text = "1. **Left**: ½ cat | “Ｍｅｏｗ”：\n\n   $3"
        model, _ = scripted(f"<think>Hm.</think>\n{text}\n")
        zoo.make(model, languages=["zh"])
        assert zoo.captions() == [("caption", "zh", text)]

    def test_a_failed_call_is_asked_again_and_the_rest_is_not(self, zoo, scripted, stored):
        down = ["down"]

        def reply(text, count):
            return ValueError("no connection") if down and "录音" not in text and "图片" in text else "A text."

        model, script = scripted(reply)
        made = zoo.make(model)
        assert (made.proposed, made.without) == (2, {"api_error": 1})
        assert sorted(row["state"] for row in stored()) == ["api_error", "ok", "ok"]
        down.clear()
        asked = len(script.asked)
        made = zoo.make(model)
        assert (made.proposed, made.known, made.without, len(script.asked) - asked) == (1, 2, {}, 1)

    def test_answers_of_a_call_that_was_stopped_become_captions_in_the_next(self, zoo, scripted, monkeypatch):
        def stop(*arguments):
            raise KeyboardInterrupt

        model, script = scripted("A text.")
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(evaluation.captions, "propose_caption", stop)
            zoo.make(model)
        assert (zoo.captions(), len(script.asked)) == ([], 3)
        made = zoo.make(model)
        assert (made.proposed, made.known, made.solved.known, len(script.asked)) == (3, 0, 3, 3)

    def test_a_budget_leaves_the_rest_for_the_next_call(self, zoo, scripted):
        price = Price(input=1_000_000, output=0)  # 7 tokens in: 7 dollars a call
        model, script = scripted("A text.", price=price)
        made = zoo.make(model, budget_usd=8.0)
        assert (made.proposed, made.solved.left, made.solved.cost_usd) == (1, 2, 7.0)
        assert zoo.make(model).proposed == 2
        assert len(script.asked) == 3

    def test_what_people_said_and_what_was_withdrawn_goes_to_no_model(self, zoo, scripted):
        zoo.item(
            "bear", "en",
            audio_1=zoo.material("audio", "1", audio_content="Growls.", audio_content_by="human"),
            image_1=zoo.material("image", "2", state=MaterialState.WITHDRAWN),
        )  # fmt: skip
        model, _ = scripted(describing)
        made = zoo.make(model)
        assert (made.proposed, made.by_people, made.withdrawn, made.without) == (3, 1, 1, {})


class TestScopes:
    def names(self, zoo, **scope):
        with zoo.workspace.database.reading() as session:
            return [(one.material.modality, one.language, one.items) for one in media_of(session, Scope(**scope))]

    def test_a_release_keeps_its_revisions_and_items_have_their_current_ones(self, zoo):
        before = [("audio", "en", ("lion",)), ("image", "en", ("lion",)), ("image", "zh", ("tiger",))]
        new = zoo.material("image", "3")
        with zoo.workspace.database.session() as session:
            item = get_item(session, "tiger")
            draft = Draft(zoo.question("en", image_1=new), {"image_1": new.id}, "ann")
            revise_item(session, item, item.version, draft)
        assert sorted(self.names(zoo, release=("zoo", "1.0.0"))) == before
        assert self.names(zoo, items=["tiger", "tiger"]) == [("image", "en", ("tiger",))]
        assert self.names(zoo, states=[ItemState.ACCEPTED]) == []
        assert len(self.names(zoo, states=[ItemState.DRAFT])) == 3

    def test_one_scope_must_be_given(self):
        for scope in ({}, {"items": ["a"], "states": [ItemState.DRAFT]}, {"release": ("a", "1.0.0"), "items": ["b"]}):
            with pytest.raises(NoScope, match="say one of"):
                Scope(**scope)

    def test_unknown_names_are_told(self, zoo, scripted):
        model, script = scripted("A text.")
        for scope in (Scope(release=("zoo", "2.0.0")), Scope(items=["lino"])):
            with pytest.raises(UnknownName, match="did you mean"):
                zoo.make(model, scope)
        assert script.asked == []


class TestInstructions:
    def asked(self, modality, language="en", **more) -> str:
        ref = MediaRef(
            sha256="1" * 64, media_type="x/y", modality=modality, byte_count=1, duration_s=more.pop("duration_s", None)
        )
        material = Material(sha256=ref.sha256, media=ref.model_dump(mode="json"), modality=modality, run_id="r", **more)
        (message,) = instruction(material, language)
        assert [part.media for part in message.parts if part.type == "media"] == [ref]
        return "".join(part.text for part in message.parts if part.type == "text")

    @pytest.mark.parametrize("modality", ["image", "video", "audio"])
    def test_they_are_in_the_language_of_the_question_and_forbid_to_answer(self, modality):
        english, chinese, german = (self.asked(modality, language) for language in ("en-GB", "zh-CN", "de"))
        assert "Do not answer any question" in english
        assert not re.search(r"[\u4e00-\u9fff]", english)
        assert "不要回答任何问题" in chinese
        assert not re.search(r"[a-z]", chinese)
        assert german.startswith(english)
        assert german.endswith("Write in the language whose ISO 639 code is 'de'.")

    def test_a_video_is_told_with_times_and_its_length(self):
        assert "(it lasts 12.5 seconds)" in self.asked("video", duration_s=12.52)
        assert "全长12.5秒" in self.asked("video", "zh", duration_s=12.52)
        assert "lasts" not in self.asked("video")

    def test_speech_is_written_down_and_other_sounds_are_described(self):
        speech, bells, unknown = (
            self.asked("audio", audio_type=kind) for kind in ("speech", "environment", None)
        )  # fmt: skip
        transcript, description = "what is said, word for word", "Describe all that is heard"
        assert [transcript in one for one in (speech, bells, unknown)] == [True, False, True]
        assert [description in one for one in (speech, bells, unknown)] == [False, True, True]


class TestConditions:
    def test_one_holds_its_own_medias_accepted_words(self, zoo):
        assert zoo.condition("caption_for_visual", "lion") == (None, ["image_1"])
        zoo.accept(zoo.image, "A cat.")
        condition, missing = zoo.condition("caption_for_visual", "lion")
        assert missing == []
        assert condition.words == {Modality.IMAGE: {zoo.image.media_ref.sha256: "A cat."}}
        shown = condition.apply(zoo.revisions["lion"].as_question())
        assert shown.prompt_text == "Which? [image described in words: A cat.] <audio_1>"

    def test_a_proposal_or_another_language_is_no_accepted_text(self, zoo, scripted):
        zoo.make(scripted(describing)[0])
        zoo.accept(zoo.image, "一只猫。", "zh")
        assert zoo.condition("caption_for_image", "lion") == (None, ["image_1"])
        assert zoo.condition("caption_for_image", "tiger")[1] == []

    @pytest.mark.parametrize("name", IN_WORDS)
    def test_a_question_without_such_media_has_no_such_condition(self, zoo, name):
        revision = zoo.item("hare", "en", video_1=zoo.material("video", "4"))
        condition, missing = zoo.condition(name, "hare")
        assert condition is None
        assert missing == (["video_1"] if Modality.VIDEO in IN_WORDS[name] else [])
        assert revision.as_question().modalities == {Modality.VIDEO}

    def test_all_media_need_words(self, zoo):
        zoo.item("pair", "en", image_1=zoo.image, video_1=(film := zoo.material("video", "4")))
        zoo.accept(zoo.image, "A cat.")
        assert zoo.condition("caption_for_image", "pair")[0] is not None
        assert zoo.condition("caption_for_visual", "pair") == (None, ["video_1"])
        zoo.accept(film, "It runs.")
        both, _ = zoo.condition("caption_for_visual", "pair")
        assert both.words == {
            Modality.IMAGE: {zoo.image.sha256: "A cat."}, Modality.VIDEO: {film.sha256: "It runs."}
        }  # fmt: skip

    def test_an_edit_changes_what_is_asked_of_its_own_items_alone(self, zoo, scripted):
        bear = zoo.material("image", "5")
        zoo.item("bear", "en", image_1=bear)
        model, _ = scripted("B")
        first = zoo.accept(zoo.image, "A dog.")
        zoo.accept(bear, "A bear.")

        def keys(item):
            condition, _ = zoo.condition("caption_for_visual", item)
            return [unit.key for unit in plan([model], [(item, zoo.revisions[item])], [condition])]

        before = {item: keys(item) for item in ("lion", "bear")}
        zoo.edit(first, "A cat.")
        assert keys("lion") != before["lion"]
        assert keys("bear") == before["bear"]
        zoo.accept(zoo.image, "A dog.")
        assert keys("lion") == before["lion"]

    def test_what_people_said_of_a_sound_holds_in_every_language(self, zoo):
        growl = zoo.material("audio", "6", audio_content="Growls.", audio_content_by="human")
        zoo.item("bear", "zh", audio_1=growl)
        assert zoo.condition("transcript_for_audio", "bear")[0].words == {Modality.AUDIO: {growl.sha256: "Growls."}}
        zoo.accept(growl, "熊叫。", "zh")
        assert zoo.condition("transcript_for_audio", "bear")[0].words == {Modality.AUDIO: {growl.sha256: "熊叫。"}}

    def test_the_report_can_say_whose_words_they_are(self, zoo, scripted):
        zoo.make(scripted(describing, name="keen")[0])
        zoo.item("bear", "en", audio_1=zoo.material("audio", "1", audio_content="Growls.", audio_content_by="human"))
        zoo.item("cat", "en", image_1=zoo.image)
        assert sources(zoo.workspace) == [CaptionSource(CaptionKind.TRANSCRIPT, "people", 1)]
        with zoo.workspace.database.reading() as session:
            (english,) = captions_of(session, [zoo.image.id], CaptionKind.CAPTION, "en")
        zoo.edit(english, "A black cat.")
        zoo.accept(zoo.image, "一只猫。", "zh")
        zoo.accept(zoo.bell, "One bell.")
        told = sources_lines(sources(zoo.workspace))
        assert told == ["captions by keen (1); keen, edited by rita (1)", "transcripts by keen (1); people (1)"]


def sources(workspace):
    """Whose words stand for the media of the release."""
    asked = {revision.id: revision.as_question() for _, revision in release_revisions(workspace, "zoo", "1.0.0")}
    with workspace.database.reading() as session:
        return Words(session, list(asked)).sources(asked.items())


@pytest.fixture
def call(zoo, scripted):
    """`interplay caption ...` in the project, with the models keen and hasty."""
    tables = []
    for name, reply in (("keen", describing), ("hasty", "A text.")):
        model, _ = scripted(reply, name=name)
        tables.append(f'[models.{name}]\nprovider = "{model.provider}"\n')
    with (zoo.workspace.project.root / "interplay.toml").open("a") as file:
        file.write("\n" + "\n".join(tables))

    def run(line: str, code: int = 0):
        arguments = shlex.split(line)
        options = ["--project", str(zoo.workspace.project.root)]
        done = CliRunner().invoke(evaluation.caption_cli.app, [*arguments, *options])
        if isinstance(done.exception, InterplayError):
            assert "\n" not in str(done.exception)
            return str(done.exception)
        assert done.exit_code == code, done.output
        return json.loads(done.stdout) if "--json" in arguments else done.output

    return run


class TestCommands:
    @pytest.mark.parametrize("name", ["make", "list", "show", "edit", "accept", "reject", "export", "import"])
    def test_every_command_has_an_example_and_json(self, name):
        command = typer.main.get_command(evaluation.caption_cli.app).commands[name]
        assert re.search(rf"^Example: interplay caption {name}\b", command.help, re.MULTILINE)
        assert any("--json" in option.opts for option in command.params)

    def test_from_proposals_to_accepted_texts(self, call, zoo):
        assert "3 texts would be asked for" in call("make zoo 1.0.0 --model keen --dry-run")
        assert "proposed 3, known before 0; asked 3, reused 0" in call("make zoo 1.0.0 --model keen")
        assert "proposed 0, known before 3; asked 0" in call("make zoo 1.0.0 --model keen")
        listed = call("list --release zoo 1.0.0 --state proposed --json")
        assert sorted((one["author"], one["text"]) for one in listed) == [
            ("keen", "A cat."), ("keen", "One bell."), ("keen", "一只猫。"),
        ]  # fmt: skip
        (picture,) = (one["id"] for one in listed if one["text"] == "A cat.")
        edited = call(f"edit {picture} --text 'A black cat.' --by ann --json")
        assert (edited["state"], edited["based_on_id"]) == ("proposed", picture)
        assert call(f"accept {picture} --by rita").startswith(f"caption {picture} was edited by ann meanwhile")
        assert "accepted 3" in call("accept --all --release zoo 1.0.0 --by rita")
        told = call(f"show {picture}")
        assert "superseded, by keen (this one)\nA cat." in told
        assert "accepted, by ann\nA black cat." in told
        assert "accept by rita" in told
        shown = call(f"show {picture} --json")
        assert [one["text"] for one in shown["versions"]] == ["A cat.", "A black cat."]
        assert shown["material"] == zoo.image.sha256
        assert call(f"reject {edited['id']} --by rita") == "rejected 1\n"
        assert zoo.condition("caption_for_image", "lion") == (None, ["image_1"])

    def test_people_choose_between_models(self, call, zoo):
        call("make zoo 1.0.0 --model keen --kind transcript")
        call("make --item lion --model hasty --kind transcript")
        assert "yours to choose: " in call("accept --all --item lion --by rita")
        done = call("accept --all --item lion --author hasty --by rita --json")
        assert [one["text"] for one in done["accepted"]] == ["A text."]

    def test_transcripts_by_people_without_any_model(self, call, zoo, tmp_path):
        file = tmp_path / "words.jsonl"
        assert "3 lines" in call(f"export {file} --release zoo 1.0.0 --blank")
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        assert sorted((row["modality"], row["language"], row["items"]) for row in rows) == [
            ("audio", "en", ["lion"]), ("image", "en", ["lion"]), ("image", "zh", ["tiger"]),
        ]  # fmt: skip
        (sound,) = (row for row in rows if row["modality"] == "audio")
        sound["text"] = "One bell."
        file.write_text("\n".join(json.dumps(row) for row in rows))
        told = call(f"import {file} --by rita --accept")
        assert "edited 0, written 1, unchanged 0, still empty 2; accepted 1" in told
        assert zoo.condition("transcript_for_audio", "lion")[1] == []
        assert "is there already" in call(f"export {file}")
        assert call(f"export {tmp_path / 'one'} --json")["lines"] == 1
        assert call(f"export {tmp_path / 'none'} --release zoo 1.0.0 --state rejected --json")["lines"] == 0

    def test_after_a_rejection_people_can_write_their_own_words(self, call, zoo, tmp_path):
        call("make zoo 1.0.0 --model keen --kind transcript")
        (sound,) = call("list --json")
        call(f"reject {sound['id']} --by rita")
        call(f"export {tmp_path / 'x'} --item lion --kind transcript --blank")
        assert [json.loads(line)["text"] for line in (tmp_path / "x").read_text().splitlines()] == [""]

    def test_a_text_can_come_from_a_file(self, call, zoo, tmp_path):
        (tmp_path / "text").write_text("A cat,\nasleep.\n")
        caption = zoo.accept(zoo.image, "A dog.")
        told = call(f"edit {caption.id} --file {tmp_path / 'text'} --by rita --accept")
        assert "which is accepted" in told
        assert zoo.captions(CaptionState.ACCEPTED) == [("caption", "en", "A cat,\nasleep.")]
        (tmp_path / "text").write_bytes(b"\xff\xfeA")
        assert "it must be text in UTF-8" in call(f"edit {caption.id} --file {tmp_path / 'text'} --by rita")

    @pytest.mark.parametrize(
        "line",
        [
            "make zoo --model keen",
            "edit x --by rita",
            "accept --by rita",
            "accept x --all --item lion --by rita",
            "accept x --author keen --by rita",
            "accept --all --by rita",
            "export x.jsonl --blank",
            "list --state perhaps",
        ],
    )
    def test_usage_mistakes(self, call, line):
        call(line, code=2)

    def test_mistakes_are_one_line(self, call):
        assert "say one of" in call("make --model keen")
        assert "unknown model 'kene'; did you mean 'keen'" in call("make zoo 1.0.0 --model kene")
        assert "ann is annotator; this needs the role reviewer or maintainer" in call("accept x --by ann")
        assert "no caption has an id that begins with 'x'" in call("accept x --by rita")
        assert "unknown user 'rtia'" in call("reject x --by rtia")
