"""`assay truth`: from observations to signed states, and back from a state to everything it was compiled from."""

import json
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
import msgspec
from msgspec.structs import asdict, replace

from assay.flows.truth.check_truth import StateFinding, check_state
from assay.flows.truth.replay_state import ReplayFinding
from assay.flows.truth.replay_truth import replay_bundle, replay_export
from assay.flows.truth.states import StateReplay
from assay.kernel.bundle import Bundle, parse_bundle
from assay.kernel.check_bundle import Finding, Outcome, UntrustedSignerError, check_bundle
from assay.kernel.errors import Blame
from assay.kernel.instant import Instant
from assay.kernel.key import UnknownKeyError, trusted_keys
from assay.operations.shown.truth import finding_text, line_text, replay_text, state_notes
from assay.operations.trust import OPERATIONS as TRUST_OPERATIONS
from assay.operations.truth import (
    OBSERVATION_RECORD,
    OBSERVATIONS_RECORD,
    OPERATIONS,
    SCORE,
    STATE_REPLAY,
    STATE_VERIFY,
    STATES_MAP,
)
from assay.surfaces.cli.acting import INSTANT, columns
from assay.surfaces.cli.contract_file import domain_option, read_contract_files
from assay.surfaces.cli.derive import add_operations, common_options
from assay.surfaces.cli.keys import pinned_origin, read_anchors, trust_option
from assay.surfaces.cli.output import EXIT_CODES, Call, Command, Group, NodeCommand
from assay.surfaces.cli.perform import perform, show
from assay.surfaces.cli.sink import open_file_sink
from assay.surfaces.cli.text_file import read_bytes
from assay.truth.address import address_observation
from assay.truth.contract import Contract, SimilarityMethod
from assay.truth.evidence import EvidenceRef, verify_evidence
from assay.truth.key import TruthKey, build_truth_key, parse_truth_key, render_truth_key
from assay.truth.observation import parse_observation
from assay.truth.place import HealpixScheme, IdStrategy, Location
from assay.truth.state import parse_truth_state

if TYPE_CHECKING:
    from assay.kernel.key import TrustAnchors
    from assay.ports.validator import EvidenceFact

_LARGEST = 1024 * 1024
_NO, _REFUSED = EXIT_CODES[Blame.ANSWER], EXIT_CODES[Blame.INPUT]
_CHECK_LARGEST = 64 * 1024 * 1024
# Of all that can be wrong, these say only that the verifier was not told whom to trust.
_MERELY_UNTRUSTED = frozenset({UnknownKeyError.code, UntrustedSignerError.code})


_HONEST_NO = 1


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


@click.command(cls=NodeCommand)
@click.argument("named", metavar="[KEY|HASH]", required=False)
@click.option("--version", type=click.IntRange(min=1), metavar="N", help="Which state of KEY; else the latest.")
@click.option(
    "--export",
    "export",
    type=click.File("rb"),
    metavar="FILE",
    help="Replay from what `assay ledger export` wrote, without any node; --trust says by whose keys.",
)
@click.option("--skip-trust", is_flag=True, help="Do not fold every signal again to see that trust was right.")
@trust_option
@common_options(STATE_REPLAY)
@click.pass_context
def replay(
    context: click.Context,
    /,
    named: str | None,
    version: int | None,
    export: BinaryIO | None,
    trust: tuple[str, ...],
    *,
    skip_trust: bool,
    **where: str | None,
) -> None:
    """Compile a state again from the ledger's entries alone, and compare every byte; then the tables beside them.

    Trust is folded again from every signal of the ledger, and no entry of the key may have been left out.

    Exit 1 if this node's state does not hold; with --export exit 3, since that is somebody's file.
    """
    call: Call = context.obj
    if export is not None:
        found = replay_export(export, read_anchors(trust), truthkey=named, skip_trust=skip_trust)
        _answer_replay(context, [_replayed(one) for one in found], failed=_REFUSED if found else _NO)
        return
    if named is None:
        raise click.UsageError("expected KEY or HASH, or --export")
    asked: dict[str, Any] = {"key": named, "skip_trust": skip_trust}
    asked |= {} if version is None else {"version": version}
    _answer_replay(context, [perform(call, STATE_REPLAY, asked, **where)], failed=_NO)


def _replayed(found: ReplayFinding) -> StateReplay:
    return StateReplay(holds=found.holds, **asdict(found))


def _answer_replay(context: click.Context, found: list[StateReplay], *, failed: int) -> None:
    call: Call = context.obj
    call.answer(found, "\n".join(map(replay_text, found)) or "no state to replay")
    if not found or not all(one.holds for one in found):
        context.exit(failed)


@click.command(cls=NodeCommand)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@trust_option
@common_options(STATE_VERIFY)
@click.pass_context
def verify(context: click.Context, /, file: BinaryIO, trust: tuple[str, ...], **where: str | None) -> None:
    """Verify a signed state, or the bundle of `assay truth prove`, which is also compiled again.

    With --trust offline, against those keys alone; a state without --trust against this node's keys and ledger.
    Exit 0: it holds. Exit 1: it fits together, but no key you trust leads to the signer. Exit 3: it was changed,
    forged or damaged.
    """
    call: Call = context.obj
    content = file.read(_CHECK_LARGEST + 1)
    if _is_bundle(content):
        _verify_bundle(context, parse_bundle(content), trust)
        return
    if trust:
        checked = check_state(parse_truth_state(content), trusted_keys(read_anchors(trust), ()))
        finding = StateFinding(holds=checked.holds, **asdict(checked))
    else:
        finding = perform(call, STATE_VERIFY, {"state": content}, **where)
    codes = [check.code for check in finding.checks if check.holds is False]
    _end(context, finding, finding_text(finding), codes, holds=finding.holds)


def _is_bundle(content: bytes) -> bool:
    """By its fields; what is neither is refused by the reader of states, which says what it expected."""
    try:
        value = msgspec.json.decode(content)
    except msgspec.MsgspecError:
        return False
    return isinstance(value, dict) and "truthkey" not in value and "entry" in value


def _verify_bundle(context: click.Context, bundle: Bundle, trust: tuple[str, ...]) -> None:
    anchors: TrustAnchors = read_anchors(trust)
    proof = check_bundle(bundle, anchors, origin=pinned_origin(trust))
    again = replay_bundle(bundle, anchors)
    failures = [check.code for check in proof.checks if check.outcome is Outcome.FAILED]
    codes = [*failures, *(problem.code for problem in again.problems)]
    told = {"holds": proof.holds and again.holds, "proof": proof, "replay": _replayed(again)}
    _end(context, told, _bundle_text(proof, again), codes, holds=proof.holds and again.holds)


def _end(context: click.Context, told: object, text: str, codes: "list[str | None]", *, holds: bool) -> None:
    call: Call = context.obj
    call.answer(told, text)
    if holds:
        call.say("holds")
        return
    # Without any code nothing was found wrong: a signature was left unchecked, as its own line says.
    is_untrusted = all(code in _MERELY_UNTRUSTED for code in codes)
    if not codes:
        call.say("not verified: only who holds the shared secret can check this signature")
        context.exit(_NO)
    words = "not trusted: no key given with --trust, or of this node, leads to the signer"
    call.say(words if is_untrusted else "refused: this is not what was signed")
    context.exit(_NO if is_untrusted else _REFUSED)


def _bundle_text(proof: Finding, again: ReplayFinding) -> str:
    marks = {Outcome.OK: "ok", Outcome.FAILED: "FAILED"}
    lines = [
        f"{marks.get(check.outcome, '-'):<7} {check.name:<21} {check.message}{f' [{check.code}]' if check.code else ''}"
        for check in proof.checks
    ]
    return "\n".join([*lines, replay_text(_replayed(again))])


@click.command(cls=Command)
@click.option(
    "--contract",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="The contract that says how keys are built.",
)
@click.option("--observation", type=click.File("rb"), metavar="FILE|-", help="The observation, as JSON.")
@click.option("--at", type=INSTANT, metavar="TIME", help="When it was, such as 2026-01-07T12:30:00Z.")
@click.option("--lat", type=float, help="Degrees north, -90 to 90.")
@click.option("--lon", type=float, help="Degrees east, -180 to 180.")
@click.option("--content-hash", metavar="HASH", help="Of an artefact, for the system `meta`.")
@click.option("--artifact-id", metavar="ID", help="Of an artefact, for the system `meta`.")
@domain_option
@click.option("--parse", "text", metavar="KEY", help="Take a key apart instead.")
@click.pass_obj
def key(
    call: Call,
    /,
    *,
    contract: Path | None,
    observation: BinaryIO | None,
    at: Instant | None,
    lat: float | None,
    lon: float | None,
    content_hash: str | None,
    artifact_id: str | None,
    domains: dict[str, str],
    text: str | None,
) -> None:
    """Print the truth key of an observation, or of a time and a place, under a contract.

    Example: assay truth key --contract flood_v1.yaml --at 2026-01-07T12:30:00Z --lat 4.175 --lon 73.509
    """
    if text is not None:
        found = parse_truth_key(text)
        call.answer(found, columns([(name, str(value)) for name, value in asdict(found).items()]))
        return
    if contract is None or (observation is None) is (at is None):
        raise click.UsageError("expected --parse KEY, or --contract with either --observation or --at")
    ((_, law),) = read_contract_files(call, [contract], domains)
    if observation is not None:
        found = address_observation(law, parse_observation(observation.read(_LARGEST + 1)), domain_systems=domains)
    else:
        found = _built(law, at, _location(lat, lon), content_hash, artifact_id)
    call.answer({"truthkey": render_truth_key(found), "parts": found}, render_truth_key(found))


def _location(lat: float | None, lon: float | None) -> Location | None:
    if (lat is None) is not (lon is None):
        raise click.UsageError("expected --lat and --lon together")
    return None if lat is None or lon is None else Location(lat=lat, lon=lon)


def _built(
    law: Contract, at: Instant | None, location: Location | None, content_hash: str | None, artifact_id: str | None
) -> TruthKey:
    if at is None:
        raise click.UsageError("expected --at")
    policy = law.truthkey
    return build_truth_key(
        claim_type_id=law.id,
        event_time=at,
        location=location,
        spatial_system=policy.spatial_system,
        spatial_resolution=policy.resolution or 0,
        healpix_scheme=policy.scheme or HealpixScheme.NESTED,
        z_index=policy.z_index,
        time_bucket_duration=policy.time_bucket,
        id_strategy=policy.id_strategy or IdStrategy.CONTENT_HASH,
        content_hash=content_hash,
        artifact_id=artifact_id,
    )


@click.group(cls=Group)
def truth() -> None:
    """Truth: observations in, signed states out, each of which can be compiled again by anyone."""


add_operations(truth, "truth", (*OPERATIONS, *TRUST_OPERATIONS))


# These read or write files of this machine around their operations; `key` needs no node.
for _command in (key, observe, score, map_, replay, verify):
    truth.add_command(_command)
