"""The contract of simulations: one listed value with its posterior, no evidence asked for and no machines."""

from functools import lru_cache

from assay.truth.contract import Contract
from assay.truth.parse_contract import parse_contract

_TEXT = """\
# One listed value, its posterior, and no machines.
id: meta.simulation.v1
version: 1
domain: meta
topic: simulation
risk_profile: monitor
policy_version: "1.0.0"
truthkey: {spatial_system: meta, z_index: none, time_bucket: PT1H, id_strategy: provided_id}
evidence: {required: false, types: [image], min_count: 0, max_count: 1}
ai_validation_routing:
  bouncer:
    engine: rules
    checks: [time_plausible]
    pass_threshold: 0.6
    fail_threshold: 0.2
    routes: {pass: human, fail: reject, uncertain: human}
autovalidation: {ai_verified_true_threshold: 1, ai_verified_false_threshold: 0, uncertainty_band: {low: 0, high: 1}}
human_gating:
  always_require_human: false
  required_for_risk_profiles: [critical]
  min_trust_score: 0
  min_ai_confidence: 0
validation_flow: {mode: auto, window: PT1H, max_extensions: 0}
consensus_model:
  type: posterior
  finalize_threshold: 15
  reject_threshold: -10
  weighted_roles: {bronze: 1, silver: 1, expert: 1, authority: 1}
  override_allowed_roles: [authority]
  vote_types: {RATIFY: 1, REJECT: -1, ABSTAIN: 0, CHALLENGE: -0.5, OVERRIDE: 1}
  posterior:
    prior_reports: 6
    prior_correct: 0.65
    value_reports: 10
    cap: 0.75
    dependence: {evidence: 0, kin: 0, moment: 0.5}
implicit_consensus:
  enabled: true
  min_observations: 3
  min_network_trust: 0
  min_ai_confidence: 0
  max_ai_variance: 1
  override_if_authority_present: false
  override_min_authority_count: 1
confidence_model:
  components:
    belief: {weight: 1, source: posterior, normalize: {method: clamp}}
  modifiers: {}
  thresholds: {verify: 0.95, review: 0.4}
state_verification_policy:
  monitor_lane: {allow_ai_verification: false, min_confidence: 0.95}
dispute_resolution: {quorum: 3, timeout: PT12H, default_action_on_timeout: inconclusive}
temporal_decay: {half_life: P30D, max_validity: P60D}
claim_derivation:
  value: {strategy: weighted_mode, path: value}
output_schema:
  type: object
  required: [value]
  properties:
    value: {type: string, enum: [low, moderate, high, critical]}
"""


@lru_cache(maxsize=1)
def simulated_contract() -> Contract:
    """`meta.simulation.v1`: a value of four, verified from a posterior of 0.95 on."""
    return parse_contract(_TEXT)
