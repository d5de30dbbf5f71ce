"""A sample node: one week of a port authority, with every room in use.

people and laws -> six days of reports, records, claims, questions and answers -> a node to look at and to test
Everything is done through operations, by people and agents of the node itself. May import: wiring and below.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from assay.adapters.clock import SystemClock
from assay.adapters.keyfile import create_key_file
from assay.adapters.node_folder import replace_file
from assay.adapters.toml_text import set_toml_value
from assay.kernel.instant import Instant
from assay.surfaces.sample.actions import act_and_permit, run_services
from assay.surfaces.sample.answers import answer_questions
from assay.surfaces.sample.desk import fill_desk
from assay.surfaces.sample.laws import judge_sectors, report_floods
from assay.surfaces.sample.people import LOGINS, PASSWORD, admit_everyone
from assay.surfaces.sample.stage import DAY, SMALL, WEEK, PastClock, Size, Stage
from assay.surfaces.sample.upkeep import keep_up
from assay.wiring import CONFIG_FILE, init_node, open_evaluation, open_models, open_node

__all__ = ["DAYS", "LOGINS", "PASSWORD", "SMALL", "WEEK", "make_sample"]

DAYS = 6
# Answers about penalties and tiers can be undone for a quarter of an hour.
SETTINGS = """
[delivery]
answerers = ["assay.surfaces.sample.answerers:TABLE"]
webhook_hosts = ["hooks.port.example"]

[review]
grace_seconds = { penalty = 900, tier_change = 900 }
"""
CHAPTERS = (
    admit_everyone,
    report_floods,
    judge_sectors,
    act_and_permit,
    answer_questions,
    run_services,
    keep_up,
    fill_desk,
)


def make_sample(folder: Path, *, database: str | None = None, size: Size = WEEK) -> Iterator[str]:
    """Make a node in a new or empty folder; yield a sentence about each chapter when it is done."""
    now = SystemClock().now()
    clock = PastClock(Instant(now - DAYS * DAY), until=now)
    init_node(folder, origin="port.example/assay", database=database, at=clock.now())
    signer = create_key_file(folder / "keys" / "graph.key")
    path = folder / CONFIG_FILE
    text = set_toml_value(path.read_text(encoding="utf-8"), "trust", "anchors", [signer.public_key.hex()])
    replace_file(path, f"{text.rstrip()}\n{SETTINGS}".encode())
    with _opened(folder, clock, size) as stage:
        stage.graph_signer = signer
        for chapter in CHAPTERS:
            yield chapter(stage)
            clock.advance(timedelta(hours=2))
        stage.local("index.seal")
        stage.local("checkpoint.sign")
        clock.catch_up()
        stage.local("checkpoint.sign")


@contextmanager
def _opened(folder: Path, clock: PastClock, size: Size) -> Iterator[Stage]:
    with (
        open_node(folder) as (opened, config),
        open_models(folder, config) as models,
        open_evaluation(folder, config, replace(opened, clock=clock)) as evaluation,
    ):
        yield Stage(replace(evaluation.tools, clock=clock, engines=models.engines), clock, folder, size)
