"""Between organisations: their strands stay theirs, their outcomes come home in our own rule ids (PRAMANA 13).

their answer, sealed by an agreed key + their STATE -> accept_foreign -> a component at the level we recognise
their PHALA + agreement -> translate_signal -> ours to count, and what cannot be translated to a person
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.delivery._read import read_object, shape
from assay.delivery.annotate import ComponentLevel
from assay.delivery.consume import (
    Asking,
    ProducerState,
    Recognised,
    check_claim,
    check_seal,
    component_of,
    missing_of,
    open_annotation,
)
from assay.delivery.errors import DeliveryError
from assay.delivery.level import Level
from assay.delivery.outcome import Signal
from assay.delivery.rule import RuleId, parse_rule_id
from assay.delivery.strand import StrandId, StrandRegistry, StrandReport, is_private
from assay.kernel.errors import Error
from assay.kernel.ids import KeyId
from assay.kernel.json_text import JsonValue
from assay.kernel.key import key_id_of
from assay.kernel.signature import load_public_key

_LONGEST_PEER = 200
_MOST_KEYS = 16
_HEX = re.compile("[0-9a-f]{64}")


class Agreement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What two organisations agreed on: whose rule is which of ours, which `x-` strands both understand, their keys.

    `keys` are the Ed25519 public keys that seal their annotations, in hex: without one, nothing they claim counts.
    """

    peer: str
    # Theirs to ours, as pairs sorted by theirs.
    rules: tuple[tuple[RuleId, RuleId], ...] = ()
    strands: tuple[StrandId, ...] = ()
    keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.peer.strip() or len(self.peer) > _LONGEST_PEER or not self.peer.isprintable():
            raise DeliveryError.federation(f"expected a peer of 1 to {_LONGEST_PEER} printable characters")
        theirs = [parse_rule_id(one) for one, _ in self.rules]
        for _, ours in self.rules:
            parse_rule_id(ours)
        if theirs != sorted(set(theirs)):
            raise DeliveryError.federation(f"expected the rules of `{self.peer}` sorted and each once")
        if not all(map(is_private, self.strands)):
            raise DeliveryError.federation("expected `x-` strands alone: registered ones need no agreement")
        if len(set(self.keys)) != len(self.keys) or len(self.keys) > _MOST_KEYS:
            raise DeliveryError.federation(f"expected at most {_MOST_KEYS} keys of `{self.peer}`, each once")
        for key in self.keys:
            _verify_key(key)

    @property
    def public_keys(self) -> tuple[bytes, ...]:
        return tuple(map(bytes.fromhex, self.keys))

    @property
    def key_ids(self) -> tuple[KeyId, ...]:
        """The fingerprints, by which two people compare what they agreed on."""
        return tuple(map(key_id_of, self.public_keys))


class ManualReview(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Outcomes of rules that nobody could translate: logged for a person, and counted for nothing."""

    peer: str
    signal: Signal
    rule_ids: tuple[RuleId, ...]


class Translation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A foreign signal in our own rule ids; None where none of its rules is known here."""

    signal: Signal | None
    review: ManualReview | None


def parse_agreement(content: bytes | str) -> Agreement:
    """Read strictly; rules are pairs of theirs and ours."""
    return shape(read_object(content, DeliveryError.federation), Agreement, DeliveryError.federation)


def add_keys(agreement: Agreement, public_keys: Iterable[bytes]) -> Agreement:
    """The agreement with these keys beside its own, each once."""
    return replace(agreement, keys=tuple(dict.fromkeys([*agreement.keys, *(key.hex() for key in public_keys)])))


def accept_foreign(
    annotation: Mapping[str, Any],
    output: JsonValue,
    state: ProducerState | None,
    agreement: Agreement,
    *,
    asked: Asking,
) -> tuple[Recognised, ComponentLevel]:
    """What a proxied answer is worth as a component of ours; one that no agreed key vouches for is PRAMANA-0.

    Nothing of its strands is inherited (PRAMANA 13.1): the composite is marked by our own checks at our own boundary,
    and this level can only lower it.
    """
    claim = open_annotation(annotation)
    problem = check_seal(annotation, output, keys=agreement.public_keys, asked=asked)
    if problem is None and annotation.get("withheld") is True:
        problem = "its output was withheld there"
    if problem is None:
        recognised = check_claim(claim, state, agreed=agreement.strands)
        return recognised, component_of(agreement.peer, recognised, missing=missing_of(claim, state))
    # Told also of one that claimed nothing: somebody other than the peer may have written it.
    recognised = Recognised(level=Level.UNVERIFIED, claimed=claim.level, reason=problem)
    return recognised, ComponentLevel(
        source=agreement.peer, level=recognised.level, claimed=recognised.claimed, reason=problem
    )


def translate_signal(signal: Signal, agreement: Agreement) -> Translation:
    """Forward what the agreement translates, each of our rules once; the rest goes to manual review (PRAMANA 13.2)."""
    known = dict(agreement.rules)
    found = {theirs: known.get(theirs) for theirs in signal.rule_ids}
    ours = tuple(dict.fromkeys(one for one in found.values() if one is not None))
    left = tuple(theirs for theirs, one in found.items() if one is None)
    return Translation(
        signal=replace(signal, rule_ids=ours) if ours else None,
        review=ManualReview(peer=agreement.peer, signal=signal, rule_ids=left) if left else None,
    )


def registry_for_peer(registry: StrandRegistry, agreement: Agreement | None = None) -> StrandRegistry:
    """The strands by which an answer to this peer is marked: `x-` ones only where they agreed (PRAMANA 15)."""
    agreed = () if agreement is None else agreement.strands
    return StrandRegistry(
        types=tuple(one for one in registry.types if not is_private(one.strand_type_id) or one.strand_type_id in agreed)
    )


def report_for_peer(report: StrandReport, registry: StrandRegistry) -> StrandReport:
    """The results that this peer's registry defines."""
    defined = registry.ids()
    return StrandReport(results=tuple(one for one in report.results if one.strand in defined))


def _verify_key(text: str) -> None:
    if _HEX.fullmatch(text) is None:
        raise DeliveryError.federation(f"expected a public key as 64 lower-case hex digits, got `{text[:80]}`")
    try:
        load_public_key(bytes.fromhex(text))
    except Error as error:
        raise DeliveryError.federation(f"expected an Ed25519 public key, got `{text}`: {error}") from error
