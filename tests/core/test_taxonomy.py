import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from core.errors import UnknownName
from core.taxonomy import ReportAbility, Taxonomy, load_taxonomy

# The tree of UNO-Bench's task-type figure, names as printed.
TREE = {
    "Perception": {
        "Object Perception": [
            "Human & Animal Recognition",
            "Other Entity Recognition",
            "Spot the Difference",
            "Instrument Recognition",
        ],
        "Attribute Perception": [
            "Age Judgment",
            "Human Recognition",
            "Feature Recognition",
            "Gender Judgment",
            "Counting",
        ],
        "Scenario Perception": [
            "Background Sound Recognition",
            "Scene Recognition",
            "Emotion Recognition",
            "Event Recognition",
        ],
        "Spatial Perception": ["Spatial Relationship"],
        "Cross-Modal Conversion": ["Automatic Speech Recognition", "Optical Character Recognition"],
        "Cross-Modal Alignment": ["Timing Alignment", "Consistency Judgment"],
        "Semantic Understanding": [
            "Pause Comprehension",
            "Reading Comprehension",
            "Long Audio Summarization",
            "Coreference Resolution",
        ],
    },
    "Reasoning": {
        "General Reasoning": {
            "Commonsense Reasoning": ["Social Cognitive Reasoning", "Life Reasoning"],
            "Logical Reasoning": [
                "Riddle Reasoning",
                "Counterfactual Reasoning",
                "Logical Relationship Reasoning",
                "Card Reasoning",
                "Game Reasoning",
            ],
        },
        "Temporal Reasoning": ["Event Analysis", "Event Ordering", "Future Prediction"],
        "Spatial Reasoning": {
            "Static Reasoning": ["Puzzle", "Perspective Taking", "Relative Position"],
            "Dynamic Reasoning": ["Route Planning", "Trajectory Prediction"],
        },
        "STEM Reasoning": ["Geography", "Chemistry", "Biology", "Mathematics", "Physics"],
        "Complex Reasoning": ["Multi-step reasoning"],
        "Code": ["Code"],
    },
}


@pytest.fixture
def taxonomy():
    return load_taxonomy()


def leaves(tree, path=()):
    if isinstance(tree, list):
        return [(name, path) for name in tree]
    return [leaf for name, below in tree.items() for leaf in leaves(below, (*path, name))]


def has_cjk(text):
    return any("\u4e00" <= letter <= "\u9fff" for letter in text)


def test_names_and_paths_are_those_of_the_published_figure(taxonomy):
    ours = [(t.name_en, tuple(taxonomy.group(step).name_en for step in t.path)) for t in taxonomy.task_types]
    assert ours == leaves(TREE)


def test_has_44_types_half_perception_half_reasoning(taxonomy):
    assert len(taxonomy.task_types) == 44
    assert Counter(t.branch for t in taxonomy.task_types) == {"perception": 22, "reasoning": 22}


@pytest.mark.parametrize(
    "field", ["id", "name_en", "name_zh", "definition_en", "definition_zh", "example_en", "example_zh"]
)
def test_every_type_has_texts_of_its_own(taxonomy, field):
    texts = [getattr(t, field) for t in taxonomy.task_types]
    assert len(set(texts)) == 44
    assert all(text == text.strip() != "" for text in texts)
    assert all(has_cjk(text) == field.endswith("zh") for text in texts)


def test_abilities_are_named_in_both_languages_and_all_in_use(taxonomy):
    for group in (*taxonomy.branches, *taxonomy.abilities):
        assert has_cjk(group.name("zh"))
        assert not has_cjk(group.name("en"))
        assert taxonomy.children(group.id)


def test_definitions_say_how_sound_and_picture_take_part(taxonomy):
    words = {
        "en": ("heard|hear|[Aa]udio|sound|recording|voice|speech|spoken", "seen|picture|image|video|visible"),
        "zh": ("声|音|听", "看|画面|图"),
    }
    for task_type in taxonomy.task_types:
        for language, senses in words.items():
            for sense in senses:
                assert re.search(sense, task_type.definition(language)), f"{task_type.id}: no {sense}"


@given(st.sampled_from(load_taxonomy().task_types), st.data())
def test_any_spelling_of_an_id_or_name_finds_its_type(task_type, data):
    name = data.draw(st.sampled_from([task_type.id, task_type.name_en, task_type.name_zh]))
    changes = [str.upper, str.lower, str.swapcase, lambda n: n.replace(" ", ""), lambda n: f" {n}\t", "\u3000".join]
    for change in data.draw(st.lists(st.sampled_from(changes), max_size=3)):
        name = change(name)
    assert load_taxonomy().get(name) == task_type


def test_full_width_letters_find_a_type(taxonomy):
    assert taxonomy.get("Ｃｏｄｅ").id == "code"


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("Spot the Diference", "Spot the Difference"),
        ("route_planing", "route_planning"),
        ("文字识辨", "文字识别"),
    ],
)
def test_a_near_miss_is_answered_with_did_you_mean(taxonomy, typo, meant):
    with pytest.raises(UnknownName, match=f"unknown task type '{typo}'; did you mean .*'{meant}'"):
        taxonomy.get(typo)


def test_a_blank_name_is_unknown(taxonomy):
    with pytest.raises(UnknownName, match="unknown task type ' '; known: Age Judgment"):
        taxonomy.get(" ")


def test_children_of_a_branch_an_ability_and_a_sub_ability(taxonomy):
    assert [t.id for t in taxonomy.children("Temporal Reasoning")] == [
        "event_analysis",
        "event_ordering",
        "future_prediction",
    ]
    assert [t.name("zh") for t in taxonomy.children("动态推理")] == ["路线规划", "轨迹预测"]
    assert len(taxonomy.children("general_reasoning")) == 2 + 5
    assert len(taxonomy.children("reasoning")) == 22


def test_children_of_an_unknown_ability(taxonomy):
    with pytest.raises(UnknownName, match="unknown ability 'Spatial Reasonin'; did you mean 'Spatial Reasoning'"):
        taxonomy.children("Spatial Reasonin")


def test_report_columns_hold_what_their_names_say(taxonomy):
    columns = Counter((t.branch, t.report_ability) for t in taxonomy.task_types)
    assert columns == {
        ("perception", ReportAbility.ALIGNMENT): 2,
        ("perception", ReportAbility.RECOGNITION): 4 + 5 + 4,
        ("perception", None): 1 + 2 + 4,
        ("reasoning", ReportAbility.GENERAL): 7 + 5 + 1 + 1,
        ("reasoning", ReportAbility.TEMPORAL): 3,
        ("reasoning", ReportAbility.SPATIAL): 5,
    }
    for ability, column in [("cross_modal_alignment", "alignment"), ("temporal_reasoning", "temporal")]:
        assert {t.report_ability for t in taxonomy.children(ability)} == {column}
    assert {t.ability for t in taxonomy.task_types if t.report_ability == "spatial"} == {"spatial_reasoning"}


def test_is_read_once(taxonomy):
    assert load_taxonomy() is taxonomy


@pytest.mark.parametrize("version", ["2", "", "../data/taxonomy-1"])
def test_unknown_version_is_refused_with_the_known_ones(version):
    with pytest.raises(UnknownName, match=r"unknown taxonomy version .*; known: 1"):
        load_taxonomy(version)


def test_a_tree_with_two_types_of_one_name_is_refused(taxonomy):
    first, second, *_ = taxonomy.model_dump()["task_types"]
    second["name_zh"] = first["name_zh"]
    with pytest.raises(ValidationError, match="more than one task type is called 人与动物识别"):
        Taxonomy.model_validate({**taxonomy.model_dump(), "task_types": [first, second]})


def test_a_path_through_an_unnamed_ability_is_refused(taxonomy):
    first, *_ = taxonomy.model_dump()["task_types"]
    first["path"] = ["perception", "smell"]
    with pytest.raises(ValidationError, match="perception/smell of human_and_animal_recognition"):
        Taxonomy.model_validate({**taxonomy.model_dump(), "task_types": [first]})
