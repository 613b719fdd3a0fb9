# SPDX-License-Identifier: Apache-2.0
"""Files of four bits between lowp-model and other tools.

transformers with compressed-tensors and ModelOpt's reader open what lowp-model writes, and it opens theirs. It
opens files of the package gguf, too. What the other tool decodes equals what lowp-model decodes, rounded to
bfloat16, as compressed-tensors returns it.
"""

import json
import pathlib
import subprocess
import sys
import warnings

import compressed_tensors
import gguf
import numpy
import safetensors.torch
import torch
import transformers
from compressed_tensors.compressors.mxfp4.base import MXFP4PackedCompressor
from compressed_tensors.compressors.nvfp4.base import NVFP4PackedCompressor
from compressed_tensors.quantization.quant_scheme import preset_name_to_scheme
from compressed_tensors.quantization.utils.helpers import compute_dynamic_scales_and_zp, generate_gparam

warnings.simplefilter("ignore")
transformers.logging.set_verbosity_error()
program, scratch = sys.argv[1], pathlib.Path(sys.argv[2])
scratch.mkdir(parents=True, exist_ok=True)
KEPT = ("--keep", "embed|norm|lm_head")
FORMATS = {"nvfp4": ("NVFP4A16", "nvfp4-pack-quantized", NVFP4PackedCompressor),
           "mxfp4": ("MXFP4A16", "mxfp4-pack-quantized", MXFP4PackedCompressor)}


def lowp_model(*arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"


def decoded(path):
    """Returns the values of a file, by lowp-model."""
    floats = scratch / "floats.safetensors"
    lowp_model("convert", path, floats, "--to", "float32")
    return safetensors.torch.load_file(floats)


def expect_equal(found, wanted, what):
    names = [name for name in wanted if name.endswith("proj.weight")]
    assert len(names) == 14, names
    for name in names:
        a, b = (values[name].detach().to(torch.bfloat16) for values in (found, wanted))
        assert torch.equal(a, b), f"{what}: {name}: {(a != b).sum()} of {a.numel()} differ: {a[a != b][:3]} {b[a != b][:3]}"
    print(f"{what}: {len(names)} tensors are equal")


def plain_model():
    torch.manual_seed(3)
    config = transformers.LlamaConfig(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
                                      num_key_value_heads=4, vocab_size=128, dtype="float32")
    model = transformers.LlamaForCausalLM(config)
    model.save_pretrained(scratch / "plain")
    return model.state_dict()


def opened_by_transformers(kind):
    """Opens a converted model as its users do, which decompresses it, and runs it."""
    scheme, name, _ = FORMATS[kind]
    folder = scratch / kind
    folder.mkdir(exist_ok=True)
    file = folder / "model.safetensors"
    lowp_model("convert", scratch / "plain" / "model.safetensors", file, "--to", f"{kind}_compressed_tensors", *KEPT)
    config = json.loads((scratch / "plain" / "config.json").read_text())
    group = preset_name_to_scheme(scheme, ["Linear"]).model_dump(mode="json") | {"format": name}
    config["quantization_config"] = {
        "quant_method": "compressed-tensors", "format": name, "quantization_status": "compressed",
        "config_groups": {"group_0": group}, "ignore": ["lm_head"]}
    (folder / "config.json").write_text(json.dumps(config))
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32,
        quantization_config=transformers.CompressedTensorsConfig(dequantize=True))
    assert torch.isfinite(model(torch.arange(16)[None]).logits).all()
    expect_equal(model.state_dict(), decoded(file), f"transformers {transformers.__version__} opens {kind}")


def opened_by_lowp_model(kind, weights):
    """Decodes what the tool wrote of the same weights."""
    scheme, _, compressor = FORMATS[kind]
    scheme = preset_name_to_scheme(scheme, ["Linear"])
    written, wanted = {}, {}
    for name, x in weights.items():
        if not name.endswith("proj.weight"):
            written[name] = x
            continue
        amax = x.abs().max()
        scale_of_all = generate_gparam(-amax, amax) if kind == "nvfp4" else None
        scales, _ = compute_dynamic_scales_and_zp(x, scheme.weights, None, scale_of_all)
        state = {"weight": x, "weight_scale": scales}
        if scale_of_all is not None:
            state["weight_global_scale"] = scale_of_all
        state = compressor.compress(state, scheme)
        wanted[name] = compressor.decompress(state, scheme)["weight"]
        prefix = name.removesuffix("weight")
        written |= {prefix + part: tensor.contiguous() for part, tensor in state.items()}
    path = scratch / "theirs.safetensors"
    safetensors.torch.save_file(written, path)
    expect_equal(decoded(path), wanted, f"compressed-tensors {compressed_tensors.__version__} wrote {kind}")
    # And the tool's file is ours.
    ours = safetensors.torch.load_file(scratch / kind / "model.safetensors")
    for name, tensor in written.items():
        assert torch.equal(ours[name].view(torch.uint8), tensor.view(torch.uint8)), name


def both_ways_by_modelopt(weights):
    from modelopt.torch.quantization.qtensor import NVFP4QTensor
    file = scratch / "modelopt.safetensors"
    lowp_model("convert", scratch / "plain" / "model.safetensors", file, "--to", "nvfp4_modelopt", *KEPT)
    ours, found, written, wanted = safetensors.torch.load_file(file), {}, {}, {}
    for name, x in weights.items():
        if name.endswith("proj.weight"):
            tensor = NVFP4QTensor(x.shape, torch.float32, ours[name])
            found[name] = tensor.dequantize(torch.float32, scale=ours[name + "_scale"], block_sizes={-1: 16},
                                            double_scale=ours[name + "_scale_2"])
            theirs, scale, scale_2 = NVFP4QTensor.quantize(x, 16)
            wanted[name] = theirs.dequantize(torch.float32, scale=scale, double_scale=scale_2, block_sizes={-1: 16})
            written |= {name: theirs._quantized_data, name + "_scale": scale, name + "_scale_2": scale_2.reshape(())}
    expect_equal(found, decoded(file), "ModelOpt opens nvfp4")
    path = scratch / "theirs.safetensors"
    safetensors.torch.save_file(written, path)
    expect_equal(decoded(path), wanted, "ModelOpt wrote nvfp4")


def opened_from_gguf(weights):
    """Decodes what the package gguf wrote: MXFP4 by its own rounding, NVFP4 of any codes and scales, with a factor or none."""
    random = numpy.random.default_rng(5)
    names = [name for name in weights if name.endswith("proj.weight")]
    path, wanted = scratch / "theirs.gguf", {}
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_array("tokenizer.ggml.tokens", ["a", "b"])
    for i, name in enumerate(names):
        x = weights[name].numpy()
        kind = [gguf.GGMLQuantizationType.MXFP4, gguf.GGMLQuantizationType.NVFP4, gguf.GGMLQuantizationType.BF16][i % 3]
        if kind == gguf.GGMLQuantizationType.NVFP4:
            x = numpy.zeros((8, 128), numpy.float32)
            codes = random.integers(0, 256, (8, 2, 36), dtype=numpy.uint8)
            codes[..., :4] &= 0x7f
            codes = codes.reshape(8, 72)
        else:
            codes = gguf.quants.quantize(x, kind)
        values = gguf.quants.dequantize(codes, kind)
        writer.add_tensor(name, codes, raw_dtype=kind)
        if kind == gguf.GGMLQuantizationType.NVFP4 and i % 2 == 0:
            writer.add_tensor(name.removesuffix("weight") + "scale", numpy.array([2.5], numpy.float32))
            values = values * numpy.float32(2.5)
        wanted[name] = torch.from_numpy(values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    expect_equal(decoded(path), wanted, "gguf wrote MXFP4, NVFP4 and BF16")


weights = plain_model()
for kind in FORMATS:
    opened_by_transformers(kind)
    opened_by_lowp_model(kind, weights)
both_ways_by_modelopt(weights)
opened_from_gguf(weights)
