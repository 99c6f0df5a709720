"""All tables. Importing this package registers every one with `SQLModel.metadata`."""

from warehouse.tables.audit import AuditAnswer, AuditFinding, AuditItem, AuditSample, Certificate
from warehouse.tables.authoring import DraftVersion, HandledForm, ItemDraft
from warehouse.tables.caption import Caption, CaptionKind, CaptionState
from warehouse.tables.exam import Exam, ExamItem, ExamPlace, ExamSeat, ExamState, PlaceState
from warehouse.tables.item import Decision, Item, ItemRevision, ItemState, RevisionMedia, Verdict
from warehouse.tables.material import (
    SEMANTIC_METHODS,
    DuplicateLink,
    IngestFailure,
    Material,
    MaterialSource,
    MaterialState,
    MaterialTag,
    MaterialWork,
    Segment,
)
from warehouse.tables.public import (
    ContaminationCheck,
    ContaminationMatch,
    Privatization,
    PrivatizationState,
    PublicQuestion,
    QuestionSet,
)
from warehouse.tables.recording import Consent, ConsentText, Contributor, Recording, Script
from warehouse.tables.release import AssetPack, Release, ReleaseItem, ReleaseState, Subset
from warehouse.tables.review import GoldItem, Review
from warehouse.tables.target import CoverageTarget
from warehouse.tables.work import Assignment, AssignmentState, Event, Run, RunStatus, User

__all__ = [
    "SEMANTIC_METHODS",
    "AssetPack",
    "Assignment",
    "AssignmentState",
    "AuditAnswer",
    "AuditFinding",
    "AuditItem",
    "AuditSample",
    "Caption",
    "CaptionKind",
    "CaptionState",
    "Certificate",
    "Consent",
    "ConsentText",
    "ContaminationCheck",
    "ContaminationMatch",
    "Contributor",
    "CoverageTarget",
    "Decision",
    "DraftVersion",
    "DuplicateLink",
    "Event",
    "Exam",
    "ExamItem",
    "ExamPlace",
    "ExamSeat",
    "ExamState",
    "GoldItem",
    "HandledForm",
    "IngestFailure",
    "Item",
    "ItemDraft",
    "ItemRevision",
    "ItemState",
    "Material",
    "MaterialSource",
    "MaterialState",
    "MaterialTag",
    "MaterialWork",
    "PlaceState",
    "Privatization",
    "PrivatizationState",
    "PublicQuestion",
    "QuestionSet",
    "Recording",
    "Release",
    "ReleaseItem",
    "ReleaseState",
    "Review",
    "RevisionMedia",
    "Run",
    "RunStatus",
    "Script",
    "Segment",
    "Subset",
    "User",
    "Verdict",
]
