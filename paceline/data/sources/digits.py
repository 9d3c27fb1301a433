"""The 1,797 handwritten digits of 8 x 8 pixels that come with scikit-learn: no download."""

import numpy as np
import torch

from paceline.data.catalogue import DIGITS
from paceline.data.dataset import Dataset, Split
from paceline.data.locate import Files, find_inside
from paceline.data.stratify import stratified_order
from paceline.data.verify import read_verified
from paceline.errors import DataError


def digits(files: Files, *, validation: int = 300, test: int = 360) -> Dataset:
    """Pixels 0..16 become 0..1. The split is fixed and stratified; each part keeps the file's order."""
    assert DIGITS.inside is not None
    (file,) = DIGITS.files
    path = find_inside(DIGITS.inside, file.name)
    raw = read_verified(path, file, f"Run `pip install --force-reinstall {DIGITS.inside.install}`.")
    table = np.array([line.split(b",") for line in raw.splitlines()]).astype(np.float32)
    y = table[:, -1].astype(np.int64)
    if validation < 0 or test < 1 or validation + test >= len(y):
        raise DataError(
            f"digits: test {test} and validation {validation} do not fit; give a test of 1 or more, "
            f"a validation of 0 or more, together below {len(y)}."
        )
    x = (table[:, :-1] / 16).reshape(-1, *DIGITS.shape)

    def part(indices: np.ndarray) -> Split:
        kept = np.sort(indices)
        return Split(torch.from_numpy(x[kept]), torch.from_numpy(y[kept]))

    tested, held, trained = np.split(stratified_order(y, range(len(y)), "digits"), [test, test + validation])
    kept = part(held) if validation else None
    return Dataset("digits", part(trained), kept, part(tested), DIGITS.classes, DIGITS.checksum)
