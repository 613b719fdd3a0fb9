# SPDX-License-Identifier: Apache-2.0
"""The packages' own quantizers as functions of one tensor: rows of a block each to (scales, codes)."""

import ctypes
import functools
import importlib.util
import math
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import types
import warnings

import numpy
import torch

import inputs

RECIPES = {}
RULE = "largest magnitude without NaN, infinity included, given to the call"


class recipe:
    """Facts for the head of a file, with the function that answers."""

    def __init__(self, name, size, elements, scales, package, call, amax="", note=""):
        self.name, self.size, self.elements, self.scales = name, size, elements, scales
        self.package, self.call, self.amax, self.note = package, call, amax, note
        # Those compute in the type of the tensor, or take floats alone, through pointers.
        self.takes_types = package.startswith(("transformer-engine", "torchao", "nvidia-modelopt"))

    def __call__(self, function):
        self.function = function
        RECIPES[self.name] = self
        return function

    def answers(self, tensor):
        """Returns the codes of a tensor's scales and those of its elements, a row for each block."""
        words = inputs.words(tensor, self.size)
        x, amax = (torch.from_numpy(numpy.array(bits, numpy.uint32).view(numpy.float32))
                   for bits in (words, [inputs.amax(words)]))
        scales, codes = self.function(x.view(inputs.BLOCKS, self.size), amax)
        bits = torch.uint32 if scales.dtype == torch.float32 else torch.uint8
        return (scales.reshape(inputs.BLOCKS).contiguous().view(bits).numpy(),
                codes.reshape(inputs.BLOCKS, self.size).to(torch.uint8).numpy())

    def by_type(self):
        """Returns how many codes of a few tensors of 16 bits are not those of the same numbers as floats.

        A package that computes in the tensor's type is a recipe of its own."""
        found = {}
        for dtype in (torch.bfloat16, torch.float16):
            try:
                for tensor in range(4):
                    words = numpy.array(inputs.words(tensor, self.size), numpy.uint32)
                    x = torch.from_numpy(words.view(numpy.float32)).view(inputs.BLOCKS, self.size).clamp(-3e4, 3e4)
                    x = x.to(dtype)
                    amax = x.abs().max().float().reshape(1)
                    (s, c), (of_floats, codes) = self.function(x, amax), self.function(x.float(), amax)
                    differ = (s.float() != of_floats.float()).reshape(-1).sum() + (c != codes).sum()
                    found[dtype] = found.get(dtype, 0) + int(differ)
            except (AssertionError, NotImplementedError, TypeError, RuntimeError, ValueError, ctypes.ArgumentError):
                continue  # the package refuses the type
        return found

    def line(self, tensors):
        """Returns what another process can read: the facts, and the answers to tensors."""
        scales, codes = zip(*map(self.answers, tensors))
        facts = {name: fact for name, fact in vars(self).items() if name != "function"}
        return types.SimpleNamespace(**facts, by_type=self.by_type() if self.takes_types else {}, words=[inputs.words(t, self.size) for t in tensors],
                                     scales_of=numpy.array(scales), codes_of=numpy.array(codes))


def collect(blocks, tiles):
    """Returns the lines of all recipes whose packages are here, with the answers to `blocks` tensors, or `tiles` of them.

    Each source has a process of its own: two of them are torchao, and one is made of stubs.
    """
    lines = {}
    for source in SOURCES:
        with tempfile.NamedTemporaryFile() as file:
            subprocess.run([sys.executable, "-B", __file__, source, str(blocks), str(tiles), file.name], check=True)
            lines.update(pickle.load(file))
    return lines


def site(package):
    """Returns the folder of an installed package, without importing it."""
    spec = importlib.util.find_spec(package)
    return pathlib.Path(spec.submodule_search_locations[0])


def stub(name, **members):
    module = types.ModuleType(name)
    module.__path__ = []
    vars(module).update(members)
    sys.modules[name] = module
    return module


def from_file(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Missing(Exception):
    """Says which sources are not here."""


def sources(name, commit):
    """Returns the folder of sources that no registry has: $LOWP_PEERS_SOURCES/name, at the commit."""
    folder = pathlib.Path(os.environ.get("LOWP_PEERS_SOURCES", "")) / name
    if not os.environ.get("LOWP_PEERS_SOURCES") or not folder.is_dir():
        raise Missing(f"no {name} at {commit[:7]} in the folder that LOWP_PEERS_SOURCES names")
    return folder


def shared_library(name, text, *options):
    folder = tempfile.mkdtemp()
    path = pathlib.Path(folder) / name
    path.write_text(text)
    compiler = "g++" if name.endswith("pp") else "gcc"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-w", *options, path, "-o", f"{folder}/library.so", "-lm"],
                   check=True)
    return ctypes.CDLL(f"{folder}/library.so", mode=os.RTLD_LAZY)


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


def unpacked(codes):
    """Returns the codes of bytes that have an even element in the low nibble."""
    return torch.stack((codes & 15, codes >> 4), -1).flatten(-2)


def e8m0(scales):
    """Returns the codes of floats that are powers of two, 255 for NaN."""
    exponent = torch.frexp(scales)[1] + 126
    return torch.where(torch.isnan(scales), 255, exponent).to(torch.uint8)


def encoded(values, elements):
    """Returns the codes of values that a format has exactly; NaN is 0."""
    exponent, mantissa = int(elements[1]), int(elements[3])
    bias, steps = 2 ** (exponent - 1) - 1, 1 << mantissa
    table = {(code % steps + (steps if code >= steps else 0)) * 2.0 ** (max(code // steps, 1) - bias - mantissa): code
             for code in range(1 << (exponent + mantissa))}
    table[float("inf")] = 0x7C
    known, which = torch.unique(values.abs().nan_to_num(0, float("inf")), return_inverse=True)
    codes = torch.tensor([table[v] for v in known.tolist()], dtype=torch.int32)[which]
    return torch.where(torch.isnan(values), 0, codes | (torch.signbit(values).to(torch.int32) << (exponent + mantissa)))


def matrix_of(x):
    """Returns a matrix that has square tiles side by side, each a row of x."""
    side = math.isqrt(x.shape[1])
    return x.view(-1, side, side).transpose(0, 1).reshape(side, -1).contiguous()


def tiles_of(codes):
    side = codes.shape[0]
    return codes.view(side, -1, side).transpose(0, 1).reshape(-1, side * side)


def transformer_engine():
    """Loads TE's reference, whose package cannot be imported without its CUDA extension."""
    folder = site("transformer_engine") / "pytorch"
    for name in ("transformer_engine", "transformer_engine.pytorch", "transformer_engine.pytorch.custom_recipes",
                 "transformer_engine.pytorch.tensor"):
        stub(name)
    plain = {"__init__": lambda self, **_: None}
    stub("transformer_engine.pytorch.quantized_tensor", QuantizedTensorStorage=type("QuantizedTensorStorage", (), {}),
         Quantizer=type("Quantizer", (), plain))
    stub("transformer_engine.pytorch.tensor.utils", is_custom=lambda *_: True)
    for name in ("gemm", "reference_utils", "reference_nvfp4"):
        name = "transformer_engine.pytorch.custom_recipes." + name
        module = from_file(name, folder / "custom_recipes" / (name.split(".")[-1] + ".py"))
        setattr(sys.modules["transformer_engine.pytorch.custom_recipes"], name.split(".")[-1], module)
    quantize = module.NVFP4QuantizerRef._quantize_blockwise_reference
    package = "transformer-engine 2.20.2: pytorch/custom_recipes/reference_nvfp4.py"
    zeros = "a code 0 of a negative input or of -0 is recorded as 8, as the kernels write it; the reference writes 0"

    def kernels_zeros(x, codes):
        return torch.where((codes == 0) & torch.signbit(x), 8, codes.to(torch.int32))

    for tile, x_of, codes_of in ((16, lambda x: x, lambda c: c), (256, matrix_of, tiles_of)):
        shape, rows = ("1x16", 1) if tile == 16 else ("16x16", 16)

        def nvfp4(x, amax, x_of=x_of, codes_of=codes_of, rows=rows, **options):
            codes, scales = quantize(x_of(x), amax, 16, rows, pow_2_scales=False, eps=0.0, **options)
            return (scales if rows == 1 else scales[0]), kernels_zeros(x, codes_of(unpacked(codes)))

        call = f"NVFP4QuantizerRef._quantize_blockwise_reference(x, amax, 16, {rows}, pow_2_scales=False, eps=0.0"
        recipe(f"te_2_20_nvfp4_{shape}", tile, "e2m1", "e4m3", package, call + ")", RULE, zeros)(nvfp4)
        for error in ("MAE", "MSE"):
            for top in (448, 256):
                options = {"nvfp4_use_4over6": True, "nvfp4_e4m3_max": top, "nvfp4_4over6_err_mode": error}
                recipe(f"te_2_20_nvfp4_{shape}_4over6_{error.lower()}_{top}", tile, "e2m1", "e4m3", package,
                       call + "".join(f", {name}={value!r}" for name, value in options.items()) + ")", RULE, zeros)(
                           functools.partial(nvfp4, **options))

    @recipe("te_2_20_mxfp4", 32, "e2m1", "e8m0", package,
            "NVFP4QuantizerRef._quantize_blockwise_reference(x, amax, 32, 1, pow_2_scales=True, eps=0.0)", "", zeros)
    def _(x, amax):
        codes, scales = quantize(x, amax, 32, 1, pow_2_scales=True, eps=0.0)
        return e8m0(scales), kernels_zeros(x, unpacked(codes))


def transformer_engine_mxfp8():
    """Builds the answers that TE's C++ tests hold its MXFP8 kernels against."""
    folder = sources("TransformerEngine", "d0067d0da6cb01811b8072a7d304f0e00344ce2b")
    if not pathlib.Path("/usr/local/cuda/include/cuda_fp8.h").exists():
        raise Missing("no cuda_fp8.h in /usr/local/cuda/include")
    test = (folder / "tests/cpp/operator/test_cast_mxfp8.cu").read_text()
    common = (folder / "tests/cpp/test_common.h").read_text()
    modes = test[test.index("enum ProcessingMethod"):test.index("enum ActivationType")]
    answers = test[test.index("template <typename InputType, typename OutputType>\nvoid compute_ref("):
                   test.index("template <typename InputType, typename OutputType>\nvoid compute_ref_2d_quantize(")]
    scales = common[common.index("inline fp8e8m0 float_to_e8m0"):common.index("inline float identity")]
    library = shared_library("te_mxfp8.cpp", f"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
#include <cuda_fp8.h>
using fp8e8m0 = uint8_t;
using fp32 = float;
constexpr uint32_t FP32_MANTISSA_BITS = 23;
template <typename T> struct Quantized_Limits {{
  static constexpr fp32 max() {{ return std::is_same_v<T, __nv_fp8_e4m3> ? 448.0f : 57344.0f; }}
  static constexpr fp32 max_reciprocal() {{ return static_cast<fp32>(1.0 / max()); }}
}};
using std::isinf;
using std::isnan;
{scales}
{modes}
{answers}
template <class T> void run(const float* x, uint8_t* scales, uint8_t* codes, size_t rows) {{
  std::vector<float> dbias(32);
  compute_ref<float, T>(ProcessingMethod::CAST_ONLY, nullptr, true, false, x, nullptr, reinterpret_cast<T*>(codes),
                        nullptr, scales, nullptr, dbias.data(), rows, 32, 1, 1);
}}
extern "C" void e4m3(const float* x, uint8_t* s, uint8_t* c, size_t n) {{ run<__nv_fp8_e4m3>(x, s, c, n); }}
extern "C" void e5m2(const float* x, uint8_t* s, uint8_t* c, size_t n) {{ run<__nv_fp8_e5m2>(x, s, c, n); }}
""", "-I/usr/local/cuda/include", "-fno-strict-aliasing")
    for elements in ("e4m3", "e5m2"):
        @recipe(f"te_2_20_mxfp8_{elements}", 32, elements, "e8m0",
                "TransformerEngine d0067d0 (2.20.0.dev0): tests/cpp, on CUDA's host functions",
                f"compute_ref<float, {elements}>(CAST_ONLY, rowwise)")
        def _(x, amax, elements=elements):
            scales, codes = torch.empty(8, dtype=torch.uint8), torch.empty(8, 32, dtype=torch.uint8)
            getattr(library, elements)(*map(pointer, (x, scales, codes)), ctypes.c_size_t(8))
            return scales, codes


def torchao_mx(prefix, package):
    """Loads the MX quantizer of whichever torchao is found first."""
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    from torchao.prototype.mx_formats.constants import DTYPE_FP6_E2M3, DTYPE_FP6_E3M2
    from torchao.prototype.mx_formats.mx_tensor import to_mx
    kinds = {"e2m1": ("mxfp4", torch.float4_e2m1fn_x2), "e2m3": ("mxfp6_e2m3", DTYPE_FP6_E2M3),
             "e3m2": ("mxfp6_e3m2", DTYPE_FP6_E3M2), "e4m3": ("mxfp8_e4m3", torch.float8_e4m3fn),
             "e5m2": ("mxfp8_e5m2", torch.float8_e5m2)}
    for elements, (name, dtype) in kinds.items():
        for mode in ("FLOOR", "CEIL", "EVEN", "RCEIL"):
            @recipe(f"{prefix}_{name}_{mode.lower()}", 32, elements, "e8m0", package,
                    f"to_mx(x, {dtype}, 32, ScaleCalculationMode.{mode})")
            def _(x, amax, dtype=dtype, mode=mode):
                scales, codes = to_mx(x, dtype, 32, getattr(ScaleCalculationMode, mode))
                codes = codes.view(torch.uint8)
                return scales, unpacked(codes) if codes.shape[-1] == 16 else codes


def torchao():
    package = "torchao 0.18.0: prototype/mx_formats, eager, on a processor"
    torchao_mx("torchao_0_18", package)
    from torchao.prototype.blockwise_fp8_training import kernels
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    from torchao.prototype.mx_formats.mx_tensor import to_mx
    from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale

    @recipe("torchao_0_18_nvfp4_one_level", 16, "e2m1", "e4m3", package, "nvfp4_quantize(x, 16)")
    def _(x, amax):
        scales, codes = nvfp4_quantize(x, 16)
        return scales, unpacked(codes)

    @recipe("torchao_0_18_nvfp4_two_level", 16, "e2m1", "e4m3", package,
            "nvfp4_quantize(x, 16, per_tensor_amax_to_scale(amax))", RULE)
    def _(x, amax):
        scales, codes = nvfp4_quantize(x, 16, per_tensor_amax_to_scale(amax))
        return scales, unpacked(codes)


    for elements, dtype in (("e2m1", torch.float4_e2m1fn_x2), ("e4m3", torch.float8_e4m3fn)):
        name = "mxfp4" if elements == "e2m1" else "mxfp8_e4m3"

        @recipe(f"torchao_0_18_{name}_rceil_32x32", 1024, elements, "e8m0", package,
                f"to_mx(x, {dtype}, 1024, ScaleCalculationMode.RCEIL)", "", "a tile is a row here, of 1024 elements")
        def _(x, amax, dtype=dtype):
            scales, codes = to_mx(x, dtype, 1024, ScaleCalculationMode.RCEIL)
            codes = codes.view(torch.uint8)
            return scales, unpacked(codes) if codes.shape[-1] == 512 else codes

    package = "torchao 0.18.0: prototype/blockwise_fp8_training/kernels.py, on a processor"

    @recipe("torchao_0_18_float8_1x128", 128, "e4m3", "float", package, "torch_blockwise_scale_act_quant_lhs(x)")
    def _(x, amax):
        codes, scales = kernels.torch_blockwise_scale_act_quant_lhs(x.contiguous())
        return scales, codes.view(torch.uint8)

    @recipe("torchao_0_18_float8_128x128", 16384, "e4m3", "float", package, "torch_blockwise_scale_weight_quant(x)")
    def _(x, amax):
        codes, scales = kernels.torch_blockwise_scale_weight_quant(matrix_of(x))
        return scales, tiles_of(codes.view(torch.uint8))


def torchao_main():
    commit = "36027d82d1ad9949597ea16002ff4940374b1b94"
    folder = sources("ao", commit)
    sys.path.insert(0, str(folder))
    package = "torchao " + commit[:7] + ": prototype/mx_formats, eager, on a processor; since ao#4725"
    torchao_mx("torchao_main", package)
    reference = from_file("nvfp4_reference", folder / "test/prototype/moe_training/nvfp4_training/nvfp4_reference.py")

    @recipe("torchao_main_nvfp4_training", 16, "e2m1", "e4m3",
            f"torchao {commit[:7]}: test/prototype/moe_training/nvfp4_training/nvfp4_reference.py",
            "nvfp4_reference_quantize(x, amax)", RULE)
    def _(x, amax):
        answer = reference.nvfp4_reference_quantize(x, amax)
        return answer.block_scale, unpacked(answer.codes)


def compressed_tensors():
    from compressed_tensors.compressors.mxfp4.base import MXFP4PackedCompressor
    from compressed_tensors.compressors.nvfp4.base import NVFP4PackedCompressor
    from compressed_tensors.quantization.quant_scheme import preset_name_to_scheme
    from compressed_tensors.quantization.utils.helpers import compute_dynamic_scales_and_zp, generate_gparam

    def compressed(x, name, compressor, global_scale=None):
        scheme = preset_name_to_scheme(name, ["Linear"])
        scales, _ = compute_dynamic_scales_and_zp(x, scheme.weights, None, global_scale)
        state = {"weight": x, "weight_scale": scales}
        if global_scale is not None:
            state["weight_global_scale"] = global_scale
        answer = compressor.compress(state, scheme)
        return answer["weight_scale"], unpacked(answer["weight_packed"])

    package = "compressed-tensors 0.20.0"

    from compressed_tensors.compressors.naive_quantized.base import NaiveQuantizationCompressor
    from compressed_tensors.quantization.quant_args import QuantizationArgs
    from compressed_tensors.quantization.quant_scheme import QuantizationScheme
    from compressed_tensors.quantization.utils.helpers import calculate_qparams

    def naive(x, args, scales):
        state = {"weight": x, "weight_scale": scales}
        answer = NaiveQuantizationCompressor.compress(state, QuantizationScheme(targets=["Linear"], weights=args))
        return scales.float(), answer["weight"].view(torch.uint8)

    fp8 = preset_name_to_scheme("FP8_BLOCK", ["Linear"])
    of_fp8 = fp8.input_activations.model_copy(update={"dynamic": False, "observer": "minmax"})
    of_int8 = QuantizationArgs(num_bits=8, type="int", strategy="group", group_size=128)
    package = "compressed-tensors 0.20.0"

    # The package computes in the type of the tensor.
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        kind = "" if dtype == torch.float32 else str(dtype).replace("torch.", "_")
        note = kind and f"elements and amax are of torch.{kind[1:]}, rounded to nearest even; scales too, as floats here"

        def is_of(name, *facts, rule="", dtype=dtype, kind=kind, note=note):
            def typed(function):
                return recipe(f"compressed_tensors_0_20_{name}{kind}", *facts, rule, note)(
                    lambda x, amax: function(x.to(dtype), amax.to(dtype)))
            return typed

        @is_of("nvfp4", 16, "e2m1", "e4m3", package,
               "compute_dynamic_scales_and_zp(x, NVFP4, generate_gparam(-amax, amax)); NVFP4PackedCompressor.compress",
               rule=RULE)
        def _(x, amax):
            return compressed(x, "NVFP4", NVFP4PackedCompressor, generate_gparam(-amax, amax))

        if dtype != torch.float16:  # powers of two beyond float16: no answer that a checkpoint can hold
            @is_of("mxfp4", 32, "e2m1", "e8m0", package,
                   "compute_dynamic_scales_and_zp(x, MXFP4); MXFP4PackedCompressor.compress")
            def _(x, amax):
                return compressed(x, "MXFP4", MXFP4PackedCompressor)

        for name, elements, args in (("fp8_1x128", "e4m3", of_fp8), ("int8_1x128", "int8", of_int8)):
            @is_of(name, 128, elements, "float", package,
                   "compute_dynamic_scales_and_zp(x, groups of 128); NaiveQuantizationCompressor.compress")
            def _(x, amax, args=args):
                return naive(x, args, compute_dynamic_scales_and_zp(x, args, None)[0])

        @is_of("fp8_128x128", 16384, "e4m3", "float", package,
               "calculate_qparams(least, largest, FP8_BLOCK); NaiveQuantizationCompressor.compress")
        def _(x, amax):
            scales, _ = calculate_qparams(x.amin(1)[None], x.amax(1)[None], fp8.weights)
            scales, codes = naive(matrix_of(x), fp8.weights, scales)
            return scales, tiles_of(codes)


def modelopt():
    from modelopt.torch.quantization.qtensor import MXFP4QTensor, NVFP4QTensor
    package = "nvidia-modelopt 0.47.0: torch/quantization/qtensor"

    @recipe("modelopt_0_47_nvfp4", 16, "e2m1", "e4m3", package,
            "NVFP4QTensor.quantize(x, 16, None, NVFP4QTensor.get_weights_scaling_factor_2(amax))", RULE)
    def _(x, amax):
        answer, scales, _ = NVFP4QTensor.quantize(x, 16, None, NVFP4QTensor.get_weights_scaling_factor_2(amax))
        return scales, unpacked(answer._quantized_data)

    @recipe("modelopt_0_47_mxfp4", 32, "e2m1", "e8m0", package, "MXFP4QTensor.quantize(x, 32)")
    def _(x, amax):
        answer, scales = MXFP4QTensor.quantize(x, 32)
        return scales, unpacked(answer._quantized_data)


def microxcaling():
    commit = "7bc41952de394f5cc5e782baf132e7c7542eb4e4"
    sys.path.insert(0, str(sources("microxcaling", commit)))
    from mx import mx_ops
    from mx.formats import _get_format_params
    package = f"microxcaling {commit[:7]}: mx/mx_ops.py"
    note = "the steps of _quantize_mx up to its last product, which would overflow in float; a NaN is recorded as code 0"
    for elements in ("e2m1", "e2m3", "e3m2", "e4m3", "e5m2"):
        kind = "fp8_" if elements in ("e4m3", "e5m2") else "fp4_" if elements == "e2m1" else "fp6_"
        name = "mxfp4" if elements == "e2m1" else "mx" + kind + elements
        for rounding in ("nearest", "even"):
            @recipe(f"microxcaling_{name}_{rounding}", 32, elements, "e8m0", package,
                    f"_quantize_mx(x, 8, '{kind}{elements}', axes=[-1], block_size=32, round='{rounding}')", "", note)
            def _(x, amax, elements=elements, kind=kind, rounding=rounding):
                ebits, mbits, emax, largest, _ = _get_format_params(kind + elements)
                shared = mx_ops._shared_exponents(x, axes=[-1]) - emax
                shared[shared > 127] = float("nan")
                shared[shared < -127] = -127
                values = mx_ops._quantize_elemwise_core(x / 2**shared, mbits, ebits, largest, round=rounding,
                                                        allow_denorm=True, saturate_normals=True)
                scales = torch.where(torch.isnan(shared), 255, shared + 127).to(torch.uint8)
                return scales, encoded(values.double(), elements)


def ggml():
    commit = "d99724f2b141fed9e1a9f402213506c081433465"
    folder = sources("ggml", commit)
    library = shared_library("ggml_quants.c", f'#include "{folder}/src/ggml-quants.c"\n',
                             f"-I{folder}/src", f"-I{folder}/include", "-ffp-contract=off")
    note = "ggml's halves of a block, first elements low and last ones high, are here in the order of the elements"

    def packed(x, name, block):
        """Returns the bytes of blocks, a row for each."""
        result = torch.zeros(x.numel() // 32 * block, dtype=torch.uint8)
        getattr(library, name)(pointer(x), pointer(result), ctypes.c_int64(x.numel()))
        return result

    def halves(codes):
        return torch.cat((codes & 15, codes >> 4), -1)

    package = f"ggml {commit[:7]}: src/ggml-quants.c, gcc -O2 -ffp-contract=off"

    @recipe("ggml_nvfp4", 16, "e2m1", "e4m3", package, "quantize_row_nvfp4_ref", "", note)
    def _(x, amax):
        blocks = packed(x, "quantize_row_nvfp4_ref", 18).view(2, 36)
        return blocks[:, :4].reshape(-1), halves(blocks[:, 4:].reshape(8, 8))

    @recipe("ggml_mxfp4", 32, "e2m1", "e8m0", package, "quantize_row_mxfp4_ref", "",
            note + "; a magnitude below 2^-125 makes a negative exponent, whose conversion C leaves undefined")
    def _(x, amax):
        blocks = packed(x, "quantize_row_mxfp4_ref", 17).view(8, 17)
        return blocks[:, 0], halves(blocks[:, 1:])


def gguf():
    from gguf.quants import MXFP4

    @recipe("gguf_0_19_mxfp4", 32, "e2m1", "e8m0", "gguf 0.19.0: quants.py", "MXFP4.quantize_blocks(x)", "",
            "the order of the elements, as in ggml_mxfp4")
    def _(x, amax):
        blocks = torch.from_numpy(MXFP4.quantize_blocks(x.numpy()))
        return blocks[:, 0], torch.cat((blocks[:, 1:] & 15, blocks[:, 1:] >> 4), -1)


SOURCES = {function.__name__: function for function in
           (transformer_engine, transformer_engine_mxfp8, torchao, torchao_main, compressed_tensors, modelopt,
            microxcaling, ggml, gguf)}


def main(source, blocks, tiles, path):
    warnings.simplefilter("ignore")
    lines = {}
    try:
        SOURCES[source]()
    except (Missing, ImportError) as error:
        print(f"without {source}: {error}")
        RECIPES.clear()
    for name, recipe in RECIPES.items():
        many = 4 if recipe.size == 16384 else int(tiles if recipe.size > 128 else blocks)
        lines[name] = recipe.line(range(many))
    with open(path, "wb") as file:
        pickle.dump(lines, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
