"""The ten rules of tf.compat.v1.train, and their twins, held to trajectories that TensorFlow itself made."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from paceline.optim.optimizer import build

from .rules import RULES

FILES = [json.loads((Path(__file__).parent / f"tf1_{name}.json").read_text()) for name in ("optimizers", "more")]
DEFAULTS = {name: case.knobs for name, case in RULES.items()} | {"adadelta": {"rho": 0.95, "epsilon": 1e-8}}


def _cases(needed: str) -> list[Any]:
    """Each recorded case by the rule itself and, where it has one, by its twin."""
    params = []
    for file in FILES:
        for case in (case for case in file["cases"] if needed in case):
            knobs = ",".join(f"{name}={value}" for name, value in case["hyper"].items())
            for fused in (False, True) if RULES[case["optimizer"]].rule.twin else (False,):
                way = "twin" if fused else "rule"
                params.append(pytest.param(file, case, fused, id=f"{case['optimizer']}-{case['lr']}-{knobs}-{way}"))
    return params


def _optimizer(case: dict[str, Any], parameters: list[nn.Parameter], fused: bool) -> torch.optim.Optimizer:
    name, lr = case["optimizer"], case["lr"]
    return build(RULES[name].rule, parameters, lr, DEFAULTS[name] | case["hyper"], fused=fused)


def _assert_close(ours: Tensor, theirs: Any) -> None:
    expected = torch.tensor(theirs, dtype=torch.float32)
    torch.testing.assert_close(ours.detach(), expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize(("file", "case", "fused"), _cases("line"))
def test_line(file: dict[str, Any], case: dict[str, Any], fused: bool) -> None:
    """Within 1e-4 for 50 steps; later, where rounding has grown, the loss within a factor of 4 or all but zero."""
    line = file["line"]
    x, y = torch.tensor(line["x"], dtype=torch.float32), torch.tensor(line["y"], dtype=torch.float32)
    w, b = (nn.Parameter(torch.tensor([line[name]])) for name in ("W0", "b0"))
    optimizer = _optimizer(case, [w, b], fused)
    rows = {row[0]: row[1:] for row in case["line"]}
    for step in range(max(rows) + 1):
        loss = (w * x + b - y).square().sum()
        if step in rows:
            expected_loss, *expected = rows[step]
            if step <= 50:
                _assert_close(loss, expected_loss)
                _assert_close(torch.cat([w, b]), expected)
            elif max(loss.item(), expected_loss) > 1e-9:
                assert expected_loss / 4 <= loss.item() <= expected_loss * 4
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@pytest.mark.parametrize(("file", "case", "fused"), _cases("sequence"))
def test_sequence(file: dict[str, Any], case: dict[str, Any], fused: bool) -> None:
    draw = np.random.default_rng(file["sequence"]["seed"])
    shapes = ((40, 5, 3), (40, 3), (5, 3), (3,))
    g, h, p, q = (torch.from_numpy(draw.normal(size=shape).astype(np.float32)) for shape in shapes)
    matrix, vector = nn.Parameter(p), nn.Parameter(q)
    optimizer = _optimizer(case, [matrix, vector], fused)
    rows = {row[0]: row[1:] for row in case["sequence"]}
    for step in range(1, max(rows) + 1):
        matrix.grad, vector.grad = g[step - 1], h[step - 1]
        optimizer.step()
        if step in rows:
            _assert_close(matrix, rows[step][0])
            _assert_close(vector, rows[step][1])
