"""Words for what a report calls its tables, columns, attributes and values."""

import re

from annotation_ui import labels
from annotation_ui.words import N_, Words
from core.content import Modality
from core.errors import UnknownName
from core.question import QuestionKind
from core.taxonomy import load_taxonomy
from evaluation.graders.verdicts import Why, read_reason
from evaluation.report.items import NONE, NOT_STATED

CONDITIONS = {
    "full": N_("Everything"),
    "without_image": N_("Without image"),
    "without_audio": N_("Without audio"),
    "without_video": N_("Without video"),
    "without_visual": N_("Without image and video"),
    "caption_for_image": N_("Caption for image"),
    "caption_for_video": N_("Caption for video"),
    "caption_for_visual": N_("Caption for image and video"),
    "caption_for_audio": N_("Caption for audio"),
    "transcript_for_audio": N_("Transcript for audio"),
    "donor_for_image": N_("Another image"),
    "donor_for_audio": N_("Another sound"),
    "donor_for_video": N_("Another video"),
    "donor_for_visual": N_("Another image and video"),
    "text_only": N_("Text only"),
    "options_only": N_("Options only"),
}
STATES = {
    "ok": N_("Answered"),
    "refusal": N_("Refused"),
    "truncated": N_("Cut off"),
    "empty": N_("Empty"),
    "blocked": N_("Blocked"),
    "api_error": N_("Error"),
    "unparsed": N_("Unreadable"),
    "abstained": N_("Did not know"),
    "timed_out": N_("Time was over"),
}
OUTCOMES = {
    "right": N_("Right"),
    "partial": N_("Partly right"),
    "wrong": N_("Wrong"),
    "invalid": N_("No valid answer"),
    "ungraded": N_("Not graded"),
    "failed": N_("Failed"),
}
TABLES = {
    "benchmarks": (
        N_("The benchmark (Table 1)"),
        N_(
            "Needs two or more: by the authors' own word, questions that need at least two of image, audio and video. "
            "The last two columns come from an audit by people, with exact 95% intervals."
        ),
    ),
    "table2": (
        N_("Uni-modal and omni-modal (Table 2)"),
        N_(
            "Audio and Visual: questions with media of that kind only. Omni-MC: choice questions that are heard and "
            "seen; Omni-MO: multi-step and open ones."
        ),
    ),
    "table3": (
        N_("By ability (Table 3)"),
        N_("Choice questions that are heard and seen, by the ability that their task type belongs to."),
    ),
    "table4": (
        N_("What seeing adds to hearing (Table 4)"),
        N_(
            "Choice questions that are heard and seen: with the audio alone, with a caption in place of the visual "
            "part, and with everything."
        ),
    ),
    "table5": (
        N_("What hearing adds to seeing (Table 5)"),
        N_(
            "Choice questions that are heard and seen: with the visual part alone, with a caption or transcript in "
            "place of the audio, and with everything; by the kind of sound (music counts as environment)."
        ),
    ),
    "table6": (
        N_("Step by step (Table 6)"),
        N_(
            "Multi-step questions that are heard and seen: points earned on the first, second and all later "
            "sub-questions, in percent of the ten points, over the questions that have one. The total is the sum of "
            "these, each times the share of questions that have it."
        ),
    ),
    "twins": (
        N_("Twin groups"),
        N_(
            "The share of groups of counterfactual twins of which every member is right; n counts groups. Members that "
            "read the same and have different answers cannot all be right for a policy that sees no media."
        ),
    ),
    "people": (
        N_("People against models, by ability"),
        N_(
            "Over the questions that people answered with everything shown, and no others. The intervals of people "
            "count who answered as well as what was asked. Ahead: people less the model, question by question, of "
            "these people: its interval counts questions, not who answered; a star: p under .05 with Holm's correction."
        ),
    ),
    "single_people": (
        N_("People one by one"),
        N_("Each person saw each question once, under one condition; the conditions change from person to person."),
    ),
    "drops": (
        N_("What is lost without"),
        N_(
            "Points with everything less points without, over the questions that were answered both ways. A star: p "
            "under .05 with Holm's correction over the whole table."
        ),
    ),
    "neighbours": (
        N_("Neighbours in the leaderboard"),
        N_(
            "Gaps are paired: over the questions that both answered. Smallest visible: the true gap that such a "
            "comparison, alone and so without Holm's correction, would find four times of five; a dash where it could "
            "find none."
        ),
    ),
}
# Heads and cells that a report writes in English.
PHRASES = {
    "Items": N_("Items"),
    "Modalities": N_("Modalities"),
    "Languages": N_("Languages"),
    "Kinds": N_("Kinds"),
    "Needs two or more": N_("Needs two or more"),
    "Right answers": N_("Right answers"),
    "Needs every modality": N_("Needs every modality"),
    "Audio": N_("Audio"),
    "Visual": N_("Visual"),
    "Omni-MC": N_("Omni-MC"),
    "Omni-MO": N_("Omni-MO"),
    "Perception": N_("Perception"),
    "Reasoning": N_("Reasoning"),
    "Overall": N_("Overall"),
    "Alignment": N_("Alignment"),
    "Recognition": N_("Recognition"),
    "General": N_("General"),
    "Temporal": N_("Temporal"),
    "Spatial": N_("Spatial"),
    "+ caption": N_("+ caption"),
    "+ visual": N_("+ visual"),
    "+ words": N_("+ words"),
    "+ audio": N_("+ audio"),
    "Environment": N_("Environment"),
    "Speech": N_("Speech"),
    "Not stated": N_("Not stated"),
    "Q1": N_("Q1"),
    "Q2": N_("Q2"),
    "Q3+": N_("Q3+"),
    "Total": N_("Total"),
    "Gap": N_("Gap"),
    "p": N_("p"),
    "p, Holm": N_("p, Holm"),
    "Smallest visible": N_("Smallest visible"),
    "Told apart": N_("Told apart"),
    "lost": N_("Lost"),
    "benchmark": N_("Benchmark"),
    "model": N_("Model"),
    "pair": N_("Pair"),
    "who": N_("Who"),
    "person": N_("Person"),
    "Other types": N_("Other types"),
    "Ahead": N_("Ahead"),
    "All": N_("All"),
    "yes": N_("yes"),
    "no": N_("no"),
    "not measured": N_("not measured"),
    "at most, without any media": N_("at most, without any media"),
    "guessing": N_("guessing"),
    # Why a cell is empty.
    "not asked": N_("not asked"),
    "no such questions": N_("no such questions"),
    "no answer is graded": N_("no answer is graded"),
    "no group is graded": N_("no group is graded"),
    "no item has both grades": N_("no question has both grades"),
    "no item was asked both ways": N_("no question was asked both ways"),
}
# What pictures say beyond that.
_IN_FIGURES = {
    "points, percent": N_("points, percent"),
    "points lost, percent": N_("points lost, percent"),
    "the first {drawn} of {known} models": N_("the first {drawn} of {known} models"),
    "audio share × visual share": N_("audio share × visual share"),
    "omni-modal share": N_("omni-modal share"),
    "95% band": N_("95% band"),
    "fitted law": N_("fitted law"),
    "observed": N_("observed"),
    "R² = {r2}, RMSE {rmse}, {models} models": N_("R² = {r2}, RMSE {rmse}, {models} models"),
    "; α from {low} to {high} (95%)": N_("; α from {low} to {high} (95%)"),
}
# What the codes in the reasons of grades mean.
_WHY = {
    Why.EMPTY: N_("Nothing was answered"),
    Why.REFUSAL: N_("The answer declines"),
    Why.TRUNCATED: N_("The answer was cut off"),
    Why.ABSTAINED: N_("The person could not tell"),
    Why.TIMED_OUT: N_("Time was over"),
    Why.UNCLOSED_THINKING: N_("The thinking never ends"),
    Why.COPIES_OPTIONS: N_("Copies the options and chooses none"),
    Why.UNREAD: N_("No answer could be read in it"),
    Why.AMBIGUOUS: N_("Can be read in more than one way"),
    Why.HEDGED: N_("Does not settle on one answer"),
    Why.CONTRADICTION: N_("Contradicts itself"),
    Why.BAD_KEY: N_("The key cannot be graded by"),
    Why.OPEN_STEP: N_("A step could not be graded"),
    Why.NO_MATCH: N_("Matches no accepted answer"),
    Why.JUDGE_FAILED: N_("The judge gave no reply"),
    Why.JUDGE_UNREADABLE: N_("The judge's reply cannot be read"),
    Why.JUDGE_NONCE: N_("The judge's reply does not belong to this question"),
    Why.JUDGE_STEPS: N_("The judge left a step out or judged one twice"),
    Why.JUDGE_RANGE: N_("The judge gave points out of range"),
    Why.JUDGE_PART: N_("The judge divided points that nothing divides"),
    Why.JUDGE_SUM: N_("The judge's sum is wrong"),
}
ATTRIBUTES = {
    "model": N_("Model"),
    "condition": N_("Shown"),
    "kind": N_("Kind"),
    "task_type": N_("Task type"),
    "modalities": N_("Modalities"),
    "outcome": N_("Outcome"),
    "scope": N_("Media"),
    "branch": N_("Branch"),
    "ability": N_("Ability"),
    "sound": N_("Sound"),
    "steps": N_("Steps"),
    "twin": N_("Twin"),
    "view": N_("Given"),
    "state": N_("State"),
    "person": N_("Person"),
    "asked_of_people": N_("Asked of people"),
}
"""What the address may narrow responses by, in reading order."""
_VALUES = {
    ("scope", "omni"): N_("heard and seen"),
    ("scope", "audio"): N_("only heard"),
    ("scope", "visual"): N_("only seen"),
    ("scope", "text"): N_("text alone"),
    ("branch", "perception"): N_("Perception"),
    ("branch", "reasoning"): N_("Reasoning"),
    ("sound", "environment"): N_("Environment"),
    ("sound", "speech"): N_("Speech"),
    ("twin", "yes"): N_("yes"),
    ("twin", "no"): N_("no"),
    ("asked_of_people", "yes"): N_("yes"),
    ("asked_of_people", "no"): N_("no"),
    ("view", "full"): N_("everything"),
    ("view", "audio_only"): N_("audio alone"),
    ("view", "audio_and_caption"): N_("audio and a caption"),
    ("view", "visual_only"): N_("visual part alone"),
    ("view", "visual_and_words"): N_("visual part and words"),
}


def condition_label(t: Words, name: str) -> str:
    """A condition in words; one that we have no words for stays readable."""
    return t(CONDITIONS[name]) if name in CONDITIONS else name.replace("_", " ")


def kind_label(t: Words, kind: str) -> str:
    """A kind of question."""
    return t(labels.KINDS[QuestionKind(kind)]) if kind in set(QuestionKind) else kind


def modalities_label(t: Words, code: str) -> str:
    """A modality composition, `audio+image`, in words."""
    names = code.split("+")
    known = set(Modality)
    return labels.modality_set(t, map(Modality, names)) if known.issuperset(names) else t("Text only")


def phrase(t: Words, text: str) -> str:
    """A head or cell of a report; what was made from data stays as it is."""
    if text in PHRASES:
        return t(PHRASES[text])
    ends = re.fullmatch(r"(\d+) to (\d+)", text)
    return t("{low} to {high}", low=ends[1], high=ends[2]) if ends else text


def head_label(t: Words, title: str) -> str:
    """The head of a column; one that is a condition has its words."""
    name = title.replace(" ", "_")
    return t(CONDITIONS[name]) if name in CONDITIONS else phrase(t, title)


def in_figure(t: Words, text: str) -> str:
    """What a picture says; braces that the picture fills stay."""
    return t(_IN_FIGURES[text]) if text in _IN_FIGURES else head_label(t, text)


def reason_words(t: Words, reason: str) -> tuple[str, str]:
    """Why a grade is so, in words where the grader gave a code, and what it wrote itself."""
    code, words = read_reason(reason)
    return t(_WHY[code]) if code else "", words


def value_label(t: Words, attribute: str, value: str) -> str:
    """A value that responses are narrowed by."""
    known = {
        "condition": condition_label,
        "kind": kind_label,
        "modalities": modalities_label,
        "task_type": labels.task_type,
        "ability": _ability,
    }
    if value == NOT_STATED:
        return t("not stated")
    if attribute in known and value != NONE:
        return known[attribute](t, value)
    codes = {"outcome": OUTCOMES, "state": STATES}.get(attribute, {})
    if value in codes:
        return t(codes[value])
    if (attribute, value) in _VALUES:
        return t(_VALUES[attribute, value])
    return t("none") if value == NONE else value


def _ability(t: Words, code: str) -> str:
    return phrase(t, code.capitalize())


def task_types_in_order(names: list[str]) -> list[str]:
    """Task types as the taxonomy lists them; those that it does not know last."""
    order = {one.id: place for place, one in enumerate(load_taxonomy().task_types)}

    def place(name: str) -> tuple[int, str]:
        try:
            return order[load_taxonomy().get(name).id], name
        except UnknownName:
            return len(order), name

    return sorted(names, key=place)
