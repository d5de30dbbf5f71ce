"""What the judge of some weights answers to questions in a file, as hashes: run under another Python, or in this one.

python -m tests.model.judged QUESTIONS WEIGHTS prints one hash for each question; it needs numpy and the model room.
"""

import sys
from hashlib import sha256
from pathlib import Path

import msgspec

from assay.model.commit import root_of
from assay.model.engine import Engine
from assay.model.judge import judge_many
from assay.model.weights import parse_weights

__all__ = ["hashes_of"]


def hashes_of(questions: bytes, weights: bytes) -> list[str]:
    """Of each answer's text and the root over every token and score of it."""
    asked = [
        (prompt, grammar.encode()) for prompt, grammar in msgspec.json.decode(questions, type=list[tuple[str, str]])
    ]
    found = []
    for answer in judge_many(Engine(parse_weights(weights)), asked):
        root = root_of([one.token for one in answer.written], [one.best for one in answer.written])
        found.append(sha256(f"{answer.text}\n{root}".encode()).hexdigest())
    return found


if __name__ == "__main__":
    for line in hashes_of(Path(sys.argv[1]).read_bytes(), Path(sys.argv[2]).read_bytes()):
        sys.stdout.write(line + "\n")
