"""Two languages: nothing untranslated, nothing left over, every value in its place."""

import ast
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from babel.messages.frontend import CommandLineInterface
from babel.messages.pofile import read_po

import annotation_ui
from annotation_ui import labels
from annotation_ui.words import LANGUAGES, closest_language, words_in
from curation.filters.verdict import DropReason
from curation.materials import BY_PERSON
from qc.reasons import REASONS
from warehouse.tables import Decision, ItemState, MaterialState

ROOT = Path(annotation_ui.__file__).parent
NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
_BRACES = re.compile(r"\{(\w+)\}")


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Every text that the code asks the catalogue for."""
    template = tmp_path_factory.mktemp("texts") / "studio.pot"
    CommandLineInterface().run(
        ["pybabel", "-q", "extract", "-F", str(ROOT / "locale" / "babel.cfg"), "-k", "t", "-k", "N_",
         "-k", "plural:1,2", "--no-location", "-o", str(template), str(ROOT.parent)]
    )  # fmt: skip
    with template.open("rb") as stream:
        return {message.id: message for message in read_po(stream) if message.id}


@pytest.fixture(scope="module", params=[code for code in LANGUAGES if code != "en"])
def catalogue(request):
    with (ROOT / "locale" / request.param / "LC_MESSAGES" / "studio.po").open("rb") as stream:
        return {message.id: message for message in read_po(stream, locale=request.param) if message.id}


def test_every_text_is_translated_and_no_translation_is_left_over(said, catalogue):
    assert len(said) > 100
    assert set(said) - set(catalogue) == set()
    assert set(catalogue) - set(said) == set()
    empty = [message.id for message in catalogue.values() if not all(_strings(message)) or message.fuzzy]
    assert empty == []


def test_translations_fill_the_same_values(catalogue):
    for message in catalogue.values():
        original = message.id[-1] if isinstance(message.id, tuple) else message.id
        for text in _strings(message):
            assert set(_BRACES.findall(text)) == set(_BRACES.findall(original)), message.id


def test_pages_show_no_text_that_the_catalogue_does_not_know():
    """A string given to Streamlit or to a page's drawing functions must come out of `t(...)`."""
    found = []
    for file in [*sorted((ROOT / "pages").glob("*.py")), ROOT / "shell.py", ROOT / "page.py"]:
        for call in (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if name in _SHOWING:
                texts = call.args[1:2] if name == "go" else call.args[:1]
                texts = [
                    *texts,
                    *(word.value for word in call.keywords if word.arg in {"label", "placeholder", "help", "text"}),
                ]
                found += [f"{file.name}:{text.lineno}" for text in texts if _is_bare_text(text)]
    assert found == []


_SHOWING = {
    "button", "caption", "error", "expander", "form_submit_button", "go", "header", "info", "markdown", "notice",
    "section", "segmented_control", "selectbox", "subheader", "success", "text", "text_input", "title", "toggle",
    "warning", "write", "radio", "pills", "text_area", "multiselect", "empty", "problem", "toast",
}  # fmt: skip


def _is_bare_text(node):
    if isinstance(node, ast.JoinedStr):
        return any(
            isinstance(part, ast.Constant) and re.search(r"[A-Za-z]{2}", str(part.value)) for part in node.values
        )
    return (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(re.search(r"[A-Za-z]{2}", node.value))
    )


def _strings(message):
    return message.string if isinstance(message.string, tuple) else (message.string,)


@pytest.mark.parametrize(
    ("table", "members"),
    [
        (labels.ITEM_STATES, ItemState),
        (labels.MATERIAL_STATES, MaterialState),
        (labels.DECISIONS, Decision),
        (labels.ROLES, labels.Role),
        (labels.MODALITIES, labels.Modality),
        (labels.KINDS, labels.QuestionKind),
        (labels.DROP_REASONS, [*DropReason, BY_PERSON]),
    ],
)
def test_every_code_of_the_tables_has_words_of_its_own_in_both_languages(table, members):
    assert set(table) == set(members)
    for language in LANGUAGES:
        t = words_in(language)
        assert len({t(label) for label in table.values()}) == len(table)


def test_reasons_are_told_in_the_readers_language():
    for code, reason in REASONS.items():
        assert labels.reason(words_in("en"), code) == reason.en
        assert labels.reason(words_in("zh"), code) == reason.zh
    assert labels.reason(words_in("zh"), "made_by_a_plugin") == "made by a plugin"


def test_numbers_and_times_in_both_languages():
    en, zh = words_in("en"), words_in("zh")
    assert en.plural("{count} item", "{count} items", 1) == "1 item"
    assert en.plural("{count} item", "{count} items", 12345) == "12,345 items"
    assert zh.plural("{count} item", "{count} items", 12345) == "12,345 道题"
    assert (en.percent(0.5), zh.percent(1)) == ("50.0%", "100.0%")
    assert en.ago(NOW - timedelta(hours=3), NOW) == "3 hours ago"
    assert zh.ago(NOW - timedelta(hours=3), NOW) == "3小时前"
    assert en.ago(NOW + timedelta(hours=3), NOW) == "1 second ago"  # a clock that is ahead tells of no future
    assert en.moment(NOW) == "2026-03-02 09:30 UTC"
    assert en.span(timedelta(days=2)) == "2 days"


@pytest.mark.parametrize(
    ("wanted", "language"),
    [("zh-CN,zh;q=0.9", "zh"), ("fr,zh;q=0.3", "zh"), ("EN-us", "en"), ("de", "en"), (None, "en"), ("", "en")],
)  # fmt: skip
def test_closest_language(wanted, language):
    assert closest_language(wanted) == language


def test_task_types_have_names_in_both_languages_and_unknown_ones_stay():
    assert labels.task_type(words_in("en"), "counting") == "Counting"
    assert labels.task_type(words_in("zh"), "counting") == "计数"
    assert labels.task_type(words_in("zh"), "made up") == "made up"
