"""Everything that is wrong with a contract is told at once, at its line, under a stable code."""

import json
from time import process_time
from typing import Any

import pytest

from assay.truth._yaml_text import read_yaml
from assay.truth.errors import ContractError
from assay.truth.parse_contract import check_contract, contract_from_document, parse_contract
from assay.truth.problem import Problem
from assay.truth.schema_ref import find_schema_ref
from tests.truth.records import NAMES, changed, contract, contract_text, document, schema_bytes

_SCHEMA = schema_bytes()


def problems(
    value: dict[str, Any],
    content: bytes | None = _SCHEMA,
    domain_systems: dict[str, str] | None = None,
) -> list[tuple[str, str]]:
    """Where and which, of a contract that is refused."""
    with pytest.raises(ContractError) as refused:
        parse_contract(json.dumps(value), schema_bytes=content, domain_systems=domain_systems)
    return [(problem.path, problem.code.value) for problem in refused.value.problems]


def warnings(value: dict[str, Any]) -> list[tuple[str, str]]:
    finding = check_contract(json.dumps(value), schema_bytes=schema_bytes())
    assert finding.errors == ()
    return [(problem.path, problem.code.value) for problem in finding.warnings]


LANE = "state_verification_policy.critical_lane"
BOUNCER = "ai_validation_routing.bouncer"


@pytest.mark.parametrize(
    ("path", "to", "where", "code"),
    [
        ("id", "earth.flood", "id", "form"),
        ("id", "Earth.flood.v1", "id", "form"),
        ("version", 2, "version", "agreement"),
        ("version", "2.0.0", "version", "agreement"),
        ("version", 1.5, "version", "type"),
        ("domain", "ocean", "domain", "agreement"),
        ("domain", "moon", "domain", "agreement"),
        ("topic", "fire", "topic", "agreement"),
        ("risk_profile", "casual", "risk_profile", "choice"),
        ("risk_profile", ["monitor"], "risk_profile", "choice"),
        ("policy_version", "", "policy_version", "form"),
        ("policy_version", None, "policy_version", "type"),
        ("truthkey", [], "truthkey", "type"),
        ("truthkey.spatial_system", "meta", "truthkey.resolution", "agreement"),
        ("truthkey.resolution", 16, "truthkey.resolution", "agreement"),
        ("truthkey.resolution", ..., "truthkey.resolution", "agreement"),
        ("truthkey.resolution", 8.5, "truthkey.resolution", "type"),
        ("truthkey.scheme", "ring", "truthkey.scheme", "agreement"),
        ("truthkey.id_strategy", "hybrid", "truthkey.id_strategy", "agreement"),
        ("truthkey.time_bucket", "PT7H", "truthkey.time_bucket", "form"),
        ("truthkey.z_index", "Sur:face", "truthkey.z_index", "form"),
        ("evidence", ..., "evidence", "required"),
        ("evidence.required", "yes", "evidence.required", "type"),
        ("evidence.required", False, "evidence.min_count", "agreement"),
        ("evidence.min_count", 11, "evidence.max_count", "order"),
        ("evidence.min_count", -1, "evidence.min_count", "range"),
        ("evidence.types", [], "evidence.types", "range"),
        ("evidence.types", "image", "evidence.types", "type"),
        ("evidence.types.0", "IMAGE", "evidence.types[0]", "form"),
        ("evidence.types.0", 7, "evidence.types[0]", "type"),
        ("evidence_similarity", {}, "evidence_similarity.hash", "required"),
        ("evidence_similarity.hash.duplicate_threshold", 65, "evidence_similarity.hash.duplicate_threshold", "range"),
        (f"{BOUNCER}.fail_threshold", 0.6, f"{BOUNCER}.fail_threshold", "order"),
        (f"{BOUNCER}.checks", ["a", "a"], f"{BOUNCER}.checks", "duplicate"),
        (f"{BOUNCER}.routes.maybe", "human", f"{BOUNCER}.routes.maybe", "unknown_key"),
        ("ai_validation_routing.generalist", ..., f"{BOUNCER}.routes", "route"),
        (
            "ai_validation_routing.specialist.routes.fail",
            "generalist",
            "ai_validation_routing.specialist.routes",
            "route",
        ),
        ("autovalidation.uncertainty_band.low", 0.1, "autovalidation.uncertainty_band", "order"),
        ("autovalidation.ai_verified_true_threshold", 1.01, "autovalidation.ai_verified_true_threshold", "range"),
        ("human_gating.required_for_risk_profiles", ["low"], "human_gating.required_for_risk_profiles[0]", "choice"),
        ("validation_flow.window", "P1M", "validation_flow.window", "form"),
        ("validation_flow.window", "P0D", "validation_flow.window", "form"),
        ("consensus_model.reject_threshold", 1, "consensus_model.finalize_threshold", "order"),
        ("consensus_model.weighted_roles.gold", 1, "consensus_model.weighted_roles.gold", "choice"),
        ("consensus_model.weighted_roles.bronze", ..., "consensus_model.weighted_roles", "required"),
        ("consensus_model.weighted_roles.bronze", -1, "consensus_model.weighted_roles.bronze", "range"),
        ("consensus_model.vote_types.LIKE", 1, "consensus_model.vote_types.LIKE", "choice"),
        ("consensus_model.vote_types.RATIFY", ..., "consensus_model.vote_types", "required"),
        ("consensus_model.vote_types.RATIFY", -1, "consensus_model.vote_types.RATIFY", "order"),
        ("consensus_model.vote_types.REJECT", 0, "consensus_model.vote_types.REJECT", "order"),
        ("consensus_model.vote_types.ABSTAIN", 10, "consensus_model.vote_types.ABSTAIN", "order"),
        ("consensus_model.vote_types.CHALLENGE", 0.5, "consensus_model.vote_types.CHALLENGE", "order"),
        ("consensus_model.vote_types.OVERRIDE", 0, "consensus_model.vote_types.OVERRIDE", "order"),
        ("consensus_model.reporters_may_vote", 1, "consensus_model.reporters_may_vote", "type"),
        ("consensus_model.vote_types.RATIFY", True, "consensus_model.vote_types.RATIFY", "type"),
        (
            "consensus_model.weighted_roles",
            {"bronze": 0, "silver": 0, "expert": 0, "authority": 0},
            "consensus_model.weighted_roles",
            "range",
        ),
        ("consensus_model.type", "majority", "consensus_model.type", "choice"),
        ("implicit_consensus.min_observations", 0, "implicit_consensus.min_observations", "range"),
        ("confidence_model.components", {}, "confidence_model.components", "range"),
        (
            "confidence_model.components.network.normalize",
            {"method": "saturating", "half": 0},
            "confidence_model.components.network.normalize.half",
            "range",
        ),
        (
            "confidence_model.components.network.normalize",
            {"method": "linear", "low": 2, "high": 1},
            "confidence_model.components.network.normalize.high",
            "order",
        ),
        (
            "confidence_model.components.network.normalize",
            {"method": "clamp", "high": 1},
            "confidence_model.components.network.normalize.method",
            "agreement",
        ),
        (
            "confidence_model.components.network.normalize",
            {"method": "step"},
            "confidence_model.components.network.normalize.method",
            "agreement",
        ),
        ("confidence_model.thresholds.review", 0.9, "confidence_model.thresholds.review", "order"),
        ("confidence_model.modifiers.alone.when", "tuesday", "confidence_model.modifiers.alone.when", "choice"),
        ("state_verification_policy.monitor_lane", ..., "state_verification_policy.monitor_lane", "lane"),
        ("dispute_resolution.quorum", 0, "dispute_resolution.quorum", "range"),
        ("contradiction_rules.0.tolerance", 1, "contradiction_rules[0].tolerance", "agreement"),
        ("contradiction_rules.1.tolerance", ..., "contradiction_rules[1].tolerance", "agreement"),
        ("contradiction_rules.1.id", "severity_differs", "contradiction_rules", "duplicate"),
        ("temporal_decay", None, "temporal_decay", "type"),
        ("credits.vote", -2, "credits.vote", "range"),
        ("claim_derivation.severity.path", "a..b", "claim_derivation.severity.path", "form"),
        ("claim_derivation.severity.strategy", "guess", "claim_derivation.severity.strategy", "choice"),
        ("claim_derivation.severity.strategy", "min", "claim_derivation.severity.prefer", "derivation"),
        ("claim_derivation.severity.places", 2, "claim_derivation.severity.places", "derivation"),
        ("claim_derivation.severity.equals", "low", "claim_derivation.severity.equals", "derivation"),
        ("claim_derivation.water_level_meters.places", ..., "claim_derivation.water_level_meters.places", "required"),
        ("claim_derivation.water_level_meters.places", 7, "claim_derivation.water_level_meters.places", "range"),
        ("claim_derivation.severity", ..., "claim_derivation", "derivation"),
        ("claim_derivation.road_passable.strategy", "max", "claim_derivation.road_passable.strategy", "derivation"),
        ("claim_derivation.mood", {"strategy": "first", "path": "mood"}, "claim_derivation.mood", "derivation"),
        ("output_schema_ref", "../flood.json", "output_schema_ref", "form"),
        ("output_schema_ref", ..., "output_schema", "required"),
        ("output_schema_sha256", "0" * 64, "output_schema_sha256", "schema"),
        ("colour", "blue", "colour", "unknown_key"),
    ],
)
@pytest.mark.clause("kaori", "6.1")
def test_a_contract_with_one_mistake_is_refused_at_the_place_of_the_mistake(
    path: str, to: object, where: str, code: str
) -> None:
    """Every block is judged, and the finding names the place and a stable kind."""
    assert (where, code) in problems(changed(document(), path, to))


def test_all_mistakes_are_told_at_once_in_the_order_of_the_lines() -> None:
    """A broken block hides no mistake elsewhere, neither inside another block nor between two."""
    value = document()
    for path, to in (
        ("version", 3),
        ("evidence.min_count", 99),
        ("consensus_model.weighted_roles", 5),
        ("temporal_decay.half_life", "soon"),
        ("claim_derivation.severity", ...),
        ("unheard_of", 1),
    ):
        value = changed(value, path, to)
    text = "\n".join(f"{json.dumps(name)}: {json.dumps(part)}" for name, part in value.items())
    with pytest.raises(ContractError) as refused:
        parse_contract(text, schema_bytes=schema_bytes())
    found = refused.value.problems
    assert {problem.path for problem in found} == {
        "version",
        "evidence.max_count",
        "consensus_model.weighted_roles",
        "temporal_decay.half_life",
        "claim_derivation",
        "unheard_of",
    }
    assert [problem.line for problem in found] == sorted(problem.line or 0 for problem in found)
    assert refused.value.code == "truth.contract"


def test_a_problem_is_found_at_the_line_where_its_author_would_look() -> None:
    """Lines count from 1; what is missing is told at the block that should hold it."""
    lines = contract_text().splitlines()
    broken = contract_text().replace("resolution: 8 ", "resolution: 88").replace("  half_life: PT6H\n", "")
    with pytest.raises(ContractError) as refused:
        parse_contract(broken, schema_bytes=schema_bytes())
    at = {problem.path: problem.line for problem in refused.value.problems}
    assert at == {
        "truthkey.resolution": lines.index("  resolution: 8          # cells of about 0.7 square kilometres") + 1,
        "temporal_decay.half_life": lines.index("temporal_decay:") + 1,
    }
    assert "line " in str(refused.value)
    assert "expected a resolution from 0 to 15, got `88`" in str(refused.value)


@pytest.mark.clause("kaori", "6.2")
@pytest.mark.parametrize(
    "bad", ["flood.v1", "earth.flood.1", "earth.flood.v0", "earth.flood.v01", "earth..v1", "earth.flood.v1 "]
)
def test_an_id_is_namespace_name_and_major_version(bad: str) -> None:
    assert ("id", "form") in problems(changed(document(), "id", bad))


@pytest.mark.clause("kaori", "6.2")
@pytest.mark.parametrize("version", [1, "1", "1.2", "1.4.0"])
def test_a_version_agrees_with_the_id_by_its_major_number(version: object) -> None:
    parse_contract(json.dumps(changed(document(), "version", version)), schema_bytes=schema_bytes())


@pytest.mark.clause("kaori", "5.4")
@pytest.mark.clause("kaori", "5.5")
def test_a_domain_has_its_spatial_system_unless_a_deployment_added_it() -> None:
    """Earth is H3 whatever a contract says; a domain of one's own is named by the deployment."""
    healpix = changed(changed(document(), "truthkey.spatial_system", "healpix"), "truthkey.scheme", "ring")
    assert problems(healpix) == [("truthkey.spatial_system", "agreement")]
    mars = changed(changed(document(), "id", "mars.flood.v1"), "domain", "mars")
    assert problems(mars) == [("domain", "choice")]
    parse_contract(json.dumps(mars), schema_bytes=schema_bytes(), domain_systems={"mars": "h3"})


@pytest.mark.clause("kaori", "5.5")
def test_an_id_strategy_belongs_to_meta_and_to_nothing_else() -> None:
    """A claim without a place may say how it is named; one with a place cannot."""
    meta = document("research_artifact_v1")
    assert problems(changed(meta, "truthkey.resolution", 3), content=None) == [("truthkey.resolution", "agreement")]
    assert problems(changed(document(), "truthkey.id_strategy", "hybrid")) == [("truthkey.id_strategy", "agreement")]


@pytest.mark.clause("kaori", "15.2")
@pytest.mark.parametrize(
    ("path", "to", "where", "code"),
    [
        (f"{LANE}.authority_escalation", ..., f"{LANE}.authority_escalation", "escalation"),
        (f"{LANE}.authority_escalation.roles", ["expert"], f"{LANE}.authority_escalation", "escalation"),
        (f"{LANE}.require_human_consensus", False, f"{LANE}.require_human_consensus", "lane"),
        (LANE, ..., LANE, "lane"),
        ("validation_flow.mode", "auto", "validation_flow.mode", "lane"),
    ],
)
def test_a_critical_contract_lets_people_decide_and_names_an_authority(
    path: str, to: object, where: str, code: str
) -> None:
    """Without either it is not a contract for anything critical."""
    value = changed(document("orbital_debris_v1"), path, to)
    assert problems(value, content=schema_bytes("orbital_debris_v1")) == [(where, code)]


@pytest.mark.clause("kaori", "6.5")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"type": "object", "properties": {"severity": {"type": "strung"}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"},
        {"type": "object", "$ref": "https://example.org/schema"},
        {"type": "object", "properties": {"severity": {"pattern": "(?=x)"}}},
    ],
)
def test_an_output_schema_is_one_that_everybody_applies_alike(schema: dict[str, object]) -> None:
    """No other draft, nothing to fetch, no pattern that could stall."""
    inline = changed(changed(document(), "output_schema_ref", ...), "output_schema", schema)
    assert ("output_schema", "schema") in problems(inline, content=None)
    assert ("output_schema_ref", "schema") in problems(document(), content=json.dumps(schema).encode())


@pytest.mark.clause("kaori", "6.5")
@pytest.mark.parametrize("content", [None, b"", b"[]", b"{'type': 'object'}", b'{"type":"object","type":"object"}'])
def test_a_referenced_schema_comes_as_bytes_of_strict_json(content: bytes | None) -> None:
    assert ("output_schema_ref", "schema") in problems(document(), content=content)


@pytest.mark.clause("kaori", "6.5")
def test_a_contract_defines_its_output_schema_in_exactly_one_way() -> None:
    """Neither and both are refused, and bytes that nothing refers to are too."""
    meta = document("research_artifact_v1")
    both = changed(meta, "output_schema_ref", "schemas/x.json")
    assert problems(both, content=b"{}") == [("output_schema_ref", "required")]
    assert problems(changed(meta, "output_schema", ...), content=None) == [("output_schema", "required")]
    assert problems(meta, content=b"{}") == [("output_schema", "schema")]
    assert problems(changed(meta, "output_schema_sha256", "0" * 64), content=None) == [
        ("output_schema_sha256", "schema")
    ]
    assert problems(changed(meta, "output_schema", 5), content=None) == [("output_schema", "type")]


def test_a_derivation_is_of_a_member_of_the_claim_with_a_strategy_that_fits_its_type() -> None:
    """A type that the schema leaves open is judged when there is a claim; of several, one must fit."""
    meta = document("research_artifact_v1")
    dotted = changed(meta, "claim_derivation", {**meta["claim_derivation"], "a.b": {"strategy": "first", "path": "a"}})
    assert problems(dotted, content=None) == [("claim_derivation.a.b", "derivation")]
    for described in ({}, True, {"type": ["null", "boolean"]}):
        loose = changed(meta, "output_schema.properties.reproduced", described)
        parse_contract(json.dumps(loose))
    tight = changed(meta, "output_schema.properties.reproduced", {"type": ["null", "string"]})
    assert problems(tight, content=None) == [("claim_derivation.reproduced.strategy", "derivation")]


@pytest.mark.parametrize(
    ("path", "to", "warning"),
    [
        ("confidence_model.components.network.weight", 0.3, ("confidence_model.components", "weights")),
        ("consensus_model.weighted_roles.bronze", 9, ("consensus_model.weighted_roles", "weights")),
        (
            "dispute_resolution.default_action_on_timeout",
            "stay_open",
            ("dispute_resolution.default_action_on_timeout", "unused"),
        ),
        ("temporal_decay.half_life", "P3D", ("temporal_decay.half_life", "unused")),
    ],
)
def test_what_is_merely_odd_is_a_warning_and_refuses_nothing(path: str, to: object, warning: tuple[str, str]) -> None:
    assert warnings(changed(document(), path, to)) == [warning]


def test_a_format_in_the_schema_and_a_silent_human_gate_are_warned_about() -> None:
    """`format` refuses nothing in this draft; the critical lane asks people whatever the gate says."""
    meta = changed(document("research_artifact_v1"), "output_schema.properties.first_title.format", "uri")
    [found] = check_contract(json.dumps(meta)).warnings
    assert (found.path, found.code) == ("output_schema.properties.first_title.format", "unused")
    debris = document("orbital_debris_v1")
    debris = changed(
        changed(debris, "human_gating.always_require_human", False), "human_gating.required_for_risk_profiles", []
    )
    finding = check_contract(json.dumps(debris), schema_bytes=schema_bytes("orbital_debris_v1"))
    assert [problem.path for problem in finding.warnings] == ["human_gating.required_for_risk_profiles"]


def yaml_problems(text: str) -> list[Problem]:
    finding = check_contract(text, schema_bytes=schema_bytes())
    assert finding.contract is None
    return list(finding.errors)


@pytest.mark.parametrize(
    ("old", "new", "path", "code"),
    [
        ("topic: flood", "topic: flood\ntopic: flood", "topic", "duplicate"),
        ("topic: flood", "topic: &t flood", "topic", "anchor"),
        ("topic: flood", "topic: *t", "topic", "alias"),
        ("topic: flood", "topic: !!str flood", "topic", "tag"),
        ("topic: flood", "topic: !!python/object/apply:os.system [id]", "topic", "tag"),
        ("topic: flood", "? [a]\n: flood", "?", "type"),
        ("topic: flood", "&k topic: flood", "?", "type"),
        ("topic: flood", "topic: ' flood'", "topic", "text"),
        ("topic: flood", 'topic: "fl\\uD800ood"', "topic", "text"),
        ("topic: flood", "topic: 'e\u0301'", "topic", "text"),
        ("finalize_threshold: 15", "finalize_threshold: 015", "consensus_model.finalize_threshold", "number"),
        ("finalize_threshold: 15", "finalize_threshold: 0x0f", "consensus_model.finalize_threshold", "number"),
        ("finalize_threshold: 15", "finalize_threshold: +15", "consensus_model.finalize_threshold", "number"),
        ("finalize_threshold: 15", "finalize_threshold: 1_5", "consensus_model.finalize_threshold", "number"),
        ("finalize_threshold: 15", "finalize_threshold: .inf", "consensus_model.finalize_threshold", "number"),
        ("finalize_threshold: 15", "finalize_threshold: .nan", "consensus_model.finalize_threshold", "number"),
        ("finalize_threshold: 15", "finalize_threshold: 15.0000001", "consensus_model.finalize_threshold", "number"),
        ("finalize_threshold: 15", "finalize_threshold: 1e400", "consensus_model.finalize_threshold", "number"),
        ("finalize_threshold: 15", f"finalize_threshold: {'9' * 40}", "consensus_model.finalize_threshold", "number"),
        ("finalize_threshold: 15", "finalize_threshold: '15'", "consensus_model.finalize_threshold", "type"),
        ("always_require_human: false", "always_require_human: no", "human_gating.always_require_human", "type"),
    ],
)
def test_yaml_that_two_readers_could_read_differently_is_refused(old: str, new: str, path: str, code: str) -> None:
    """Tags, anchors, aliases, keys twice, odd numbers, texts whose white space a hash would lose."""
    found = yaml_problems(contract_text().replace(old, new))
    told = [problem for problem in found if (problem.path, problem.code) == (path, code)]
    assert told
    line = contract_text().splitlines().index(next(row for row in contract_text().splitlines() if old in row)) + 1
    assert all(problem.line in (line, line + 1) for problem in told)


def test_one_spelling_mistake_is_told_once() -> None:
    """What could not be read as YAML is not told again as a wrong type."""
    found = yaml_problems(
        contract_text().replace("checks: [residuals", "checks: [*a").replace("max_count: 10", "max_count: 0x10")
    )
    assert [(problem.path, problem.code) for problem in found] == [("evidence.max_count", "number")]
    listed = yaml_problems(contract_text().replace("[shows_water,", "[*water,").replace("bronze: 1,", "bronze: *one,"))
    assert {problem.path for problem in listed} == {
        "ai_validation_routing.generalist.checks[0]",
        "consensus_model.weighted_roles.bronze",
    }


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("id: [", "syntax"),
        ("id: \x07", "syntax"),
        ('id: "\\UFFFFFFFF"', "syntax"),
        ("\tid: x", "syntax"),
        ("", "type"),
        ("just words", "type"),
        ("- a\n- b", "type"),
        ("a: " + "[" * 40 + "]" * 40, "depth"),
        ("a: " * 1 + "{b: " * 40 + "1" + "}" * 40, "depth"),
        (f"{contract_text()}\n---\nid: other\n", "documents"),
        ("#" * 600_000, "size"),
    ],
)
def test_a_text_that_is_no_contract_at_all_has_a_problem_and_crashes_nothing(text: str, code: str) -> None:
    """Not YAML, not a mapping, too deep, two documents, too long."""
    found = yaml_problems(text)
    assert code in [problem.code for problem in found]
    assert all(problem.line is not None for problem in found)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: " + "[" * 500_000, "depth"),
        ("[{" * 250_000, "depth"),
        ("{a: " * 125_000, "depth"),
        ("- " * 250_000, "depth"),
        ("a:\n  " + "- " * 250_000, "depth"),
        ("? " * 250_000, "depth"),
        ("a: [" + "x," * 250_000, "size"),
        ("a: [" + ",".join(["x"] * 10_001) + "]", "size"),
    ],
)
def test_a_hostile_text_is_read_no_further_than_its_answer(text: str, code: str) -> None:
    """Half a megabyte of brackets is refused at the thirty-third: characters that nobody needs are not looked at."""
    begun = process_time()
    found = yaml_problems(text)
    assert [problem.code for problem in found if problem.code == code] == [code]
    assert process_time() - begun < (0.25 if code == "depth" else 5)


def test_what_is_as_deep_or_as_long_as_allowed_is_read() -> None:
    """Thirty-two levels and ten thousand values are no mistake; what they say may be another."""
    for text in ("[" * 32 + "]" * 32, "a: " + "[" * 31 + "]" * 31, "a: [" + ",".join(["x"] * 9_998) + "]"):
        assert not {"depth", "size", "syntax"} & {problem.code.value for problem in yaml_problems(text)}


def test_an_alias_bomb_costs_nothing() -> None:
    """Each alias is refused where it stands, and none is ever followed."""
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(20)
    )
    codes = {problem.code.value for problem in yaml_problems(bomb)}
    assert {"alias", "anchor", "unknown_key"} <= codes


def test_what_one_reader_does_to_a_document_no_other_sees() -> None:
    """The same text is parsed once, and each reader has a tree, lines and problems of its own."""
    text = "a: [1, {b: 2}]\nc: !tag 3\n"
    first, kept = read_yaml(text), read_yaml(text)
    assert (first.value, first.lines, first.problems) == (kept.value, kept.lines, kept.problems)
    assert first.problems
    assert isinstance(first.value, dict)
    first.value["a"][1]["b"] = first.value["d"] = 4
    first.lines.clear()
    first.problems.clear()
    assert read_yaml(text) == kept


def test_words_for_people_may_be_folded() -> None:
    """Nothing follows from the white space of a title, so it may be written over several lines."""
    folded = contract_text().replace("  title: Flood report", "  title: >\n    Flood\n    report")
    assert parse_contract(folded, schema_bytes=schema_bytes()).ui_schema["title"] == "Flood report\n"
    inline = document("research_artifact_v1")
    inline["output_schema"]["description"] = "Two\nlines. "
    parse_contract(json.dumps(inline))


def test_dates_and_versions_without_quotes_are_texts() -> None:
    """As in YAML 1.2: nothing becomes a date, and 1.2.3 is no number."""
    text = contract_text().replace('policy_version: "1.0.0"', "policy_version: 2026-01-07")
    assert parse_contract(text, schema_bytes=schema_bytes()).policy_version == "2026-01-07"
    text = contract_text().replace('policy_version: "1.0.0"', "policy_version: 1.0.0")
    assert parse_contract(text, schema_bytes=schema_bytes()).policy_version == "1.0.0"


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_document_gives_the_contract_back_and_the_same_value_each_time(name: str) -> None:
    whole, schema = contract(name), schema_bytes(name)
    text = None if schema is None else schema.decode()
    again = contract_from_document(whole.document, text)
    assert again == whole
    assert contract_from_document(whole.document, text) is again


@pytest.mark.parametrize(
    ("text", "ref"),
    [("output_schema_ref: a/b.json", "a/b.json"), ("output_schema_ref: 7", None), ("id: x", None), ("- a", None)],
)
def test_where_a_schema_lies_is_told_before_the_contract_is_judged(text: str, ref: str | None) -> None:
    assert find_schema_ref(text) == ref
