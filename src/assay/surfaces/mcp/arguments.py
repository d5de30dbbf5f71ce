"""What each tool takes; the schemas that agents read are these types'."""

from typing import Annotated, Any

from msgspec import Meta, Struct

_Name = Annotated[str, Meta(min_length=1, max_length=1024)]


class Ask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question of a registered kind."""

    query_type: Annotated[_Name, Meta(description="the kind of question, such as `vessel.ukc-status`")]
    question: Annotated[dict[str, Any], Meta(description="what its answerer takes")] = {}
    session_id: Annotated[str | None, Meta(description="tells one conversation's outcomes from another's")] = None


class Evaluate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One telemetry record."""

    record: Annotated[
        dict[str, Any], Meta(description="telemetry_id, timestamp with an offset, subject, measurement, jurisdiction?")
    ]


class Verify(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A proof in one of its forms."""

    proof: Annotated[str | None, Meta(description="a bundle, DSSE envelope, audit report or tlog-proof text")] = None
    proof_base64: Annotated[str | None, Meta(description="the same as base64; for COSE, which is no text")] = None
    entry: Annotated[str | None, Meta(description="the entry's exact text, where a form holds none")] = None
    trust: Annotated[
        tuple[str, ...], Meta(description="keys to believe; none means the key this node was founded with")
    ] = ()
    origin: Annotated[str | None, Meta(description="the only log that will do")] = None


class Coverage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The coverage register."""

    subject: Annotated[str | None, Meta(description="only this subject")] = None


class ShowVerdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record that was judged."""

    telemetry_id: _Name


class ShowTruth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A truth key."""

    truthkey: _Name
    known_at: Annotated[str | None, Meta(description="what was known at this instant (RFC 3339)")] = None
