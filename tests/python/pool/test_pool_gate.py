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


def filled(step: dict[str, Any]) -> dict[str, Any]:
    """Returns the state of a step, with the leases that it does not write out."""
    fill = step.get("fill")
    if fill is None:
        return dict(step["apply"])
    more = [
        {"epoch": 1_000_000 + i, "end_ms": 30_000, "memory_bytes": 1, "share": 1}
        for i in range(fill["leases"])
    ]
    devices = [
        {**device, "leases": device["leases"] + more} if device["id"] == fill["device"] else device
        for device in step["apply"]["devices"]
    ]
    return {**step["apply"], "devices": devices}


class Player:
    def __init__(self) -> None:
        about = FILE["gate"]
        self.gate = LeaseGate(
            about["daemon"],
            about["memory_bytes"],
            about["grace_ms"],
            about["contact_ms"],
            about["pool"],
        )
        self.sessions: dict[str, int] = {}

    def play(self, step: dict[str, Any]) -> None:
        if "apply" in step:
            taken = self.gate.apply(msgspec.convert(filled(step), Desired), step["at_ms"])
            assert taken is step.get("expect", True)
        elif "admit" in step:
            claims = {"pool": FILE["gate"]["pool"], **step["admit"]}
            token = msgspec.convert(claims, Token)
            result = self.gate.admit(token, step["user"], step["at_ms"])
            if not isinstance(result, Refusal):
                self.sessions[step["session"]] = result
            said = result.value if isinstance(result, Refusal) else "admitted"
            assert said == step["expect"]
        elif "without_lease" in step:
            result = self.gate.admit_unleased()
            if not isinstance(result, Refusal):
                self.sessions[step["without_lease"]] = result
            assert (result.value if isinstance(result, Refusal) else "admitted") == step["expect"]
        elif "begin" in step:
            assert self.gate.begin(self.sessions[step["begin"]]) is step["expect"]
        elif "end" in step:
            self.gate.end(self.sessions[step["end"]])
        elif "close" in step:
            self.gate.close(self.sessions[step["close"]])
        elif "tick" in step:
            self.gate.tick(step["tick"])
        else:
            reports = {report.id: report for report in self.gate.report()}
            assert reports.keys() == step["report"].keys()
            for name, expected in step["report"].items():
                assert reports[name].floor == expected["floor"]
                assert [s.epoch for s in reports[name].sessions] == expected["epochs"]
                if "busy" in expected:
                    assert [s.busy for s in reports[name].sessions] == expected["busy"]


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
