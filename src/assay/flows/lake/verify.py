"""Verify a lake with nothing but its files and a key that is trusted: which rows were changed, added or removed.

manifest -> signature, number, previous hash -> files by hash -> leaves give the checkpoint's root -> each row follows
from its entry's text, and the text from its leaf -> every entry of an exported kind has its row
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from assay.flows.lake.manifest import LakeFile, Manifest, parse_lake_manifest
from assay.flows.lake.table import ENTRIES_TABLE, TABLE_OF, TABLES, columns_of, row_of
from assay.kernel.checkpoint import parse_checkpoint, verify_checkpoint
from assay.kernel.digest import ZERO_DIGEST, Digest, digest_of
from assay.kernel.dsse import parse_envelope, verify_envelope
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.key import KeyPurpose, TrustAnchors, trusted_keys
from assay.kernel.merkle import Frontier, leaf_hash
from assay.ports.object_store import ObjectStore
from assay.ports.table_format import LakeError, Row, TableFormat

_MANIFESTS = "manifests/"
_TENANT = "tenant="


class LakeProblem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What differs: `changed`, `added`, `missing` or `untrusted`; a row by its entry's number where it can be named."""

    what: str
    path: str
    message: str
    sequence_number: int | None = None


class LakeReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a verification found; without problems, every row is what a signed ledger says."""

    tenants: int
    manifests: int
    files: int
    rows: int
    problems: tuple[LakeProblem, ...]

    @property
    def holds(self) -> bool:
        return not self.problems


class _Counts(NamedTuple):
    manifests: int
    files: int
    rows: int


def verify_lake(store: ObjectStore, form: TableFormat, anchors: TrustAnchors) -> LakeReport:
    """Verify every tenant's files; refuses a place that holds no lake."""
    names = store.names("")
    manifests = [name for name in names if name.startswith(_MANIFESTS)]
    if not manifests:
        raise LakeError.manifest("expected a lake with files below `manifests/`, got none")
    tenants = sorted({name.split("/")[1].removeprefix(_TENANT) for name in manifests})
    problems: list[LakeProblem] = []
    counts = [_Tenant(store, form, anchors, TenantId(tenant), problems).verify(names) for tenant in tenants]
    known = [f"/{_TENANT}{tenant}/" for tenant in tenants]
    strangers = [name for name in names if not any(part in f"/{name}" for part in known)]
    problems += [LakeProblem(what="added", path=name, message="no manifest names this file") for name in strangers]
    return LakeReport(
        tenants=len(tenants),
        manifests=sum(one.manifests for one in counts),
        files=sum(one.files for one in counts),
        rows=sum(one.rows for one in counts),
        problems=tuple(problems),
    )


class _Tenant:
    """One tenant's manifests in order, and the tree that its entries give so far."""

    def __init__(
        self,
        store: ObjectStore,
        form: TableFormat,
        anchors: TrustAnchors,
        tenant_id: TenantId,
        problems: list[LakeProblem],
    ) -> None:
        self._store = store
        self._form = form
        self._anchors = anchors
        self._tenant_id = tenant_id
        self._problems = problems
        self._frontier = Frontier()
        self._rows = 0

    def verify(self, names: Sequence[str]) -> _Counts:
        folder = f"{_MANIFESTS}{_TENANT}{self._tenant_id}/"
        known: set[str] = set()
        before, last, number = ZERO_DIGEST, 0, 0
        for name in (one for one in names if one.startswith(folder)):
            number += 1
            read = self._manifest(name, number, before, last)
            if read is None:
                break
            manifest, before = read
            last = manifest.last
            known |= {file.path for file in manifest.files}
            self._files(name, manifest)
        part = f"/{_TENANT}{self._tenant_id}/"
        found = {name for name in names if part in name and not name.startswith(_MANIFESTS)}
        for path in sorted(found - known):
            self._report("added", path, "no manifest names this file")
        return _Counts(number, len(known), self._rows)

    def _manifest(self, name: str, number: int, before: Digest, last: int) -> tuple[Manifest, Digest] | None:
        content = self._store.read(name) or b""
        try:
            manifest = parse_lake_manifest(content)
            self._require_signed(content, manifest)
        except Error as error:
            self._report("untrusted", name, f"{error.code}: {error}")
            return None
        expected = (self._tenant_id, number, before, last + 1)
        if (manifest.tenant_id, manifest.number, manifest.previous_hash, manifest.first) != expected:
            message = f"expected manifest {number} after {before}, from entry {last + 1} on; one is missing or moved"
            self._report("missing", name, message)
            return None
        return manifest, digest_of(content)

    def _require_signed(self, content: bytes, manifest: Manifest) -> None:
        """Signed by a key that an anchor leads to and that was valid then, and so was the checkpoint inside."""
        ring = trusted_keys(self._anchors, manifest.keys, manifest.retirements)
        keys = [record.raw_public_key for records in ring.records.values() for record in records]
        trusted = [key for key in keys if key is not None]
        for signer in verify_envelope(parse_envelope(content), trusted):
            ring.get(signer, manifest.exported_at, purpose=KeyPurpose.LEDGER)
        signed = parse_checkpoint(manifest.checkpoint.encode())
        signer = verify_checkpoint(signed, signed.checkpoint.origin, trusted)
        ring.get(signer, signed.checkpoint.signed_at or manifest.exported_at, purpose=KeyPurpose.LEDGER)
        if signed.checkpoint.size != manifest.last:
            raise LakeError.manifest(
                f"expected a checkpoint over {manifest.last} entries, got {signed.checkpoint.size}"
            )

    def _files(self, name: str, manifest: Manifest) -> None:
        leaves: dict[int, tuple[str, str]] = {}
        for file in (one for one in manifest.files if one.table == ENTRIES_TABLE):
            for row in self._read(file):
                leaves[int(str(row[0]))] = (str(row[2]), str(row[3]))
        numbers = range(manifest.first, manifest.last + 1)
        if list(leaves) != list(numbers):
            missing = next((number for number in numbers if number not in leaves), None)
            self._report("missing", name, "`entries` does not hold each entry once, in order", missing)
        else:
            self._frontier = self._frontier.extend([bytes.fromhex(leaf) for _, leaf in leaves.values()])
            if self._frontier.root() != parse_checkpoint(manifest.checkpoint.encode()).checkpoint.root:
                self._report("changed", name, "the leaves in `entries` do not give the signed root")
        seen = {
            number for file in manifest.files if file.table != ENTRIES_TABLE for number in self._table(file, leaves)
        }
        wanted = {number for number, (kind, _) in leaves.items() if kind in TABLE_OF}
        for number in sorted(wanted - seen):
            self._report("missing", TABLE_OF[leaves[number][0]].name, "the entry has no row", number)

    def _table(self, file: LakeFile, leaves: dict[int, tuple[str, str]]) -> Iterator[int]:
        """The entries whose rows the file holds as they should be."""
        table = next((one for one in TABLES if one.name == file.table), None)
        if table is None:
            self._report("changed", file.path, f"expected a known table, got `{file.table}`")
            return
        done: set[int] = set()
        for row in self._read(file):
            number, text = int(str(row[0] or 0)), str(row[-1]).encode()
            kind, leaf = leaves.get(number, ("", ""))
            if leaf != leaf_hash(text).hex() or number in done:
                self._report("added" if not leaf else "changed", file.path, "the row is of no such entry", number)
                continue
            done.add(number)
            wrong = _differing(row_of(table, text), row)
            if wrong is not None or kind not in table.kinds:
                column = "kind" if wrong is None else columns_of(table.name)[wrong].name
                self._report("changed", file.path, f"column `{column}` is not what the entry says", number)
            self._rows += 1
            yield number

    def _read(self, file: LakeFile) -> Sequence[Row]:
        content = self._store.read(file.path)
        if content is None:
            self._report("missing", file.path, "the file is not there")
            return ()
        if digest_of(content) != file.sha256:
            self._report("changed", file.path, "the file is not the one that was signed for")
        try:
            return self._form.read(columns_of(file.table), content)
        except Error as error:
            self._report("changed", file.path, str(error))
            return ()

    def _report(self, what: str, path: str, message: str, number: int | None = None) -> None:
        self._problems.append(LakeProblem(what=what, path=path, message=message, sequence_number=number))


def _differing(expected: Row, row: Row) -> int | None:
    return next((at for at, value in enumerate(expected) if value != row[at]), None)
