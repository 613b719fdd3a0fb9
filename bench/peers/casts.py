# SPDX-License-Identifier: Apache-2.0
"""Casts of ml_dtypes and PyTorch, and PyTorch's addition: their results are lowp's to the bit."""
import numpy
from formats import FORMATS, check, elements_of, random_floats

ELEMENTS = elements_of(6)


def cases_of(peer, narrow_of, float_of, run_cast, codes_of):
    """(name, elements, function) for each format that the peer has, with its result compared."""
    floats = random_floats(1, ELEMENTS)
    for name, form in FORMATS.items():
        codes = form.encode(floats)
        narrow, wide = narrow_of(name, codes), float_of(floats)
        if narrow is None:
            continue
        into_narrow, into_wide = narrow_of(name, codes * 0), float_of(floats * 0)
        down, up = f"cast/float->{name}/nearest_even/{peer}", f"cast/{name}->float/exact/{peer}"
        run_cast(into_narrow, wide)
        check(down, codes_of(into_narrow, form.code_type), codes)
        run_cast(into_wide, narrow)
        check(up, codes_of(into_wide, numpy.uint32), form.decode(codes).view(numpy.uint32))
        yield down, ELEMENTS, lambda to=into_narrow, of=wide: run_cast(to, of)
        yield up, ELEMENTS, lambda to=into_wide, of=narrow: run_cast(to, of)


def ml_dtypes_casts():
    import ml_dtypes

    def narrow_of(name, codes):
        dtype = getattr(ml_dtypes, name, None)  # float16 is NumPy's
        return None if dtype is None else codes.view(dtype)

    def run_cast(to, of):
        numpy.copyto(to, of, casting="unsafe")

    def codes_of(array, code_type):
        return array.view(code_type)

    yield from cases_of("ml_dtypes", narrow_of, lambda x: x.copy(), run_cast, codes_of)


def tensor_of(codes, dtype):
    import torch
    return torch.from_numpy(codes.view(f"i{codes.itemsize}").copy()).view(dtype)


def codes_of_tensor(tensor, code_type):
    import torch
    signed = {1: torch.int8, 2: torch.int16, 4: torch.int32}
    return tensor.view(signed[tensor.element_size()]).numpy().view(code_type)


def torch_casts():
    import torch

    def narrow_of(name, codes):
        dtype = getattr(torch, name, None)
        return None if dtype is None else tensor_of(codes, dtype)

    yield from cases_of("torch", narrow_of, lambda x: tensor_of(x, torch.float32),
                        lambda to, of: to.copy_(of), codes_of_tensor)


def torch_additions():
    import torch

    form, alpha = FORMATS["bfloat16"], 2**-7  # which it rounds to bfloat16
    codes, floats = form.encode(random_floats(2, ELEMENTS)), random_floats(3, ELEMENTS)
    narrow = tensor_of(codes, torch.bfloat16)
    for types, u in (("float", torch.from_numpy(floats)),
                     ("bfloat16", tensor_of(form.encode(floats), torch.bfloat16))):
        name = f"fused_add/bfloat16,{types}/nearest_even/torch"
        p = narrow.clone().add_(u, alpha=alpha)
        sums = form.decode(codes) + alpha * u.to(torch.float32).numpy()
        check(name, codes_of_tensor(p, form.code_type), form.encode(sums))

        def add(p=p, u=u, signs=[1]):
            signs[0] = -signs[0]
            p.add_(u, alpha=signs[0] * alpha)

        yield name, ELEMENTS, add
