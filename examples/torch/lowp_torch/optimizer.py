# SPDX-License-Identifier: Apache-2.0
"""AdamW, Lion and steps along a given direction for PyTorch, in narrow types, with stochastic rounding.
The first step compiles its library, unless pip has installed it."""

import collections
import copy
import ctypes
import dataclasses
import functools
import glob
import itertools
import math
import os
import types
import warnings
import weakref

import torch

from lowp_torch import build, checkpoints, shards

_here = os.path.dirname(os.path.realpath(__file__))
_NAMES = {torch.float32: "float32", torch.bfloat16: "bfloat16", torch.float16: "float16"}
_STORAGES = {  # name: dtypes of the parameter, dtype of the tensor beside it
    "plain": ((torch.float32, torch.bfloat16, torch.float16), None),
    "kahan": ((torch.bfloat16, torch.float16), torch.bfloat16),
    "master": ((torch.bfloat16, torch.float16), torch.float32),
    "corrected8": ((torch.bfloat16, torch.float16), torch.int8),
    "corrected16": ((torch.bfloat16, torch.float16), torch.int16),
}
_ROUNDINGS = ("nearest", "stochastic", "stochastic_fast")
# The generators of random bits, by their names in a checkpoint of lowp.
_GENERATORS = {"stochastic": "Philox4x32-10",
               "stochastic_fast": "Philox4x32-10, a key for 128 elements"}
_BLOCK = 256  # parameters that share a fingerprint


@dataclasses.dataclass(frozen=True)
class _Moment:
    name: str  # in the names of libraries
    dtypes: tuple  # of a first and of a second moment
    zeros: tuple = (0, 0)  # the elements that stand for 0
    scales: str = ""  # the name of what codes share, its dtype, and codes that share one
    scale: torch.dtype = None
    block: int = 0


_MOMENTS = {  # by state_dtype
    torch.float32: _Moment("float32", (torch.float32, torch.float32)),
    torch.bfloat16: _Moment("bfloat16", (torch.bfloat16, torch.bfloat16)),
    torch.uint8: _Moment("uint8", (torch.uint8, torch.uint8), (127, 0), "absmax", torch.float32, 256),
    "companded": _Moment("companded", (torch.int8, torch.uint8), (0, 0), "scales", torch.float16, 32),
}


@dataclasses.dataclass(frozen=True)
class Report:
    """The update_report of a step. Reports of several parameters or steps add up."""

    count: int = 0        # parameters
    stalled: int = 0      # an update that is not zero left the parameter as it was
    overflowed: int = 0   # a finite result was too large for the type
    nonfinite: int = 0    # the update, a parameter or a stored moment is infinite or NaN
    applied: float = 0.0  # the sum of sign(update) * (new - old)
    requested: float = 0.0  # the sum of |update|

    @property
    def applied_ratio(self):
        """Returns 1 if all updates arrived, and 0 if the parameter is frozen."""
        return self.applied / self.requested if self.requested else 1.0

    def __add__(self, other):
        return Report(*(a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other))))


# The structs of step.cpp.
class _Report(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("count", "stalled", "overflowed", "nonfinite")]
    _fields_ += [(name, ctypes.c_double) for name in ("applied", "requested")]


class _Tensor(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p)
                for name in ("p", "g", "m", "v", "m_scales", "v_scales", "extra", "written")] + [
        ("n", ctypes.c_uint64), ("name", ctypes.c_char_p), ("restarted", ctypes.c_uint64),
        ("number", ctypes.c_uint32), ("checks", ctypes.c_int32), ("outcome", _Report),
        ("first", ctypes.c_uint64), ("run", ctypes.c_uint64), ("stride", ctypes.c_uint64),
        ("firsts", ctypes.c_void_p)]


class _Settings(ctypes.Structure):
    _fields_ = [(name, ctypes.c_double) for name in ("lr", "beta1", "beta2", "eps", "weight_decay")] + [
        ("seed", ctypes.c_uint64), ("step", ctypes.c_uint64), ("stream", ctypes.c_void_p),
        ("scratch", ctypes.c_void_p), ("stored", ctypes.c_void_p), ("reports", ctypes.c_int32),
        ("checked", ctypes.c_int32),
        ("restarted", ctypes.c_uint64), ("error", ctypes.c_char * 1000)]


def _installed(kind):
    """Returns the path of a library that pip has compiled, in a list, or an empty one."""
    return glob.glob(os.path.join(_here, "kernels", "_".join(kind) + ".*so"))


def _path(kind, capability=None, is_stored=False):
    """Returns the path of a library. It is compiled now if pip has not done it."""
    paths = [] if capability else _installed(kind)
    return paths[0] if paths else build.built(kind, capability, is_stored)


def _engine(optimizer, element, storage, moment, rounding, gradient=None):
    """Returns the engine's functions for a kind, with the names of a library's."""
    engine = ctypes.CDLL(_path(build.ENGINE))
    engine.lowp_torch_kind.restype = ctypes.c_void_p
    engine.lowp_torch_step_any.restype, engine.lowp_torch_resync_any.restype = ctypes.c_bool, None
    names = (optimizer, element, storage, moment, rounding, gradient or element)
    kind = ctypes.c_void_p(engine.lowp_torch_kind(*map(str.encode, names)))
    return types.SimpleNamespace(lowp_torch_step=functools.partial(engine.lowp_torch_step_any, kind),
                                 lowp_torch_resync=functools.partial(engine.lowp_torch_resync_any, kind))


@functools.cache
def _library(*kind, capability=None, is_stored=False):
    """Returns the library of a kind, of the processor or of a GPU with this compute capability. One
    that is_stored reads the learning rate and the step's number in memory of the GPU."""
    is_fused = capability or _installed(kind) or (kind in build.COMMON and not _installed(build.ENGINE))
    if not is_fused:
        return _engine(*kind)
    library = ctypes.CDLL(_path(kind, capability, is_stored))
    library.lowp_torch_step.restype = ctypes.c_bool
    if capability:
        library.lowp_torch_resync_on_gpu.restype = ctypes.c_bool
        library.lowp_torch_report_size.restype = ctypes.c_size_t
    else:
        library.lowp_torch_resync.restype = None
    return library


@functools.cache
def _host():
    """Returns the library of host.cpp, or None if PyTorch is older than 2.14."""
    if not hasattr(ctypes, "PyDLL") or tuple(map(int, torch.__version__.split(".")[:2])) < (2, 14):
        return None
    host, it, size = ctypes.PyDLL(_path(build.HOST)), ctypes.py_object, ctypes.c_size_t
    for name, result, arguments in [
            ("begin", ctypes.c_bool, [it, it, it]), ("watch", ctypes.c_void_p, [size]),
            ("unwatch", None, [ctypes.c_void_p]), ("seal", None, [ctypes.c_void_p, it]),
            ("remember", None, [ctypes.c_void_p, size, it, it, it, ctypes.c_bool, ctypes.c_int, ctypes.c_void_p,
                                size, ctypes.c_int]),
            ("is_fresh", ctypes.c_bool, [ctypes.c_void_p, it, it]),
            ("advance", None, [ctypes.c_void_p, ctypes.c_int, it])]:
        function = getattr(host, f"lowp_torch_{name}")
        function.restype, function.argtypes = result, arguments
    return host if host.lowp_torch_begin(None, True, False) else None


def _call(library, tensors, settings):
    """Steps tensors in the memory of the processor, or of a GPU on PyTorch's current stream."""
    if not library.lowp_torch_step(tensors, len(tensors), ctypes.byref(settings)):
        raise ValueError(settings.error.decode())


def _call_on_gpu(library, tensors, settings, device):
    settings.stream = torch.cuda.current_stream(device).cuda_stream
    with torch.cuda.device(device):
        if settings.reports and torch.cuda.is_current_stream_capturing():
            raise ValueError("report is true, and the host reads reports: set it to False before a graph is captured")
        numbers = tensors[len(tensors) - 1].number - tensors[0].number + 1
        size = numbers * library.lowp_torch_report_size() if settings.reports else 0
        scratch = torch.empty(size, dtype=torch.uint8, device=device)
        settings.scratch = scratch.data_ptr()
        _call(library, tensors, settings)


def _fill(t, number, name, p, g, state, written, storage, slots, moment, place):
    """Describes a parameter for the libraries. `p` and `g` are memory of this process."""
    t.p, t.n, t.name, t.number = p.data_ptr(), p.numel(), name.encode(), number
    t.first, t.run, t.stride = place.first, place.run, place.stride
    if place.firsts is not None:
        t.firsts = place.firsts.data_ptr()
    for field, slot in zip(("m", "v"), slots):
        setattr(t, field, shards.local(state[slot]).data_ptr())
        if moment.scales:
            setattr(t, f"{field}_scales", shards.local(state[f"{slot}_{moment.scales}"]).data_ptr())
    if g is not None:
        t.g = g.data_ptr()
    if _STORAGES[storage][1]:
        t.extra, t.written = shards.local(state[storage]).data_ptr(), written.data_ptr()


def _copied(value, device):
    """Returns a value of a state with copies of its tensors on a device."""
    if torch.is_tensor(value):
        part = shards.local(value).to(device, copy=True)
        return shards.like(part, value, value.shape)
    if isinstance(value, dict):
        return {key: _copied(each, device) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_copied(each, device) for each in value)
    return copy.deepcopy(value)


def _refuse(name, tensor, reason):
    what = f"{name}: a tensor of {tensor.dtype}"
    if tensor.layout == torch.strided:
        what += f", sizes {list(tensor.shape)}, strides {list(tensor.stride())}"
    raise ValueError(f"{what}, on {tensor.device}: {reason}")


def _check_tensor(name, tensor, dtypes, shape=None, device=None):
    """Raises ValueError if a step cannot take the tensor."""
    if tensor.layout != torch.strided:
        _refuse(name, tensor, "its layout is not strided")
    if tensor.device != (device or tensor.device) or tensor.device.type not in ("cpu", "cuda"):
        _refuse(name, tensor, f"it must be on {device or 'cpu or cuda'}")
    if tensor.dtype not in dtypes:
        _refuse(name, tensor, f"it must be of {' or '.join(map(str, dtypes))}")
    if shape is not None and tensor.shape != shape:
        _refuse(name, tensor, f"its sizes must be {list(shape)}")
    if tensor.numel() and not shards.is_sharded(tensor) and not tensor.data_ptr():
        _refuse(name, tensor, "it has no memory")


def _check_parameter(name, p, group):
    """Returns the parameter's memory in this process."""
    value = shards.local(p.detach())
    _check_tensor(f"{name}, value", value, _STORAGES[group["storage"]][0])
    if not value.is_contiguous() and torch.empty_like(value).stride() != value.stride():
        _refuse(f"{name}, value", value, "its elements must lie side by side, each once")
    if value.is_neg():
        _refuse(f"{name}, value", value, "its elements are negated lazily: call resolve_neg()")
    if getattr(p, "_is_flat_param", False) or getattr(p, "_fsdp_flattened", False):  # of FSDP1
        is_coded = group.get("state_dtype") in (torch.uint8, "companded")
        if group["rounding"] != "nearest" or is_coded or group["storage"] != "plain":
            _refuse(f"{name}, value", value, "FullyShardedDataParallel does not tell where its elements lie in the "
                    'model: it takes rounding="nearest", storage="plain" and a state_dtype of numbers. '
                    "fully_shard() takes all")
    return value


def _check_placement(name, tensor, p):
    """Raises ValueError if a tensor is not divided among ranks as the parameter is."""
    if shards.is_sharded(tensor) != shards.is_sharded(p):
        kinds = ["a DTensor" if shards.is_sharded(each) else "a plain tensor" for each in (tensor, p)]
        raise ValueError(f"{name}: {kinds[0]}, and the parameter is {kinds[1]}")
    if shards.is_sharded(p) and (tensor.placements, tensor.device_mesh) != (p.placements, p.device_mesh):
        raise ValueError(f"{name}: its placements are {tensor.placements} of {tensor.device_mesh}, and the "
                         f"parameter's are {p.placements} of {p.device_mesh}. redistribute() it first")


def _check_group(group, optimizer):
    """Raises ValueError for a setting that no step can have."""
    def as_float32(number):
        return ctypes.c_float(float(number)).value

    def check_number(name, value):
        try:
            float(() if isinstance(value, str) else value)
        except (TypeError, ValueError, RuntimeError):  # PyTorch's, of tensors of several numbers
            raise ValueError(f"{name} is {value!r}, and must be a number") from None

    for name in ("lr", "eps", "weight_decay"):
        if torch.is_tensor(group.get(name)) and group[name].numel() != 1:
            raise ValueError(f"{name} is {group[name]}, and must be one number: give parameters with "
                             "another one a group of their own")
        check_number(name, group.get(name, 0))
        if not (float(group.get(name, 0)) >= 0 and as_float32(group.get(name, 0)) < math.inf):
            raise ValueError(f"{name} is {group[name]}, and must be finite in float32 and not negative")
    betas = group.get("betas", (0, 0))
    if not hasattr(betas, "__len__") or len(betas) != 2:
        raise ValueError(f"betas is {betas}, and must be two numbers")
    for i, beta in enumerate(betas):
        check_number(f"beta{i + 1}", beta)
        if not (float(beta) >= 0 and as_float32(beta) < 1):
            raise ValueError(f"beta{i + 1} is {beta}, and must be in [0, 1), in float32 too")
    if group.get("storage") == "split":
        raise ValueError('storage is split: here that is "corrected16", a master of 32 bits in two parts')
    for name, known in (("storage", tuple(_STORAGES)), ("rounding", _ROUNDINGS),
                        ("state_dtype", tuple(_MOMENTS))):
        if name in optimizer.defaults and group[name] not in known:
            raise ValueError(f"{name} is {group[name]}, and must be one of {', '.join(map(str, known))}")
    for name in ("seed", "min_8bit_size", "first_tensor"):
        value = group.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"{name} is {value!r}, and must be an integer")
    if not 0 <= group.get("first_tensor", 0) < 2**31:
        raise ValueError(f"first_tensor is {group['first_tensor']}, and must be from 0 to 2^31 - 1")
    for name in ("amsgrad", "capturable", "differentiable"):
        if group.get(name) and (name != "capturable" or name not in optimizer.defaults):
            raise ValueError(f"{name} is {group[name]}: lowp_torch.{type(optimizer).__name__} does not have it, "
                             "so leave it False")
    if group.get("foreach") and group.get("fused"):
        raise ValueError("fused and foreach cannot be True together")
    if not group.get("decoupled_weight_decay", True) and group["weight_decay"]:
        raise ValueError("decoupled_weight_decay is False: this is a state of Adam, not of AdamW")


_made = itertools.count(1)  # optimizers whose seed depends on their number


def _drawn_seed():
    """Returns a seed that no other optimizer of this process has. Ranks that make optimizers in the
    same order have equal ones."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return next(_made) * 0x9e3779b97f4a7c15 % 2**63
    return int(torch.empty((), dtype=torch.int64, device="cpu").random_())


def _name_generator(group):
    if group["rounding"] in _GENERATORS:
        group["generator"] = _GENERATORS[group["rounding"]]
    else:
        group.pop("generator", None)


def _check_generator(group):
    """Raises ValueError for a saved group whose random bits came from another generator."""
    ours = _GENERATORS.get(group.get("rounding"))  # none to nearest, or of torch.optim.AdamW
    # A group without a name is older. Its "stochastic" drew the same bits.
    theirs = group.get("generator", "Philox4x32-7" if group.get("rounding") == "stochastic_fast" else ours)
    if ours is not None and theirs != ours:
        raise ValueError(f"the state drew its random bits with {theirs}; now {group['rounding']} draws "
                         f"them with {ours}")


def _check_gradient(name, p, value):
    _check_tensor(f"{name}, gradient", p.grad, tuple(_NAMES), p.shape, p.device)
    _check_placement(f"{name}, gradient", p.grad, p)
    if shards.is_sharded(p):
        _check_tensor(f"{name}, gradient", shards.local(p.grad), tuple(_NAMES), value.shape, value.device)


class _Call:
    """Parameters of a group that have one library and one step number."""

    def __init__(self, optimizer, group, listed):
        _, _, self.device, _, of_gradient, step = listed[0][0]
        self.group, self.settings = group, _Settings()
        self.settings.step = step + 1
        self.tensors = (_Tensor * len(listed))()
        self.names = [name for _, _, name, *_ in listed]
        self.params = [p for _, _, _, p, _, _ in listed]
        self.states = [state for *_, state in listed]
        self.stored = None
        if group.get("capturable"):  # the struct that step.hpp has: lr, step, stream
            first = ctypes.c_int64(listed[0][1] << 32).value
            # and the number of the last step: that of a step that is skipped is 0.
            self.stored = torch.tensor([0, 0, first, step], device=self.device)
            self.settings.stored = self.stored.data_ptr()
            self.lr, self.taken, self.step = self.stored.view(torch.float64)[0], self.stored[1], self.stored[3]
            for state in self.states:
                state["step"] = self.step
        self.copies = []  # memory of parameters that are stepped in a copy of row-major order
        self.places = []
        moment = optimizer._moment_of(self.params[0], group)
        for t, (_, number, name, p, g, state) in zip(self.tensors, listed):
            value = shards.local(p.detach())
            if not value.is_contiguous():
                self.copies.append((t, value))
            self.places.append(optimizer._place_of(name, p, group))
            _fill(t, number, name, value, g, state, optimizer._written_of(p, state), group["storage"],
                  optimizer._moments, moment, self.places[-1])
        self.library = optimizer._library_of(self.params[0], group, of_gradient)


class _Table:
    """The arrays of a step. They serve the next one if host.cpp finds no tensor changed."""

    # Settings of a group that take part in the choice of arrays and libraries, or are refused.
    _choices = ("storage", "state_dtype", "min_8bit_size", "rounding", "maximize", "first_tensor", "amsgrad",
                "capturable", "differentiable", "foreach", "fused", "decoupled_weight_decay")

    def __init__(self, optimizer):
        """Checks all tensors of the optimizer, and makes missing states."""
        self.calls, self._watch, self._host = [], None, _host()
        self._given = []  # parameters whose gradient is not taken as it is
        self._chosen = self._choices_of(optimizer)
        self._rates = [None] * len(optimizer.param_groups)
        self._numbered = list(optimizer._numbered())
        calls = {}
        for i, (group, numbered) in enumerate(self._numbered):
            _check_group(group, optimizer)
            present = [each for each in numbered if each[2].grad is not None]
            for _, name, p in present:
                value = _check_parameter(name, p, group)
                _check_gradient(name, p, value)
            for number, name, p in present:
                state = optimizer._state_of(number, name, p, group)
                g = optimizer._taken_gradient(name, p, group)
                key = (i, p.dtype, p.device, optimizer._moment_of(p, group), g.dtype, int(state["step"]))
                calls.setdefault(key, []).append((key, number, name, p, g, state))
        for (i, *_), listed in calls.items():
            listed.sort(key=lambda each: each[1])
            self.calls.append(_Call(optimizer, optimizer.param_groups[i], listed))
        self._set_rates(optimizer)
        if self._host:
            self._remember(optimizer, list(calls.values()))

    @classmethod
    def _choices_of(cls, optimizer):
        return [getattr(optimizer, "grad_scale", None) is None,
                *([group.get(name) for name in cls._choices] for group in optimizer.param_groups)]

    def _remember(self, optimizer, calls):
        self._watch = self._host.lowp_torch_watch(len(self._numbered))
        weakref.finalize(self, self._host.lowp_torch_unwatch, self._watch)
        places = {id(each[3]): (i, j, each) for i, listed in enumerate(calls)
                  for j, each in enumerate(listed)}
        for i, (group, numbered) in enumerate(self._numbered):
            arrays = optimizer._arrays_of(group)
            for number, name, p in numbered:
                call, target, mode, state = 0, None, 0, {}
                value = shards.local(p.detach())
                if id(p) in places:
                    call, j, (*_, g, state) = places[id(p)]
                    t = self.calls[call].tensors[j]
                    target = ctypes.addressof(t) + _Tensor.g.offset
                    is_its = g is p.grad or shards.is_sharded(p) and g.data_ptr() == shards.local(p.grad).data_ptr()
                    reads = optimizer._reads_gradients and is_its and self._chosen[0] and value.is_contiguous()
                    mode = 1 if reads else 2
                    if mode == 2:
                        self._given.append((name, p, group, t, g.dtype))
                self._host.lowp_torch_remember(self._watch, i, p, state, arrays, shards.is_sharded(p), mode, target,
                                                value.numel(), call)
        self._host.lowp_torch_seal(self._watch, optimizer.state)

    def is_fresh(self, optimizer):
        """Returns whether all is as it was. Then the arrays are those of this step."""
        groups = optimizer.param_groups
        if not (self._watch and self._choices_of(optimizer) == self._chosen
                and self._host.lowp_torch_is_fresh(self._watch, [group["params"] for group in groups],
                                                   optimizer.state)):
            return False
        for name, p, group, t, of_gradient in self._given:
            _check_gradient(name, p, shards.local(p.detach()))
            g = optimizer._taken_gradient(name, p, group)
            if g.dtype != of_gradient:  # of a library that steps these
                return False
            t.g = g.data_ptr()
        self._set_rates(optimizer)
        for call in self.calls:
            call.settings.checked = not self._given
        return True

    def _set_rates(self, optimizer):
        """Gives the calls the numbers of their groups."""
        for i, group in enumerate(optimizer.param_groups):
            if torch.is_tensor(group["lr"]) and group["lr"].numel() != 1:
                _check_group(group, optimizer)
            reads_lr = not (group.get("capturable") and torch.is_tensor(group["lr"]))  # a step copies it then
            rates = (float(group["lr"]) if reads_lr else 0.0, *map(float, group.get("betas", (0, 0))),
                     float(group.get("eps", 0)), float(group["weight_decay"]), group.get("seed", 0))
            if rates != self._rates[i]:
                if self._rates[i]:
                    _check_group(group, optimizer)
                self._rates[i] = rates
                for call in self.calls:
                    if call.group is group:
                        settings = call.settings
                        (settings.lr, settings.beta1, settings.beta2, settings.eps, settings.weight_decay,
                         seed) = rates
                        settings.seed = seed % 2**64
                        if call.stored is not None and reads_lr:
                            call.lr.fill_(settings.lr)

    def advance(self, call):
        """Counts a step."""
        step = call.settings.step
        call.settings.step = step + 1
        if call.stored is not None:
            pass  # memory of the tensors' device has counted it
        elif self._watch:
            self._host.lowp_torch_advance(self._watch, self.calls.index(call), step)
        else:
            for state in call.states:
                state["step"] = step


class _Optimizer(torch.optim.Optimizer):
    """Steps parameters in place, each tensor in one pass.

    Each of these may differ between parameter groups:

        storage      "plain": parameters of float32, bfloat16 or float16;
                     "kahan": of bfloat16 or float16, with a compensation of bfloat16;
                     "master": of bfloat16 or float16, a copy of float32 weights in the state;
                     "corrected8", "corrected16": of bfloat16 or float16, with FlashOptim's error
                     bits: its master_weight_bits are 24 or 32
        state_dtype  torch.float32, torch.bfloat16, torch.uint8: the codes of bitsandbytes'
                     blockwise optimizers, or "companded": those of FlashOptim; for all moments
        min_8bit_size  moments of smaller parameters are float32 if state_dtype is torch.uint8
        rounding     "stochastic": Philox's bits; "stochastic_fast": others, any three independent,
                     for a fraction of the work; or "nearest"
        seed         of the random bits. They also depend on the parameter's index, its step and the
                     element's index in the whole tensor. state_dict() is all that a run needs to resume.
                     Without one, it is drawn from PyTorch's generator; in a process group it is the
                     same on ranks that make the same optimizers
        first_tensor  the index of the first parameter. Optimizers with one seed need indices that differ:
                     two parameters with both alike round in the same directions
        maximize     steps along the gradient, not against it
        capturable   of AdamW: a tensor `lr` and the number of a step are read beside the parameters. So
                     a CUDA graph can hold the step

    Every step is one fused pass, so `foreach` and `fused` change nothing; both True are refused.
    `amsgrad` and `differentiable` are refused.

    If `report` is true, a step leaves `reports`: a Report for each parameter's name. It may be set
    for some steps only.

    A parameter may be written between steps, by load_state_dict or otherwise. The next step starts
    from what it holds: in blocks of 256, all storages but "plain" forget what they knew of old
    values. `resyncs` counts that by name, and the first time warns. resync() does it without a
    warning.

    A DTensor is stepped where it lies. With equal gradients the bits are those of one process. States are
    DTensors with its placement. They are made now, for parameters that require a gradient.

    Parameters without a gradient are skipped. A tensor that cannot be stepped raises ValueError
    with the parameter's name. For its device, dtype, layout or sizes, no parameter of its group
    has changed then. For memory that it shares, none of the same step number and types has.
    """

    _kind = ""  # in the names of its libraries
    _moments = ()  # the names of the first and of the second one
    _reads_gradients = True  # as they are, not by a function
    _step_supports_amp_scaling = True  # torch.amp.GradScaler sets found_inf and grad_scale for a step
    _theirs = {"state1": "exp_avg", "absmax1": "exp_avg_absmax", "state2": "exp_avg_sq",
               "absmax2": "exp_avg_sq_absmax",  # of bitsandbytes; then those of FlashOptim
               "exp_avg::quantized": "exp_avg", "exp_avg::scales": "exp_avg_scales",
               "exp_avg_sq::quantized": "exp_avg_sq", "exp_avg_sq::scales": "exp_avg_sq_scales"}

    def __init__(self, params, report, **defaults):
        self._begin()
        if defaults["seed"] is None:
            defaults["seed"] = _drawn_seed()
        self.report = report
        super().__init__(params, defaults)

    def _begin(self):
        self.report = False
        self._reported, self._read, self._of_read = [], None, {}
        self._table, self._taken, self._unscaled = None, {}, {}
        self._places, self._written = {}, {}
        self.resyncs = collections.Counter()
        self._warned = set()

    def add_param_group(self, param_group):
        _check_group({**self.defaults, **param_group}, self)
        super().add_param_group(param_group)
        group, numbered = list(self._numbered())[-1]
        _name_generator(group)  # a flattened state has the names that a group has
        for number, name, p in numbered:
            if shards.is_sharded(p):
                self._place_of(name, p, group)  # refuses what no step can take
            # Made now, so that torch.distributed.checkpoint takes no step to make it.
            if p.requires_grad and p.layout == torch.strided and p.device.type in ("cpu", "cuda") and (
                    p.dtype in _STORAGES[group["storage"]][0]):
                try:
                    _check_parameter(name, p, group)
                except ValueError:
                    continue  # the first step says it
                with torch.no_grad():
                    self._state_of(number, name, p, group)

    @torch.compiler.disable
    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._reported = []
        # The host does not read it if all groups are capturable.
        is_read = not all(group.get("capturable") for group in self.param_groups)
        if is_read and getattr(self, "found_inf", None) is not None and bool(self.found_inf):
            return loss
        try:
            if getattr(self, "grad_scale", None) is not None:
                self._unscale()
            table, self._table = self._table, None  # a step that fails leaves none
            if table is None or not table.is_fresh(self):
                table = _Table(self)
            for call in table.calls:
                self._take(table, call)
            self._table = table
        finally:  # no memory is kept between steps
            self._taken, self._unscaled = {}, {}
        return loss

    @torch.no_grad()
    def resync(self):
        """Starts from the parameters as they are now. Returns the names of those that were written
        since their last step."""
        before = self.resyncs.copy()
        for group, numbered in self._numbered():
            _check_group(group, self)
            for number, name, p in numbered:
                if _STORAGES[group["storage"]][1] and self._written_of(p, self.state.get(p, {})) is not None:
                    _check_parameter(name, p, group)
                    self._sync(group, number, name, p, self._state_of(number, name, p, group))
        return list(self.resyncs - before)

    def _numbered(self):
        """Yields each group with (number, name, parameter) of its parameters."""
        first = 0
        for group in self.param_groups:
            params = group["params"]
            names = group.get("param_names") or [f"parameter {first + i}" for i in range(len(params))]
            number = group.get("first_tensor", 0) + first
            yield group, [(getattr(p, "lowp_number", number + i), name, p)
                          for i, (name, p) in enumerate(zip(names, params))]
            first += len(params)

    def _taken_gradient(self, name, p, group):
        """Returns the gradient as a step takes it, in row-major order. A step makes it once."""
        if p not in self._taken:
            g = self._gradient_of(name, p, group)
            g = self._unscaled[p] if g is p.grad and p in self._unscaled else shards.local(g)
            g = g.resolve_neg().contiguous()
            self._taken[p] = g.neg() if group["maximize"] else g
        return self._taken[p]

    def _unscale(self):
        """Divides gradients by the scale of GradScaler. A step takes them unrounded."""
        for p in (p for group in self.param_groups for p in group["params"] if p.grad is not None):
            g = shards.local(p.grad)
            unscaled = g.float() / shards.local(self.grad_scale).to(p.device)
            g.copy_(unscaled)
            if g.dtype != torch.float32:
                self._unscaled[p] = unscaled

    def _place_of(self, name, p, group):
        """Returns the shards.Place of a parameter. It is kept while the parameter is divided as it is."""
        block = self._moment_of(p, group).block
        key = (block, p.shape, shards.local(p.detach()).shape,
               (p.placements, p.device_mesh) if shards.is_sharded(p) else None)
        if self._places.get(p, (None,))[0] != key:
            self._places[p] = key, shards.place_of(name, p, block)
        place = self._places[p][1]
        if group["rounding"] == "nearest" and not block:  # the bits depend on no place
            return dataclasses.replace(place, first=0, run=0, firsts=None)
        return place

    def _written_of(self, p, state):
        """Returns the fingerprints of a parameter. Those of a DTensor follow this rank's memory, so that
        no checkpoint has them."""
        return (self._written if shards.is_sharded(p) else state).get(p if shards.is_sharded(p) else "written")

    def _gradient_of(self, name, p, group):
        return p.grad

    def _moment_of(self, p, group):
        """Returns the kind of the moments of a parameter."""
        if not self._moments:
            return _Moment("none", ())
        is_small = group["state_dtype"] == torch.uint8 and p.numel() < group["min_8bit_size"]
        return _MOMENTS[torch.float32 if is_small else group["state_dtype"]]

    def _arrays_of(self, group):
        """Returns the names in a state: True for the arrays of a step, False for its number."""
        scales = [f"{slot}_{kind}" for slot in self._moments for kind in ("absmax", "scales")]
        return {**dict.fromkeys([*self._moments, *scales, "written", *_STORAGES], True), "step": False}

    def _library_of(self, p, group, of_gradient=None):
        moment, is_stored = self._moment_of(p, group).name, p.is_cuda and bool(group.get("capturable"))
        is_exact = p.dtype == torch.float32 and moment in ("float32", "none")
        capability = "".join(map(str, torch.cuda.get_device_capability(p.device))) if p.is_cuda else None
        of_gradient = [_NAMES[of_gradient]] if of_gradient not in (None, p.dtype) else []
        return _library(self._kind, _NAMES[p.dtype], group["storage"], moment,
                        "nearest" if is_exact else group["rounding"], *of_gradient, capability=capability,
                        is_stored=is_stored)

    def _take(self, table, call):
        """Steps the parameters of a call."""
        settings = call.settings
        settings.reports = bool(self.report)
        copies = [value.contiguous() for _, value in call.copies]
        for (t, _), each in zip(call.copies, copies):
            t.p = each.data_ptr()
        if call.stored is not None:
            found = getattr(self, "found_inf", None)
            moves = 1 if found is None else (found.to(call.device) == 0).to(torch.int64).view(())
            call.step += moves
            torch.mul(call.step, moves, out=call.taken)
            if torch.is_tensor(call.group["lr"]):
                call.lr.copy_(call.group["lr"])
        try:
            if call.device.type == "cuda":
                _call_on_gpu(call.library, call.tensors, settings, call.device)
            else:
                _call(call.library, call.tensors, settings)
        except ValueError:
            if call.stored is not None:
                call.step -= moves
            raise
        is_first = settings.step == 1
        for (_, value), each in zip(call.copies, copies):
            value.copy_(each)
        table.advance(call)
        torch.autograd.graph.increment_version(call.params)
        if settings.restarted and not is_first:
            for t, name in zip(call.tensors, call.names):
                if t.restarted:
                    self._count_resync(name, call.group["storage"])
        if self.report:
            self._reported.append((call.names, call.tensors))

    @property
    def reports(self):
        """The Report of each parameter's name, of the last step if `report` was true."""
        if self._reported is not self._read:
            read = {}
            for name, t in (each for names, tensors in self._reported for each in zip(names, tensors)):
                report = Report(*(getattr(t.outcome, field) for field, _ in _Report._fields_))
                read[name] = read[name] + report if name in read else report
            self._read, self._of_read = self._reported, read
        return self._of_read

    def merged_reports(self):
        """Returns `reports` of the whole parameters. All ranks must call it."""
        return shards.merged(self.reports, {name: p for _, numbered in self._numbered() for _, name, p in numbered})

    def _sync(self, group, number, name, p, state, checks=True):
        """Makes a state agree with its parameter. Without `checks` it already does."""
        t = _Tensor(checks=checks)
        value = shards.local(p.detach()).contiguous()
        _fill(t, number, name, value, None, state, self._written_of(p, state), group["storage"], (), None,
              self._place_of(name, p, group))
        library = self._library_of(p, group)
        if not value.is_cuda:
            library.lowp_torch_resync(ctypes.byref(t), 1)
        else:
            settings = _Settings(stream=torch.cuda.current_stream(value.device).cuda_stream)
            restarted = torch.zeros(1, dtype=torch.int64, device=value.device)
            with torch.cuda.device(value.device):
                if not library.lowp_torch_resync_on_gpu(ctypes.byref(t), 1, ctypes.byref(settings),
                                                        ctypes.c_void_p(restarted.data_ptr())):
                    raise ValueError(settings.error.decode())
            t.restarted = int(restarted) if checks else 0
        if t.restarted:
            self.resyncs[name] += 1

    def _count_resync(self, name, storage):
        self.resyncs[name] += 1
        if name not in self._warned:
            self._warned.add(name)
            warnings.warn(f"lowp_torch: {name} was written since its last step. This step starts from "
                          f"what it holds now, without what \"{storage}\" kept of its old value. "
                          "Call resync() after such a write, and nothing is said.", stacklevel=2)

    def _state_of(self, number, name, p, group):
        """Returns the state of a parameter, with tensors that lie in memory as it does."""
        state, storage = self.state[p], group["storage"]
        extra = _STORAGES[storage][1]
        moment = self._moment_of(p, group)
        slots = dict(zip(self._moments, moment.dtypes))
        zeros = dict(zip(self._moments, moment.zeros))
        if extra:
            slots[storage] = extra
        old = next((old for old in _STORAGES if old != storage and old in state), None)
        if old and (name, old, storage) not in self._warned:
            self._warned.add((name, old, storage))
            fate = "dropped" if extra else "not used"
            warnings.warn(f"lowp_torch: {name} has a state of \"{old}\", and its storage is \"{storage}\". It starts "
                          f"from the value that it holds; what \"{old}\" kept is {fate}.", stacklevel=2)
        if "step" not in state:  # on the device of the parameter if a graph may count it
            state["step"] = torch.zeros((), dtype=torch.int64, device=p.device) if group.get("capturable") else 0
        place = self._place_of(name, p, group)
        for slot, dtype in slots.items():
            scales, is_code = f"{slot}_{moment.scales}", slot in zeros and bool(moment.scales)
            of_blocks = shards.blocks_shape(p.shape, moment.block) if is_code else ()
            if slot in state and not state["step"] and state[slot].device != p.device:  # nothing is lost
                del state[slot]
            if slot not in state:
                state[slot] = self._made(p, p.shape, place.shape, dtype, zeros.get(slot, 0))
                if is_code:
                    state[scales] = self._made(p, of_blocks, place.blocks, moment.scale, 0)
                if slot == storage:  # what another storage knew is old from here on
                    for old in {"written", *_STORAGES} - {slot}:
                        state.pop(old, None)
                    self._written.pop(p, None)
                if slot == "master":
                    shards.local(state[slot]).copy_(shards.local(p.detach()))
            self._check_state(f"{name}, {slot}", state[slot], dtype, p.shape, place.shape, p)
            if is_code:
                if scales not in state:
                    _refuse(f"{name}, {slot}", state[slot], f"its state has no {scales}")
                self._check_state(f"{name}, {scales}", state[scales], moment.scale, of_blocks, place.blocks, p)
            if not shards.is_sharded(p) and not state[slot].is_contiguous():  # of an older version
                state[slot] = state[slot].contiguous()
                state.pop("written", None)
        if extra:
            count = torch.Size([-(-math.prod(place.shape) // _BLOCK)])
            if self._written_of(p, state) is None:
                written = torch.zeros(count, dtype=torch.int64, device=p.device)
                if shards.is_sharded(p):
                    self._written[p] = written
                else:
                    state["written"] = written
                self._sync(group, number, name, p, state, checks=False)
            _check_tensor(f"{name}, written", self._written_of(p, state), (torch.int64,), count, p.device)
        return state

    @staticmethod
    def _made(p, shape, of_part, dtype, zero):
        return shards.like(torch.full(of_part, zero, dtype=dtype, device=p.device), p, shape)

    @staticmethod
    def _check_state(name, tensor, dtype, shape, of_part, p):
        _check_tensor(name, tensor, (dtype,), shape, p.device)
        _check_placement(name, tensor, p)
        if shards.is_sharded(p):
            _check_tensor(name, shards.local(tensor), (dtype,), torch.Size(of_part), p.device)

    def __getstate__(self):
        return {**super().__getstate__(), "report": self.report}

    def __setstate__(self, state):
        if "_reported" not in self.__dict__:  # a copy of an optimizer
            self._begin()
        super().__setstate__(state)
        for group in self.param_groups:  # of a checkpoint of torch.optim.AdamW
            for name, value in self.defaults.items():
                group.setdefault(name, value)
            _check_group(group, self)

    def state_dict(self):
        """Returns PyTorch's state with the name of each group's generator of random bits."""
        def name_generators(_, state):
            for group in state["param_groups"]:
                _name_generator(group)

        # Before the hooks of others, which may put the state into another form.
        hook = self.register_state_dict_post_hook(name_generators, prepend=True)
        try:
            return super().state_dict()
        finally:
            hook.remove()

    def load_state_dict(self, state_dict):
        """Loads a state with its own types: PyTorch gives all of it the parameter's. Hooks take part. A
        state that is refused changes nothing."""
        before = self.state, self.param_groups, self._written
        self._written = {}
        given = []  # the dict that the other hooks have made

        def check(_, state_dict):
            for group in state_dict["param_groups"]:
                _check_group({**self.defaults, **group}, self)
                _check_generator(group)
            given.append(state_dict)

        hooks = [self.register_load_state_dict_pre_hook(check),
                 self.register_load_state_dict_post_hook(lambda _: self._restore(*given), prepend=True)]
        try:
            super().load_state_dict(state_dict)
        except Exception:
            self.state, self.param_groups, self._written = before
            raise
        finally:
            for hook in hooks:
                hook.remove()

    def _restore(self, state_dict):
        """Replaces the tensors of a state that PyTorch has loaded by those of the dict."""
        saved = (i for group in state_dict["param_groups"] for i in group["params"])
        params = ((group, *each) for group, numbered in self._numbered() for _, *each in numbered)
        for i, (group, name, p) in zip(saved, params):
            if i not in state_dict["state"]:
                continue
            state, theirs = self.state[p], state_dict["state"][i]
            state.pop("__bnb_optimizer_quant_state__", None)
            theirs = {**theirs, **theirs.get("__bnb_optimizer_quant_state__", {})}
            theirs.pop("__bnb_optimizer_quant_state__", None)
            state.update(_copied(theirs, p.device))
            self._open(state, group)
            moment = self._moment_of(p, group)
            slots = {slot: (dtype, moment.scales) for slot, dtype in zip(self._moments, moment.dtypes)}
            checkpoints.taken_over(name, p, state, slots, self._warned)

    def _open(self, state, group):
        """Gives a state of bitsandbytes or of FlashOptim the names and the dtypes of this class."""
        for theirs, ours in self._theirs.items():
            if theirs in state:
                if state[theirs].dtype == torch.uint8 and theirs.replace("state", "absmax") not in state:
                    raise ValueError(f"{theirs} has 8 bits without absmax: only blockwise states are open")
                state[ours] = state.pop(theirs)
        for slot in self._moments:  # FlashOptim's scales of a bfloat16 parameter are labelled so
            scales = state.get(f"{slot}_scales")
            if scales is not None and scales.dtype == torch.bfloat16:
                state[f"{slot}_scales"] = scales.view(torch.float16)
        if "error_bits" in state:
            storage = "corrected8" if group.get("master_bytewidth") == 3 else "corrected16"
            if group["storage"] != storage:
                raise ValueError(f"the state has error_bits: its storage is {storage}, not "
                                 f"{group['storage']}")
            bits = state.pop("error_bits")  # of the parameter's dtype: values of 8 bits, or the 16
            state[storage] = bits.to(torch.int8) if storage == "corrected8" else bits.view(torch.int16)


class AdamW(_Optimizer):
    __doc__ = """A drop-in for torch.optim.AdamW. It opens the states of AdamW8bit of bitsandbytes and of
    torchao, and of FlashOptim's FlashAdamW.

    """ + _Optimizer.__doc__

    _kind = "adamw"
    _moments = ("exp_avg", "exp_avg_sq")

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2,
                 amsgrad=False, *, storage="plain", state_dtype=torch.bfloat16, min_8bit_size=4096,
                 rounding="stochastic", seed=None, first_tensor=0, report=False, maximize=False, foreach=None,
                 capturable=False, differentiable=False, fused=None):
        super().__init__(
            params, report, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
            maximize=maximize, foreach=foreach, capturable=capturable, differentiable=differentiable,
            fused=fused, storage=storage, state_dtype=state_dtype, min_8bit_size=min_8bit_size,
            rounding=rounding, seed=seed, first_tensor=first_tensor)


class Lion(_Optimizer):
    __doc__ = """Lion, with the arguments of google/automl and both interpolations by lerp. It opens the
    states of bitsandbytes' Lion8bit and of FlashOptim's FlashLion.

    """ + _Optimizer.__doc__

    _kind = "lion"
    _moments = ("exp_avg",)

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, *, storage="plain",
                 state_dtype=torch.bfloat16, min_8bit_size=4096, rounding="stochastic", seed=None,
                 first_tensor=0, report=False, maximize=False):
        super().__init__(
            params, report, lr=lr, betas=betas, weight_decay=weight_decay, maximize=maximize,
            storage=storage, state_dtype=state_dtype, min_8bit_size=min_8bit_size, rounding=rounding,
            seed=seed, first_tensor=first_tensor)


class Direction(_Optimizer):
    __doc__ = """Steps along a direction of your own, as of Muon, SOAP or Shampoo: the parameter becomes
    p * (1 - lr * weight_decay) - lr * direction, rounded once.

        direction    direction(p, state) returns a tensor of p's sizes and dtype from p.grad; None
                     steps along p.grad. What it keeps in the dict `state`, state_dict() saves.
                     state["step"] is the number of earlier steps, and the optimizer counts them

    """ + _Optimizer.__doc__

    _kind = "direction"

    def __init__(self, params, direction=None, lr=1e-3, weight_decay=0.0, *, storage="plain",
                 rounding="stochastic", seed=None, first_tensor=0, report=False, maximize=False):
        self.direction = direction
        super().__init__(params, report, lr=lr, weight_decay=weight_decay, maximize=maximize,
                         storage=storage, rounding=rounding, seed=seed, first_tensor=first_tensor)

    def __getstate__(self):
        return {**super().__getstate__(), "direction": self.direction}

    @property
    def _reads_gradients(self):
        return self.direction is None

    def _gradient_of(self, name, p, group):
        if self.direction is None:
            return p.grad
        state = self.state[p]
        step = state["step"]
        given = self.direction(p, state)
        state["step"] = step
        if not torch.is_tensor(given):
            raise ValueError(f"{name}, direction: a {type(given).__name__}, and must be a tensor")
        _check_tensor(f"{name}, direction", given, tuple(_NAMES), p.shape, p.device)
        _check_placement(f"{name}, direction", given, p)
        return given
