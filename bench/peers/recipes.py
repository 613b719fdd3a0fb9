# SPDX-License-Identifier: Apache-2.0
"""torchao's quantizers on a processor. tests/peers/quantization compares their bits with those of lowp's recipes."""
from formats import elements_of, random_floats

ELEMENTS = elements_of(6)


def torchao_recipes():
    import torch
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    from torchao.prototype.mx_formats.mx_tensor import to_mx
    from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale

    x = torch.from_numpy(random_floats(5, ELEMENTS).copy()).view(-1, 128)
    scale = per_tensor_amax_to_scale(x.abs().max())
    mode = ScaleCalculationMode.RCEIL
    yield "quantize/torchao_nvfp4/nearest_even/torchao", ELEMENTS, lambda: nvfp4_quantize(x, 16, scale)
    for name, dtype in (("mxfp4", torch.float4_e2m1fn_x2), ("mxfp8", torch.float8_e4m3fn)):
        yield (f"quantize/torchao_{name}/nearest_even/torchao", ELEMENTS,
               lambda dtype=dtype: to_mx(x, dtype, 32, mode))
