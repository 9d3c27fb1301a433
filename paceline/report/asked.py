"""What a user may ask of an answer: a value to time, a price of devices."""

import math

from paceline.errors import StudyError
from paceline.spec.argument import is_number


def check_target(target: float | None, metric: str) -> None:
    if target is None:
        return
    higher = metric == "accuracy"
    if not is_number(target) or (higher and not 0 < target <= 1):
        allowed = "a number above 0, up to 1, as 0.95" if higher else "a number"
        raise StudyError(f"{target!r} is no {metric} to reach; say {allowed}.", where="--target")


def check_price(price: float | None) -> None:
    """Of a device-hour."""
    if price is not None and not 0 < price < math.inf:
        raise StudyError(f"{price} is no price of a device-hour; say a number above 0.", where="--price")
