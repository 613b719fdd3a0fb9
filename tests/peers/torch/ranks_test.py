# SPDX-License-Identifier: Apache-2.0
"""Compares optimizers of sharded parameters with that of one process: after 20 steps of equal gradients,
parameters and states have one hash. Eight processes play all worlds; those outside a mesh wait."""

import concurrent.futures
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


def counted(function, of):
    """Returns a function that counts its calls in a list."""
    def call(*arguments):
        of.append(function)
        return function(*arguments)
    return call


TABLES = []  # arrays that steps have made
lowp_torch.optimizer._Table.__init__ = counted(lowp_torch.optimizer._Table.__init__, TABLES)


def check(what, setting, mesh, place, wanted, names=tuple(SHAPES)):
    """Compares one sharding with one process. One step of all makes arrays."""
    if mesh is None:
        return
    TABLES.clear()
    model = place(Model(names), mesh)
    for name, p in model.named_parameters():  # a part of a model draws the bits of the whole
        p.lowp_number = [*(each for each in SHAPES if each != "one"), "one"].index(name)
    optimizer = optimizer_of(model, SETTINGS[setting])
    steps(model, optimizer, 0, STEPS - 1)
    optimizer.report = True
    steps(model, optimizer, STEPS - 1, STEPS)
    assert len(TABLES) == 1 or lowp_torch.optimizer._host() is None, (what, len(TABLES))
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


def check_checkpoints(wanted, scratch):
    """Saves after seven steps on four ranks, loads on others, and goes on: no bit differs."""
    for setting in range(len(SETTINGS)):
        for flat in (False, True):
            options = StateDictOptions(flatten_optimizer_state_dict=flat)
            path = os.path.join(scratch, f"checkpoint{setting}{flat}")

            def parts(model, optimizer):
                return {"model": model.state_dict(),
                        "optimizer": get_optimizer_state_dict(model, optimizer, options=options)}

            for ranks, first in ((4, 0), (2, 7), (3, 7), (1, 7)):
                mesh = mesh_of(ranks)
                if mesh is not None:
                    model = fsdp(Model(), mesh)
                    optimizer = optimizer_of(model, SETTINGS[setting])
                    group = mesh.get_group()
                    if first == 0:
                        steps(model, optimizer, 0, 7)
                        dcp.save(parts(model, optimizer), checkpoint_id=path, process_group=group)
                    else:
                        for p in model.parameters():
                            p.data.zero_()
                        loaded = parts(model, optimizer)
                        assert all(optimizer.state[p]["step"] == 0 for p in model.parameters())  # no dummy step
                        dcp.load(loaded, checkpoint_id=path, process_group=group)
                        model.load_state_dict(loaded["model"])
                        set_optimizer_state_dict(model, optimizer, loaded["optimizer"], options=options)
                        steps(model, optimizer, 7)
                        got = hashes(model, optimizer)
                        wrong = [name for name in got if got[name] != wanted[setting][0][name]]
                        assert not wrong and not optimizer.resyncs, (setting, flat, ranks, wrong, optimizer.resyncs)
                        if mesh.get_rank() == 0:
                            print(f"saved by 4, loaded by {ranks}, {'flat' if flat else 'nested'}, "
                                  f"{SETTINGS[setting]}: the bits of one run", flush=True)
                dist.barrier()


def refused(function, *words):
    try:
        function()
    except ValueError as error:
        assert all(word in str(error) for word in words), (words, str(error))
    else:
        raise AssertionError(f"accepted, without {words}")


def check_refusals():
    mesh = mesh_of(2)
    if mesh is None:
        return
    start = torch.ones(4, 4, dtype=BF16)
    p = nn.Parameter(DTensor.from_local(start, mesh, [Partial()], run_check=False))
    refused(lambda: lowp_torch.AdamW([("w", p)]), "w: a DTensor with", "artial", "redistribute")
    p = nn.Parameter(distribute_tensor(start, mesh, [Shard(0)]))
    optimizer = lowp_torch.AdamW([("w", p)])
    for _ in range(2):  # the second step has the arrays of the first one
        p.grad = distribute_tensor(start, mesh, [Shard(1)])
        refused(optimizer.step, "w, gradient: its placements", "redistribute")
        p.grad = distribute_tensor(start, mesh, [Shard(0)])
        optimizer.step()
    # Arrays are made anew if a part lies elsewhere: of the parameter, a moment or, never, the gradient.
    for change, makes in ((lambda: None, 0), (lambda: setattr(p, "_local_tensor", p._local_tensor.clone()), 1),
                          (lambda: setattr(moment, "_local_tensor", moment._local_tensor.clone()), 1)):
        moment = optimizer.state[p]["exp_avg"]
        change()
        TABLES.clear()
        before = p.to_local().clone()
        p.grad = distribute_tensor(start, mesh, [Shard(0)])
        optimizer.step()
        assert not torch.equal(before, p.to_local())
        assert len(TABLES) == makes or lowp_torch.optimizer._host() is None, (makes, len(TABLES))
    vector = nn.Parameter(distribute_tensor(torch.ones(600, dtype=BF16), mesh, [Shard(0)]))
    refused(lambda: lowp_torch.AdamW([("b", vector)], state_dtype=CODE, min_8bit_size=0), "b: a DTensor",
            "cut a block of 256", "state_dtype=torch.float32")


def check_wrappers():
    """DistributedDataParallel, ZeroRedundancyOptimizer, offload, float32 gradients and FSDP1."""
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.optim import ZeroRedundancyOptimizer
    from torch.nn.parallel import DistributedDataParallel

    setting = dict(storage="plain", state_dtype=BF16, rounding="stochastic")
    def alone():
        model = Model()
        lowp_torch.number_parameters(model)
        optimizer = lowp_torch.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1, seed=SEED, **setting)
        steps(model, optimizer, 0, 5)
        return model, optimizer

    want, _ = alone()
    mesh = mesh_of(2)
    if mesh is None:
        return
    group = mesh.get_group()
    model = Model()
    lowp_torch.number_parameters(model)
    zero = ZeroRedundancyOptimizer(list(model.parameters()), lowp_torch.AdamW, process_group=group, lr=1e-2,
                                   weight_decay=0.1, seed=SEED, **setting)
    steps(model, zero, 0, 5)
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), want.parameters())), "ZeRO"

    model = fully_shard(Model(), mesh=mesh, offload_policy=CPUOffloadPolicy(pin_memory=False),
                        mp_policy=MixedPrecisionPolicy(reduce_dtype=F32))
    optimizer = lowp_torch.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1, seed=SEED, **setting)
    steps(model, optimizer, 0, 5)
    assert all(torch.equal(whole(p.detach()), q) for p, q in zip(model.parameters(), want.parameters())), "offload"

    def trained(wrap, **settings):
        torch.manual_seed(3)
        model = wrap(nn.Sequential(nn.Linear(40, 50), nn.Tanh(), nn.Linear(50, 1)).to(BF16))
        optimizer = lowp_torch.AdamW(model.parameters(), lr=1e-2, seed=SEED, **settings)
        losses = []
        x = torch.randn(64, 40, dtype=BF16)
        for _ in range(30):
            optimizer.zero_grad()
            loss = (model(x).float() - x[:, :1].float()).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < 0.2 * losses[0], losses
        return model, optimizer

    model, _ = trained(lambda model: DistributedDataParallel(model, process_group=group))
    for p in model.parameters():
        both = [torch.empty_like(p) for _ in range(2)]
        dist.all_gather(both, p.detach(), group=group)
        assert torch.equal(*both)
    for use_orig_params in (False, True):
        def wrap(model):
            return FullyShardedDataParallel(model, process_group=group, use_orig_params=use_orig_params,
                                            device_id=torch.device("cpu"))
        model, optimizer = trained(wrap, rounding="nearest")
        saved = FullyShardedDataParallel.optim_state_dict(model, optimizer, group=group)
        assert len(saved["state"]) == 4 if mesh.get_rank() == 0 else True
        refused(lambda: trained(wrap), "FullyShardedDataParallel", 'rounding="nearest"')


def run(rank, store, scratch):
    try:
        torch.set_num_threads(1)
        warnings.simplefilter("ignore")
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
        wanted = [references() if rank == 0 else None]
        dist.broadcast_object_list(wanted)
        for part in (check_refusals, check_wrappers, lambda: check_checkpoints(wanted[0], scratch),
                     lambda: check_shardings(wanted[0])):
            part()
            dist.barrier()
        dist.destroy_process_group()
    except BaseException:
        traceback.print_exc()
        os._exit(1)


if __name__ == "__main__":
    fused = [("adamw", "bfloat16", *each, "stochastic") for each in (
        ("plain", "uint8"), ("plain", "float32"), ("corrected8", "companded"))]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:  # once, before processes part
        list(pool.map(build.built, (build.ENGINE, build.HOST, *fused)))  # the engine has the others
    scratch = tempfile.mkdtemp(dir=os.path.abspath(sys.argv[1]))
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
