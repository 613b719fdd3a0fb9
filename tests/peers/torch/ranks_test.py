# SPDX-License-Identifier: Apache-2.0
"""Compares optimizers of sharded parameters with that of one process: after 20 steps of equal gradients,
parameters and states have one hash. Eight processes play all worlds; those outside a mesh wait."""

import copy
import hashlib
import multiprocessing
import os
import shutil
import sys
import tempfile
import traceback
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import (StateDictOptions, get_optimizer_state_dict,
                                                     set_optimizer_state_dict)
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import (DeviceMesh, DTensor, Partial, Replicate, Shard, distribute_tensor,
                                      init_device_mesh)
from torch.distributed.tensor.placement_types import _StridedShard

import lowp_torch
from lowp_torch import build

F32, BF16, CODE, COMPANDED = torch.float32, torch.bfloat16, torch.uint8, "companded"
RANKS, STEPS, SEED = 8, 20, 2**40 + 7
# Rows that are whole blocks and that are not, fewer rows than ranks, four dimensions, and one.
SHAPES = {"even": (16, 512), "uneven": (37, 300), "few": (3, 700), "four": (5, 3, 2, 11), "one": (130,),
          "wide": (6, 2048)}
SETTINGS = [dict(storage="plain", state_dtype=CODE, rounding="stochastic"),
            dict(storage="corrected8", state_dtype=COMPANDED, rounding="stochastic"),
            dict(storage="kahan", state_dtype=BF16, rounding="stochastic_fast")]


class Model(nn.Module):
    def __init__(self, names=tuple(SHAPES)):
        super().__init__()
        torch.manual_seed(1)
        for name, shape in SHAPES.items():
            start = torch.randn(shape).to(BF16)
            if name in names:
                self.register_parameter(name, nn.Parameter(start))


def gradient(name, step):
    torch.manual_seed(1000 * step + list(SHAPES).index(name))
    return torch.randn(SHAPES[name]).to(BF16)


def optimizer_of(model, setting):
    """1-D tensors have one row, which a shard may cut: their moments are no codes."""
    named = list(model.named_parameters())
    rows, one = [[each for each in named if (each[0] == "one") == alone] for alone in (False, True)]
    groups = [{"params": rows}] + ([{"params": one, "state_dtype": F32 if setting["state_dtype"] != BF16 else BF16}]
                                   if one else [])
    return lowp_torch.AdamW(groups, lr=1e-2, weight_decay=0.1, seed=SEED, min_8bit_size=1000, **setting)


def placed(tensor, mesh, placements):
    """Returns a DTensor. Of strided shards, the inner mesh dimension has divided the tensor first."""
    if not isinstance(placements[0], _StridedShard):
        return distribute_tensor(tensor, mesh, placements)
    dim, (outer, inner) = placements[0].dim, mesh.get_coordinate()
    part = tensor
    for count, place in ((mesh.size(1), inner), (mesh.size(0), outer)):
        chunk = -(-part.size(dim) // count)
        begin = min(place * chunk, part.size(dim))
        part = part.narrow(dim, begin, min(chunk, part.size(dim) - begin))
    return DTensor.from_local(part.contiguous(), mesh, placements, run_check=False, shape=tensor.shape,
                              stride=tensor.stride())


def steps(model, optimizer, first=0, last=STEPS):
    for step in range(first, last):
        for name, p in model.named_parameters():
            g = gradient(name, step)
            p.grad = placed(g, p.device_mesh, p.placements) if isinstance(p, DTensor) else g
        optimizer.step()


def whole(tensor):
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def hashes(model, optimizer):
    """Returns a hash for each parameter: of its value and of its state."""
    result = {}
    for name, p in model.named_parameters():
        state = optimizer.state[p]
        sha = hashlib.sha256(repr(state["step"]).encode())
        parts = [p] + [state[key] for key in sorted(state) if key not in ("step", "written")]
        for part in parts:
            part = whole(part.detach()).contiguous()
            sha.update(repr((part.dtype, tuple(part.shape))).encode())
            sha.update(part.view(-1).view(torch.uint8).numpy().tobytes())
        result[name] = sha.hexdigest()
    return result


def references():
    """Returns hashes and reports of one process that has no DTensor."""
    result = []
    for setting in SETTINGS:
        model = Model()
        optimizer = optimizer_of(model, setting)
        steps(model, optimizer, 0, STEPS - 1)
        optimizer.report = True
        steps(model, optimizer, STEPS - 1, STEPS)
        result.append((hashes(model, optimizer), optimizer.reports))
    return result


def distributed(model, mesh, placements):
    for name, p in list(model.named_parameters()):
        setattr(model, name, nn.Parameter(placed(p.detach(), mesh, placements)))
    return model


def mesh_of(ranks, shape=None):
    """All processes call it; those outside get None."""
    mesh = DeviceMesh("cpu", torch.arange(ranks).view(shape or (ranks,)),
                      mesh_dim_names=("outer", "inner") if shape else None)
    return mesh if mesh.get_coordinate() is not None else None


def check(what, setting, mesh, place, wanted, names=tuple(SHAPES)):
    """Compares one sharding with one process."""
    if mesh is None:
        return
    model = place(Model(names), mesh)
    for name, p in model.named_parameters():  # a part of a model draws the bits of the whole
        p.lowp_number = [*(each for each in SHAPES if each != "one"), "one"].index(name)
    optimizer = optimizer_of(model, SETTINGS[setting])
    steps(model, optimizer, 0, STEPS - 1)
    optimizer.report = True
    steps(model, optimizer, STEPS - 1, STEPS)
    want_hashes, want_reports = wanted[setting]
    got = hashes(model, optimizer)
    wrong = [name for name in got if got[name] != want_hashes[name]]
    assert set(got) == set(names) and not wrong, (what, setting, wrong)
    reports = optimizer.merged_reports()
    for name in names:
        a, b = reports[name], want_reports[name]
        assert (a.count, a.stalled, a.overflowed, a.nonfinite) == (b.count, b.stalled, b.overflowed, b.nonfinite)
        assert abs(a.applied - b.applied) <= 1e-6 * b.requested >= abs(a.requested - b.requested), (a, b)
    for p in model.parameters():
        for key, value in optimizer.state[p].items():
            assert not torch.is_tensor(value) or isinstance(value, DTensor) == isinstance(p, DTensor), key
    if mesh.get_rank() == 0:
        print(f"{what}, {SETTINGS[setting]}: the bits of one process", flush=True)


def fsdp(model, mesh):
    return fully_shard(model, mesh=mesh)


def check_shardings(wanted):
    for ranks in (1, 2, 3, 4, 8):
        mesh = mesh_of(ranks)
        for setting in range(len(SETTINGS)):
            check(f"fully_shard on {ranks}", setting, mesh, fsdp, wanted)
    grid = mesh_of(4, (2, 2))
    for setting in range(len(SETTINGS)):
        check("fully_shard, replicated twice", setting, grid, fsdp, wanted)
        check("strided shards", setting, grid, lambda model, mesh: distributed(
            model, mesh, [_StridedShard(0, split_factor=2), Shard(0)]), wanted)
    for ranks in (2, 3, 4, 8):
        mesh = mesh_of(ranks)
        names = tuple(name for name in SHAPES if name != "one")
        check(f"columns on {ranks}", 2, mesh, lambda model, mesh: distributed(model, mesh, [Shard(1)]), wanted, names)
        if ranks != 3:  # of 2048 columns, whole blocks
            for setting in (0, 1):
                check(f"columns on {ranks}", setting, mesh, lambda model, mesh: distributed(model, mesh, [Shard(1)]),
                      wanted, ("wide",))
    check("rows and columns", 2, grid, lambda model, mesh: distributed(model, mesh, [Shard(0), Shard(1)]), wanted,
          ("even", "uneven", "few", "four", "wide"))
    check("strided columns", 2, grid, lambda model, mesh: distributed(
        model, mesh, [_StridedShard(1, split_factor=2), Shard(1)]), wanted, ("even", "wide"))
    check("replicated", 0, mesh_of(2), lambda model, mesh: distributed(model, mesh, [Replicate()]), wanted)


def run(rank, store, scratch):
    try:
        torch.set_num_threads(1)
        warnings.simplefilter("ignore")
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
        wanted = [references() if rank == 0 else None]
        dist.broadcast_object_list(wanted)
        check_shardings(wanted[0])
        dist.barrier()
        dist.destroy_process_group()
    except BaseException:
        traceback.print_exc()
        os._exit(1)


if __name__ == "__main__":
    fused = [("adamw", "bfloat16", *each, "stochastic") for each in (
        ("plain", "uint8"), ("plain", "float32"), ("corrected8", "companded"))]
    for kind in (build.HOST, build.ENGINE, *fused):
        build.built(kind)  # once, before processes part; the engine has the others
    scratch = tempfile.mkdtemp(dir=sys.argv[1])
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=run, args=(rank, os.path.join(scratch, "store"), scratch))
                for rank in range(RANKS)]
    for child in children:
        child.start()
    is_fine = True
    for child in children:
        while child.is_alive() and is_fine:
            child.join(0.1)
            is_fine = all(each.exitcode in (None, 0) for each in children)
        if not is_fine:
            for each in children:
                each.kill()
        child.join()
    shutil.rmtree(scratch)
    sys.exit(0 if all(child.exitcode == 0 for child in children) else 1)
