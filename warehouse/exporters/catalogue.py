"""The formats that a release can be exported to."""

from collections.abc import Callable

from core.registry import Entry, Registry
from warehouse.exporters.base import Exporter

EXPORTERS: Registry[Callable[[], Exporter]] = Registry(
    "exporters",
    (
        Entry("huggingface", "1", "warehouse.exporters.huggingface:HuggingFaceExporter"),
        Entry("jsonl", "1", "warehouse.exporters.jsonl:JsonlExporter"),
    ),
)
