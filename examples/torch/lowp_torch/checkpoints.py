# SPDX-License-Identifier: Apache-2.0
"""Moments of 8 bits in the blocks of other packages, and states that those packages load. The codes are
those of bitsandbytes, which torchao has too, or those of FlashOptim. Their blocks are flat; ours do not
cross rows."""

import functools
import math
import warnings

import torch

from lowp_torch import shards

BLOCK = 256
_OURS = ("storage", "state_dtype", "min_8bit_size", "rounding", "seed", "first_tensor", "generator")


@functools.cache
def values_of_codes(is_signed):
    """Returns the values of the 256 codes for a block whose largest magnitude is 1."""
    values = [0.0, 1.0]
    for i in range(7):
        edges = torch.linspace(0.1, 1, 2 ** (i if is_signed else i + 1) + 1)
        values += (10 ** (i - 6) * ((edges[:-1] + edges[1:]) / 2)).tolist()
        if is_signed:
            values += (-(10 ** (i - 6)) * ((edges[:-1] + edges[1:]) / 2)).tolist()
    return torch.tensor(sorted(values))


class _Dynamic:
    """Codes of bitsandbytes by their values."""

    dtype = torch.float32  # of scales
    root = square = staticmethod(lambda x: x)

    def __init__(self, values):
        self.values = values.float()

    def shares(self, codes):
        return self.values.to(codes.device)[codes.int()]

    def codes(self, shares):
        values = self.values.to(shares.device)
        return torch.bucketize(shares, (values[:-1] + values[1:]) / 2).to(torch.uint8)


class _Companded:
    """Codes of FlashOptim: see companded_blocks in C++."""

    dtype = torch.float16

    def __init__(self, is_signed):
        self.is_signed = is_signed
        self.root = (lambda x: x) if is_signed else torch.sqrt
        self.square = (lambda x: x) if is_signed else torch.square

    def shares(self, codes):
        t = codes.float() / (127 if self.is_signed else 255)
        return t / (2 - t.abs()) if self.is_signed else t

    def codes(self, shares):
        if self.is_signed:
            return torch.floor(127 * (2 * shares / (1 + shares.abs())) + 0.5).to(torch.int8)
        return torch.floor(255 * shares + 0.5).to(torch.uint8)


def _in_blocks(x, block, of_rows):
    """Returns blocks of a row each, and the number and length of the rows that hold them."""
    rows = x.reshape(-1, x.shape[-1]) if of_rows and x.dim() and x.numel() else x.reshape(1, -1)
    return torch.nn.functional.pad(rows, (0, -rows.shape[1] % block)).view(-1, block), *rows.shape


def _decoded(codes, scales, code, block=BLOCK, of_rows=True):
    """Returns the values of codes and their scales, in float32."""
    x, rows, columns = _in_blocks(code.shares(codes), block, of_rows)
    return code.square(x * scales.view(-1, 1).float()).view(rows, -1)[:, :columns].reshape(codes.shape)


def _encoded(x, code, block=BLOCK, of_rows=True):
    """Returns the nearest codes, and a scale for each block."""
    blocks, rows, columns = _in_blocks(code.root(x.float()), block, of_rows)
    scales = blocks.abs().amax(1)
    codes = code.codes(blocks / scales.where(scales > 0, 1.0)[:, None])
    return codes.view(rows, -1)[:, :columns].reshape(x.shape).contiguous(), scales.to(code.dtype)


def _moments_of(optimizer, p, state):
    """Yields a slot, its float32, and codes with flat scales if the state has codes. Of a DTensor, these are
    parts of this rank."""
    state = {key: shards.local(value) for key, value in state.items()}
    for slot, is_signed in zip(optimizer._moments, (True, False)):
        moment, scales = state[slot], state.get(f"{slot}_absmax")
        if moment.is_floating_point():
            yield slot, moment.float(), None
        elif scales is None:
            yield slot, _decoded(moment, state[f"{slot}_scales"], _Companded(is_signed), 32), None
        else:
            code = _Dynamic(values_of_codes(is_signed))
            whole = _decoded(moment, scales, code)
            is_same = p.dim() == 0 or p.shape[-1] % BLOCK == 0 or moment.numel() == moment.shape[-1]
            flat = (moment.clone(), scales.reshape(-1).clone()) if is_same else _encoded(whole, code, of_rows=False)
            yield slot, whole, (*flat, code.values.to(moment.device), is_same)


def exported_state(optimizer, package: str) -> dict:
    """Returns the state for load_state_dict of another optimizer: "torch" of torch.optim.AdamW,
    "bitsandbytes" of its AdamW8bit or Lion8bit, "torchao" of its AdamW8bit.

    Moments keep their bits where the package has such ones, and are float32 else. Codes of a tensor whose
    rows are no whole blocks of 256 are rounded anew, and a warning says so. What a storage keeps of weights is left out:
    other packages have no place for it. Moments of a DTensor are DTensors; bitsandbytes has none.
    """
    if package not in ("torch", "bitsandbytes", "torchao"):
        raise ValueError(f"package is {package!r}, and must be torch, bitsandbytes or torchao")
    if optimizer._kind != "adamw" and (package, optimizer._kind) != ("bitsandbytes", "lion"):
        raise ValueError(f"package is {package!r}: it has no {type(optimizer).__name__} of 8 bits")
    saved, states, rounded = optimizer.state_dict(), {}, []
    numbered = [(name, p, group) for group, each in optimizer._numbered() for _, name, p in each]
    for i, (name, p, group) in enumerate(numbered):
        state = saved["state"].get(i)
        if state is None:
            continue
        step = int(state["step"])
        if package == "bitsandbytes" and shards.is_sharded(p):
            raise ValueError(f"{name}: a DTensor, and bitsandbytes takes none. Save it by "
                             "torch.distributed.checkpoint, and load that on one rank")
        made = {"step": step if package == "bitsandbytes" else torch.tensor(float(step))}
        for k, (slot, whole, flat) in enumerate(_moments_of(optimizer, p, state), 1):
            if flat and package != "torch" and not flat[-1]:
                rounded.append(f"{name}, {slot}")
            if package == "bitsandbytes":
                made[f"state{k}"] = flat[0] if flat else whole.clone()
                if flat:
                    made[f"absmax{k}"], made[f"qmap{k}"] = flat[1:3]
            elif package == "torchao" and flat and whole.numel() and whole.numel() % BLOCK == 0:
                from torchao.optim.subclass_8bit import OptimState8bit
                made[slot] = shards.like(OptimState8bit(*flat[:3], k == 1, dtype=p.dtype), p, p.shape)
            else:
                made[slot] = shards.like(whole.clone(), p, p.shape)
        states[i] = made
    if rounded:
        warnings.warn(f"lowp_torch: blocks of {BLOCK} cross rows in {package}. {rounded[0]} is rounded anew, as are "
                      f"{len(rounded) - 1} others.", stacklevel=2)
    groups = [{key: value for key, value in group.items() if key not in _OURS} for group in saved["param_groups"]]
    for group in groups:
        group["params"] = list(group["params"])
        if package == "bitsandbytes":
            group.setdefault("eps", 1e-8)  # Lion8bit reads it, and does not use it
        if package == "torchao":
            group["lr"] = torch.as_tensor(group["lr"], dtype=torch.float32).clone()
    return {"state": states, "param_groups": groups}


def taken_over(name, p, state, slots, warned):
    """Gives moments of torchao and bitsandbytes, and scales of flat blocks, the rows of a parameter. `slots`
    has the dtype of each moment, and the name of what its codes share. Parts of DTensors are taken by themselves."""
    if not shards.is_sharded(p):
        return _taken_over(name, p, state, slots, warned)
    parts = {key: value.to_local() for key, value in state.items() if shards.is_sharded(value)}
    taken = {**state, **parts}
    _taken_over(name, shards.local(p.detach()), taken, slots, warned)
    for slot in slots:
        for key, block in ((slot, 0), (f"{slot}_absmax", BLOCK), (f"{slot}_scales", 32)):
            if slot in parts and key in taken and taken[key] is not parts.get(key):
                state[key] = shards.like(taken[key], p, shards.blocks_shape(p.shape, block) if block else p.shape)


def _taken_over(name, p, state, slots, warned):
    maps = [state.pop(f"qmap{i}", None) for i in (1, 2)]
    columns = p.shape[-1] if p.dim() else 1

    def rounds(reason):
        if "blocks" not in warned:
            warned.add("blocks")
            warnings.warn(f"lowp_torch: {name}: {reason}. It is rounded anew, as are others that are like it.",
                          stacklevel=4)

    for i, (slot, (dtype, shared)) in enumerate(slots.items()):
        moment, block = state.get(slot), BLOCK
        if hasattr(moment, "codes"):
            if not hasattr(moment, "qmap") or moment.qmap.numel() != 256:
                raise ValueError(f"{name}, {slot}: {type(moment).__name__} of torchao, and only its "
                                 "OptimState8bit is taken over")
            maps[i], block = moment.qmap, moment.block_size
            state[f"{slot}_absmax"] = moment.scale.clone()
            state[slot] = moment = moment.codes.clone()
        if moment is None:
            continue
        of_map = _Dynamic(maps[i]) if maps[i] is not None else None
        for key, ours, theirs, code in (("absmax", BLOCK, block, of_map), ("scales", 32, 32, _Companded(i == 0))):
            old, sizes = state.get(f"{slot}_{key}"), shards.blocks_shape(p.shape, ours)
            if old is None or old.dim() != 1 or old.numel() != -(-p.numel() // theirs):
                continue  # a step checks it
            if dtype == torch.float32 and code is not None:
                state[slot] = _decoded(moment, state.pop(f"{slot}_{key}"), code, theirs, of_rows=False)
            elif theirs == ours and (columns % ours == 0 or old.shape == sizes):
                state[f"{slot}_{key}"] = old.view(sizes)
            elif code is None:
                raise ValueError(f"{slot}: its blocks of {theirs} cross rows of a parameter of sizes "
                                 f"{list(p.shape)}, and the state has no map of its codes")
            else:
                rounds(f"blocks of {theirs} in {slot} cross rows of {columns}; here they do not"
                       if theirs == ours else f"{slot} has blocks of {theirs}; here they have {ours} elements")
                state[slot], old = _encoded(_decoded(moment, old, code, theirs, of_rows=False), code, ours)
                state[f"{slot}_{key}"] = old.view(sizes)
        moment = state[slot]
        if dtype == torch.float32 and moment.is_floating_point():
            state[slot] = moment.float()  # narrower floats are among them
        elif shared == "absmax" and moment.is_floating_point() and moment.shape == p.shape:
            rounds(f"{slot} is of {moment.dtype}; here it has 8 bits")
            state[slot], old = _encoded(moment, _Dynamic(values_of_codes(i == 0)))
            state[f"{slot}_absmax"] = old.view(shards.blocks_shape(p.shape, BLOCK))
