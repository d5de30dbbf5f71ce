"""The text of a new contract: every block with a word on what it decides, usable as it is.

claim type + lane -> YAML text that `assay contract lint` passes
It asks only the engine `rules`, which every node has; whoever has models names them in further rungs.
"""

from collections.abc import Mapping
from string import Template

from assay.kernel.errors import Blame, Error
from assay.truth.key import DOMAIN_SYSTEMS, SpatialSystem, parse_claim_type_id

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
        "risk": "monitor                # the reports may decide the clear cases",
        "mode": "auto                     # auto, human_peer, human_expert or authority_gate",
        "lane": "monitor_lane:\n    allow_ai_verification: false\n    min_confidence: 0.95",
    },
    True: {
        "risk": "critical               # machines advise, people decide",
        "mode": "human_peer               # auto, human_peer, human_expert or authority_gate",
        "lane": (
            "critical_lane:\n    require_human_consensus: true\n    min_human_votes: 2\n    min_confidence: 0.9\n"
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
  untyped: true          # evidence without a media type counts
  storage:
    uri_schemes: [https, s3, gs]

# Machines, from the first rung on: each score passes, fails or is uncertain, and the route leads on to generalist,
# specialist, human, accept or reject. The engine `rules` checks form alone and gives no machine confidence.
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
  min_trust_score: 0.05  # the mean over those who report
  min_ai_confidence: 0

# How long they are asked.
validation_flow:
  mode: $mode
  window: PT6H
  max_extensions: 2

# score = sum of a voter's weight x the vote's value; at a threshold it is decided. The reports are weighed by how
# their reporters' earlier reports turned out.
consensus_model:
  type: posterior
  posterior:
    prior_reports: 6     # who has no record counts as one that was right ...
    prior_correct: 0.65  # ... in this share of so many reports
    value_reports: 10
    cap: 0.75            # nobody counts as right more often than this
    dependence: {evidence: 0, kin: 0, moment: 0.5}  # what a further dependent report keeps of its weight
  finalize_threshold: 10
  reject_threshold: -10
  weighted_roles: {bronze: 1, silver: 3, expert: 7, authority: 10}
  override_allowed_roles: [authority]
  vote_types: {RATIFY: 1, REJECT: -1, ABSTAIN: 0, CHALLENGE: -0.5, OVERRIDE: 1}

# confidence = clamp(sum of weight x normalised value + modifiers that apply).
confidence_model:
  components:
    belief: {weight: 1, source: posterior, normalize: {method: clamp}}
    people: {weight: 0.5, source: consensus_score, normalize: {method: linear, low: 0, high: 10}}
  modifiers: {}
  thresholds: {verify: 0.95, review: 0.5}

# When agreeing reports are enough.
implicit_consensus:
  enabled: true
  min_observations: 3
  min_network_trust: 0.3
  min_ai_confidence: 0
  max_ai_variance: 1
  override_if_authority_present: true
  override_min_authority_count: 1

state_verification_policy:
  $lane

# A CHALLENGE holds the claim until so many have answered, or this time has passed.
dispute_resolution:
  quorum: 3
  timeout: PT12H
  default_action_on_timeout: inconclusive

# When what was observed does not fit together.
contradiction_rules:
  - {id: presence_differs, path: present, compare: distinct, min_share: 0.34, action: flag}
  - {id: level_spread, path: level, compare: spread, tolerance: 2, min_share: 0.2, action: flag}

# Confidence halves in this time after the bucket's end; past the second the state has expired.
temporal_decay:
  half_life: PT12H
  max_validity: P7D

# How each field of the claim follows from the payloads; nobody hands a claim in.
claim_derivation:
  present: {strategy: boolean_majority, path: present}
  level: {strategy: weighted_median, path: level, places: 2, tolerance: 1}
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
