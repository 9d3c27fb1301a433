"""What a user may ask of an answer: a value to time, a price of devices."""

import math

from paceline.errors import StudyError


def check_target(target: float | None, metric: str) -> None:
    if target is not None and not -math.inf < target <= (1 if metric == "accuracy" else math.inf):
        allowed = "a number up to 1, as 0.95" if metric == "accuracy" else "a number"
        raise StudyError(f"{target:g} is no {metric} to reach; say {allowed}.", where="--target")


def check_price(price: float | None) -> None:
    """Of a device-hour."""
    if price is not None and not 0 < price < math.inf:
        raise StudyError(f"{price} is no price of a device-hour; say a number above 0.", where="--price")
