"""The model of the gate answers the vectors that the gate in C++ answers, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from outboard.pool.core.replies import Desired
from outboard.pool.simulation.gate_model import LeaseGate, Refusal, Token

FILE = json.loads((Path(__file__).parents[2] / "pool" / "gate_vectors.json").read_text())


class Player:
    def __init__(self) -> None:
        about = FILE["gate"]
        self.gate = LeaseGate(
            about["daemon"], about["memory_bytes"], about["grace_ms"], about["contact_ms"]
        )
        self.sessions: dict[str, int] = {}

    def play(self, step: dict[str, Any]) -> None:
        if "apply" in step:
            self.gate.apply(msgspec.convert(step["apply"], Desired), step["at_ms"])
        elif "admit" in step:
            token = msgspec.convert(step["admit"], Token)
            result = self.gate.admit(token, step["user"], step["at_ms"])
            if not isinstance(result, Refusal):
                self.sessions[step["session"]] = result
            said = result.value if isinstance(result, Refusal) else "admitted"
            assert said == step["expect"]
        elif "begin" in step:
            assert self.gate.begin(self.sessions[step["begin"]]) is step["expect"]
        elif "end" in step:
            self.gate.end(self.sessions[step["end"]])
        elif "close" in step:
            self.gate.close(self.sessions[step["close"]])
        elif "tick" in step:
            self.gate.tick(step["tick"])
        else:
            said_of = {
                report.id: {
                    "floor": report.floor,
                    "epochs": [session.epoch for session in report.sessions],
                }
                for report in self.gate.report()
            }
            assert said_of == step["report"]


@pytest.mark.parametrize("vector", FILE["vectors"], ids=lambda vector: vector["name"])
def test_vector(vector: dict[str, Any]) -> None:
    player = Player()
    for number, step in enumerate(vector["steps"]):
        try:
            player.play(step)
        except AssertionError as error:
            raise AssertionError(f"step {number}: {json.dumps(step)}: {error}") from error


def test_every_refusal_has_a_vector() -> None:
    expected = {step.get("expect") for vector in FILE["vectors"] for step in vector["steps"]}
    assert {refusal.value for refusal in Refusal} <= expected
