"""What Tab offers, asked as the shells ask: by environment variables, answered on stdout."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import paceline
from paceline.cli import main

STUDY = """
name: mine
base: {data: digits, model: softmax, optimizer: adam, steps: 6}
tune: {lr: [0.1, 1.0], optimizer.beta2: [0.9, 0.99]}
scales:
  quick: {steps: 2}
  quiet: {steps: 3}
"""
BASH = {"_PACELINE_COMPLETE": "complete_bash"}
ZSH = {"_PACELINE_COMPLETE": "complete_zsh"}
FISH = {"_PACELINE_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}


def environment(shell: str, line: str) -> dict[str, str]:
    if shell == "bash":
        return {**BASH, "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    return {**(ZSH if shell == "zsh" else FISH), "_TYPER_COMPLETE_ARGS": line}


def offers(shell: str, said: str) -> list[str]:
    """The words in a shell's answer."""
    lines = said.split("\n")[:-1] if said else []
    if shell == "zsh":
        if said == "_files\n":
            return []
        lines = said.removeprefix("_arguments '*: :((").removesuffix("))'\n").split("\n")
        return [line.split('"')[1] for line in lines]
    return [line.split("\t")[0] for line in lines if line]


@pytest.fixture(params=["bash", "zsh", "fish"])
def tab(request, tmp_path, monkeypatch, capsys) -> Callable[[str], list[str]]:
    """Presses Tab after a line, in a folder with a study file and two records."""
    (tmp_path / "mine.yaml").write_text(STUDY)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "other.yml").write_text("not: [valid")
    (tmp_path / "notes.txt").touch()
    for record in ("runs/quickstart", "elsewhere/older"):
        (tmp_path / record).mkdir(parents=True)
        (tmp_path / record / "study.json").touch()
    monkeypatch.chdir(tmp_path)

    def press(line: str) -> list[str]:
        with monkeypatch.context() as patch:
            for name, value in environment(request.param, line).items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["paceline"])
            patch.setattr(sys.modules["__main__"], "__package__", None)  # as of the installed script
            with pytest.raises(SystemExit):
                main()
        said = capsys.readouterr()
        assert not said.err
        return offers(request.param, said.out)

    return press


def test_verbs(tab):
    assert tab("paceline pl") == ["plan"]
    assert tab("paceline data ") == ["list", "get", "check"]


@pytest.mark.parametrize("verb", ["check", "plan", "run"])
def test_studies_that_ship_and_study_files(tab, verb):
    assert tab(f"paceline {verb} quick") == ["quickstart"]
    assert tab(f"paceline {verb} mi") == ["mine.yaml"]
    assert {"quickstart", "mnist-fast", "mine.yaml"} < set(tab(f"paceline {verb} "))
    assert tab(f"paceline {verb} more/") == ["more/other.yml"]
    assert tab(f"paceline {verb} nowhere/") == []


@pytest.mark.parametrize("verb", ["status", "table", "report", "advise", "predict", "export"])
def test_what_is_recorded(tab, verb):
    assert tab(f"paceline {verb} ") == ["quickstart", "mine.yaml"]
    assert tab(f"paceline {verb} --out elsewhere o") == ["older"]


@pytest.mark.parametrize("verb", ["check", "plan", "run"])
def test_sizes_of_the_study(tab, verb):
    assert tab(f"paceline {verb} mine.yaml --scale ") == ["quick", "quiet"]
    assert tab(f"paceline {verb} mine.yaml --scale quie") == ["quiet"]
    assert tab(f"paceline {verb} more/other.yml --scale ") == []
    assert tab(f"paceline {verb} --scale ") == []


def test_keys_of_the_study_come_first(tab):
    assert tab("paceline run mine.yaml --set ")[:3] == ["lr=", "optimizer.beta2=", "data="]
    assert tab("paceline run mine.yaml --set steps=3 --set opt") == ["optimizer.beta2=", "optimizer="]
    assert "accumulate=" in tab("paceline run nothing --set a")


def test_data_sets(tab):
    assert tab("paceline data get mn") == ["mnist"]
    assert tab("paceline data check di") == ["digits"]
    assert tab("paceline data get di") == []
    assert tab("paceline data get resnet18") == ["resnet18-f37072fd.pth"]


@pytest.mark.parametrize("line", ["paceline run q", "paceline run quickstart --set l", "paceline data get m"])
def test_nothing_heavy_is_imported(line, tmp_path):
    driver = (
        "import atexit, sys\n"
        "atexit.register(lambda: print({'torch', 'polars', 'numpy', 'scipy', 'altair'} & set(sys.modules)))\n"
        "sys.argv = ['paceline']\n"
        "from paceline.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", driver], cwd=tmp_path, env=environment("bash", line), capture_output=True, text=True
    )
    assert done.stdout.endswith("\nset()\n"), done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash")
def test_bash_itself_completes(tmp_path):
    """The script that `--show-completion` prints, in a real shell."""
    from typer._completion_shared import get_completion_script

    folder = Path(sys.executable).parent
    script = get_completion_script(prog_name="paceline", complete_var="_PACELINE_COMPLETE", shell="bash")
    asked = 'COMP_WORDS=(paceline run quick); COMP_CWORD=2; _paceline_completion paceline; echo "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{script}\n{asked}"],
        cwd=tmp_path,
        env={"PATH": f"{folder}:/usr/bin:/bin", "PYTHONPATH": str(Path(paceline.__file__).parents[1])},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "quickstart\n", done.stderr


def test_the_version(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["paceline", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert capsys.readouterr().out == f"paceline {paceline.__version__}\n"
