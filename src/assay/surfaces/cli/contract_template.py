"""The text of a new contract: every block with a word on what it decides, usable as it is.

claim type + lane -> YAML text that `assay contract lint` passes
It asks only the engine `rules`, which every node has; whoever has models names them in further rungs.
"""

from collections.abc import Mapping
from string import Template

from assay.kernel.errors import Blame, Error
from assay.truth.key import DOMAIN_SYSTEMS, SpatialSystem, parse_claim_type_id

__all__ = ["TemplateError", "render_contract"]

_PLACES: Mapping[SpatialSystem, str] = {
    SpatialSystem.H3: "spatial_system: h3\n  resolution: 8          # 0 to 15; 8 are cells of about 0.7 km2",
    SpatialSystem.HEALPIX: (
        "spatial_system: healpix\n  resolution: 6          # an order, 0 to 29; NSIDE = 2^order\n  scheme: nested"
    ),
    SpatialSystem.META: (
        "spatial_system: meta\n  id_strategy: hybrid    # content_hash, provided_id, or hybrid: the first there is"
    ),
}
_LANES: Mapping[bool, Mapping[str, str]] = {
    False: {
        "risk": "monitor                # machines may decide the clear cases",
        "mode": "auto                     # auto, human_peer, human_expert or authority_gate",
        "lane": "monitor_lane:\n    allow_ai_verification: true\n    min_confidence: 0.7",
    },
    True: {
        "risk": "critical               # machines advise, people decide",
        "mode": "human_peer               # auto, human_peer, human_expert or authority_gate",
        "lane": (
            "critical_lane:\n    require_human_consensus: true\n    min_human_votes: 2\n    min_confidence: 0.6\n"
            "    authority_escalation: {roles: [authority], after: PT2H, min_votes: 1}  # when people do not decide"
        ),
    },
}

_TEMPLATE = Template("""\
# What is claimed under $id, from which observations, and who decides.
# Every number here decides something, and none has a default in the code.
id: $id
version: $version
domain: $domain
topic: $topic
risk_profile: $risk
policy_version: "1.0.0"      # named by every state that is compiled under this contract

# Where and when: observations of one cell and one bucket are about one truth.
truthkey:
  $place
  z_index: surface
  time_bucket: PT1H      # divides a day, or is whole days

# What an observation must bring.
evidence:
  required: true
  types: [image, application/json]
  min_count: 1
  max_count: 10
  storage:
    uri_schemes: [https, s3, gs]

# Machines, from the first rung on: each score passes, fails or is uncertain, and the route leads on to generalist,
# specialist, human, accept or reject.
ai_validation_routing:
  bouncer:
    engine: rules
    checks: [evidence_present, time_plausible]
    pass_threshold: 0.6
    fail_threshold: 0.2
    routes: {pass: accept, fail: reject, uncertain: human}

# From which machine confidence on a claim is true, or false; inside the band machines never decide.
autovalidation:
  ai_verified_true_threshold: 0.85
  ai_verified_false_threshold: 0.15
  uncertainty_band: {low: 0.35, high: 0.65}

# When people are asked besides.
human_gating:
  always_require_human: false
  required_for_risk_profiles: [critical]
  min_trust_score: 0.1
  min_ai_confidence: 0.5

# How long they are asked.
validation_flow:
  mode: $mode
  window: PT6H
  max_extensions: 2

# score = sum of a voter's weight x the vote's value; at a threshold it is decided.
consensus_model:
  type: weighted_threshold
  finalize_threshold: 10
  reject_threshold: -10
  weighted_roles: {bronze: 1, silver: 3, expert: 7, authority: 10}
  override_allowed_roles: [authority]
  vote_types: {RATIFY: 1, REJECT: -1, ABSTAIN: 0, CHALLENGE: -0.5, OVERRIDE: 1}

# confidence = clamp(sum of weight x normalised value + modifiers that apply).
confidence_model:
  components:
    machines: {weight: 0.35, source: ai_confidence, normalize: {method: clamp}}
    consensus: {weight: 0.3, source: consensus_score, normalize: {method: linear, low: -10, high: 10}}
    network: {weight: 0.15, source: network_trust, normalize: {method: saturating, half: 0.5}}
    agreement: {weight: 0.2, source: agreement, normalize: {method: clamp}}
  modifiers:
    alone: {when: single_reporter, add: -0.1}
    contradicted: {when: contradiction, add: -0.2}
  thresholds: {verify: 0.7, review: 0.4}

state_verification_policy:
  $lane

# A CHALLENGE holds the claim until so many have answered, or this time has passed.
dispute_resolution:
  quorum: 3
  timeout: PT12H
  default_action_on_timeout: inconclusive

# When what was observed does not fit together.
contradiction_rules:
  - {id: presence_differs, path: present, compare: distinct, min_share: 0.34, action: undecided}
  - {id: level_spread, path: level, compare: spread, tolerance: 2, min_share: 0.2, action: flag}

# Confidence halves in this time after the bucket's end; past the second the state has expired.
temporal_decay:
  half_life: PT12H
  max_validity: P7D

# How each field of the claim follows from the payloads; nobody hands a claim in.
claim_derivation:
  present: {strategy: boolean_majority, path: present}
  level: {strategy: weighted_mean, path: level, places: 2}
  reports: {strategy: count, path: present}

# What every claim satisfies: JSON Schema 2020-12, here or in a file beside this one (output_schema_ref).
output_schema:
  type: object
  required: [present, reports]
  additionalProperties: false
  properties:
    present: {type: boolean}
    level: {type: number, minimum: 0}
    reports: {type: integer, minimum: 1}
""")


class TemplateError(Error):
    """No template can be written for this claim type."""

    code = "contract.template"
    blame = Blame.USAGE


def render_contract(claim_type: str, *, is_critical: bool = False) -> str:
    """For `domain.topic.vN` with a domain of Kaori's own; others need their spatial system, which is yours to write."""
    domain, topic = parse_claim_type_id(claim_type)
    name, _, version = claim_type.rpartition(".v")
    if not name or not version.isdecimal():
        raise TemplateError(f"expected a version, as in `{domain}.{topic}.v1`, got `{claim_type[:80]}`")
    system = DOMAIN_SYSTEMS.get(domain)
    if system is None:
        raise TemplateError(f"expected a domain of {', '.join(DOMAIN_SYSTEMS)}, got `{domain[:80]}`")
    return _TEMPLATE.substitute(
        id=claim_type,
        version=version,
        domain=domain,
        topic=topic,
        place=_PLACES[system],
        **_LANES[is_critical],
    )
