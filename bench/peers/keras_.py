"""Keras 3 on torch: one Dense layer, `fit` with an epoch as long as the evaluations are apart."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

os.environ["KERAS_BACKEND"] = "torch"

import keras
from keras import optimizers

from bench.peers.tight import batches
from bench.peers.work import CLASSES, PIXELS, Images, Point, Setting, Sweep, check, one_by_one

TEST_BATCH = 10_000

_adagrad = partial(optimizers.Adagrad, initial_accumulator_value=0.1)

OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "gd": optimizers.SGD,
    "momentum": partial(optimizers.SGD, momentum=0.9),
    "nesterov": partial(optimizers.SGD, momentum=0.9, nesterov=True),
    "adagrad": _adagrad,
    "adadelta": partial(optimizers.Adadelta, rho=0.95, epsilon=1e-8),
    "adam": optimizers.Adam,
    "rmsprop": partial(optimizers.RMSprop, rho=0.9),
    "ftrl": partial(optimizers.Ftrl, learning_rate_power=-0.5, initial_accumulator_value=0.1),
    "proximal_adagrad": _adagrad,  # without penalties it is adagrad
}


def sweep(settings: Sequence[Setting], data: Images, steps: int, evaluate_every: int) -> Sweep:
    return one_by_one(settings, lambda setting: train(setting, data, steps, evaluate_every))


def train(setting: Setting, data: Images, steps: int, evaluate_every: int) -> list[Point]:
    check(steps, evaluate_every)
    model = keras.Sequential([keras.Input((PIXELS,)), keras.layers.Dense(CLASSES, kernel_initializer="zeros")])
    model.compile(
        optimizer=OPTIMIZERS[setting.optimizer](learning_rate=setting.lr),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    history = model.fit(
        batches(data),  # as fast as arrays, and no epoch is cut short where these would end
        shuffle=False,
        steps_per_epoch=evaluate_every,
        epochs=steps // evaluate_every,
        validation_data=(data.test_x, data.test_y),
        validation_batch_size=TEST_BATCH,
        verbose=0,
    ).history
    looked_at = range(evaluate_every, steps + 1, evaluate_every)
    found = zip(looked_at, history["val_loss"], history["val_accuracy"], strict=True)
    return [Point(step, float(loss), float(accuracy)) for step, loss, accuracy in found]
