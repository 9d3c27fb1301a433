"""Every verb as a user types it: what it prints, what it leaves, its exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

SMALL = """
name: small
question: Which rate?
base: {data: digits, model: softmax, optimizer: gd, batch: 100, steps: 6, evaluate_every: 3}
tune: {lr: [0.1, 1.0]}
repeat: 2
scales:
  quick: {steps: 2, evaluate_every: 1}
"""
LINE = """
name: four-points
base: {data: line, model: line, loss: sum_squares, order: file, steps: 40, evaluate_every: 20}
cases:
  fine: {optimizer: gd, lr: 0.01}
  wild: {optimizer: gd, lr: 1.0}
  tuned: {optimizer: adam, tune: {lr: [0.1, 0.2], optimizer.beta2: [0.99, 0.999]}}
repeat: 1
"""


def test_list_and_check(cli, study_file):
    code, out, _ = cli("list")
    assert code == 0
    assert "quickstart" in out
    assert cli("check", study_file(SMALL))[:2] == (0, "small: ok. axes: lr; 2 seeds; 4 runs.\n")
    assert "3 cases, axes: lr, optimizer.beta2; 1 seed; 6 runs" in cli("check", study_file(LINE))[1]


def test_check_and_plan_say_what_is_missing_here(cli, study_file):
    lost = "data: folder:photos, weights: mine.npz, model: resnet18, device: mps"
    file = study_file(SMALL.replace("data: digits, model: softmax", lost))
    for verb in ("check", "plan"):
        code, out, _ = cli(verb, file)
        assert code == 0
        assert f"Data: {file.parent}/photos is no folder." in out
        assert "Weights: mine.npz is missing." in out
        if sys.platform != "darwin":
            assert "Left out here: 4 runs. device: mps, but this machine has no" in out


def test_plan_trains_nothing(cli, study_file, tmp_path):
    file = study_file(SMALL)
    code, out, _ = cli("plan", file)
    assert code == 0
    assert "4 runs: 2 settings (lr) x 2 seeds; 0 of 4 done." in out
    assert "24 steps" in out
    assert "GB of memory" in out
    assert "MB of disk" in out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["study.yaml"]


def test_run_then_continue_then_grow(cli, study_file, tmp_path):
    file = study_file(SMALL)
    code, out, _ = cli("run", file, "--out", "here")
    assert code == 0
    assert "small: 0 of 4 done." in out
    assert "4 of 4 done. Records: here/small" in out
    stamps = {p: p.stat().st_mtime_ns for p in Path("here").rglob("rows.jsonl")}
    code, out, _ = cli("run", file, "--out", "here")
    assert "4 of 4 done." in out
    assert "Nothing is missing." in out
    code, out, _ = cli("run", file, "--out", "here", "--seeds", "3")
    assert "small: 4 of 6 done." in out
    assert "To train: 2 runs" in out
    assert {p: p.stat().st_mtime_ns for p in stamps} == stamps, "what was trained is left alone"
    assert pl.read_ndjson(next(iter(stamps)))["step"].unique().to_list() == [0, 3, 6]
    assert json.loads(Path("here/small/study.json").read_text())["study"]["repeat"] == 3


def test_like_runs_are_stacked_unless_told_otherwise(cli, study_file):
    file = study_file(SMALL)
    stacked, row = "Stacked: 4 runs in 1 stack of 4.", "In a row: 4 runs. Not stacked, 4: as asked."
    for verb in ("plan", "run"):
        assert stacked in cli(verb, file, "--jobs", "1", "--out", "stacked")[1]
        assert row in cli(verb, file, "--jobs", "1", "--no-stack", "--out", "row")[1]
    assert [json.loads(p.read_text())["stacked"] for p in Path("stacked").rglob("pack.json")] == [True]
    assert [json.loads(p.read_text())["stacked"] for p in Path("row").rglob("pack.json")] == [False]
    tables = [json.loads(cli("table", "small", "--format", "json", "--out", out)[1]) for out in ("stacked", "row")]
    for one, other in zip(*tables, strict=True):
        assert one == pytest.approx(other, rel=1e-4)
    assert "4 of 4 done" in cli("run", file, "--stack", "--out", "row")[1], "what is done is done"


def test_set_and_scale_are_stored_and_read_back(cli, study_file):
    file = study_file(SMALL)
    cli("run", file, "--scale", "quick", "--set", "lr=[0.5]", "--seeds", "1")
    stored = json.loads(Path("runs/small/study.json").read_text())["study"]
    assert (stored["base"]["steps"], stored["tune"], stored["repeat"]) == (2, {"lr": [0.5]}, 1)
    rows = json.loads(cli("table", file, "--format", "json")[1])
    assert [(row["lr"], row["runs"]) for row in rows] == [(0.5, 1)]


def test_a_record_is_read_by_name_file_or_folder(cli, study_file):
    file = study_file(SMALL)
    cli("run", file, "--seeds", "1")
    tables = {cli("table", name)[1] for name in (file, "small", "runs/small")}
    assert len(tables) == 1
    assert "small" in cli("status")[1]
    assert cli("status", "small")[0] == 0


def test_status_table_export_of_cases(cli, study_file):
    code, out, _ = cli("run", study_file(LINE))
    assert code == 0, "a diverged run is a result, not a failure"
    assert "6 of 6 done" in out
    status = cli("status")[1].splitlines()
    assert status[0].split() == ["study", "runs", "queued", "running", "done", "diverged", "failed", "interrupted"]
    assert status[1].split() == ["four-points", "6", "0", "0", "5", "1", "0", "0"]
    assert cli("export", "four-points", "--to", "csv", "--file", "rows.csv")[0] == 0
    rows = pl.read_csv("rows.csv")
    assert {"run", "case", "axis.lr", "optimizer.beta2", "seed", "step", "loss", "lr", "W", "b"} <= set(rows.columns)
    start = rows.filter(pl.col("step") == 0)
    assert start["loss"].to_list() == pytest.approx([23.66] * 6)
    assert start["W"].to_list() == pytest.approx([0.3] * 6)
    assert rows.filter(pl.col("case") == "wild")["nonfinite"].any()
    for form in ("text", "json", "csv", "md", "latex"):
        code, out, _ = cli("table", "four-points", "--format", form)
        assert code == 0
        assert "tuned" in out


def test_a_failed_run_keeps_its_traceback_and_the_study_goes_on(cli, study_file, tmp_path):
    parts = tmp_path / "brittle.py"
    parts.write_text(
        "from torch import nn\n"
        "def net(input_shape, classes, breaks=False):\n"
        "    if breaks: raise ValueError('glass')\n"
        "    return nn.Sequential(nn.Flatten(), nn.Linear(64, classes))\n"
    )
    file = study_file(
        "name: brittle\nbase: {data: digits, model: brittle:net, optimizer: gd, lr: 0.1, steps: 2}\n"
        "compare: {model.breaks: [true, false]}\nrepeat: 1\n"
    )
    code, out, err = cli("run", file)
    assert code == 1
    assert "1 of 2 done" in out
    assert f"1 run failed: ValueError: glass ({parts}, line 3, in net)\n" in out
    assert "Traceback" not in out + err
    status = [json.loads(p.read_text()) for p in Path("runs").rglob("status.json")]
    failed = [run for pack in status for run in pack["runs"].values() if run["status"] == "failed"]
    assert "raise ValueError('glass')" in failed[0]["traceback"]
    assert "Nothing is left to train but 1 run that failed; --retry-failed tries it again." in cli("run", file)[1]
    assert cli("run", file, "--retry-failed")[0] == 1
    assert cli("status")[1].splitlines()[1].split() == ["brittle", "2", "0", "0", "1", "0", "1", "0"]


def test_stale_runs_are_reported_and_redone_on_request(tmp_path, study_file, paceline):
    """In processes of their own, as a user's edits are: a module is imported once a process."""
    net = "from torch import nn\ndef net(input_shape, classes): return nn.Sequential(nn.Flatten(), nn.Linear(64, classes))\n"
    (tmp_path / "mine.py").write_text(net)
    file = study_file(
        "name: mine\nbase: {data: digits, model: mine:net, optimizer: gd, lr: 0.1, steps: 2}\nrepeat: 1\n"
    )

    def call(*words):
        child = paceline(*words, file, "--out", tmp_path / "out")
        assert child.wait() == 0
        return child.said

    call("run")
    assert "stale" not in call("plan")
    (tmp_path / "mine.py").write_text(net + "# changed\n")
    assert "1 finished runs are stale" in call("plan")
    assert "Nothing is missing" in call("run")
    assert "To train: 1 run " in call("run", "--redo-stale")
    assert "stale" not in call("plan")
    assert len(list((tmp_path / "out" / "mine" / ".replaced").iterdir())) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["check", "nothing"], "no study file and no gallery study 'nothing'"),
        (["check", "quikstart"], "Did you mean 'quickstart'?"),
        (["check", "absent.yaml"], "absent.yaml: no such file"),
        (["check", "."], "'.' is a folder; name a study file"),
        (["check", "/"], "'/' is a folder; name a study file"),
        (["check", ""], "no study file and no gallery study ''"),
        (["report", ""], "no records of '' under runs"),
        (["check", "quickstart", "--set", "seed=99999999999999999999999"], "at most 1e+18"),
        (["check", "quickstart", "--set", "base.lr=0.5"], "lr is an axis (tune.lr)"),
        (["check", "quickstart", "--set", "lr=-1"], "--set lr=-1: tune.lr"),
        (["check", "quickstart", "--set", "lr"], "say key=value"),
        (["check", "quickstart", "--scale", "huge"], "no scale 'huge'"),
        (["check", "quickstart", "--seeds", "0"], "--seeds 0: repeat"),
        (["table", "quickstart"], "no records of 'quickstart' under runs"),
        (["status", "quickstart"], "no records of 'quickstart' under runs"),
        (["export", "quickstart", "--to", "csv", "--file", "x"], "no records of 'quickstart'"),
        (["predict", "quickstart", "--devices", "4"], "no records of 'quickstart'"),
        (["predict", "nothing", "--devices", "4"], "no records of 'nothing' under runs"),
        (["run", "quickstart", "--data", "nowhere", "--out", "o"], "nowhere"),
        (["run", "quickstart", "--out", "/proc/nothing"], "cannot be written"),
        (["run", "quickstart", "--set", "measure=time", "--jobs", "2"], "one run at a time; leave --jobs out"),
        (["run", "quickstart", "--set", "measure=time", "--stack"], "one run at a time; leave --stack out"),
        (["run", "quickstart", "--set", "device=cuda"], "no CUDA device"),
        (["data", "check", "mnits"], "Did you mean 'mnist'?"),
        (["data", "get", "mnits"], "Nothing to fetch is called 'mnits'. Did you mean 'mnist'?"),
        (["data", "check", "folder:~nobody-of-that-name/x"], "home directory"),
        (["check", "x" * 300], "File name too long"),
        (["check", "quickstart", "--set", "base.evaluate_every=10 steps"], "Allowed: epoch. Or a whole number."),
        (["check", "quickstart", "--set", "scales=5", "--scale", "quick"], "scale"),
        (["predict", "quickstart", "--devices", "4", "--mechanism", "--format", "json"], "text alone"),
        (["data", "list", "--data", "nowhere"], "nowhere"),
    ],
)
def test_a_users_mistake_is_told_in_words_with_code_2(cli, words, message):
    if "device=cuda" in words:
        import torch

        if torch.cuda.is_available():
            pytest.skip("this machine has a CUDA device")
    code, out, err = cli(*words)
    assert code == 2
    assert message in err
    assert "Traceback" not in out + err


def test_a_target_and_a_price_are_checked(cli, study_file):
    file = study_file(SMALL)
    cli("run", file, "--jobs", "1")
    for verb in (["report"], ["advise"], ["predict", "--devices", "4"]):
        for said, message in (
            (["--price", "nan"], "no price of a device-hour"),
            (["--price", "0"], "no price of a device-hour"),
            (["--target", "nan"], "nan is no accuracy to reach"),
            (["--target", "2"], "2.0 is no accuracy to reach; say a number above 0, up to 1, as 0.95"),
            (["--target", "-1"], "-1.0 is no accuracy to reach"),
        ):
            code, out, err = cli(*verb, file, *said)
            assert code == 2
            assert message in err
            assert out == ""


def test_errors_name_the_study_as_the_user_did(cli, study_file):
    file = study_file(SMALL, "other.yaml")
    assert f"Run `paceline run {file}` first" in cli("predict", file, "--devices", "4")[2]


def test_missing_data_are_one_clear_error_before_anything_trains(cli, study_file, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PACELINE_DATA", raising=False)
    (tmp_path / "empty").mkdir()
    file = study_file(SMALL.replace("digits", "mnist"))
    code, _, err = cli("run", file, "--data", "empty")
    assert code == 2
    assert "train-images-idx3-ubyte.gz" in err
    assert str(tmp_path / "empty" / "mnist") in err
    assert "paceline data get mnist" in err
    assert not list(Path("runs").rglob("rows.jsonl")) or not any(
        p.stat().st_size for p in Path("runs").rglob("rows.jsonl")
    )


def test_data_verbs(cli, tmp_path, monkeypatch):
    assert "fashion_mnist" in cli("data", "list")[1]
    code, out, _ = cli("data", "check", "digits")
    assert code == 0
    assert [line.split()[2] for line in out.splitlines()[1:4]] == ["1137", "300", "360"]
    assert cli("data", "get", "digits")[0] == 0


def test_data_of_ones_own_are_checked(cli, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "def good(n=4): return 2 * (np.ones((n, 3)), np.arange(n) % 2)\n"
        "def words(): return 2 * (np.ones((2, 3)), np.array(['a', 'b']))\n"
        "def lost(): raise ValueError('no file')\n"
    )
    code, out, _ = cli("data", "check", "mine:good")
    assert code == 0
    assert [line.split()[1:3] for line in out.splitlines()[1:3]] == [["train", "4"], ["test", "4"]]
    for name, message in (
        ("mine:words", "labels that are text; number them from 0"),
        ("mine:goood", "Did you mean 'good'?"),
        ("yours:good", "no module 'yours'"),
        ("mine.py:good", "say mine:good, without .py"),
        ("mine:lost", f"mine:lost: ValueError: no file ({tmp_path / 'mine.py'}, line 4, in lost)"),
    ):
        code, _, err = cli("data", "check", name)
        assert code == 2
        assert message in err


def test_help_is_light():
    """No torch, polars, pydantic or scipy for --help; a person waits for it."""
    script = (
        "import sys; from paceline.cli import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'polars', 'pydantic', 'scipy', 'numpy', 'sklearn', 'altair'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert "plan" in done.stdout


def test_names_and_messages_with_brackets_are_shown_as_they_are(cli, study_file, tmp_path):
    (tmp_path / "odd.py").write_text("def net(): raise ValueError('cannot open [/tmp/x]')\n")
    file = study_file(
        "name: odd\nquestion: What of [this]?\nbase: {data: digits, optimizer: gd, lr: 0.1, steps: 1}\nrepeat: 1\n"
        "cases:\n  '[/a]': {model: softmax}\n  '[b] c': {model: odd:net}\n"
    )
    code, out, _ = cli("run", file)
    assert code == 1
    for words in ("cannot open [/tmp/x]", "[/a]", "[b] c", "What of [this]?"):
        assert words in out


def test_a_study_without_axes_has_one_line_with_its_mean(cli, study_file):
    cli(
        "run",
        study_file("name: one\nbase: {data: digits, model: softmax, optimizer: gd, lr: 0.1, steps: 2}\nrepeat: 3\n"),
    )
    (line,) = json.loads(cli("table", "one", "--format", "json")[1])
    assert (line["study"], line["runs"]) == ("one", 3)


def test_a_namesake_is_noticed(cli, study_file):
    cli("run", study_file(SMALL, "first.yaml"), "--seeds", "1")
    assert "was written by" in cli("run", study_file(SMALL.replace("1.0", "0.7"), "second.yaml"), "--seeds", "1")[1]
    code, out, err = cli("table", "first.yaml")
    assert code == 0
    assert "second.yaml" in err
    assert "0.7" in out


def test_other_seeds_are_another_study(cli, study_file):
    file = study_file(SMALL)
    cli("run", file, "--jobs", "1")
    study_file(SMALL.replace("steps: 6", "steps: 6, seed: 100"))
    assert "Now it says something else" in cli("table", file)[2]


def test_every_verb_tells_that_a_file_was_edited_after_it_was_run(cli, study_file):
    file = study_file(SMALL)
    cli("run", file, "--jobs", "1")
    study_file(SMALL.replace("steps: 6", "steps: 7"))
    said = f"These are the results of {file} as it was last run. Now it says something else"
    assert said in cli("report", file)[1]
    assert said in Path("runs/small/report.html").read_text()
    for verb in (["table"], ["advise"], ["export", "--to", "csv", "--file", "rows.csv"]):
        code, out, err = cli(verb[0], file, *verb[1:])
        assert code == 0
        assert f"Note: {said}" in err
        assert said not in out


def test_status_takes_a_file(cli, study_file):
    file = study_file(SMALL)
    cli("run", file, "--seeds", "1")
    assert cli("status", file)[1].splitlines()[1].split()[:2] == ["small", "2"]


def test_best_epoch_is_what_it_says(cli, study_file):
    file = study_file(
        SMALL.replace("lr: [0.1, 1.0]", "lr: [30.0]").replace("steps: 6", "steps: 40") + "select: best_epoch\n"
    )
    cli("run", file, "--seeds", "1")
    cli("export", "small", "--to", "csv", "--file", "rows.csv")
    (line,) = json.loads(cli("table", "small", "--format", "json")[1])
    assert line["accuracy"] == pytest.approx(pl.read_csv("rows.csv")["accuracy"].max(), rel=1e-5)


def test_run_ends_with_the_answer_and_the_page(cli, study_file, tmp_path):
    code, out, _ = cli("run", study_file(SMALL))
    assert code == 0
    assert "Report: runs/small/report.html" in out
    assert "n = 2 seeds" in out
    page = Path("runs/small/report.html").read_text()
    assert "Which rate?" in page
    assert "https://cdn" not in page
    code, out, _ = cli("report", "small", "--file", "page.html", "--figures", "figures")
    assert code == 0
    assert Path("page.html").stat().st_size > 500_000
    kinds = {path.suffix for path in Path("figures").iterdir()}
    assert {".png", ".svg", ".pdf", ".md", ".tex", ".csv"} <= kinds


def test_compare_joins_two_records_of_the_same_runs(cli, study_file):
    file = study_file(SMALL)
    for out, words in (("here", []), ("there", ["--set", "device=cpu"]), ("longer", ["--set", "steps=8"])):
        cli("run", file, "--out", out, "--jobs", "1", "--no-stack", *words)
    code, out, err = cli("compare", "here/small", "there/small")
    assert (code, err) == (0, "")
    assert out.startswith("A: here/small, B: there/small\n")
    assert "Accuracy is the same in every setting." in out
    assert "4 pairs of the same run in 2 settings; no run was refused." in out
    assert "Page: compare.html" in out
    assert Path("compare.html").stat().st_size > 500_000
    code, out, err = cli("compare", "here", "there", "--format", "json", "--file", "deep/page.html")
    assert [(line["setting"], line["n"], line["difference"]) for line in json.loads(out)] == [
        ("lr 0.1", 2, 0),
        ("lr 1", 2, 0),
    ]
    assert "Note: 4 pairs of the same run" in err
    assert Path("deep/page.html").exists()
    code, out, err = cli("compare", "here/small", "longer/small")
    assert (code, out) == (2, "")
    assert "nothing to compare" in err
    assert "another configuration: steps 6 in A, 8 in B (4 runs, such as lr 0.1)" in err
    code, _, err = cli("compare", "here/small", "nowhere")
    assert code == 2
    assert "nowhere: no such folder" in err


def test_the_schema_is_printed(cli):
    code, out, _ = cli("schema")
    assert code == 0
    assert json.loads(out)["required"] == ["name"]
