"""Every call of `/api/v1`: each function takes what its route takes, and names the type of its answer."""

from typing import Any

from assay.surfaces.client.call import Call, Given, content_of, path, query
from assay.surfaces.http.v1.key_shapes import Why


def _get(answer: Any, *parts: str | int, **asked: object) -> Call[Any]:  # noqa: ANN401 - any type
    return Call(method="GET", path=path(*parts), answer=answer, query=query(**asked))


def _post(answer: Any, given: Given | None, *parts: str | int, **headers: str) -> Call[Any]:  # noqa: ANN401 - any type
    content = None if given is None else content_of(given)
    return Call(method="POST", path=path(*parts), answer=answer, content=content, headers=headers)


def _match(if_match: str | None) -> dict[str, str]:
    return {} if if_match is None else {"if-match": if_match}


def why(action: str, *, on: str | None = None, who: str | None = None) -> Call[Why]:
    """Why one may, or may not, do this now: every requirement, and what would change it."""
    return Call(method="GET", path=path("why"), answer=Why, query=query(action=action, on=on, who=who))
