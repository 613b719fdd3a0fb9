# SPDX-License-Identifier: Apache-2.0
"""Takes checkpoints of torchao's AdamW8bit over and back, and steps within its CPUOffloadOptimizer. Without a
GPU the streams of that class are empty ones: what it computes is the same."""

import contextlib
import io
import multiprocessing
import tempfile
import warnings
from unittest import mock

import lowp_torch
import torch
import torch.distributed as dist
import torchao.optim
from lowp_torch import checkpoints
from torch.distributed.tensor import distribute_tensor
from torchao.optim import cpu_offload, quant_utils
from torchao.optim.subclass_8bit import OptimState8bit

BF16, F32, CODE = torch.bfloat16, torch.float32, torch.uint8
# Rows of whole blocks, and others. The third size is no multiple of a block, the fourth is small.
SHAPES = [(32, 512), (64, 300), (70, 301), (30, 20), (8192,)]


def check_map():
    for is_signed in (True, False):
        theirs = torch.tensor(quant_utils.create_dynamic_map(signed=is_signed))
        assert torch.equal(theirs, checkpoints.values_of_codes(is_signed))


def stepped(kind, count, dtype, **settings):
    """Returns an optimizer after some steps, and its parameters."""
    torch.manual_seed(1)
    params = [torch.nn.Parameter(torch.randn(shape).to(dtype)) for shape in SHAPES]
    optimizer = kind(params, lr=1e-2, weight_decay=0.1, **settings)
    for step in range(count):
        give_gradients(params, step)
        optimizer.step()
    return params, optimizer


def give_gradients(params, step):
    torch.manual_seed(100 + step)
    for p in params:
        p.grad = torch.randn(p.shape).to(p.dtype)


def whole(moment):
    """Returns float32 of torchao's state, by its own functions."""
    return moment.dequantize().float() if isinstance(moment, OptimState8bit) else moment.float()


def ours_whole(state, slot):
    if state[slot].dtype == CODE:
        values = torch.tensor(quant_utils.create_dynamic_map(signed=slot == "exp_avg"))
        scales = state[f"{slot}_absmax"].repeat_interleave(256, -1)
        return values[state[slot].long()] * scales[..., :state[slot].shape[-1]]
    return state[slot].float()


def check_over(block, dtype):
    """Opens a checkpoint of torchao. Whole blocks of 256 keep their bits, others their values."""
    params, theirs = stepped(torchao.optim.AdamW8bit, 3, dtype, block_size=block)
    file = io.BytesIO()
    torch.save(theirs.state_dict(), file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    mine = [torch.nn.Parameter(p.detach().clone()) for p in params]
    for state_dtype in (CODE, F32):
        ours = lowp_torch.AdamW(mine, state_dtype=state_dtype, rounding="nearest")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ours.load_state_dict(saved)
        said = [each for each in caught if "rounded anew" in str(each.message)]
        assert len(said) == (state_dtype == CODE), [str(each.message) for each in caught]
        for p, q in zip(params, mine):
            state = ours.state[q]
            assert state["step"] == 3
            for slot in ("exp_avg", "exp_avg_sq"):
                before = theirs.state[p][slot]
                want, got = whole(before), ours_whole(state, slot)
                same = isinstance(before, OptimState8bit) and block == 256 and p.shape[-1] % 256 == 0
                if same and state_dtype == CODE:
                    assert torch.equal(state[slot], before.codes)
                    assert torch.equal(state[f"{slot}_absmax"].view(-1), before.scale)
                    assert state[slot].data_ptr() != before.codes.data_ptr()
                if same or state[slot].dtype == F32:
                    assert torch.equal(got, want), (p.shape, slot)
                assert (got - want).abs().max() <= 0.0142 * want.abs().max()
        assert ours.param_groups[0]["weight_decay"] == 0.1
    # Float moments: a step lies as near torchao's as float32 of other formulas does.
    for optimizer, each in ((theirs, params), (ours, mine)):
        give_gradients(each, 9)
        optimizer.step()
    for p, q in zip(params, mine):
        assert (p - q).abs().max() <= (1e-5 if dtype == F32 else 2.0**-6)


def check_back():
    """Saves for torchao and for torch.optim, and goes on there."""
    params, ours = stepped(lowp_torch.AdamW, 3, F32, state_dtype=CODE, rounding="nearest", seed=3)
    for package, kind in (("torchao", torchao.optim.AdamW8bit), ("torch", torch.optim.AdamW)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            saved = lowp_torch.exported_state(ours, package)
        assert len(caught) == (package == "torchao")
        mine = [torch.nn.Parameter(p.detach().clone()) for p in params]
        theirs = kind(mine, lr=1.0)
        theirs.load_state_dict(saved)
        assert theirs.param_groups[0]["weight_decay"] == 0.1 and abs(theirs.param_groups[0]["lr"] - 0.01) < 1e-9
        for p, q in zip(params, mine):
            state = theirs.state[q]
            assert state["step"] == 3
            for slot in ("exp_avg", "exp_avg_sq"):
                want, got = ours_whole(ours.state[p], slot), whole(state[slot])
                if package == "torch" or p.shape[-1] % 256 == 0 or p.numel() % 256:
                    assert torch.equal(got, want), (package, p.shape)
                assert (got - want).abs().max() <= 0.0142 * want.abs().max()
                is_coded = p.numel() >= 4096 and p.numel() % 256 == 0
                assert isinstance(state[slot], OptimState8bit) == (is_coded and package == "torchao")
        give_gradients(mine, 9)
        theirs.step()
    # There and back: whole blocks keep their bits.
    again = lowp_torch.AdamW([torch.nn.Parameter(p.detach().clone()) for p in params], state_dtype=CODE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again.load_state_dict(lowp_torch.exported_state(ours, "torchao"))
    for p, q in zip(params, again.param_groups[0]["params"]):
        for slot in ("exp_avg", "exp_avg_absmax", "exp_avg_sq", "exp_avg_sq_absmax"):
            if p.shape[-1] % 256 == 0:
                assert torch.equal(ours.state[p][slot], again.state[q][slot])
    for kind, package, words in ((lowp_torch.Lion, "torchao", "no Lion of 8 bits"), (lowp_torch.AdamW, "apex", "apex")):
        try:
            lowp_torch.exported_state(kind(params), package)
        except ValueError as error:
            assert words in str(error)
        else:
            raise AssertionError(words)


def check_refused():
    """States of 4 bits and of fp8 are refused by their names; nothing has changed then."""
    for kind in (torchao.optim.AdamW4bit, torchao.optim.AdamWFp8):
        p = torch.nn.Parameter(torch.ones(64, 256))
        theirs = kind([p])
        theirs.state[p] = {"step": torch.tensor(1.0), "exp_avg": theirs._new_buffer(p, True),
                           "exp_avg_sq": theirs._new_buffer(p, False)}
        ours = lowp_torch.AdamW([p], state_dtype=CODE)
        before = dict(ours.state[p])
        try:
            ours.load_state_dict(theirs.state_dict())
        except ValueError as error:
            assert "parameter 0, exp_avg: OptimState" in str(error) and "only its OptimState8bit" in str(error)
        else:
            raise AssertionError(kind)
        assert all(ours.state[p][key] is value for key, value in before.items())


def sharded(rank, store):
    """Checkpoints of DTensors over and back, on two ranks: the parts of each rank keep their bits."""
    from torch.distributed.fsdp import fully_shard
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.compiler.set_stance("force_eager")
    torch.manual_seed(7)
    start = [torch.randn(shape) for shape in ((32, 512), (17, 1024), (64, 300))]

    def model_of():
        return fully_shard(torch.nn.ParameterList(torch.nn.Parameter(each.clone()) for each in start),
                           mesh=dist.device_mesh.init_device_mesh("cpu", (2,)))

    def step(optimizer, seed):
        torch.manual_seed(seed)
        for p in optimizer.param_groups[0]["params"]:
            p.grad = distribute_tensor(torch.randn(p.shape), p.device_mesh, p.placements)
        optimizer.step()

    theirs = torchao.optim.AdamW8bit(model_of().parameters(), lr=1e-2, weight_decay=0.1)
    for seed in range(3):
        step(theirs, seed)
    params = theirs.param_groups[0]["params"]
    mine = list(model_of().parameters())
    for p, q in zip(params, mine):
        q.data.copy_(p.data)
    ours = lowp_torch.AdamW(mine, state_dtype=CODE, rounding="nearest")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows of 300
        ours.load_state_dict(theirs.state_dict())
        saved = lowp_torch.exported_state(ours, "torchao")
        floats = lowp_torch.exported_state(ours, "torch")["state"]
    again = torchao.optim.AdamW8bit(model_of().parameters(), lr=1.0)
    again.load_state_dict(saved)
    for i, (p, q) in enumerate(zip(params, mine)):
        state, saved = ours.state[q], again.state[again.param_groups[0]["params"][i]]
        assert state["step"] == 3
        for slot in ("exp_avg", "exp_avg_sq"):
            before, after = (each[slot].to_local() for each in (theirs.state[p], saved))
            scales, moment = state[f"{slot}_absmax"], state[slot]
            assert moment.shape == p.shape and moment.placements == p.placements
            assert scales.shape == (p.shape[0], -(-p.shape[1] // 256)) and scales.placements == p.placements
            if p.shape[1] % 256 == 0:
                assert isinstance(before, OptimState8bit) and isinstance(after, OptimState8bit)
                assert torch.equal(moment.to_local(), before.codes) and torch.equal(after.codes, before.codes)
                assert torch.equal(scales.to_local().view(-1), before.scale) and torch.equal(after.scale, before.scale)
                assert torch.equal(floats[i][slot].to_local(), whole(before)) and floats[i][slot].shape == p.shape
    step(ours, 9)
    step(again, 9)
    refused = False
    try:
        lowp_torch.exported_state(ours, "bitsandbytes")
    except ValueError as error:
        refused = "a DTensor, and bitsandbytes takes none" in str(error)
    assert refused
    dist.destroy_process_group()


def check_sharded():
    with tempfile.TemporaryDirectory() as scratch:
        context = multiprocessing.get_context("spawn")
        ranks = [context.Process(target=sharded, args=(rank, f"{scratch}/store")) for rank in range(2)]
        for each in ranks:
            each.start()
        for each in ranks:
            each.join()
        assert not any(each.exitcode for each in ranks), [each.exitcode for each in ranks]


class Stream:
    """Stands for a CUDA stream where there is no GPU."""

    def wait_stream(self, _):
        pass

    def record_event(self):
        return self

    def synchronize(self):
        pass


def check_offload():
    """CPUOffloadOptimizer makes one optimizer for each parameter: the bits of one of all."""
    empty_like = torch.empty_like
    with mock.patch.multiple(torch.cuda, Stream=Stream, current_stream=lambda: None,
                             stream=lambda _: contextlib.nullcontext()), \
            mock.patch.object(cpu_offload, "get_available_devices", lambda: ["cpu", "cuda"]), \
            mock.patch.object(torch, "empty_like", lambda *a, pin_memory=False, **k: empty_like(*a, **k)):
        for settings in (dict(storage="plain", state_dtype=CODE, rounding="stochastic"),
                         dict(storage="corrected8", state_dtype="companded", rounding="stochastic"),
                         dict(storage="master", state_dtype=F32, rounding="nearest")):
            # Small parameters share an optimizer, which numbers them anew.
            small = 1000 if settings["rounding"] == "nearest" else 0
            settings = dict(settings, lr=torch.tensor(1e-2), weight_decay=0.1, seed=5)
            models = []
            for _ in range(2):
                torch.manual_seed(2)
                models.append(torch.nn.Sequential(torch.nn.Linear(90, 300), torch.nn.Linear(300, 7)).to(BF16))
            groups = [{"params": [p], "first_tensor": i} for i, p in enumerate(models[0].parameters())]
            offloaded = torchao.optim.CPUOffloadOptimizer(groups, lowp_torch.AdamW, minimal_size=small, **settings)
            alone = lowp_torch.AdamW(models[1].parameters(), **settings)
            for step in range(5):
                torch.manual_seed(step)
                x = torch.randn(16, 90).to(BF16)
                for model, optimizer in zip(models, (offloaded, alone)):
                    model(x).square().mean().backward()
                    optimizer.step()
                    optimizer.zero_grad()
            assert all(torch.equal(p, q) for p, q in zip(models[0].parameters(), models[1].parameters())), settings
            assert not torch.equal(models[0][0].weight, torch.nn.Linear(90, 300).to(BF16).weight)
            saved = offloaded.state_dict()
            offloaded.load_state_dict(saved)
            assert len(saved["offloaded"]) == (2 if small else 4) and ("on-device" in saved) == bool(small)


if __name__ == "__main__":
    torch.compiler.set_stance("force_eager")  # a compiled step of torchao takes minutes
    check_map()
    check_refused()
    check_sharded()
    check_offload()
    check_back()
    for block in (256, 128):
        for dtype in (F32, BF16):
            check_over(block, dtype)
    print(f"torchao {torchao.__version__}: checkpoints over and back, and its CPUOffloadOptimizer")
