"""`make build`: the wheel and the source archive of a commit, and two statements that say where they came from.

commit -> exported tree -> trial wheel -> what is in it -> code statement -> assay/_build.json -> archive and wheel
                                                                                             -> release statement

A file cannot name its own hash, so there are two statements. The *code statement* names every file of the package but
the one that carries it (`assay/_build.json`), and travels in the wheel: with it a running package is checked. The
*release statement* lies beside the wheel and names the wheel, the source archive and every file, that one included.
Both are in-toto statements with SLSA provenance in DSSE envelopes, signed with the key in `--key`, or by nobody, which
every reader then says. The code statement has no times and no paths, so the same commit and key give the same wheel.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

from assay.adapters.keyfile import load_key_file
from assay.kernel.canonical import canonicalize
from assay.kernel.dsse import parse_envelope, render_envelope, seal_envelope
from assay.kernel.instant import Instant, render_instant
from assay.kernel.intoto import (
    PAYLOAD_TYPE,
    BuildDefinition,
    Builder,
    BuildMetadata,
    Provenance,
    ResourceDescriptor,
    RunDetails,
    make_statement,
    render_statement,
)
from assay.kernel.json_text import parse_json
from assay.ports.signer import Signer
from assay.verdicts.build import BUILD_FILE, BUILD_TYPE, SOURCE_NAME, is_package_file

__all__ = ["Release", "Source", "build_release", "main", "requirements_of"]

_ROOT = Path(__file__).resolve().parent.parent
_REQUIREMENTS = "requirements/base.txt"
_LOCAL_BUILDER = "urn:assay:builder:local"
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(\[[^\]]*\])?==(?P<version>[^\s;\\]+)", re.ASCII)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A commit of the project, as it was exported into a folder; `epoch` is when it was committed."""

    folder: Path
    commit: str
    epoch: int


@dataclass(frozen=True, kw_only=True)
class Release:
    """What was made; `statement` is the DSSE envelope beside the others."""

    wheel: Path
    archive: Path
    statement: Path


def main() -> int:
    options = _options()
    signer = (
        None if options.key is None else load_key_file(options.key, passphrase=os.environ.get("ASSAY_KEY_PASSPHRASE"))
    )
    left_out = _git(_ROOT, "status", "--porcelain", "--untracked-files=no").splitlines()
    if left_out:
        print(
            f"warning: {len(left_out)} uncommitted changes are left out: what is built is the commit", file=sys.stderr
        )
    release = build_release(_ROOT, options.out, signer=signer, builder_id=options.builder)
    for path in (release.wheel, release.archive, release.statement):
        print(f"{sha256(path.read_bytes()).hexdigest()}  {path}")
    if signer is None:
        print("warning: unsigned: nobody vouches for this build; give BUILD_KEY= a key file", file=sys.stderr)
    else:
        print(f"signed by {signer.key_id}", file=sys.stderr)
    return 0


def build_release(root: Path, out: Path, *, signer: Signer | None, builder_id: str = _LOCAL_BUILDER) -> Release:
    """Build the commit that is checked out in `root`; refuses a tree that is no checkout, and a wheel that differs
    from what the statement inside it says.
    """
    started_at = _now()
    with tempfile.TemporaryDirectory() as name:
        source = _export(root, Path(name) / "source")
        code = _package_files(_trial(source, Path(name) / "trial"))
        inner = _provenance(source, builder_id, (_descriptor(source, _REQUIREMENTS),))
        build_file = source.folder / "src" / BUILD_FILE
        build_file.write_bytes(_build_facts(source, _sealed(code, inner, signer)))
        archive, wheel = _build(source, out.resolve())
        requirements = requirements_of((source.folder / _REQUIREMENTS).read_text())
    found = _package_files(wheel)
    expected = {**code, BUILD_FILE: found.get(BUILD_FILE, "")}
    if found != expected:
        raise SystemExit(f"the wheel does not hold what was stated: {sorted(found.items() ^ expected.items())[:3]}")
    times = BuildMetadata(started_on=started_at, finished_on=_now())
    outer = _provenance(source, builder_id, requirements, metadata=times)
    files = {**found, wheel.name: _sha256_of(wheel), archive.name: _sha256_of(archive)}
    statement = out / f"{archive.name.removesuffix('.tar.gz')}.intoto.jsonl"
    statement.write_bytes(_sealed(files, outer, signer) + b"\n")
    return Release(wheel=wheel, archive=archive, statement=statement)


def requirements_of(text: str) -> tuple[ResourceDescriptor, ...]:
    """The pinned packages, one descriptor for each file that the lock accepts of it."""
    joined = text.replace("\\\n", " ")
    return tuple(_pinned(joined))


def _pinned(text: str) -> Iterator[ResourceDescriptor]:
    for line in text.splitlines():
        pin = _PIN.match(line)
        if pin is None:
            continue
        uri = f"pkg:pypi/{pin['name'].lower()}@{pin['version']}"
        for digest in _HASH.findall(line):
            yield ResourceDescriptor(uri=uri, digest={"sha256": digest})


def _export(root: Path, folder: Path) -> Source:
    """Exactly what the commit holds: no change of the working tree, and no file that git does not know."""
    folder.mkdir(parents=True)
    commit = _git(root, "rev-parse", "HEAD")
    archive = folder.parent / "source.tar"
    _git(root, "archive", "--format=tar", f"--output={archive}", commit)
    subprocess.run(["tar", "-xf", str(archive), "-C", str(folder)], check=True)
    return Source(folder=folder, commit=commit, epoch=int(_git(root, "show", "-s", "--format=%ct", commit)))


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"expected a git checkout to build from, got `{root}`: {done.stderr.strip()[:200]}")
    return done.stdout.strip()


def _trial(source: Source, out: Path) -> Path:
    """A wheel without a statement, to see what is in it."""
    _run(source, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out))
    return next(out.glob("*.whl"))


def _build(source: Source, out: Path) -> tuple[Path, Path]:
    """The archive, and the wheel made from it: so an archive that lacks something cannot pass unnoticed."""
    told = _run(source, "-m", "build", "--no-isolation", "--outdir", str(out), str(source.folder))
    archive, wheel = (re.findall(form, told)[-1] for form in (r"\S+\.tar\.gz", r"\S+\.whl"))
    return out / archive, out / wheel


def _run(source: Source, *command: str) -> str:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(source.epoch), "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False, env=environment, cwd=source.folder
    )
    if done.returncode:
        raise SystemExit(f"the build failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def _package_files(wheel: Path) -> dict[str, str]:
    with ZipFile(wheel) as opened:
        names = [name for name in opened.namelist() if is_package_file(name)]
        return {name: sha256(opened.read(name)).hexdigest() for name in names}


def _provenance(
    source: Source,
    builder_id: str,
    dependencies: tuple[ResourceDescriptor, ...],
    *,
    metadata: BuildMetadata | None = None,
) -> Provenance:
    versions = {"hatchling": version("hatchling")}
    commit = ResourceDescriptor(name=SOURCE_NAME, digest={"gitCommit": source.commit})
    return Provenance(
        build_definition=BuildDefinition(
            build_type=BUILD_TYPE,
            external_parameters={"commit": source.commit},
            internal_parameters={"SOURCE_DATE_EPOCH": source.epoch},
            resolved_dependencies=(commit, *dependencies),
        ),
        run_details=RunDetails(
            # Which interpreter built it changes no byte of the wheel, so only the release statement says so.
            builder=Builder(
                id=builder_id,
                version=versions if metadata is None else {**versions, "python": platform.python_version()},
            ),
            metadata=metadata or BuildMetadata(),
        ),
    )


def _descriptor(source: Source, name: str) -> ResourceDescriptor:
    return ResourceDescriptor(name=name, digest={"sha256": _sha256_of(source.folder / name)})


def _sealed(files: Mapping[str, str], provenance: Provenance, signer: Signer | None) -> bytes:
    payload = render_statement(make_statement(files, provenance))
    signers = [] if signer is None else [(signer.key_id, signer.sign)]
    return render_envelope(seal_envelope(PAYLOAD_TYPE, payload, signers))


def _build_facts(source: Source, envelope: bytes) -> bytes:
    """What wiring reads: the commit, and the envelope as it is."""
    parse_envelope(envelope)
    return canonicalize({"commit": source.commit, "provenance": parse_json(envelope)})


def _sha256_of(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _now() -> str:
    return render_instant(Instant(datetime.now(UTC)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Build the wheel and the source archive with their provenance.")
    parser.add_argument("--out", type=Path, default=_ROOT / "dist", help="where to put them")
    parser.add_argument("--key", type=Path, help="the builder's private key; none leaves the statements unsigned")
    parser.add_argument("--builder", default=_LOCAL_BUILDER, help="a URI that names who builds")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
