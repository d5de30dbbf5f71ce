"""A TPM's word about the weights of this node, asked for, and verified by whoever received it (SKI 9.3)."""

import msgspec

from assay.flows.errors.verdicts import SubstitutedWeightsError
from assay.flows.tools import Tools
from assay.flows.verdicts.attest_sovereignty import get_reasoner
from assay.kernel.digest import Digest
from assay.kernel.json_text import parse_json
from assay.ports.measured_boot import MeasuredBootError
from assay.verdicts.errors import MalformedQuoteError
from assay.verdicts.quote import Quoted, WeightQuote, verify_quote


def quote_weights(tools: Tools, nonce: bytes) -> WeightQuote:
    """Refused where the node has no TPM, no weights, or where these are not the ones that were measured."""
    if tools.boot is None:
        raise MeasuredBootError("expected a TPM under `[ski] tpm`, got none")
    identity = get_reasoner(tools).identify()
    if identity.model_weight_hash is None:
        raise SubstitutedWeightsError(f"expected `{identity.backend_name}` to name its weights, got none")
    return tools.boot.quote(identity.model_weight_hash, nonce)


def examine_quote(
    text: bytes, *, attestation_key: bytes, weights: Digest | None = None, nonce: bytes | None = None
) -> Quoted:
    """Raise unless the text is a quote that `verify_quote` accepts."""
    try:
        quote = msgspec.convert(parse_json(text), WeightQuote)
    except msgspec.ValidationError as error:
        raise MalformedQuoteError(f"expected a quote as `assay sovereignty quote` prints it: {error}") from error
    return verify_quote(quote, attestation_key=attestation_key, weights=weights, nonce=nonce)
