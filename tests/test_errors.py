"""What an error says after an unknown name."""

import pytest

from paceline.errors import nearest


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
