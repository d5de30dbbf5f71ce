"""`assay truth observe`, `score` and `map`: commands that read or write files around their operations."""

import json
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
import msgspec
from msgspec.structs import replace

from assay.operations.shown.truth import line_text, state_notes
from assay.operations.truth import OBSERVATION_RECORD, OBSERVATIONS_RECORD, SCORE, STATES_MAP
from assay.surfaces.cli.derive import common_options
from assay.surfaces.cli.output import Call, NodeCommand
from assay.surfaces.cli.perform import perform, show
from assay.surfaces.cli.sink import open_file_sink
from assay.surfaces.cli.text_file import read_bytes
from assay.truth.contract import SimilarityMethod
from assay.truth.evidence import EvidenceRef, verify_evidence
from assay.truth.observation import parse_observation

if TYPE_CHECKING:
    from assay.ports.validator import EvidenceFact

_HONEST_NO = 1
_LARGEST = 1024 * 1024
_LARGEST_EVIDENCE = 256 * 1024 * 1024
# Lines of one request: opening the node costs little beside them, and a part that is lost is small.
_LINES = 5000
_PAGE = 500


@click.command(cls=NodeCommand)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@click.option("--ndjson", is_flag=True, help="One observation in each line; each has its own result, in order.")
@click.option(
    "--evidence",
    nargs=2,
    multiple=True,
    metavar="URI FILE",
    help="The content of a piece of evidence, refused unless it is what the observation names. May be repeated.",
)
@common_options(OBSERVATION_RECORD)
@click.pass_context
def observe(
    context: click.Context,
    /,
    file: BinaryIO,
    evidence: tuple[tuple[str, str], ...],
    *,
    ndjson: bool,
    **where: str | None,
) -> None:
    """Record the observation in FILE, as its reporter or as a relay; the same again returns what is recorded.

    The result says whether the compiler would count it now, and why not. With --ndjson a line that is refused costs no
    other anything, and the exit code is then 1.
    """
    call: Call = context.obj
    if ndjson and evidence:
        raise click.UsageError("expected --evidence with a single observation, got --ndjson")
    if ndjson:
        context.exit(_HONEST_NO if observe_lines(call, _counted(call, file), where) else 0)
    given = file.read(_LARGEST + 1)
    contents = {uri: read_bytes(Path(name), largest=_LARGEST_EVIDENCE) for uri, name in evidence}
    for ref in parse_observation(given).evidence_refs if contents else ():
        if ref.uri in contents:
            verify_evidence(ref, contents[ref.uri])
    asked = {"observation": given}
    show(call, OBSERVATION_RECORD, asked, perform(call, OBSERVATION_RECORD, asked, **where))


def observe_lines(call: Call, lines: Iterator[bytes], where: Mapping[str, Any]) -> int:
    """Record lines part by part, print a result for each, and return how many were refused."""
    counts = {"recorded": 0, "known": 0, "refused": 0}
    before = 0
    while part := list(islice(lines, _LINES)):
        asked = {"observations": b"".join(line if line.endswith(b"\n") else line + b"\n" for line in part)}
        for one in perform(call, OBSERVATIONS_RECORD, asked, **where):
            counts[one.status] += 1
            numbered = replace(one, line=before + one.line)
            call.answer_one_of_many(numbered, line_text(numbered))
        before += len(part)
    call.say(f"{counts['recorded']} recorded, {counts['known']} were there, {counts['refused']} refused")
    return counts["refused"]


def _counted(call: Call, file: BinaryIO) -> Iterator[bytes]:
    size, done = _size(file), 0
    with call.progress("observing", beside_answers=True) as progress:
        for line in file:
            done += len(line)
            progress(done, size)
            yield line


def _size(file: BinaryIO) -> int | None:
    """For the bar; a pipe has none."""
    try:
        return Path(file.name).stat().st_size
    except (OSError, TypeError, AttributeError):
        return None


@click.command(cls=NodeCommand)
@click.argument("keys", metavar="[KEY]...", nargs=-1)
@click.option(
    "--evidence",
    "files",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="A piece of evidence to examine; known by its SHA-256. May be repeated.",
)
@common_options(SCORE)
@click.pass_obj
def score(call: Call, /, keys: tuple[str, ...], files: tuple[Path, ...], **where: str | None) -> None:
    """Let machines judge every observation of KEY, rung by rung, as far as this node has engines.

    Without KEY every key with records that are in no state yet. The engine `rules` is always there; models are named
    in assay.toml. A rung that no engine answers stays open.
    """
    asked = {"keys": list(keys), "facts": msgspec.to_builtins([_examined(path) for path in files])}
    show(call, SCORE, asked, perform(call, SCORE, asked, **where))


def _examined(path: Path) -> "EvidenceFact":
    """What the bytes are, and how they look by every method that a contract may ask for."""
    from assay.adapters.validators.examine import examine_evidence
    from assay.adapters.validators.picture import decode_picture

    content = read_bytes(path, largest=_LARGEST_EVIDENCE)
    ref = EvidenceRef(uri="urn:local", sha256=sha256(content).hexdigest())
    facts = [examine_evidence(ref, content, method=one, decode=decode_picture) for one in SimilarityMethod]
    return replace(facts[0], fingerprints=tuple(mark for fact in facts for mark in fact.fingerprints))


@click.command(cls=NodeCommand, name="map")
@click.option(
    "--geojson",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE|-",
    help="Write a GeoJSON FeatureCollection (RFC 7946) into this new file; else one line for each key.",
)
@click.option("--claim-type", metavar="ID", help="Only keys whose latest state is of this claim type.")
@click.option("--status", multiple=True, help="Only states of this status; may be repeated.")
@click.option("--bbox", metavar="BOX", help="`west,south,east,north` in degrees.")
@click.option("--at", metavar="TIME", help="What was known then, such as 2026-01-07T12:30:00Z.")
@common_options(STATES_MAP)
@click.pass_obj
def map_(
    call: Call,
    /,
    geojson: Path | None,
    claim_type: str | None,
    status: tuple[str, ...],
    bbox: str | None,
    at: str | None,
    **where: str | None,
) -> None:
    """Map the latest state of every key; without --geojson and with --json, one feature a line."""
    asked = {"claim_type": claim_type, "status": list(status), "bbox": bbox, "at": at, "limit": _PAGE}
    features = _features(call, {name: one for name, one in asked.items() if one not in (None, [])}, where)
    if geojson is None:
        for one in features:
            call.answer_one_of_many(one, _feature_line(one))
        return
    count = 0
    with open_file_sink(geojson) as put:
        put("", b'{"type":"FeatureCollection","features":[')
        for count, one in enumerate(features, start=1):
            _put_feature(put, one, is_first=count == 1)
        put("", b"\n]}\n")
    words = f"{count} feature{'' if count == 1 else 's'}"
    if str(geojson) == "-":
        call.say(words)
    else:
        call.answer({"output": str(geojson), "features": count}, f"wrote {geojson}: {words}")


def _features(call: Call, asked: Mapping[str, Any], where: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    after: str | None = None
    while True:
        page = perform(call, STATES_MAP, {**asked, **({} if after is None else {"after": after})}, **where)
        yield from page.features
        after = page.next
        if after is None:
            return


def _put_feature(put: Callable[[str, bytes], None], feature: Mapping[str, Any], *, is_first: bool) -> None:
    """One feature on each line, with the commas between them: a map may be larger than memory."""
    text = json.dumps(feature, ensure_ascii=False, separators=(",", ":"))
    put("", (("\n" if is_first else ",\n") + text).encode())


def _feature_line(feature: Mapping[str, Any]) -> str:
    facts = feature["properties"]
    notes = state_notes(facts["is_expired"], facts["is_stale"])
    return f"{feature['id']}  {facts['status']}  {facts['confidence_now']}{f' {notes}' if notes else ''}"
