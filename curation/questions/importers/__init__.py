"""Importers of public question sets: files as their makers publish them, to drafts of questions."""

from core.registry import Entry, Registry
from curation.questions.importers.base import QuestionFormat

QUESTION_FORMATS: Registry[QuestionFormat] = Registry(
    "question_formats",
    (
        Entry("avodyssey", "1", "curation.questions.importers.avodyssey:AV_ODYSSEY"),
        Entry("dailyomni", "1", "curation.questions.importers.dailyomni:DAILY_OMNI"),
        Entry("generic", "1", "curation.questions.importers.generic:GENERIC"),
        Entry("mathvista", "1", "curation.questions.importers.mathvista:MATH_VISTA"),
        Entry("mmau", "1", "curation.questions.importers.mmau:MMAU"),
        Entry("mmbench", "1", "curation.questions.importers.mmbench:MMBENCH"),
        Entry("omnibench", "1", "curation.questions.importers.omnibench:OMNI_BENCH"),
        Entry("unobench", "1", "curation.questions.importers.unobench:UNO_BENCH"),
        Entry("worldsense", "1", "curation.questions.importers.worldsense:WORLD_SENSE"),
    ),
)
