"""What tests the pages: it finds the blocks, does them, and fails where a page is wrong."""

from pathlib import Path

import pytest

from tests.docs.blocks import blocks, commands, lacking
from tests.docs.pages import Page

STUDY = """
```yaml
name: small
base: {data: digits, model: softmax, optimizer: gd, steps: 4}
tune: {lr: [0.1, 1.0]}
repeat: 2
```
"""
DONE = """
    paceline run study.yaml   # trains
    paceline table small

```text
...
4 of 4 done. Records: runs/small
lr   accuracy  accuracy sd   loss   validation accuracy  done  runs
```

```python
import paceline

found = paceline.results("small")
```

- A list has paragraphs that are

    no code.

```python
print(found.runs.height, "runs")
```

```text
99 runs
```
"""


def walk(text: str, folder: Path) -> Page:
    (folder / "page.md").write_text(text)
    page = Page(folder)
    for block in blocks(folder / "page.md", "page.md"):
        page.do(block)
    return page


def test_the_blocks_of_a_page_run_in_order(tmp_path):
    page = walk(STUDY + DONE, tmp_path)
    assert (tmp_path / "runs" / "small" / "report.html").is_file()
    assert page.names["found"].runs.height == 4
    assert not page.absent
    found = [(block.language, block.line) for block in blocks(tmp_path / "page.md", "page.md")]
    assert found == [("yaml", 3), ("", 9), ("text", 13), ("python", 19), ("python", 29), ("text", 33)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("    paceline run quickstart --sed 3\n", "page.md:1.*ended with 2"),
        ("    paceline chekc quickstart\n", "ended with 2"),
        ("<!-- test: exit 1 -->\n    paceline check quickstart\n", "ended with 0"),
        ("<!-- test: parse needs GPUs -->\n```\npaceline run quickstart --sed 3\n```\n", "--sed"),
        ("<!-- test: parse needs GPUs -->\n```\npaceline run quickstart --set lrr=3\n```\n", "lrr"),
        ("    torchrun --nnodes=2 -m paceline runn study.yaml\n", "no verb `runn study.yaml`"),
        ("    torchrun --nodes=2 -m paceline run study.yaml\n", "page.md:1"),
        ("    paceline data get mnits\n", "mnits"),
        ("    make dmeo\n", "no target dmeo"),
        ("    make demo TORCH=x\n", "no variable TORCH"),
        ("    rm -rf x\n", "what is `rm`"),
        ("<!-- test: parse needs Slurm -->\n    exec paceline runn study.yaml\n", "no verb `runn"),
        ("<!-- test: parse needs Slurm -->\n    A=1 srun torchrun --nnodes=2 -m paceline runn x &\n", "no verb `runn"),
        ("```python\n1 / 0\n```\n", "division by zero"),
        ("```yaml\nbase: {optimizer: adan}\n```\n", "unknown optimizer 'adan'"),
        ("    paceline check quickstart\n\n```text\nquickstart: fine. ... 3 seeds; 72 runs.\n```\n", "not printed"),
        ("<!-- test: skip -->\n```sh\nx\n```\n", "say why"),
        ("<!-- test: into a.py after x -->\n```python\n1\n```\n", r"a\.py"),
        ("<!-- test: maybe -->\n", "none of run, file"),
        ("<!-- test: parse needs GPUs -->\nSome words.\n", "right above its block"),
    ],
)
def test_what_is_wrong_is_found(text, message, tmp_path):
    with pytest.raises(AssertionError, match=message):
        walk(text, tmp_path)


def test_what_is_written_for_the_reader_alone_is_not_run(tmp_path):
    text = """
    make demo TORCH_INDEX=https://example.org
    source .venv/bin/activate
    paceline data get mnist
    paceline compare runs/NAME elsewhere/NAME
    torchrun --nnodes=2 --nproc-per-node=4 -m paceline run study.yaml
    sbatch job.sh

<!-- test: parse it needs Slurm -->
```sh
#!/bin/bash
#SBATCH --array=1-8
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
CUDA_VISIBLE_DEVICES=0 paceline run study.yaml &
wait
exec srun torchrun --nnodes=2 --rdzv-endpoint="$first:29500" -m paceline run study.yaml
```
"""
    walk(STUDY + text, tmp_path)
    assert not (tmp_path / "runs").exists()


def test_what_needs_data_that_are_not_here_is_left_out_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.delenv("PACELINE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = STUDY.replace("digits", "fashion_mnist")
    told = ["page.md:9: fashion_mnist is not on this machine", "page.md:15: it may need what could not be trained"]
    after = "\n    paceline run study.yaml\n\n```text\nthree sentences\n```\n\n    paceline table smell\n"
    page = walk(text + after, tmp_path)
    assert len(page.absent) == len(told)
    assert all(reason.startswith(words) for reason, words in zip(page.absent, told, strict=True))


def test_commands_have_no_comments_and_may_go_on():
    assert commands("$ a b  # c\n# d\ne \\\n  f#g\n") == ["a b", "e f#g"]


def test_numbers_are_free_and_words_are_not():
    printed = "  adam     0.03   0.9667\nBest is adam at lr 0.03: accuracy 0.96, on test\n"
    assert not lacking("adam 0.1 1e-5\n...\nadam at lr 0.5: accuracy 7,000, on", printed)
    assert not lacking("Best is ... on test", printed)
    assert lacking("gd  0.1 0.2\nBest is adam at lr 0.5: loss", printed) == [
        "gd  0.1 0.2",
        "Best is adam at lr 0.5: loss",
    ]
    assert not lacking("gd 0.1 0.2\nBest is gd at lr 0.5: accuracy", printed, free=("adam", "gd"))
    assert lacking("mnist-2", "mnist-3") == []
    assert lacking("fp16", "fp32") == ["fp16"]
