"""Evidence is sufficient or is found wanting, rule by rule."""

from hashlib import sha256

import pytest

from assay.claims.bundle import Claim, Decision, EvidencePointer
from assay.claims.evidence import check_content, check_evidence
from assay.claims.finding import Finding
from assay.claims.policy import EvidencePolicy
from assay.claims.source import is_source_allowed, is_source_denied
from tests.claims.making import HASH, NOW, bundle, claim, pointer

_CONTENT = b"depth;30\n"
_CONTENT_HASH = sha256(_CONTENT).hexdigest()


def _claim(*pointers: dict[str, object], claim_type: str = "FACT") -> Claim:
    return bundle(claim(claim_type=claim_type, evidence_pointers=list(pointers))).claims[0]


def _found(subject: Claim, policy: EvidencePolicy | None = None, **contents: bytes) -> tuple[Finding, ...]:
    return check_evidence(subject, policy or EvidencePolicy(), now=NOW, contents=contents)


def _codes(findings: tuple[Finding, ...]) -> list[str]:
    return [str(finding.code) for finding in findings]


@pytest.mark.clause("claimbundle", "fact")
@pytest.mark.clause("claimbundle", "claim-types")
@pytest.mark.parametrize(
    ("pointers", "codes"),
    [
        ([], ["no_evidence"]),
        ([pointer(source_confidence=0.59)], ["weak_evidence"]),
        ([pointer(source_confidence=0.60)], []),
        ([pointer(source_confidence=0.1), pointer(source_confidence=0.6)], []),
        ([pointer(evidence_hash=None)], ["no_hash"]),
        ([pointer(evidence_hash="ab" * 16)], ["legacy_hash"]),
        ([pointer(retrieved_at=None)], ["no_time"]),
        (
            [pointer(source_confidence=0, evidence_hash=None, retrieved_at=None)],
            ["weak_evidence", "no_hash", "no_time"],
        ),
        ([pointer(), pointer(evidence_hash=None)], ["no_hash"]),
    ],
)
def test_a_fact_keeps_all_four_rules(pointers: list[dict[str, object]], codes: list[str]) -> None:
    """Pointers, a confident one among them, a hash and a time for each; what is missing defers."""
    findings = _found(_claim(*pointers))
    assert _codes(findings) == codes
    assert {finding.decision for finding in findings} <= {Decision.DEFER}
    assert {finding.claim_id for finding in findings} <= {"c-1"}


@pytest.mark.clause("claimbundle", "inference")
@pytest.mark.clause("claimbundle", "claim-types")
@pytest.mark.parametrize(
    ("pointers", "codes"), [([], []), ([pointer()], []), ([pointer(evidence_hash=None)], ["no_hash"])]
)
def test_an_inference_needs_none_but_what_it_gives_must_hold(
    pointers: list[dict[str, object]], codes: list[str]
) -> None:
    """The same standard as for a fact, once there is evidence."""
    assert _codes(_found(_claim(*pointers, claim_type="INFERENCE"))) == codes


@pytest.mark.clause("claimbundle", "decision")
@pytest.mark.clause("claimbundle", "claim-types")
def test_a_decision_needs_no_evidence() -> None:
    """Weak or unhashed evidence is nothing against it either."""
    assert _found(_claim(claim_type="DECISION")) == ()
    assert _found(_claim(pointer(source_confidence=0, evidence_hash=None), claim_type="DECISION")) == ()


@pytest.mark.parametrize("claim_type", ["FACT", "INFERENCE", "DECISION"])
def test_no_evidence_comes_from_the_future(claim_type: str) -> None:
    """Whatever the claim, it is refused, and no reviewer can wave it through; a clock may be five minutes ahead."""
    [finding] = _found(_claim(pointer(retrieved_at="2026-01-10T12:05:00.000001Z"), claim_type=claim_type))
    assert (finding.code, finding.decision, finding.resumable) == ("future_time", Decision.REFUSE, False)
    assert _found(_claim(pointer(retrieved_at="2026-01-10T12:05:00Z"), claim_type=claim_type)) == ()


def test_evidence_of_just_now_is_fresh_by_a_clock_that_is_ahead() -> None:
    """What an agent has just fetched is dated by its own clock, as the bundle is."""
    policy = EvidencePolicy(max_age_seconds=60)
    assert _found(_claim(pointer(retrieved_at="2026-01-10T12:00:00.05Z")), policy) == ()


def test_evidence_older_than_the_policy_allows_is_stale() -> None:
    """A day is 86,400 seconds, and exactly a day is still fresh."""
    policy = EvidencePolicy(max_age_seconds=86_400)
    assert _found(_claim(pointer(retrieved_at="2026-01-09T12:00:00Z")), policy) == ()
    assert _codes(_found(_claim(pointer(retrieved_at="2026-01-09T11:59:59Z")), policy)) == ["stale"]
    assert _codes(_found(_claim(pointer(retrieved_at=None)), policy)) == ["no_time"]


@pytest.mark.clause("claimbundle", "fact")
def test_content_at_hand_must_have_the_hash() -> None:
    """One byte more is a mismatch, which refuses; a hash that is no SHA-256 cannot be compared."""
    source = "survey"
    matching = _claim(pointer(source=source, evidence_hash=_CONTENT_HASH))
    assert _found(matching, survey=_CONTENT) == ()
    [finding] = _found(matching, survey=_CONTENT + b"x")
    assert (finding.code, finding.decision) == ("content_mismatch", Decision.REFUSE)
    assert _found(matching, other=b"x") == ()
    assert _codes(_found(_claim(pointer(source=source, evidence_hash=HASH[:32])), survey=_CONTENT)) == ["legacy_hash"]
    assert _codes(_found(_claim(pointer(source=source, evidence_hash=None)), survey=_CONTENT)) == ["no_hash"]


def test_a_pointer_says_what_its_content_is() -> None:
    """A missing hash says nothing, so nothing matches it."""
    assert check_content(EvidencePointer(source="s", source_confidence=1, evidence_hash=_CONTENT_HASH), _CONTENT)
    assert not check_content(EvidencePointer(source="s", source_confidence=1), _CONTENT)


def test_denied_sources_refuse_and_unlisted_ones_defer() -> None:
    """A denial wins over an allowance."""
    both = EvidencePolicy(allow=("host:example.org",), deny=("host:bad.example.org",))
    assert _found(_claim(pointer()), both) == ()
    assert _codes(_found(_claim(pointer(source="https://elsewhere.example.net/x")), both)) == ["unlisted_source"]
    [finding] = _found(_claim(pointer(source="https://bad.example.org/x")), both)
    assert (finding.code, finding.decision) == ("denied_source", Decision.REFUSE)
    assert _codes(_found(_claim(pointer(source="https://bad.example.org/x"), claim_type="DECISION"), both)) == [
        "denied_source"
    ]


@pytest.mark.parametrize(
    ("source", "host"),
    [
        ("https://Nature.com/articles/1", "nature.com"),
        ("https://nature.com.:443/x", "nature.com"),
        ("https://nature.com@evil.example.net/x", "evil.example.net"),
        ("https://evil.example.net\\@nature.com/x", "evil.example.net"),
        ("https://[2001:db8::1]:8080/x", "[2001:db8::1]"),
    ],
)
def test_the_host_of_a_source_is_what_a_browser_would_visit(source: str, host: str) -> None:
    """A name before an @ is a user, not a host."""
    assert is_source_denied(source, (f"host:{host}",))
    assert not is_source_denied("a report on paper", (f"host:{host}",))


@pytest.mark.parametrize(
    ("source", "pattern", "matches"),
    [
        ("https://nature.com/x", "host:nature.com", True),
        ("https://www.nature.com/x", "host:nature.com", True),
        ("https://nature.com.evil.example.net/x", "host:nature.com", False),
        ("https://notnature.com/x", "host:nature.com", False),
        ("file:report", "host:report", False),
        ("file:report", "file:report", True),
        ("file:report-2", "file:report", False),
        ("file:report-2", "file:*", True),
    ],
)
def test_a_pattern_is_a_host_a_whole_source_or_a_beginning(source: str, pattern: str, matches: bool) -> None:  # noqa: FBT001  a column of a table
    """No pattern of a host is fooled by a name that merely begins or ends with it."""
    assert is_source_allowed(source, (pattern,)) is matches
    assert is_source_denied(source, (pattern,)) is matches


@pytest.mark.parametrize(
    "source",
    [
        "https://evil.example/x", "https://EVIL.example./x", "https://evil.example:443/x", "http://evil.example/x",
        "https://a@evil.example/x", "//evil.example/x", "evil.example/x", "evil.example:443/x",
        "https:/\\evil.example/x",
        "https:evil.example/x", "https://evil%2eexample/x", "https:\t//evil.example/x", " https://evil.example/x",
        "\uff48ttps://evil.example/x", "https://\uff45vil.example/x", "https://evil\u3002example/x",
        "https://x.example\\@evil.example/", "https://www.evil.example/", "HTTPS://bad.example/y", "http://bad.example/y",
        "https://BAD.example:443/y", "https://bad.example/./y", "https://bad.example/%79", "bad.example/y",
        "https:///", "https://exa mple/x", "https://%ff%fe/x", "URN:Bad:1",
        "http://2130706433/", "http://0x7f.1/x", "http://0177.0.0.1/", "http://127.1/", "https://[::ffff:127.0.0.1]/",
        "https://256.1.1.1/", "view-source:https://evil.example/", "blob:https://evil.example/1",
        "git@evil.example:tables.git", "mailto:desk@evil.example", "copied from https://evil.example/x in May",
    ],
)  # fmt: skip
def test_a_denied_source_is_denied_however_it_is_written(source: str) -> None:
    """And while anything is denied, an address whose host nobody can read counts as denied."""
    deny = ("host:evil.example", "https://bad.example/*", "urn:bad:1", "host:127.0.0.1")
    assert _codes(_found(_claim(pointer(source=source)), EvidencePolicy(deny=deny))) == ["denied_source"]


@pytest.mark.parametrize(
    "source",
    [
        "https://data.example.org/x",
        "a report on paper",
        "rivers.csv",
        "urn:sha256:ab",
        "kg:node@1",
        "doi:10.1000/182",
        "https://10.0.0.1/x",
        "table 3.1 of https://data.example.org/x",
        "version 1.2.3.4.5",
    ],
)
def test_what_is_not_on_a_list_is_not_denied(source: str) -> None:
    deny = ("host:evil.example", "https://bad.example/*")
    assert _found(_claim(pointer(source=source)), EvidencePolicy(deny=deny)) == ()


@pytest.mark.parametrize(
    "source",
    [
        "http://good.example/a/x", "https://good.example/a/../b", "https://good.example\\@evil.example/a/",
        "https://evil.example/https://good.example/a/", "good.example/a/x", "https://good.example:8443/a/x",
    ],
)  # fmt: skip
def test_an_allowance_covers_only_what_every_reader_takes_for_it(source: str) -> None:
    policy = EvidencePolicy(allow=("https://good.example/a/*",))
    assert _found(_claim(pointer(source="https://GOOD.example:443/a/x")), policy) == ()
    assert _codes(_found(_claim(pointer(source=source)), policy)) == ["unlisted_source"]


def test_a_policy_may_demand_that_content_is_at_hand() -> None:
    """A hash that nobody can hold against anything is the agent's word alone."""
    policy = EvidencePolicy(require_content=True)
    found = check_evidence(_claim(pointer()), policy, now=NOW, contents={})
    assert _codes(found) == ["no_content"]
    hashed = pointer(evidence_hash=sha256(_CONTENT).hexdigest())
    assert check_evidence(_claim(hashed), policy, now=NOW, contents={str(hashed["source"]): _CONTENT}) == ()


@pytest.mark.clause("claimbundle", "decision")
def test_a_decision_needs_no_evidence_and_what_it_gives_is_capped_like_any() -> None:
    """Without a pointer, a hash or a time it passes; a short hash defers whoever gives it."""
    assert _found(_claim(claim_type="DECISION")) == ()
    assert _found(_claim(pointer(evidence_hash=None, retrieved_at=None), claim_type="DECISION")) == ()
    assert _codes(_found(_claim(pointer(evidence_hash="ab" * 16), claim_type="DECISION"))) == ["legacy_hash"]


@pytest.mark.parametrize("claim_type", ["FACT", "INFERENCE", "DECISION"])
def test_nothing_rests_on_evidence_that_was_erased(claim_type: str) -> None:
    """Said once, also where the policy asks for content anyway."""
    for policy in (EvidencePolicy(), EvidencePolicy(require_content=True)):
        found = check_evidence(
            _claim(pointer(), claim_type=claim_type), policy, now=NOW, contents={}, erased=frozenset({HASH})
        )
        assert _codes(found) == ["no_content"]
        assert not found[0].resumable
