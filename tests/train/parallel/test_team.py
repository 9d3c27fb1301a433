"""Processes become a team once the slowest of them is ready."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import os, time
import torch
from paceline.train.parallel.team import gathered

def read():
    time.sleep(4 * int(os.environ["RANK"]))

for _ in range(2):
    with gathered("cpu", 2, prepare=read) as team:
        total, = team.total(torch.ones(()))
if team.first:
    print(int(total))
"""


def test_the_slowest_reader_is_waited_for_however_little_patience_there_is(tmp_path: Path) -> None:
    """Twice, for a team meets anew for every run."""
    (tmp_path / "slow.py").write_text(SCRIPT)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--rdzv-backend=c10d"]
    done = subprocess.run(
        [*torchrun, "--rdzv-endpoint=localhost:0", str(tmp_path / "slow.py")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "PACELINE_HANG_SECONDS": "2"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == "2"
