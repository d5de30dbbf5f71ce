"""An event stream, read: where a reader is, and what each line adds to it; both clients feed theirs to it.

request -> lines -> `take` -> an event at each blank line -> the place to go on after, whatever ends the connection
"""

from typing import Any

import msgspec

from assay.surfaces.client.call import Call
from assay.surfaces.client.errors import ClientError, ForeignAnswerError, UnreachableNodeError
from assay.surfaces.client.retry import wait_before


class Following:
    """One reader of a stream of items. `headers` name the last position, so that nothing is sent to it again."""

    def __init__(self, call: Call[Any], item: Any, *, retries: int) -> None:  # noqa: ANN401 - any type
        self.path = call.path
        self.query = call.query
        self._item = item
        self._place: str | None = None
        self._next_place: str | None = None
        self._text = ""
        self._retries = retries
        self._failures = 0

    @property
    def headers(self) -> dict[str, str]:
        place = {} if self._place is None else {"last-event-id": self._place}
        return {"accept": "text/event-stream", **place}

    def take(self, line: str) -> Any:  # noqa: ANN401 - an item, or None
        """The event that this line ends; comments and signs of life are none."""
        self._failures = 0
        name, _, value = line.partition(": ")
        if name == "id":
            self._next_place = value
        elif name == "data":
            self._text = value
        elif not line:
            return self._ended()
        return None

    def wait_before_return(self, error: ClientError | None) -> float:
        """Seconds until the next request, after a refusal or an end that may pass; any other is raised."""
        self._text = ""
        self._failures += 1
        ended = error or UnreachableNodeError("the stream ended")
        seconds = wait_before(self._failures, ended, most=self._retries)
        if seconds is None:
            raise ended
        return seconds

    def _ended(self) -> Any:  # noqa: ANN401 - an item, or None
        text, self._text, self._place = self._text, "", self._next_place
        if not text:
            return None
        try:
            return msgspec.json.decode(text, type=self._item)
        except msgspec.MsgspecError as error:
            raise ForeignAnswerError(f"expected an item of the stream, got another: {error}") from error
