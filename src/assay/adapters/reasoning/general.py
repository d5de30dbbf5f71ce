"""The general model as a reasoner: bound to the slice's grammar, greedy, one text.

request -> `Model.generate` under the grammar -> raw reply, with the hash of the weights that ran
"""

from typing import Any

from assay.kernel.json_text import parse_json
from assay.ports.clock import Clock
from assay.ports.model import FinishReason, Model, ModelGrammarError, ModelWeightsError
from assay.ports.reasoner import ReasonerIdentity
from assay.verdicts.general import split_messages
from assay.verdicts.reason import RawReply, ReasonRequest
from assay.verdicts.sovereignty import Place

# As SKI 6.2 spells it.
_NAMES = {"llamacpp": "llama.cpp"}


class GeneralReasoner:
    """Implements `ports.reasoner.LocalReasoner`. `is_exact` is the operator's word on the engine, and off by default:
    a server may add up in another order when it is busy. A server that does not bind its output by a grammar is refused
    where `is_strict`; else its replies say so, and a verdict lists it among its divergences.
    """

    def __init__(
        self, model: Model, clock: Clock, *, place: Place, is_exact: bool = False, is_strict: bool = True
    ) -> None:
        self._model = model
        self._clock = clock
        self._place = place
        self._is_exact = is_exact
        self._is_strict = is_strict

    def check_grammar(self) -> bool:
        """Whether the server binds its output by a grammar; strict mode raises `model.grammar_unbound` if not."""
        is_bound = self._model.obeys_grammar()
        if not is_bound and self._is_strict:
            raise ModelGrammarError(
                "expected the only output that the canary grammar allows, got another: this server does not bind its "
                "output by a grammar"
            )
        return is_bound

    def identify(self) -> ReasonerIdentity:
        found = self._model.identify()
        return ReasonerIdentity(
            backend_name=_NAMES.get(found.backend, found.backend),
            model_weight_hash=found.weight_hash,
            place=self._place,
            engine_version=found.engine_version,
            is_exact=self._is_exact,
        )

    def complete(self, request: ReasonRequest) -> RawReply:
        started_at, decoding = self._clock.now(), request.decoding
        is_bound = self.check_grammar()
        system, user = split_messages(request.prompt)
        (generation,) = self._model.generate(
            user,
            system=system,
            grammar=in_order(parse_json(bytes(request.grammar))),
            max_tokens=decoding.max_tokens,
            temperature=decoding.temperature,
            top_p=decoding.top_p,
            top_k=decoding.top_k,
            seed=decoding.seed,
        )
        if generation.model.weight_hash is None:
            raise ModelWeightsError("expected the hash of the weights that ran, got none")
        return RawReply(
            text=generation.text,
            backend_name=_NAMES.get(generation.model.backend, generation.model.backend),
            model_weight_hash=generation.model.weight_hash,
            started_at=started_at,
            completed_at=max(started_at, self._clock.now()),
            is_complete=generation.finish is FinishReason.STOP,
            is_bound=is_bound,
        )


def in_order(schema: Any) -> Any:  # noqa: ANN401 - any part of a JSON Schema
    """The schema with properties in the order of `required`: engines write them as they come, and a canonical text
    has them by name, which would put the verdict before the reasons.
    """
    if isinstance(schema, list):
        return [in_order(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    ordered = {name: in_order(part) for name, part in schema.items()}
    properties, required = ordered.get("properties"), ordered.get("required")
    if isinstance(properties, dict) and isinstance(required, list):
        ordered["properties"] = {name: properties[name] for name in (*required, *properties) if name in properties}
    return ordered
