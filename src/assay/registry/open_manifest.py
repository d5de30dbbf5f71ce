"""Open a manifest: read it strictly, sign it, and find out whether a known key stands behind it.

codex.json -> open_manifest -> OpenedManifest -> verify_manifest;   codex.json + a key -> sign_manifest -> codex.json
"""

from collections.abc import Callable, Iterable, Mapping

from assay.kernel.canonical import canonicalize
from assay.kernel.errors import CanonicalError
from assay.kernel.ids import KeyId
from assay.kernel.key import key_id_of
from assay.kernel.signature import SignedKind, parse_signature_hex, signing_message, verify_ed25519
from assay.registry._read import Reader
from assay.registry._read_manifest import KNOWN_FIELDS, REQUIRED_FIELDS, read_manifest, read_signature
from assay.registry.errors import InvalidManifestError, RegistryError
from assay.registry.manifest import OpenedManifest
from assay.registry.permission import DEFAULT_SCHEMAS, MaskSchema
from assay.registry.problem import ManifestProblem, ManifestProblemCode


def open_manifest(content: bytes | str, *, schemas: Mapping[str, MaskSchema] = DEFAULT_SCHEMAS) -> OpenedManifest:
    """Read a `codex.json`; refuses with every problem at once. Whether to believe the signature is another question."""
    opened, problems = _opened(content, schemas)
    if opened is None:
        raise InvalidManifestError(problems)
    return opened


def check_manifest(content: bytes | str) -> tuple[ManifestProblem, ...]:
    """Every problem of a `codex.json`, in the order of the document's fields; none for a good one."""
    return tuple(_opened(content, DEFAULT_SCHEMAS)[1])


def sign_manifest(
    content: bytes | str,
    *,
    key_id: KeyId,
    sign: Callable[[bytes], bytes],
) -> bytes:
    """The same document with this key's signature, in canonical bytes; an earlier signature is replaced."""
    opened = open_manifest(content)
    value = sign(signing_message(SignedKind.MANIFEST, opened.canonical)).hex()
    document = Reader().document(content)
    return canonicalize(document | {"signature": {"algorithm": "ed25519", "key_id": key_id, "value_hex": value}})


def verify_manifest(opened: OpenedManifest, keys: Iterable[bytes]) -> KeyId:
    """Raise unless one of the keys that the operator knows for this service signed it; returns which."""
    if opened.signature is None:
        raise RegistryError.unsigned(f"the manifest of `{opened.manifest.service}` is not signed")
    known = {key_id_of(raw): raw for raw in keys}
    raw = known.get(opened.signature.key_id)
    if raw is None:
        raise RegistryError.unsigned(f"`{opened.signature.key_id}` is no known key of `{opened.manifest.service}`")
    message = signing_message(SignedKind.MANIFEST, opened.canonical)
    verify_ed25519(raw, message, parse_signature_hex(opened.signature.value_hex))
    return opened.signature.key_id


def _opened(
    content: bytes | str, schemas: Mapping[str, MaskSchema]
) -> tuple[OpenedManifest | None, list[ManifestProblem]]:
    reader = Reader()
    fields = reader.document(content)
    if reader.problems:
        return None, reader.problems
    reader.require(fields, REQUIRED_FIELDS, ())
    reader.refuse_unknown(fields, KNOWN_FIELDS, ())
    try:
        canonical = canonicalize({name: value for name, value in fields.items() if name != "signature"})
    except CanonicalError as error:
        reader.complain((), ManifestProblemCode.FORM, str(error))
        return None, reader.problems
    manifest = read_manifest(reader, fields, schemas)
    signature = read_signature(reader, fields)
    if manifest is None or reader.problems:
        return None, reader.problems
    return OpenedManifest(manifest=manifest, canonical=canonical, signature=signature), []
