"""Groups of agents that do not count as independent: their errors coincide, or they endorse each other.

recent reports + endorsements -> pairs -> connected groups, each named by its first agent
"""

from collections.abc import Callable, Iterable, Mapping

from assay.trust.learning import AgentLearning
from assay.trust.policy import CompetencePolicy


def find_kin(
    policy: CompetencePolicy,
    learnings: Mapping[str, AgentLearning],
    agents: Iterable[str],
    endorsers_of: Callable[[str], Iterable[str]],
) -> dict[str, str]:
    """The group of each agent that is in one; the same for the same agents, in any order."""
    asked = sorted(set(agents))
    roots = {agent: agent for agent in asked}
    for one, other in _coinciding(policy, {agent: learnings[agent] for agent in asked if agent in learnings}):
        _join(roots, one, other)
    endorsers = {agent: frozenset(endorsers_of(agent)) for agent in asked}
    for agent, others in endorsers.items():
        for other in others:
            if other > agent and agent in endorsers.get(other, ()):
                _join(roots, agent, other)
    groups: dict[str, list[str]] = {}
    for agent in asked:
        groups.setdefault(_root(roots, agent), []).append(agent)
    return {agent: members[0] for members in groups.values() if len(members) > 1 for agent in members}


def _coinciding(policy: CompetencePolicy, learnings: Mapping[str, AgentLearning]) -> Iterable[tuple[str, str]]:
    """Pairs whose latest reports at the same keys were wrong in the same way: often enough, and for the most part."""
    suspects = {
        agent: {one.truthkey: one for one in known.recent}
        for agent, known in learnings.items()
        if sum(one.wrong for one in known.recent) >= policy.shared_errors
    }
    names = sorted(suspects)
    for place, agent in enumerate(names):
        mine = suspects[agent]
        for other in names[place + 1 :]:
            theirs = suspects[other]
            both = mine.keys() & theirs.keys()
            shared = sum(mine[key].wrong and theirs[key].wrong and mine[key].said == theirs[key].said for key in both)
            if shared >= policy.shared_errors and shared >= policy.shared_share * len(both):
                yield agent, other


def report_together(policy: CompetencePolicy, one: AgentLearning | None, other: AgentLearning | None) -> bool:
    """Whether most of an agent's latest reports are at keys that the other reports at too."""
    if one is None or other is None:
        return False
    both = {recalled.truthkey for recalled in one.recent} & {recalled.truthkey for recalled in other.recent}
    return len(both) >= policy.shared_errors and len(both) >= policy.shared_share * len(one.recent)


def _root(roots: Mapping[str, str], agent: str) -> str:
    while roots[agent] != agent:
        agent = roots[agent]
    return agent


def _join(roots: dict[str, str], one: str, other: str) -> None:
    first, second = sorted((_root(roots, one), _root(roots, other)))
    roots[second] = first
