"""What a run costs, by its shape."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.data.batches import Composition
from paceline.plan.cost import Facts, check_size, cost, facts_of
from paceline.spec import Run
from paceline.spec.argument import ArgumentError
from paceline.spec.part import read
from paceline.spec.parts import TABLE

from .studies import BASE


def run(**said: Any) -> Run:
    return Run.model_validate({**BASE, **said})


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("line", Facts(4, 4, (1,), 1)),
        ("digits", Facts(1137, 660, (1, 8, 8), 10)),
        ({"name": "digits", "validation": 0, "test": 97}, Facts(1700, 97, (1, 8, 8), 10)),
        ("mnist", Facts(55_000, 15_000, (1, 28, 28), 10)),
        ({"name": "fashion_mnist", "validation": 0}, Facts(60_000, 10_000, (1, 28, 28), 10)),
        ({"name": "synthetic", "examples": 50, "shape": [3, 4, 5], "classes": 2}, Facts(50, 1000, (3, 4, 5), 2)),
        ("cifar10", Facts(45_000, 15_000, (3, 32, 32), 10, in_bytes=True)),
        ({"name": "cifar100", "validation": 0}, Facts(50_000, 10_000, (3, 32, 32), 100, in_bytes=True)),
        ({"name": "cifar100", "labels": "coarse"}, Facts(45_000, 15_000, (3, 32, 32), 20, in_bytes=True)),
        ("fruits", Facts(1064, 447, (3, 96, 96), 6, in_bytes=True)),
        ({"name": "fruits", "copies": 8, "split": "copies"}, Facts(9791, 3808, (3, 96, 96), 6, in_bytes=True)),
        ({"name": "caltech101", "size": 64}, Facts(5206, 3471, (3, 64, 64), 101, in_bytes=True)),
        (
            {"name": "caltech101", "split": "random", "validation": 0},
            Facts(6942, 1735, (3, 96, 96), 101, in_bytes=True),
        ),
        ({"name": "caltech256", "test": 0.5}, Facts(13_773, 16_834, (3, 96, 96), 257, in_bytes=True)),
        ("folder:somewhere", None),
        ("my_data:load", None),
    ],
)
def test_the_size_of_data(said: Any, facts: Facts | None) -> None:
    assert facts_of(read("data", said)) == facts


def test_a_warm_up_longer_than_so_many_epochs_is_refused() -> None:
    """digits has 1137 examples to train on, so 12 batches of 100."""
    check_size(run(steps=None, epochs=2, warmup=24))
    check_size(run(data="my_data:load", steps=None, epochs=2, warmup=25))
    with pytest.raises(
        ArgumentError, match="warmup is 25 steps, the whole run of 2 epochs 24; say at most 24"
    ) as found:
        check_size(run(steps=None, epochs=2, warmup=25))
    assert found.value.key == "warmup"
    with pytest.raises(ArgumentError, match="epochs 3; say at most 3"):
        check_size(run(steps=None, epochs=0.5, warmup=25, batch=100, devices=2, batch_mode="per_device"))


@pytest.mark.parametrize(
    ("said", "steps", "rows"),
    [
        ({"steps": 10}, 10, 11),
        ({"steps": 1000}, 1000, 21),
        ({"steps": 1000, "evaluate_every": 10}, 1000, 101),
        ({"steps": 1005, "evaluate_every": 10}, 1005, 102),
        ({"steps": 120, "evaluate_every": "epoch"}, 120, 12),
        ({"steps": None, "epochs": 2}, 24, 3),
        ({"steps": None, "epochs": 2, "evaluate_every": 6}, 24, 5),
        ({"steps": None, "epochs": 0.5}, 6, 2),
        ({"steps": None, "epochs": 2, "batch": 5000}, 2, 3),
        ({"steps": None, "epochs": 3, "subset": 100, "batch": 10}, 30, 4),
        ({"steps": None, "epochs": 3, "subset": 100, "batch": "10 + 10 * epoch"}, 10 + 5 + 4, 4),
        ({"steps": 12, "subset": 100, "batch": "10 + 10 * epoch", "evaluate_every": 4}, 12, 4),
    ],
)
def test_steps_and_rows(said: dict[str, Any], steps: int, rows: int) -> None:
    found = cost(run(**said), 1)
    assert found is not None
    assert (found.steps, found.rows) == (steps, rows)


@pytest.mark.parametrize(
    ("batch", "epochs", "miss"),
    [
        ("1 + epoch", 9_000, 0),
        ("1 + epoch", 30_000, 0),
        ("1 + epoch", 2.1, 0),
        ("10 + 10 * epoch", 0.5, 0),
        ("1 + epoch // 1000", 25_000.5, 0.01),
        ("100 - epoch // 300", 25_000, 0.01),
    ],
)
def test_growing_batches_have_as_many_steps_as_are_trained(batch: str, epochs: float, miss: float) -> None:
    said = run(steps=None, epochs=epochs, batch=batch, subset=100)
    found = cost(said, 1)
    assert found is not None
    assert found.steps == pytest.approx(Composition(said, 1200).total_steps(), rel=miss, abs=0)


def test_the_examples_of_very_many_epochs_are_counted() -> None:
    """As those of as many epochs, were they asked for."""
    steps, epochs = (
        cost(run(**said, batch="1 + epoch", subset=100), 1)
        for said in ({"steps": 100_000}, {"steps": None, "epochs": 99_600, "evaluate_every": 5000})
    )
    assert steps is not None
    assert epochs is not None
    assert steps.seconds == pytest.approx(epochs.seconds, rel=0.05)


def test_a_batch_that_comes_to_nothing_late_is_refused() -> None:
    with pytest.raises(ArgumentError, match="holds at least 1 example"):
        check_size(run(steps=None, epochs=30_000, batch="20000 - epoch"))


@pytest.mark.parametrize("batch", ["40 - 10 * epoch", "200 - 3 * epoch"])
def test_a_shrinking_batch_counts_only_to_the_last_epoch(batch: str) -> None:
    said = run(steps=None, epochs=4, batch=batch)
    check_size(said)
    assert cost(said, 1) is not None


@pytest.mark.parametrize("model", sorted(set(TABLE["model"]) - {"line"}))
@given(width=st.integers(1, 500), steps=st.integers(1, 1000))
def test_more_work_costs_more(model: str, width: int, steps: int) -> None:
    said = {"data": "mnist", "model": model, "evaluate_every": 7}
    small, more = cost(run(**said, batch=width, steps=steps), 2), cost(run(**said, batch=width, steps=steps + 1), 2)
    wider, alone = cost(run(**said, batch=width + 1, steps=steps), 2), cost(run(**said, batch=width, steps=steps), 1)
    assert small is not None
    assert more is not None
    assert wider is not None
    assert alone is not None
    assert 0 < small.seconds < min(more.seconds, wider.seconds, alone.seconds)
    assert 0 < small.bytes <= wider.bytes


def test_memory_grows_with_precision() -> None:
    single, double = cost(run(), 1), cost(run(precision="fp64"), 1)
    assert single is not None
    assert double is not None
    assert single.bytes < double.bytes


def test_every_built_in_has_a_cost() -> None:
    line = run(data="line", model="line", loss="mse")
    assert cost(line, 1) is not None
    for model in set(TABLE["model"]) - {"line"}:
        assert all(cost(run(data=data, model=model), 1) for data in set(TABLE["data"]) - {"line", "folder"})


def test_what_is_the_users_own_is_unknown() -> None:
    assert cost(run(data="my_data:load"), 1) is None
    assert cost(run(model="my_models:Net"), 1) is None
    check_size(run(data="my_data:load", batch="1 - epoch", steps=10**6))


@pytest.mark.parametrize(
    ("said", "key"),
    [
        ({"data": {"name": "digits", "validation": 1000, "test": 1000}}, "data"),
        ({"subset": 1138}, "subset"),
        ({"batch": "500 - 100 * epoch", "steps": 100}, "batch"),
    ],
)
def test_what_the_data_is_too_small_for(said: dict[str, Any], key: str) -> None:
    with pytest.raises(ArgumentError) as error:
        check_size(run(**said))
    assert error.value.key == key
