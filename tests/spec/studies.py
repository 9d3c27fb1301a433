"""Study files for the tests: a base that is right, and whatever a test adds to it."""

SAID = {"data": "digits", "model": "softmax", "optimizer": "adam", "lr": 0.1, "steps": 10}
BASE = {key: str(value) for key, value in SAID.items()}


def study(extra: str = "", **base: str | None) -> str:
    """`name` on line 1, `base` on 2, data 3, model 4, optimizer 5, lr 6, steps 7, then new base keys, then `extra`.

    A base key given as None is left out; a dot in a key is written as two underscores.
    """
    settings = {**BASE, **{key.replace("__", "."): value for key, value in base.items()}}
    lines = [f"  {key}: {value}\n" for key, value in settings.items() if value is not None]
    return f"name: trial\nbase:\n{''.join(lines)}{extra}"
