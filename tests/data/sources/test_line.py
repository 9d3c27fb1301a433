import torch

from paceline.data.sources.line import line


def test_the_four_points(files):
    data = line(files)
    assert data.train.x.tolist() == [[1], [2], [3], [4]]
    assert data.train.y.tolist() == [[0], [-1], [-2], [-3]]
    assert data.train.x.dtype == data.train.y.dtype == torch.float32
    assert data.test is data.train
    assert data.validation is None
    assert data.classes is None
    assert (data.input_shape, data.outputs) == ((1,), 1)
    assert data.checksum.startswith("sha256:")
