"""What is wrong with scores and choices, in the words of the page instead of a command's."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from annotation_ui.told import Told
from annotation_ui.words import N_
from compression.importers.base import (
    BadName,
    BadPool,
    DrawnOtherwise,
    NoColumn,
    NoScores,
    NothingHeldOut,
    NothingLeft,
    NotLarger,
    NotNumbers,
    OtherFile,
    OtherPool,
    OtherScores,
    ScoresDiffer,
    ScoresOutside,
    UnknownFormat,
)
from compression.subset_store import SubsetExists
from core.errors import InterplayError


class UnknownPool(Told):
    """A pool that is not there."""

    text = N_("There is no pool of this name.")


class UnknownSubset(Told):
    """A subset that is not there."""

    text = N_("There is no subset of this name.")


class NotLookedAt(Told):
    """A pool of which nobody asked for the picture yet."""

    text = N_("The pool was not looked at yet: open it once, then come back.")


class PoolChanged(Told):
    """Scores came in while a pool was being read."""

    text = N_("New scores came into this pool meanwhile. Start again, so that everything is of one state.")


class ModelNeeded(Told):
    """A file that says nothing of the model."""

    text = N_("{name} does not say whose answers these are. Give the model's name under “Model”.")


class FileTooLarge(Told):
    """A file that no page can read while somebody waits."""

    text = N_("{name} is too large to be read here. Give only the answers to the questions of this subset.")


class ColumnsUnreadable(Told):
    """Names of columns that are written otherwise than asked for."""

    text = N_("Write names of columns as question_id=NAME, one a line. “{line}” is none.")


class FloorUnreadable(Told):
    """A floor that is written otherwise than asked for."""

    text = N_("Write the least number of each label as COLUMN=NUMBER, one a line. “{line}” is none.")


class FormatUnknown(Told):
    """See `UnknownFormat`."""

    text = N_(
        "{name} is in no format that is known here. Write a table as CSV, TSV or Parquet with the columns question_id, "
        "model and score, or take a file as Inspect AI, VLMEvalKit, lmms-eval, OpenCompass or HELM writes it."
    )


class ScoresMissing(Told):
    """See `NoScores`."""

    text = N_("{name} holds no score. Look whether it is the right file.")


class ColumnMissing(Told):
    """See `NoColumn`."""

    text = N_("{name} has no column {column}, only {there}. Say under “More” what the column is called there.")


class ScoresInWords(Told):
    """See `NotNumbers`."""

    text = N_("{name}: {count} scores are no numbers, for example {example!r}. Write numbers from 0 to 1.")


class ScoresTooLarge(Told):
    """See `ScoresOutside`."""

    text = N_(
        "{name}: {count} scores are not between 0 and 1, for example {score:g} of {model} on {question}. If a full "
        "score is 100, say so under “A full score is”."
    )


class ScoresContradict(Told):
    """See `ScoresDiffer`."""

    text = N_(
        "{name}: {count} times a model has several scores for one question, for example {model} on {question}: "
        "{score:g} and {other:g}. Take the wrong ones out, or take the mean of repeated runs (under “More”)."
    )


class PoolSaysOtherwise(Told):
    """See `OtherScores`."""

    text = N_(
        "The pool has other scores in {count} places, for example {was:g} of {model} on {question}, which is {score:g} "
        "in the file. Replace them (under “More”), or choose another name."
    )


class RuleLeavesNothing(Told):
    """See `NothingLeft`."""

    text = N_(
        "So many scores are missing ({cells}) that this rule leaves nothing. Choose another rule for missing scores."
    )


class TooFewModels(Told):
    """See `NothingHeldOut`."""

    text = N_(
        "This is measured on models that are left out, and here none can be: there is one model, one family, or no "
        "model with all scores. Bring in more scores; a subset can be chosen all the same."
    )


class PoolDiffers(Told):
    """See `OtherPool`."""

    text = N_(
        "The pool has other scores now than when this subset was chosen, and more can be drawn only from the same. "
        "Choose a new subset of the pool."
    )


class FileDiffers(Told):
    """See `OtherFile`."""

    text = N_(
        "This subset was chosen with another file of labels, or of questions that must be kept. Give the same files "
        "again."
    )


class AlreadySoLarge(Told):
    """See `NotLarger`."""

    text = N_("The subset has that many already. Ask for more questions.")


class DrawnWithOthers(Told):
    """See `DrawnOtherwise`."""

    text = N_(
        "The server cannot draw this subset again as it was drawn, with {versions}. Install these on it, or choose a "
        "new subset."
    )


class NotOfThisProject(Told):
    """A subset whose scores were in a file, and not in a pool of the project."""

    text = N_(
        "The scores that this subset was chosen from are in no pool here. Bring them in as a pool named {pool}, then "
        "come back."
    )


class NameUnusable(Told):
    """See `BadName`."""

    text = N_(
        "Choose a name of at most 64 letters and digits, with single “-”, “_” or “.” between, as in vision-tenth."
    )


class NameTaken(Told):
    """See `SubsetExists`."""

    text = N_("There is a subset of this name already, and a subset never changes. Choose another name.")


class Refused(Told):
    """Any other mistake, in the words of the command."""

    text = N_("This cannot be done: {reason}")


_TOLD: Mapping[type[InterplayError], type[Told]] = {
    UnknownFormat: FormatUnknown,
    NoScores: ScoresMissing,
    NothingLeft: RuleLeavesNothing,
    NothingHeldOut: TooFewModels,
    OtherPool: PoolDiffers,
    OtherFile: FileDiffers,
    NotLarger: AlreadySoLarge,
    DrawnOtherwise: DrawnWithOthers,
    NoColumn: ColumnMissing,
    NotNumbers: ScoresInWords,
    ScoresOutside: ScoresTooLarge,
    ScoresDiffer: ScoresContradict,
    OtherScores: PoolSaysOtherwise,
    BadName: NameUnusable,
    SubsetExists: NameTaken,
}
# Options of commands that mistakes speak of, as the page's fields are called.
_FIELDS = {
    "pool import --scale 100": "“A full score is” 100",
    "pool import --repeats mean": "under “More”",
    "--family FILE": "“Families of models”",
    "--benchmark": "“Benchmark”",
    "--model": "“Model”",
    "--metric": "“Metric”",
    "--column": "“Columns that are called otherwise”",
    "--replace": "“Replace other scores”",
    "--labels": "“Labels of questions”",
    "--fixed": "“Questions that must be kept”",
    "--missing": "“Missing scores”",
    "--size": "the size",
    "--rate": "the share",
    "--name": "name",
}


def in_page_words(error: InterplayError, files: Iterable[Path] = ()) -> InterplayError:
    """The mistake as the page tells it; `files` lie in a folder of their own that no reader knows of."""
    if isinstance(error, Told):
        return error
    named = [file for file in files if str(file) in str(error)] or list(files)
    told = _TOLD.get(type(error))
    if told is not None:
        details = error.details if isinstance(error, BadPool) else {}
        return told(**{"name": ", ".join(file.name for file in named), **details})
    reason = str(error)
    for file in named:
        reason = reason.replace(str(file), file.name).replace(f"{file.parent}/", "")
    for option, field in _FIELDS.items():
        reason = reason.replace(option, field)
    return Refused(reason=reason)
