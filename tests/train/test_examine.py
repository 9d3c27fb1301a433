import torch

from paceline.train.examine import examinable, examine


def test_the_matrix_counts_answers_and_the_surest_mistakes_come_first():
    targets = torch.tensor([0, 0, 1, 1, 2])
    outputs = torch.tensor([[5.0, 0, 0], [0, 1, 0], [0, 5, 0], [9, 0, 0], [0, 0, 1]])
    found = examine(outputs, targets)
    assert found.matrix == ((0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1), (2, 2, 1))
    assert [(m.index, m.truth, m.said) for m in found.worst] == [(3, 1, 0), (1, 0, 1)]
    assert found.worst[0].probability > 0.99


def test_values_have_no_classes_to_take_for_one_another():
    assert [examinable(classes) for classes in (None, 1, 2, 1000, 1001)] == [False, False, True, True, False]


def test_no_mistake_is_none_to_show():
    found = examine(torch.eye(3), torch.arange(3))
    assert found.worst == ()
