# SPDX-License-Identifier: Apache-2.0
"""Compares companded moments and masters with error bits with FlashOptim, bit for bit. Then it takes
steps from states of the package, as a checkpoint has them, and opens checkpoints in lowp_torch. Its
kernels run in Triton's interpreter, which divides and takes roots as IEEE 754 does.
TRITON_INTERPRET is 1."""

import ctypes
import io
import sys
import types
import warnings

import flashoptim
import lowp_torch
import torch
import triton.language as tl
from flashoptim import optimizers as flash

library = ctypes.CDLL(sys.argv[1])
SIZE = 300 * 32 + 17


def on_a_cpu():
    """Replaces what needs a GPU: its size, the trials of launch shapes, two functions of CUDA."""
    def one_shape(kernel):
        launch = lambda grid: lambda *a, **k: kernel.fn[grid](*a, BLOCK_SIZE_N=1024, **k)
        return type("one_shape", (), {"__getitem__": lambda self, grid: launch(grid)})()

    def number(x):
        return float(x.handle.data.item()) if hasattr(x, "handle") else float(x)

    def set_data(self, data):
        self._data = None
        self._quantized, self._scales = flash.quantize(
            data, signed=self._signed, sqrt=self._sqrt, softsign=self._softsign)

    flash._get_sm_count = lambda device=None: 1
    flash._triton_quantize_kernel = one_shape(flash._triton_quantize_kernel)
    flash._triton_dequantize_kernel = one_shape(flash._triton_dequantize_kernel)
    flash._MaybeQuantizedTensor.set_data = set_data
    flash.libdevice = types.SimpleNamespace(copysign=lambda a, b: tl.where(b < 0, -a, a),
                                            pow=lambda a, b: number(a) ** number(b))
    torch.cuda.is_available = lambda: True


def call(function, *arguments):
    """Calls a function of the library: tensors are pointers, integers fill a register."""
    function(*[ctypes.c_void_p(a.data_ptr()) if torch.is_tensor(a) else
               ctypes.c_double(a) if isinstance(a, float) else ctypes.c_size_t(a)
               for a in arguments])


def same(a, b):
    """Compares bits; any NaN is a NaN, and a zero has no sign."""
    return ((a == b) | (a.isnan() & b.isnan())).all() if a.is_floating_point() else torch.equal(a, b)


def numbers(size):
    x = torch.randn(size) * 10 ** (-6 * torch.rand(size))
    x[::9] = 0
    x[64:96] = 0
    x[96:128] *= 1e-9  # a scale that float16 takes for 0
    x[128:160] *= 1e7  # and for infinity
    x[160:416] = torch.arange(-128, 128) / 127  # places near ties
    return x


def check_moments():
    for signed in (True, False):
        settings = {"signed": signed, "sqrt": not signed, "softsign": signed}
        x = numbers(SIZE) if signed else numbers(SIZE).square()
        codes, scales = flash.quantize(x, **settings)
        mine, of_mine = torch.zeros_like(codes), torch.zeros_like(scales)
        call(library.compand, x, mine, of_mine, torch.zeros(SIZE), SIZE, signed)
        assert torch.equal(codes, mine), (codes.int() - mine.int()).abs().max()
        assert torch.equal(scales, of_mine)
        # Every code with 64 scales.
        codes = torch.arange(-128, 128).to(codes.dtype).repeat(64)
        scales = torch.randn(64).abs().to(torch.float16).repeat_interleave(8)
        scales[:16] = torch.tensor(2.0**-24, dtype=torch.float16)
        out = torch.zeros(codes.numel())
        call(library.expand, codes, scales, out, codes.numel(), signed)
        assert same(out, flash.dequantize(codes, scales, **settings))


def check_masters():
    for dtype, width in [(torch.bfloat16, 3), (torch.bfloat16, 4), (torch.float16, 3),
                         (torch.float16, 4)]:
        bits = 8 * (width - 2)
        patterns = torch.randint(-2**31, 2**31, (1 << 16,), dtype=torch.int64).to(torch.int32)
        near = torch.randn(1 << 16)
        near[::3] = near[::3].to(dtype) + near[::3].to(dtype) * torch.finfo(dtype).eps / 4  # ties
        w = torch.cat([patterns.view(torch.float32), near])
        w = w[w.isfinite() & w.to(dtype).isfinite()]
        if dtype is torch.bfloat16:  # whose subnormals the interpreter takes for other numbers
            w = w[w.to(dtype).abs() >= 2.0**-126]
        n = w.numel()
        value = w.to(dtype)
        error = flash.compute_ecc_bits(w, value, width)
        mine, of_mine = torch.zeros_like(value), torch.zeros_like(error)
        call(library.add_to_master, mine, dtype is torch.bfloat16, of_mine, bits, w, n)
        assert same(value, mine) and torch.equal(error, of_mine)
        # Any code with any error.
        error = torch.randint(-2**(bits - 1), 2**(bits - 1), (n,)).to(error.dtype)
        out = torch.zeros(n)
        call(library.read_master, value, dtype is torch.bfloat16, error, bits, out, n)
        assert same(out, flash.reconstruct_fp32_param(value, error))


def check_steps(which, kind, first, **settings):
    """Steps of the package, and of the library from its checkpoint before each. The package rounds
    a moment's products apart, so values near a tie of codes differ by one code."""
    torch.manual_seed(2)
    p = torch.nn.Parameter(torch.randn(SIZE).half())  # a cast to bfloat16 loses carries there
    optimizer = kind([p], lr=1e-2, master_weight_bits=24, **settings)
    worst, signs, others, last = 0.0, 0, 0, 12
    for step in range(1, last + 1):
        gradient = (torch.randn(SIZE) * 0.1).half()
        if step > 1:
            # The package saves errors as values of the parameter's type.
            state = optimizer.state_dict()["state"][0]
            ours = [p.detach().clone(), state["error_bits"].to(torch.int8), gradient.float()]
            for name in (first, "exp_avg_sq" if which == "a" else first):
                ours += [state[f"{name}::quantized"].clone(),
                         state[f"{name}::scales"].clone()]
            call(library.flash_step, ord(which), *ours, SIZE, 1e-2,
                 settings.get("weight_decay", 0.0), step)
        p.grad = gradient
        optimizer.step()
        if step == 1:
            continue
        state = optimizer.state[p]
        theirs = flash.reconstruct_fp32_param(p.detach(), state["error_bits"])
        mine = flash.reconstruct_fp32_param(ours[0], ours[1])
        gap = (mine - theirs).abs() / theirs.abs().clamp(min=1e-2)
        if which == "l":  # its sign differs where its sum is a rounding from 0
            signs += (gap > 2.0**-17).sum().item()
            gap = gap[gap <= 2.0**-17]
        worst = max(worst, gap.max().item())
        moments = [(ours[3], ours[4], state[first])]
        if which == "a":
            moments.append((ours[5], ours[6], state["exp_avg_sq"]))
        for codes, scales, other in moments:
            assert ((scales - other.scales).abs() <= 1e-3 * other.scales).all()
            far = (codes.int() - other.quantized.int()).abs()
            assert far.max() <= 1, far.max()
            others += far.sum().item()
    print(f"{kind.__name__}: p within {worst:.1e} after a step from its states, {others} of"
          f" {len(moments) * (last - 1) * SIZE} codes are neighbours")
    assert worst <= 2.0**-17 and others + signs < 1e-3 * last * SIZE  # a value has 19 bits


def check_checkpoints():
    """Opens checkpoints of the package in lowp_torch, and goes on from them. Steps of bfloat16 are
    not compared: the interpreter's cast loses carries."""
    for theirs, ours, dtype, bits in [(flashoptim.FlashAdamW, lowp_torch.AdamW, torch.float16, 24),
                                      (flashoptim.FlashAdamW, lowp_torch.AdamW, torch.bfloat16, 24),
                                      (flashoptim.FlashLion, lowp_torch.Lion, torch.float16, 32),
                                      (flashoptim.FlashLion, lowp_torch.Lion, torch.bfloat16, 32)]:
        torch.manual_seed(3)
        p, q = (torch.nn.Parameter(torch.randn(3, 3200).to(dtype)) for _ in range(2))
        optimizer = theirs([p], lr=1e-2, weight_decay=0.1, master_weight_bits=bits)
        for _ in range(3):
            p.grad = (torch.randn(p.shape) * 0.1).to(dtype)
            optimizer.step()
        file = io.BytesIO()
        torch.save(optimizer.state_dict(), file)
        file.seek(0)
        saved = torch.load(file)
        q.data.copy_(p)
        storage = "corrected8" if bits == 24 else "corrected16"
        opened = ours([q], storage=storage, state_dtype="companded", rounding="nearest")
        opened.load_state_dict(saved)
        state, held = opened.state[q], optimizer.state[p]
        assert torch.equal(state[storage], held["error_bits"])
        for name in ours._moments:
            assert torch.equal(state[name], held[name].quantized)
            assert torch.equal(state[f"{name}_scales"].view(-1), held[name].scales)
        names = {f"{name}{end}" for name in ours._moments for end in ("", "_scales")}
        assert set(state) - {"step"} == {storage, *names}
        try:
            ours([q], state_dtype="companded").load_state_dict(saved)
        except ValueError as error:
            assert f"error_bits: its storage is {storage}, not plain" in str(error)
        else:
            raise AssertionError("error bits without a place")
        if dtype is torch.bfloat16:
            continue
        p.grad = q.grad = (torch.randn(p.shape) * 0.1).to(dtype)
        optimizer.step()
        opened.step()
        values = [flash.reconstruct_fp32_param(value.detach(), bits)
                  for value, bits in ((p, held["error_bits"]), (q, state[storage]))]
        gap = (values[1] - values[0]).abs() / values[0].abs().clamp(min=1e-2)
        # Lion's sign differs where its sum is a rounding from 0.
        assert (gap > 2.0**-17).float().mean() < (1e-3 if ours is lowp_torch.Lion else 1e-9), gap.max()
        for name in ours._moments:
            assert (state[name].int() - held[name].quantized.int()).abs().max() <= 1


def check_rows():
    """Takes over states whose blocks cross rows: by their values, and a warning says so."""
    torch.manual_seed(4)
    p, q = (torch.nn.Parameter(torch.ones(30, 77, dtype=torch.float16)) for _ in range(2))
    theirs = flashoptim.FlashAdamW([p], lr=1e-2, master_weight_bits=24)
    for _ in range(3):
        p.grad = torch.randn(p.shape).half()
        theirs.step()
    for settings in (dict(state_dtype="companded"), dict(state_dtype=torch.float32)):
        ours = lowp_torch.AdamW([q], storage="corrected8", **settings)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ours.load_state_dict(theirs.state_dict())
        is_coded = "companded" in settings.values()
        assert len([each for each in caught if "cross rows of 77" in str(each.message)]) == is_coded
        state, held = ours.state[q], theirs.state[p]
        for slot, is_signed in (("exp_avg", True), ("exp_avg_sq", False)):
            def values(codes, scales):
                q, s = codes.double() / (127 if is_signed else 255), scales.double()
                return q / (2 - q.abs()) * s if is_signed else (q * s) ** 2
            codes, scales = held[slot].quantized, held[slot].scales
            want = values(codes.view(-1), scales.repeat_interleave(32)[:codes.numel()]).view(30, 77)
            got = state[slot].double()
            if is_coded:
                assert state[f"{slot}_scales"].shape == (30, 3)
                got = values(state[slot], state[f"{slot}_scales"].repeat_interleave(32, 1)[:, :77])
            tolerance = 2e-2 if is_coded else 1e-6
            assert (got - want).abs().max() <= tolerance * want.abs().max() and got.abs().max() > 0
        q.grad = torch.randn(q.shape).half()
        ours.step()


on_a_cpu()
torch.manual_seed(1)
check_moments()
check_masters()
check_steps("a", flashoptim.FlashAdamW, "exp_avg", weight_decay=0.1)
check_steps("l", flashoptim.FlashLion, "exp_avg", weight_decay=0.1)
check_steps("s", flashoptim.FlashSGD, "momentum_buffer", momentum=0.9)
check_checkpoints()
check_rows()
