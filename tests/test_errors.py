"""What an error says after an unknown name."""

import pytest

from paceline.errors import PacelineError, nearest, number_said


@pytest.mark.parametrize(
    ("name", "allowed", "said"),
    [
        ("MNIST", ["line", "mnist"], "Did you mean 'mnist'? Allowed: line, mnist."),
        ("net", ["Net", "net"], "Did you mean 'net'? Allowed: Net, net."),
        ("Learning_Rate", ["lr", "loss"], "Did you mean 'lr'? Allowed: loss, lr."),
        ("imagenet", ["line"], "Allowed: line."),
        ("gpu", ["cpu", "cuda"], "Did you mean 'cuda'? Allowed: cpu, cuda."),
        ("gpu", ["cpu"], "Did you mean 'cpu'? Allowed: cpu."),
    ],
)
def test_nearest(name, allowed, said):
    assert nearest(name, allowed) == said


def test_a_variable_that_is_no_number_is_refused(monkeypatch):
    assert number_said("PACELINE_OWN", 30.0) == 30.0
    for said, number in (("", 30.0), ("2.5", 2.5)):
        monkeypatch.setenv("PACELINE_OWN", said)
        assert number_said("PACELINE_OWN", 30.0) == number
    for said in ("30s", "-1", "nan"):
        monkeypatch.setenv("PACELINE_OWN", said)
        with pytest.raises(PacelineError, match=r"\$PACELINE_OWN is '.*'; give a number from 0"):
            number_said("PACELINE_OWN", 30.0)
