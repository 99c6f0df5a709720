"""Lists that are shown page by page."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Paging:
    """Which page of a list is shown, of how many, and how many rows a page has; pages count from 1."""

    page: int
    page_count: int
    size: int

    @property
    def start(self) -> int:
        """How many rows come before."""
        return (self.page - 1) * self.size

    @property
    def rows(self) -> slice:
        """Its rows, of all."""
        return slice(self.start, self.start + self.size)


def paging(total: int, size: int, asked: int) -> Paging:
    """The page that was asked for, of `total` rows; for one beyond the last the last."""
    page_count = max(1, -(-total // size))
    return Paging(min(max(asked, 1), page_count), page_count, size)
