"""What counts as taken from a public question, and what does not: in English, in Chinese, and mixed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.content import TextPart
from core.question import AnswerKey, Choice, Question, QuestionKind, Step
from curation.contamination.build import build
from curation.contamination.compare import Comparer
from curation.contamination.entries import PublicText, Source, document_of
from curation.contamination.texts import Document, grams_of, number_of, numbers_agree

CLIPS = (
    "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May. "
    "How many clips did Natalia sell altogether in April and May?"
)
LIGHTHOUSE = (
    "At dusk the keeper climbs the spiral stairs of the old lighthouse, polishes every lens with vinegar "
    "and winds the heavy clockwork again."
)
LIGHTHOUSE_OPTIONS = (
    "He polishes lenses with vinegar",
    "He repaints the weathered balcony railing",
    "He radios the harbour pilot",
    "He counts passing freight barges",
)
CASTLE = "视频里的解说员说这座位于黄河北岸的古老石桥由哪位工匠主持修建，又在哪一年被洪水冲毁后重新加固？"
CASTLE_OPTIONS = ("李春，隋朝大业年间", "鲁班，春秋战国时期", "宇文恺，唐朝贞观年间")
MIXED = "请问 Python 里的 list comprehension 和 generator expression 在内存占用方面有哪些明显差别，哪种更适合处理大型日志文件？"
TEMPLATE = "A baker fills {} trays with rolls before sunrise and gives {} rolls to the shelter. How many rolls does the baker keep for the market stall?"
OTHERS = [
    "Which planet of the solar system turns around its axis in the direction opposite to its orbit?",
    "下图中的实验装置用于制取氧气，其中收集气体的方法利用了氧气的哪种性质？",
]


def compare(ours: list[Document], theirs: list[Document]):
    """(place of ours, id of theirs, kind) to score, against an index of one benchmark."""
    texts = tuple(PublicText(f"q{place}", one) for place, one in enumerate(theirs))
    comparer = Comparer(build(Source("public", "a test", texts, ())).benchmark)
    ids = sorted(one.id for one in texts)
    return {(one.document, ids[one.row], one.kind): one.score for one in comparer.texts(ours)}


def doc(text: str, *options: str) -> Document:
    return Document.of([("prompt", text)], [(f"choice {place}", one) for place, one in enumerate(options)])


PUBLIC = [
    doc(CLIPS, "72 clips", "96 clips"),
    doc(LIGHTHOUSE, *LIGHTHOUSE_OPTIONS),
    doc(CASTLE, *CASTLE_OPTIONS),
    doc(MIXED),
    doc(TEMPLATE.format(17, 44)),
    *map(doc, OTHERS),
]


@pytest.mark.parametrize(
    ("ours", "entry", "kind"),
    [
        pytest.param(doc(CLIPS, "72 clips", "96 clips"), "q0", "words", id="exact copy"),
        pytest.param(doc(CLIPS.upper().replace(",", " ;"), "96 CLIPS", "72 clips."), "q0", "words", id="case, signs, order"),
        pytest.param(doc(LIGHTHOUSE.replace("heavy", "rusty"), *LIGHTHOUSE_OPTIONS), "q1", "words", id="one word in 23"),
        pytest.param(doc("What happens next?", *LIGHTHOUSE_OPTIONS[::-1]), "q1", "options", id="options reordered"),
        pytest.param(
            doc("What now?", *(f"{label}. {one}" for label, one in zip("ABCD", LIGHTHOUSE_OPTIONS, strict=True))),
            "q1", "options", id="options with letters",
        ),
        pytest.param(doc(f"Listen first. {CLIPS} Explain."), "q0", "words", id="theirs within ours"),
        pytest.param(doc(CASTLE, *CASTLE_OPTIONS[::-1]), "q2", "characters", id="Chinese copy"),
        pytest.param(doc(CASTLE.replace("工匠", "匠人"), *CASTLE_OPTIONS), "q2", "characters", id="one Chinese word changed"),
        pytest.param(doc(CASTLE.replace("，", " ").replace("？", "?")), "q2", "characters", id="Chinese, other signs"),
        pytest.param(doc(MIXED), "q3", "characters", id="mixed copy"),
        pytest.param(doc(MIXED.replace("明显", "主要")), "q3", "characters", id="mixed, one word changed"),
    ],
)  # fmt: skip
def test_what_was_taken_is_found(ours, entry, kind):
    found = compare([ours], PUBLIC)
    assert (0, entry, kind) in found
    assert {of_entry for _, of_entry, _ in found} == {entry}
    assert all(0.6 <= score <= 1 for score in found.values())


@pytest.mark.parametrize(
    "ours",
    [
        pytest.param(doc(TEMPLATE.format(25, 60)), id="the same template with other numbers"),
        pytest.param(doc(CLIPS.replace("48", "72"), "36 clips", "108 clips"), id="other numbers, long template"),
        pytest.param(doc("Which of the following is true about the image?"), id="a common phrase"),
        pytest.param(doc("下列关于图像的说法正确的是？", "是", "否"), id="a common Chinese phrase"),
        pytest.param(doc("Was it seen before?", "yes", "no"), id="yes and no"),
        pytest.param(
            doc("The keeper of the museum winds a clock at noon and tells visitors of storms."), id="same topic"
        ),
        pytest.param(doc("这座石桥横跨长江，桥面由谁设计？"), id="same topic in Chinese"),
        pytest.param(Document.of([]), id="nothing"),
        pytest.param(doc("<image_1>"), id="nothing but a placeholder"),
    ],
)
def test_what_is_only_alike_is_not_found(ours):
    public = [
        *PUBLIC,
        doc("Which of the following is true about the image?"),
        doc("下列关于图像的说法正确的是？", "是", "否"),
    ]
    assert compare([ours], [*public, doc("Seen?", "yes", "no")]) == {}


def test_a_short_question_is_found_when_it_says_something():
    short = doc("who won the first nobel prize in physics")
    assert compare([short], [short]) == {(0, "q0", "words"): 1.0}
    assert compare([doc("who is the man in the picture")], [doc("who is the man in the picture")]) == {}


@pytest.mark.parametrize(("copies", "found"), [(10, True), (11, False)])
def test_what_stands_in_more_than_ten_questions_of_a_benchmark_is_its_manner_of_asking(copies, found):
    asked = "Locate the loudest instrument, then name the musician who plays it during the second chorus:"
    endings = ["oboe", "tuba", "harp", "lute", "drum", "bell", "horn", "viola", "cello", "flute", "organ"]
    public = [doc(f"{asked} {ending}?") for ending in endings[:copies]]
    assert bool(compare([doc(f"{asked} zither?")], public)) is found
    same = [doc(asked)] * copies
    assert bool(compare([doc(asked)], same)) is found


def test_a_passage_that_both_quote_is_found_and_thirteen_shared_words_are_not_enough():
    words = [f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(200)]
    theirs = doc(" ".join(words[:100]))
    quoted = lambda count: doc(" ".join([*words[100:150], *words[40 : 40 + count], *words[150:]]))  # noqa: E731
    assert compare([quoted(20)], [theirs]).keys() == {(0, "q0", "words")}
    assert compare([quoted(13)], [theirs]) == {}


def test_the_shared_stretches_are_those_of_the_text():
    (found,) = Comparer(build(Source("p", "t", (PublicText("a", doc(LIGHTHOUSE)),), ())).benchmark).texts(
        [doc(LIGHTHOUSE.replace("polishes", "scrubs"))]
    )
    tokens = doc(LIGHTHOUSE.replace("polishes", "scrubs")).tokens
    assert [one.text for one in tokens if one.position not in found.ours] == ["scrubs"]
    assert found.measures == {"ours": 0.9565, "theirs": 0.9565, "run": 12.0}  # 22 of 23 words, 12 of them before it


def test_all_texts_of_a_question_are_read():
    key = AnswerKey(accepted=("x",))
    question = Question(
        prompt=(TextPart(text="See <image_1> again."),),
        kind=QuestionKind.MULTI_STEP,
        steps=(Step(ask="First?", points=4, answer=key), Step(ask="Then?", points=6, answer=key)),
        task_type="counting",
        language="en",
    )
    assert [(one.label, one.text) for one in document_of(question).all_fields] == [
        ("prompt", "See   again."), ("step 1", "First?"), ("step 2", "Then?"),
    ]  # fmt: skip
    choice = Question(
        prompt=question.prompt, kind="choice", choices=(Choice(text="A. one"), Choice(text="(B) two")),
        answer=AnswerKey(correct=(0,)), task_type="counting", language="en",
    )  # fmt: skip
    assert [(one.label, one.text) for one in document_of(choice).options] == [("choice A", "one"), ("choice B", "two")]


def test_tokens_and_numbers():
    read = doc("Tom’s ＡＢＣ 1,000 and 3.50 H2O 三只 first-rate twelve_two")
    assert [one.text for one in read.tokens] == [
        "tom's", "abc", "1,000", "and", "3.50", "h2o", "三", "只", "first", "rate", "twelve", "two",
    ]  # fmt: skip
    assert read.numbers == ("1000", "2", "3", "3.50")
    assert [number_of(one) for one in ("007", "0", "two", "十", "one", "一")] == ["7", "0", "2", "10", None, None]


@pytest.mark.parametrize(
    ("first", "second", "agree"),
    [
        ("", "1 2", True),
        ("1", "1 2 3", True),
        ("1 2 3 4 5", "1 2 3 4 6", True),
        ("1 2 3 4", "1 2 3 5", False),
        ("1 1", "1 2", False),
    ],
)
def test_numbers_of_the_shorter_must_be_in_the_longer(first, second, agree):
    assert numbers_agree(first.split(), second.split(), 0.8) is agree
    assert numbers_agree(second.split(), first.split(), 0.8) is agree


WORDS = st.lists(st.sampled_from([*"abcdefghij", *"看海边灯塔", "7", "12"]), max_size=30)


@settings(max_examples=60)
@given(st.lists(WORDS, min_size=1, max_size=4), st.lists(WORDS, max_size=3))
def test_grams_are_those_that_slicing_finds(texts, options):
    documents = [doc(" ".join(words), *(" ".join(one) for one in options)) for words in texts]
    grams = grams_of(documents)
    expected, names = [], {}
    for row, document in enumerate(documents):
        for field in range(len(document.all_fields)):
            tokens = [one for one in document.tokens if one.field == field]
            for start in range(len(tokens)):
                first = tokens[start : start + 5]
                span = 8 if sum(one.text > "一" for one in first) > 2 else 5
                if len(first) == 5 and start + span <= len(tokens):
                    name = " ".join(one.text for one in tokens[start : start + span])
                    expected.append((row, tokens[start].position, span))
                    names.setdefault((span, name), set()).add(int(grams.hash[len(expected) - 1]))
    assert list(zip(grams.row.tolist(), grams.position.tolist(), grams.span.tolist(), strict=True)) == expected
    assert all(len(hashes) == 1 for hashes in names.values())
    assert len({one for hashes in names.values() for one in hashes}) == len(names)


@settings(max_examples=40)
@given(st.lists(st.lists(WORDS, min_size=1, max_size=3), min_size=1, max_size=6), st.randoms())
def test_every_informative_question_finds_itself_and_order_makes_no_difference(questions, random):
    documents = [doc(" ".join(words), *(" ".join(one) for one in rest)) for words, *rest in questions]
    found = compare(documents, documents)
    for place, document in enumerate(documents):
        if document.weight(one.position for one in document.tokens) >= 4:
            same = [score for (ours, theirs, kind), score in found.items() if ours == place and theirs == f"q{place}"]
            assert max(same) == 1
    texts = [PublicText(f"q{place}", one) for place, one in enumerate(documents)]
    shuffled = random.sample(texts, len(texts))
    first, second = (build(Source("p", "t", tuple(some), ())).benchmark for some in (texts, shuffled))
    assert first.entry == second.entry
    assert first.tables == second.tables
