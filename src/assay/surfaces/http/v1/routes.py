"""Every route of `/api/v1`, in the order of the description."""

from litestar.types import ControllerRouterHandler

from assay.surfaces.http.v1 import (
    bulk,
    claims,
    contracts,
    evidence,
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
    exports.export_state,
    exports.show_state_proof,
    truth.compile_state,
    verdicts.evaluate_telemetry,
    bulk.bulk_telemetry,
    verdicts.show_telemetry,
    exports.export_verdicts,
    verdicts.list_verdicts,
    verdicts.show_verdict_entry,
    verdicts.list_graphs,
    verdicts.put_graph_into_use,
    verdicts.show_active_graph,
    verdicts.show_graph,
    verdicts.list_coverage,
    verdicts.show_agreement,
    verdicts.show_sovereignty,
    claims.list_bundles,
    claims.gate_bundle,
    claims.show_bundle,
    claims.resume_bundle,
    evidence.attach_content,
)
