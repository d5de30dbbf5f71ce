"""Every route of `/api/v1`, in the order of the description."""

from litestar.types import ControllerRouterHandler

from assay.surfaces.http.v1 import (
    bulk,
    contracts,
    exports,
    truth,
    verdicts,
)

V1: tuple[ControllerRouterHandler, ...] = (
    contracts.list_released_contracts,
    contracts.release_contract_now,
    contracts.show_released_contract,
    truth.list_observations,
    truth.record_observation,
    bulk.bulk_observations,
    truth.show_observation,
    truth.list_states,
    truth.show_state,
    truth.list_versions,
    exports.show_state_proof,
    truth.compile_state,
    verdicts.evaluate_telemetry,
    bulk.bulk_telemetry,
    verdicts.show_telemetry,
    verdicts.list_verdicts,
    verdicts.show_verdict_entry,
    verdicts.list_graphs,
    verdicts.put_graph_into_use,
    verdicts.show_active_graph,
    verdicts.show_graph,
    verdicts.list_coverage,
    verdicts.show_agreement,
    verdicts.show_sovereignty,
)
