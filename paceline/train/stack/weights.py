"""The parameters and buffers of all runs of a stack, and which of them is whose.

Scalars and vectors of a run lie together in one flat vector: a rule then updates them at one go.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

FLAT = ""  # the name of the flat vector among the leaves


class Weights:
    """Leaves [runs, ...] to take gradients of, and the model's parameters as views of them."""

    def __init__(self, models: Sequence[nn.Module]) -> None:
        first = models[0]
        named = {name: p for name, p in first.named_parameters() if p.requires_grad}
        self._shapes = {name: tuple(p.shape) for name, p in named.items()}
        self._small = [name for name, shape in self._shapes.items() if len(shape) < 2]
        self._widths = [named[name].numel() for name in self._small]
        parameters = [dict(model.named_parameters()) for model in models]
        with torch.no_grad():
            self.leaves: dict[str, Tensor] = {
                name: torch.stack([of_run[name] for of_run in parameters]).contiguous()
                for name in self._shapes
                if name not in self._small
            }
            if self._small:
                flat = [torch.cat([of_run[name].reshape(-1) for name in self._small]) for of_run in parameters]
                self.leaves[FLAT] = torch.stack(flat)
            self.buffers = {
                name: torch.stack([dict(model.named_buffers())[name] for model in models])
                for name, _ in first.named_buffers()
            }
        self._fixed = {
            name: torch.stack([of_run[name].detach() for of_run in parameters])
            for name, p in first.named_parameters()
            if not p.requires_grad
        }

    def require_gradients(self) -> None:
        for leaf in self.leaves.values():
            leaf.requires_grad_()

    def parameters(self, leaves: dict[str, Tensor] | None = None) -> dict[str, Tensor]:
        """By the model's names; of other leaves of the same make, if given."""
        leaves = leaves or self.leaves
        named = {name: leaf for name, leaf in leaves.items() if name != FLAT}
        if self._small:
            flat = leaves[FLAT]
            pieces = (flat,) if len(self._widths) == 1 else torch.split_with_sizes(flat, self._widths, 1)
            for name, piece in zip(self._small, pieces, strict=True):
                named[name] = piece if self._shapes[name] else piece.squeeze(1)
        return {**named, **self._fixed} if self._fixed else named

    def keep(self, kept: Tensor) -> None:
        with torch.no_grad():
            for of in (self.leaves, self.buffers, self._fixed):
                for name, value in of.items():
                    of[name] = value.index_select(0, kept)
        self.require_gradients()
