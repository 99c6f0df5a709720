"""All tables. Importing this package registers every one with `SQLModel.metadata`."""

from warehouse.tables.audit import AuditAnswer, AuditFinding, AuditItem, AuditSample, Certificate
from warehouse.tables.caption import Caption, CaptionKind, CaptionState
from warehouse.tables.item import Decision, Item, ItemRevision, ItemState, RevisionMedia, Verdict
from warehouse.tables.material import (
    Consent,
    Contributor,
    DuplicateLink,
    IngestFailure,
    Material,
    MaterialSource,
    MaterialState,
    Recording,
    Segment,
)
from warehouse.tables.release import AssetPack, Release, ReleaseItem, ReleaseState, Subset
from warehouse.tables.review import GoldItem, Review
from warehouse.tables.work import Assignment, AssignmentState, Event, Run, RunStatus, User

__all__ = [
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
    "Contributor",
    "Decision",
    "DuplicateLink",
    "Event",
    "GoldItem",
    "IngestFailure",
    "Item",
    "ItemRevision",
    "ItemState",
    "Material",
    "MaterialSource",
    "MaterialState",
    "Recording",
    "Release",
    "ReleaseItem",
    "ReleaseState",
    "Review",
    "RevisionMedia",
    "Run",
    "RunStatus",
    "Segment",
    "Subset",
    "User",
    "Verdict",
]
