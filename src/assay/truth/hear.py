"""Who speaks in a round: what was given, down to one observation for each reporter, and what people say of the claim.

find_round -> the round that counts; hear -> admit, leave out what came late, weigh, ladder, one each, copies
ask_people -> the votes of that round about one claim
"""

from collections.abc import Collection
from collections.abc import Set as AbstractSet

from msgspec import Struct

from assay.kernel.instant import Instant
from assay.truth.admit import admit_observations, drop_late
from assay.truth.consensus import NOBODY_VOTED, Tally, count_votes, find_window
from assay.truth.edition import Edition, edition_of
from assay.truth.evidence import Fingerprint, Resemblance
from assay.truth.flag import Flag
from assay.truth.given import Given
from assay.truth.ladder import Climb, Ending, MachineView, choose_scores, climb_ladder, scored_until, view_of_machines
from assay.truth.similar import drop_copies
from assay.truth.state import claim_hash
from assay.truth.weigh import Speakers, choose_speakers, hear_observations
from assay.truth.window import Window, find_seal

# Looking a member up in its enumeration costs more than the question it answers.
_REJECTED = Ending.REJECTED


class Round(Struct, frozen=True, kw_only=True):
    """The round that counts, if there is one, and when people's final answer sealed its evidence."""

    window: Window | None
    sealed_at: Instant | None
    flags: AbstractSet[Flag]


class Heard(Struct, frozen=True, kw_only=True):
    """Who speaks, and what machines say about that."""

    speakers: Speakers
    machines: MachineView
    flags: AbstractSet[Flag]
    prints: Collection[Fingerprint | Resemblance] = ()


_NO_ROUND = Round(window=None, sealed_at=None, flags=frozenset())


def find_round(given: Given) -> Round:
    if not given.events:
        return _NO_ROUND
    window, flags = find_window(given.contract, given.truthkey, given.events.values(), given.compile_time)
    return Round(window=window, sealed_at=find_seal(window, given.seals), flags=flags)


def hear(given: Given, asked: Round) -> Heard:
    """Admit, leave out what came late, weigh, send up the ladder, take one for each reporter, drop copies."""
    contract = given.contract
    admitted, refused = admit_observations(contract, given.truthkey, given.observations, given.compile_time)
    timely, late = drop_late(admitted, asked.window, asked.sealed_at, given.compile_time, given.late)
    heard, unheard = hear_observations(contract, given.snapshot, timely)
    climbs, unscored = _climbs(given, asked, heard) if given.scores else ({}, set())
    silenced = {hash_ for hash_, climb in climbs.items() if climb.ending is _REJECTED}
    passed = heard.only(one not in silenced for one in heard.said.observation_hashes) if silenced else heard
    chosen, repeated = choose_speakers(passed)
    prints, unmarked = _prints(given, asked)
    own, copied = drop_copies(contract.evidence_similarity, chosen, prints)
    flags = refused | unheard | late | unscored | unmarked | repeated | copied
    if silenced:
        flags.add(Flag.AI_REJECTED)
    return Heard(speakers=own, machines=view_of_machines(own, climbs), flags=flags, prints=prints)


def ask_people(
    given: Given, asked: Round, claim: dict[str, object], reporters: Collection[str] = ()
) -> tuple[Tally, AbstractSet[Flag]]:
    """The votes of the round that are about this very claim."""
    if not given.votes:
        return NOBODY_VOTED, asked.flags
    is_bound = any(vote.seen_hash is not None for vote in given.votes.values())
    shown = claim_hash(given.truthkey, given.contract.claim_type_hash, claim) if is_bound else ""
    tally, vote_flags = count_votes(
        given.contract,
        given.truthkey,
        shown,
        given.votes,
        given.snapshot,
        asked.window,
        given.compile_time,
        reporters=frozenset(reporters),
    )
    return tally, asked.flags | vote_flags


def _climbs(given: Given, asked: Round, heard: Speakers) -> tuple[dict[str, Climb], set[Flag]]:
    """Where the ladder left each observation, by hash; nothing where no score counts."""
    routing, late = given.contract.ai_validation_routing, given.late if asked.window is not None else frozenset[str]()
    timely = [score for hash_, score in given.scores.items() if hash_ not in late]
    scores, flags = choose_scores(routing, timely, scored_until(asked.window, asked.sealed_at, given.compile_time))
    if len(timely) < len(given.scores):
        flags.add(Flag.AI_SCORE_NOT_COUNTED)
    hashes = heard.said.observation_hashes if scores else ()
    counts_form = edition_of(given.compiler_version) is Edition.FIRST
    return {hash_: climb_ladder(routing, hash_, scores, counts_form=counts_form) for hash_ in hashes}, flags


def _prints(given: Given, asked: Round) -> tuple[Collection[Fingerprint | Resemblance], set[Flag]]:
    """Those that were there when the round was answered or over: a copy that is found later waits for the next."""
    late = given.late & given.fingerprints.keys() if asked.window is not None else frozenset[str]()
    if not late:
        return given.fingerprints.values(), set()
    return [one for hash_, one in given.fingerprints.items() if hash_ not in late], {Flag.LATE_FINGERPRINT}
