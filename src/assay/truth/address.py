"""Where an observation belongs: its truth key, as its contract says keys are built."""

from collections.abc import Mapping

from assay.truth.contract import ContractFields
from assay.truth.errors import TruthError
from assay.truth.key import TruthKey, build_truth_key
from assay.truth.observation import Observation
from assay.truth.place import Artefact, HealpixScheme, IdStrategy

_NOBODY = Artefact()


def address_observation(
    contract: ContractFields, observation: Observation, *, domain_systems: Mapping[str, str] | None = None
) -> TruthKey:
    """From the observation's own time and place or artefact (Kaori 4.3); one of another claim type is refused."""
    if observation.claim_type != contract.id:
        raise TruthError.claim_type_mismatch(
            f"expected an observation of `{contract.id}`, got `{observation.claim_type}`"
        )
    policy, artefact = contract.truthkey, observation.artifact or _NOBODY
    return build_truth_key(
        claim_type_id=contract.id,
        event_time=observation.reported_at,
        location=observation.geo,
        spatial_system=policy.spatial_system,
        spatial_resolution=policy.resolution or 0,
        healpix_scheme=policy.scheme or HealpixScheme.NESTED,
        z_index=policy.z_index,
        time_bucket_duration=policy.time_bucket,
        id_strategy=policy.id_strategy or IdStrategy.CONTENT_HASH,
        content_hash=artefact.content_hash,
        artifact_id=artefact.provided_id,
        domain_systems=domain_systems,
    )
