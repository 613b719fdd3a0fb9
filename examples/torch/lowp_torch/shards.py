# SPDX-License-Identifier: Apache-2.0
"""Places of a shard's elements in the whole tensor. Random bits and blocks follow them, so that every
sharding has the bits of the whole."""

import dataclasses
import math
import sys
from typing import Optional

import torch


def is_sharded(tensor) -> bool:
    """Returns whether the tensor is a DTensor."""
    module = sys.modules.get("torch.distributed.tensor")  # who has a DTensor has imported it
    return module is not None and isinstance(tensor, module.DTensor)


def local(tensor):
    """Returns the tensor, or this rank's part of a DTensor."""
    return tensor.to_local() if is_sharded(tensor) else tensor


def like(part, p, shape):
    """Returns this rank's part of a tensor with these sizes as a DTensor placed as `p`, if `p` is one."""
    if not is_sharded(p):
        return part
    from torch.distributed.tensor import DTensor
    strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
    return DTensor.from_local(part, p.device_mesh, p.placements, run_check=False, shape=torch.Size(shape),
                              stride=tuple(strides))


def blocks_shape(shape, block):
    """Returns the sizes of a tensor that has an element for each block of a tensor's rows."""
    return torch.Size([*shape[:-1], -(-(shape[-1] if len(shape) else 1) // block)])


def _taken(name, shape, p):
    """Returns the indices that this rank holds of each dimension."""
    taken = [torch.arange(size) for size in shape]
    if not is_sharded(p):
        return taken
    coordinate = p.device_mesh.get_coordinate()
    for i, placement in enumerate(p.placements):
        if placement.is_replicate():
            continue
        dim = getattr(placement, "dim", None)
        if dim is None or not hasattr(placement, "_split_tensor"):
            raise ValueError(f"{name}: a DTensor with {placement!r}: a step takes Shard and Replicate. "
                             "redistribute() it first")
        if coordinate is None:  # this rank is not in the mesh
            return [each[:0] for each in taken]
        as_dim = [1] * dim + [-1]
        parts, _ = placement._split_tensor(taken[dim].view(as_dim), p.device_mesh.size(i), with_padding=False)
        taken[dim] = parts[coordinate[i]].reshape(-1)
    return taken


def _is_range(indices):
    return len(indices) == 0 or int(indices[-1]) - int(indices[0]) + 1 == len(indices)


@dataclasses.dataclass(frozen=True)
class Place:
    """Runs of elements that lie side by side: run i begins at firsts[i], or at first + i * stride."""

    first: int
    run: int
    stride: int
    firsts: Optional[torch.Tensor]
    shape: tuple  # of the part
    blocks: tuple  # of the part: the sizes of a tensor with an element for each block


def place_of(name: str, p: torch.Tensor, block: int) -> Place:
    """Returns the place of a tensor's part. Without a `block` the bits do not depend on rows."""
    taken = _taken(name, p.shape, p)
    shape = tuple(map(len, taken))
    if shape != tuple(local(p).shape):
        raise ValueError(f"{name}: this rank's part has sizes {list(local(p).shape)}, where {p.placements} of "
                         f"{list(p.shape)} give {list(shape)}")
    blocks = tuple(blocks_shape(shape, block)) if block else ()
    n = math.prod(shape)
    if n == 0:
        return Place(0, 0, 0, None, shape, blocks)
    strides = [math.prod(p.shape[i + 1:]) for i in range(len(shape))]
    d, run, base = len(shape), 1, 0
    while d and shape[d - 1] == p.shape[d - 1]:
        d -= 1
        run *= shape[d]
    if d and _is_range(taken[d - 1]):
        d -= 1
        run *= shape[d]
        base = int(taken[d][0]) * strides[d]
    firsts = torch.tensor([base])
    for indices, stride in zip(taken[:d], strides):
        firsts = (firsts[:, None] + indices * stride).view(-1)
    if block and shape:
        whole, columns, begin = p.shape[-1], shape[-1], int(taken[-1][0])
        is_last = begin + columns == whole
        if not _is_range(taken[-1]) or begin % block or (columns % block and not is_last) or blocks != tuple(
                map(len, _taken(name, blocks_shape(p.shape, block), p))):
            raise ValueError(
                f"{name}: a DTensor of sizes {list(p.shape)} with {p.placements}: this rank's rows are elements "
                f"{begin} to {begin + columns} of {whole}, and cut a block of {block} that shares a scale. Give "
                "it a group with state_dtype=torch.float32")
        if columns % block and run > columns:
            firsts = (firsts[:, None] + torch.arange(0, run, columns)).view(-1)
            run = columns
    steps = firsts.diff()
    stride = int(steps[0]) if len(steps) else 0
    if len(steps) and bool((steps != stride).any()):
        return Place(0, run, 0, firsts.contiguous(), shape, blocks)
    if stride == run and not (block and shape and shape[-1] % block):
        run = n
    return Place(int(firsts[0]), run, stride, None, shape, blocks)


def number_parameters(model: torch.nn.Module) -> None:
    """Numbers the parameters of a model for the random bits of its optimizers.

    A parameter's number is else its index in its optimizer. Call this where an optimizer has a part of
    the model, as with ZeroRedundancyOptimizer. The bits do not depend on the division then. Call it
    after fully_shard().
    """
    for i, p in enumerate(model.parameters()):
        p.lowp_number = i


def merged(reports: dict, params: dict) -> dict:
    """Returns reports of whole tensors from those of all ranks' parts. All ranks call it alike."""
    import torch.distributed
    result, of_mesh = dict(reports), {}
    for name, p in params.items():
        if name in reports and is_sharded(p):
            divided = tuple(i for i, placement in enumerate(p.placements) if not placement.is_replicate())
            of_mesh.setdefault((p.device_mesh, divided), []).append(name)
    for (mesh, divided), names in of_mesh.items():
        kind = type(reports[names[0]])
        sums = torch.tensor([dataclasses.astuple(reports[name]) for name in names], dtype=torch.float64,
                            device=mesh.device_type)
        for i in divided:
            torch.distributed.all_reduce(sums, group=mesh.get_group(i))
        for name, values in zip(names, sums.tolist()):
            result[name] = kind(*map(int, values[:4]), *values[4:])
    return result
