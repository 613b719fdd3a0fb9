# SPDX-License-Identifier: Apache-2.0
"""PyTorch's fused step of AdamW, beside the same in double precision."""
import numpy
from casts import tensor_of
from formats import FORMATS, check_close, elements_of, random_floats

LR, BETA1, BETA2, EPS, DECAY, STEP = 1e-3, 0.9, 0.999, 1e-8, 1e-2, 10


def torch_steps():
    import torch

    for name, bytes_each in (("float", 16), ("bfloat16", 8)):
        elements = elements_of(bytes_each)
        values = [random_floats(seed, elements) for seed in range(1, 5)]
        values[3] **= 2
        dtype = torch.float32 if name == "float" else torch.bfloat16
        p, g, m, v = (torch.from_numpy(x).to(dtype) for x in values)
        step = torch.tensor(float(STEP))

        def update(p=p, g=g, m=m, v=v, step=step):
            torch._fused_adamw_([p], [g], [m], [v], [], [step], amsgrad=False, lr=LR, beta1=BETA1, beta2=BETA2,
                                weight_decay=DECAY, eps=EPS, maximize=False)

        old_p, old_g, old_m, old_v = (x.double().numpy() for x in (p, g, m, v))
        update()
        first, second = old_m + (1 - BETA1) * (old_g - old_m), BETA2 * old_v + (1 - BETA2) * old_g**2
        wanted = (1 - LR * DECAY) * old_p - LR * first / (1 - BETA1**STEP) / (numpy.sqrt(second / (1 - BETA2**STEP)) + EPS)
        case = f"update/adamw/{name},{name},{name},{name}/nearest_even/torch"
        check_close(case, p.double().numpy(), wanted,
                    2.0**-22 * (numpy.abs(wanted) + 1) if name == "float" else 2.0**-7 * numpy.abs(wanted) + 2.0**-7)
        yield case, elements, update
