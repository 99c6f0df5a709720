"""What can go wrong between us and an OpenAI-compatible server: one class a mistake, one line of text each."""

from core.errors import InterplayError
from evaluation.models.client import UnreadableReply


class MissingKey(InterplayError):
    """A server that wants a key, and was given none that can be one."""


class BadAddress(InterplayError):
    """An endpoint that has no address of its own and was given none, or none that can be called."""


class UnsupportedSetting(InterplayError):
    """A setting, tool or message that cannot be said to this endpoint; leaving it out would ask something else."""


class EndpointUnreachable(InterplayError):
    """No connection, a broken one, or no byte in time."""


class EndpointRefused(InterplayError):
    """An HTTP error status, or an error that a stream told instead of an answer."""

    def __init__(self, text: str, status_code: int | None, code: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(text)
        self.status_code = status_code
        self.code = code
        self.retry_after_s = retry_after_s


class BrokenStream(InterplayError):
    """A reply that ended before the answer did."""


class MalformedReply(UnreadableReply):
    """A body that is no chat completion: not UTF-8, not JSON, or without an answer."""


class ReplyTooLong(UnreadableReply):
    """More answer than is taken."""
