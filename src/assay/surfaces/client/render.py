"""An operation's request as an HTTP call of `/api/v1`, and its answer as the operation's result.

request -> path, query, headers, body by where each field travels -> Call;   body -> the result's own type
"""

from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from assay.flows.request import Content
from assay.operations.kinds import Bulk, Operation, Place
from assay.surfaces.client.call import Call, query

_PREFIX = "/api/v1"


def render_call(operation: Operation, request: Struct) -> Call[Any]:  # noqa: C901 - one branch for each place
    """The call that makes this request of a node."""
    path, asked, body, content = operation.path, {}, {}, None
    headers: dict[str, str] = {}
    names = {field.info.name: header for header, field in operation.headers.items()}
    for field in operation.fields:
        value = getattr(request, field.info.name)
        if field.place is Place.PATH:
            path = path.replace(f"{{{field.name}}}", quote(str(value), safe=":"))
        elif value is msgspec.UNSET:
            continue
        elif field.place is Place.QUERY:
            if value != field.info.default:
                asked[field.name] = value
        elif field.place is Place.HEADER:
            if value is not None:
                headers[names[field.info.name]] = str(value)
        elif field.place is Place.DOCUMENT:
            content = bytes(value)
        else:
            body[field.name] = value
    if operation.part(Place.BODY) is not None:
        content = msgspec.json.encode(body)
    if operation.document is not None and operation.document.media_type != "application/json":
        headers["content-type"] = operation.document.media_type
    return Call(
        method=operation.http_method,
        path=_PREFIX + path,
        answer=bytes if operation.gives is Content else operation.gives,
        query=query(**asked),
        content=content,
        headers=headers,
        is_lines=isinstance(operation, Bulk),
    )


def identifying(credential: str | None, tenant: str | None) -> dict[str, str]:
    """The headers that say who asks; over a node's own socket its operator asks, in the tenant that is named."""
    headers = {} if credential is None else {"authorization": f"Bearer {credential}"}
    return headers if tenant is None else {**headers, "assay-tenant": tenant}
