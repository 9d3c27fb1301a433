"""A model in parts that follow each other, with about the same arithmetic each.

It is cut where its own code lets one value pass from what comes before to what comes after, as torch.fx reads it.
"""

from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.fx.passes.split_module import split_module
from torch.utils.flop_counter import FlopCounterMode

from paceline.errors import StudyError
from paceline.models.dropout import Dropout


def cut(model: nn.Module, example: Tensor, count: int) -> list[nn.Module]:
    """The model as so many modules, one behind the other, each with parameters. `example`: one that it is given."""
    traced = fx.GraphModule(model, _graph(model))
    nodes = [node for node in traced.graph.nodes if node.op not in ("placeholder", "output")]
    starts = _starts(traced, nodes, _costs(traced, example), count)
    if starts is None:
        raise StudyError(f"this model cannot be cut into {count} parts that follow each other.", key="devices")
    stages = enumerate(pairwise([*starts, len(nodes)]))
    stage_of = {node.name: stage for stage, (begin, end) in stages for node in nodes[begin:end]}
    split = split_module(traced, model, lambda node: stage_of[node.name])
    return [getattr(split, f"submod_{number}") for number in range(count)]


def _graph(model: nn.Module) -> fx.Graph:
    """The same in training and in evaluation, for the parts are made of it once."""
    was_training = model.training
    both = [_Layers().trace(model.train(mode)) for mode in (False, True)]
    model.train(was_training)
    if str(both[0]) != str(both[1]):
        raise StudyError(
            "this model does something else in training than in evaluation by its own code (self.training), which a "
            "pipeline cannot follow. Use layers for it, as nn.Dropout instead of F.dropout.",
            key="strategy",
        )
    return both[1]


class _Layers(fx.Tracer):
    """Sees our own dropout as one layer."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return isinstance(m, Dropout) or super().is_leaf_module(m, module_qualified_name)


class _Counter(fx.Interpreter):
    """Notes the arithmetic of every node."""

    def __init__(self, traced: fx.GraphModule) -> None:
        super().__init__(traced)
        self.costs: dict[str, int] = {}

    def run_node(self, n: fx.Node) -> Any:
        with FlopCounterMode(display=False) as counted:
            found = super().run_node(n)
        self.costs[n.name] = counted.get_total_flops()
        return found


def _costs(traced: fx.GraphModule, example: Tensor) -> dict[str, int]:
    counter, was_training = _Counter(traced), traced.training
    traced.eval()
    with torch.no_grad():
        counter.run(example)
    traced.train(was_training)
    return counter.costs


def _starts(traced: fx.GraphModule, nodes: list[fx.Node], costs: dict[str, int], count: int) -> list[int] | None:
    """Where the parts begin, so that the one that costs most costs the least; None if there are not so many."""
    used = [_parameters(traced, node) for node in nodes]
    gone = list(accumulate((costs[node.name] for node in nodes), initial=0))
    owned = list(accumulate((len(own) for own in used), initial=0))
    ends = [place for place in range(1, len(nodes)) if _may_end(traced, nodes, used, place)]
    best: dict[int, tuple[int, list[int]]] = {0: (0, [])}  # by where a part ends: the most one costs, where all begin
    for _ in range(count):
        ways = {
            end: [
                (max(most, gone[end] - gone[begin]), [*starts, begin])
                for begin, (most, starts) in best.items()
                if owned[begin] < owned[end]
            ]
            for end in [*ends, len(nodes)]
        }
        best = {end: min(each) for end, each in ways.items() if each}
    return best[len(nodes)][1] if len(nodes) in best else None


def _parameters(traced: fx.GraphModule, node: fx.Node) -> set[nn.Parameter]:
    if node.op == "call_module":
        return set(traced.get_submodule(str(node.target)).parameters())
    if node.op == "get_attr":
        owner, _, name = str(node.target).rpartition(".")
        found = getattr(traced.get_submodule(owner), name)
        return {found} if isinstance(found, nn.Parameter) else set()
    return set()


def _may_end(traced: fx.GraphModule, nodes: list[fx.Node], used: list[set[nn.Parameter]], place: int) -> bool:
    """Whether one value alone passes between what is before this place and what is from it on, and no parameter is
    of both."""
    before, after = set(nodes[:place]), set(nodes[place:])
    inputs = {node for node in traced.graph.nodes if node.op == "placeholder"}
    passing = {given for node in after for given in node.all_input_nodes if given in before or given in inputs}
    alone = len(passing) == 1 and not passing & inputs
    return alone and not set().union(*used[:place]) & set().union(*used[place:])
