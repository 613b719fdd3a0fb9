# SPDX-License-Identifier: Apache-2.0
"""Overflow presets as ../peers/presets/README.md tells them: each for the formats of its library, and
the format's default elsewhere. No preset leaves a NaN signalling."""
import spec

SIXTEEN = ('float16', 'bfloat16')
OCP = ('float8_e5m2', 'float8_e4m3fn')
FNUZ = ('float8_e4m3fnuz', 'float8_e5m2fnuz')
MX = ('float6_e2m3fn', 'float6_e3m2fn', 'float4_e2m1fn')
REST = ('float8_e4m3', 'float8_e3m4', 'float8_e4m3b11fnuz')
FORMATS = {
    'cuda': SIXTEEN + OCP + MX, 'cuda_nosat': SIXTEEN + OCP + MX,
    'ml_dtypes': SIXTEEN + OCP + FNUZ + MX + REST, 'ml_dtypes_saturate': SIXTEEN + OCP + FNUZ + MX + REST,
    'onnx': SIXTEEN + OCP + FNUZ + MX, 'onnx_nosat': SIXTEEN + OCP + FNUZ + MX,
    'torch': SIXTEEN + OCP + FNUZ, 'torch_2_11': SIXTEEN + OCP + FNUZ,
}
NAMES = list(FORMATS)


def default(target):
    return spec.special_codes(target, 'infinity' if target.infinity is not None else 'saturate')


def codes(target, preset):
    """Returns the special codes as spec.special_codes does."""
    name = target.name
    if name not in FORMATS[preset]:
        return default(target)
    overflowed, infinite, nans, payload = spec.special_codes(target, 'infinity')
    narrow = name not in SIXTEEN
    largest, ones = target.largest, (1 << target.magnitude_bits) - 1
    if preset.startswith('cuda'):
        nans, payload = ((largest, largest) if name in MX else (ones, ones)), False
        if preset == 'cuda' and narrow:
            overflowed = infinite = largest
    elif preset.startswith(('ml_dtypes', 'onnx')):
        payload = name == 'float16'
        if name in MX:
            nans = (target.sign, 0)
        if preset == 'ml_dtypes_saturate' and narrow:
            overflowed = largest
        if preset == 'onnx' and narrow:
            overflowed = infinite = largest
    else:
        payload = name == 'float16'
        if name == 'bfloat16':
            nans = (target.nan, target.nan)
        if name in OCP:
            nans = (ones, ones | target.sign)
        if preset == 'torch' and name == 'float8_e4m3fn':
            overflowed = infinite = largest
    return overflowed, infinite, nans, payload
