"""Every route of `/api/v1`, in the order of the description."""

from litestar.types import ControllerRouterHandler

from assay.surfaces.http.v1 import (
    bulk,
    contracts,
    exports,
    truth,
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
)
