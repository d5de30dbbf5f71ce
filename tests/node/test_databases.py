"""The facade on PostgreSQL, by the role that owns nothing: opened by its address, read by an auditor."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import assay
from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.claims.bundle import ClaimType
from assay.delivery.answerer import Question
from assay.kernel.bundle import Bundle, parse_bundle
from assay.verdicts.envelope import Verdict
from tests.flows._people import quick_passwords
from tests.node._home import RULE, SLUG, Home, made, record, report
from tests.postgres_cluster import PostgresCluster


@pytest.fixture(scope="module")
def dsn(postgres_cluster: PostgresCluster) -> str:
    name = postgres_cluster.create_database()
    provision(postgres_cluster.dsn(name), at=SystemClock().now())
    return postgres_cluster.dsn(name, "assay_app")


@pytest.fixture(scope="module")
def peopled(tmp_path_factory: pytest.TempPathFactory, dsn: str) -> Iterator[Home]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.wiring.Argon2Passwords", quick_passwords)
        yield made(tmp_path_factory.mktemp("pg") / "node", dsn)


def test_a_record_a_key_and_a_question_go_their_whole_way(peopled: Home, dsn: str) -> None:
    with assay.open(dsn, home=peopled.folder) as node:
        decided = node.acting(peopled.keys["sensor"]).evaluate(record("p-1"))
        assert {one.rule_id: one.verdict for one in decided.verdicts} == {"SO2": Verdict.FLAG, "NOX": None}
        seen = node.acting(peopled.keys["gateway"]).observe(report("user:ben"))
        node.compile_state(seen.truthkey)
        assert node.state_claims(seen.truthkey).claims[0].claim_type is ClaimType.FACT

        @node.answers(SLUG, rules=[RULE])
        def clear(_question: Question) -> str:
            return "clear"

        answer = node.acting(peopled.keys["amira"]).ask(SLUG)
        answered = parse_bundle(node.prove_answer(answer.answer_id))
        parts = [json.dumps(one).encode() for one in json.loads(node.prove_verdict("p-1"))]
        proofs: list[bytes | Bundle] = [node.prove_state(seen.truthkey), *parts, answered]
        assert all(node.verify(one).holds for one in proofs)
    with assay.open(dsn, home=peopled.folder, read_only=True) as auditor:
        assert auditor.audit(full=True).holds
        assert auditor.verdicts_of("p-1").verdicts[0].sequence_number == decided.verdicts[0].sequence_number


def test_many_tasks_lose_nothing(peopled: Home, tmp_path: Path) -> None:
    async def story() -> set[int]:
        async with assay.open_async(peopled.folder) as node:
            receipts = await asyncio.gather(*(node.append({"n": number, "at": str(tmp_path)}) for number in range(64)))
            return {one.sequence_number for one in receipts}

    numbers = asyncio.run(story())
    with assay.open(peopled.folder, read_only=True) as auditor:
        kept = auditor.entries(first=min(numbers), last=max(numbers), limit=500)
        assert {one.sequence_number for one in kept if one.kind == "note"} >= numbers
        assert len(numbers) == 64
