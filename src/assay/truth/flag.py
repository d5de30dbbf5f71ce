"""What a reader of a state should know besides its status: one word for each thing that happened on the way."""

from enum import StrEnum


class Flag(StrEnum):
    """Names in `transparency_flags`; a contradiction also adds `contradiction_` and the name of its rule."""

    # Observations that were given and do not speak.
    FOREIGN_CLAIM_TYPE = "foreign_claim_type"
    WRONG_KEY = "wrong_key"
    FUTURE_OBSERVATION = "future_observation"
    EVIDENCE_REFUSED = "evidence_refused"
    LATE_OBSERVATION = "late_observation"
    LATE_FINGERPRINT = "late_fingerprint"
    REPORTER_NOT_HEARD = "reporter_not_heard"
    REPORTER_REPEATED = "reporter_repeated"
    AI_REJECTED = "ai_rejected"
    SIMILAR_EVIDENCE = "similar_evidence"
    DUPLICATE_EVIDENCE = "duplicate_evidence"
    # What the ladder and the observations that speak left open.
    AI_SCORE_NOT_COUNTED = "ai_score_not_counted"
    LADDER_UNFINISHED = "ladder_unfinished"
    SENT_TO_PEOPLE = "sent_to_people"
    CONTRADICTION = "contradiction"
    VALUE_OUT_OF_SCHEMA = "value_out_of_schema"
    NO_EVIDENCE = "no_evidence"
    SINGLE_REPORTER = "single_reporter"
    DEPENDENT_REPORTERS = "dependent_reporters"
    # What people said.
    VOTE_NOT_COUNTED = "vote_not_counted"
    VOTE_ON_ANOTHER_CLAIM = "vote_on_another_claim"
    VOTER_IS_REPORTER = "voter_is_reporter"
    OVERRIDES_DIFFER = "overrides_differ"
    OVERRIDDEN = "overridden"
    DISPUTED = "disputed"
    ESCALATED = "escalated"
    WINDOW_ABORTED = "window_aborted"
    WINDOW_EVENT_NOT_COUNTED = "window_event_not_counted"
    # Why the status is not a higher one.
    HUMAN_REQUIRED = "human_required"
    AUTHORITY_SETS_ASIDE = "authority_sets_aside"
    CONFIDENCE_TOO_LOW = "confidence_too_low"
