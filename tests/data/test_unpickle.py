import os
import pickle

import numpy as np
import pytest

from paceline.data.unpickle import ForeignError, arrays

MARKER = "was-run"


class Malicious:
    def __init__(self, call, *args):
        self.call, self.args = call, args

    def __reduce__(self):
        return self.call, self.args


def test_arrays_in_plain_containers_pass(python2_pickle):
    images = np.arange(6, dtype=np.uint8).reshape(2, 3)
    raw = python2_pickle({b"data": images, b"labels": [1, 2], b"name": b"x" * 300})
    assert b"cnumpy.core.multiarray\n_reconstruct\n" in raw
    read = arrays(raw)
    assert (read[b"data"] == images).all()
    assert (read[b"labels"], read[b"name"]) == ([1, 2], b"x" * 300)


@pytest.mark.parametrize(
    "thing",
    [
        Malicious(os.system, f"touch {MARKER}"),
        Malicious(eval, f"open('{MARKER}', 'w')"),
        Malicious(np.load, MARKER),
        Malicious(getattr, "text", "join"),
        os.system,
        np.random.RandomState,
    ],
    ids=["system", "eval", "load", "getattr", "function", "class"],
)
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_anything_else_is_refused_and_not_run(thing, protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ForeignError, match=r"it asks for \S+, which is no numpy array"):
        arrays(pickle.dumps({b"data": thing}, protocol))
    assert not (tmp_path / MARKER).exists()


@pytest.mark.parametrize("raw", [b"", b"rubbish", pickle.dumps([1, 2])[:-3]])
def test_a_broken_pickle_is_refused(raw):
    with pytest.raises(ForeignError, match="no sound pickle"):
        arrays(raw)
