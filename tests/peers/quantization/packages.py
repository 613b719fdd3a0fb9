# SPDX-License-Identifier: Apache-2.0
"""The packages' own quantizers as functions of one tensor: rows of a block each to (scales, codes)."""

import importlib.util
import pathlib
import sys
import types

import numpy
import torch

import inputs

RECIPES = {}


class recipe:
    """What a line of the vectors' files says, with the function that answers."""

    def __init__(self, name, size, elements, scales, package, call, amax="", note=""):
        self.name, self.size, self.elements, self.scales = name, size, elements, scales
        self.package, self.call, self.amax, self.note = package, call, amax, note

    def __call__(self, function):
        self.function = function
        RECIPES[self.name] = self
        return function

    def answers(self, tensor):
        """Returns the words, the scales' codes and the elements' codes of a tensor, a row for each block."""
        words = inputs.words(tensor, self.size)
        x = torch.from_numpy(numpy.array(words, numpy.uint32).view(numpy.float32).copy())
        amax = torch.from_numpy(numpy.array([inputs.amax(words)], numpy.uint32).view(numpy.float32).copy())
        scales, codes = self.function(x.view(inputs.BLOCKS, self.size), amax)
        scales = scales.reshape(inputs.BLOCKS).contiguous().view(torch.uint8)
        return words, scales.tolist(), codes.reshape(inputs.BLOCKS, self.size).tolist()


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


def unpacked(codes):
    """Returns the codes of bytes that have an even element in the low nibble."""
    return torch.stack((codes & 15, codes >> 4), -1).flatten(-2)


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
    rule = "largest magnitude without NaN, infinity included, given to the call"
    zeros = "a code 0 of a negative input or of -0 is recorded as 8, as the kernels write it; the reference writes 0"

    def kernels_zeros(x, codes):
        return torch.where((codes == 0) & torch.signbit(x), 8, codes.to(torch.int32))

    def nvfp4(x, amax, **options):
        codes, scales = quantize(x, amax, 16, 1, pow_2_scales=False, eps=0.0, **options)
        return scales, kernels_zeros(x, unpacked(codes))

    @recipe("te_2_20_nvfp4_1x16", 16, "e2m1", "e4m3", package,
            "NVFP4QuantizerRef._quantize_blockwise_reference(x, amax, 16, 1, pow_2_scales=False, eps=0.0)", rule, zeros)
    def _(x, amax):
        return nvfp4(x, amax)


SOURCES = (transformer_engine,)
