#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MiniLM in PyTorch: what bench/model's C++ reads, and fine-tuning with lowp_torch.

    python3 bench/model/minilm.py embed FOLDER TEXT             writes FOLDER/*.tokens and FOLDER/embeddings.f32
    python3 bench/model/minilm.py finetune FOLDER TEXT OPTION...   writes a line for each run

FOLDER has minilm.safetensors, minilm.config.json and minilm.tokenizer.json.
"""
import argparse
import copy
import csv
import functools
import multiprocessing
import os
import pathlib
import re
import statistics
import sys
import time

import safetensors.torch
import tokenizers
import torch
import transformers

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "torch"))
import lowp_torch

LENGTH = 32  # tokens of a sentence; the rest is cut
EVERY = 6  # every sixth pair is held out: nothing is trained or calibrated on it
CALIBRATION, COMPARED = 128, 128  # sentences for calibration, pairs whose embeddings are compared
TRAINED = 2  # layers, the last ones
SIMILARITY = 20  # the scale of similarities in the loss, as in MiniLM's own training


def sentence_pairs(path):
    """Returns (sentence, the next sentence of its paragraph), in the order of the text, no sentence twice."""
    pairs, seen = [], set()
    for paragraph in path.read_text(encoding="utf-8").split("\n\n"):
        sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z`\"])", " ".join(paragraph.split()))
        good = [6 <= len(s.split()) <= 30 and s not in seen for s in sentences]
        for i in range(0, len(sentences) - 1, 2):
            if good[i] and good[i + 1] and sentences[i] != sentences[i + 1]:
                pairs.append((sentences[i], sentences[i + 1]))
                seen.update(pairs[-1])
    return pairs


class Text:
    """Token numbers of pairs to learn from, and of pairs that are held out."""

    def __init__(self, folder, path):
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "minilm.tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(LENGTH)
        pairs = sentence_pairs(path)
        numbers = [[e.ids for e in tokenizer.encode_batch(list(side))] for side in zip(*pairs)]
        pairs = list(zip(*numbers))
        self.held_out = pairs[::EVERY]
        self.learned = [pair for i, pair in enumerate(pairs) if i % EVERY]


def load(folder):
    config = transformers.BertConfig.from_json_file(folder / "minilm.config.json")
    model = transformers.BertModel(config, add_pooling_layer=False)
    weights = safetensors.torch.load_file(folder / "minilm.safetensors")
    lacking, other = model.load_state_dict(weights, strict=False)
    if lacking or any(not name.startswith(("pooler.", "embeddings.position_ids")) for name in other):
        raise ValueError(f"not MiniLM's weights: {lacking} are missing, {other} are not known")
    return model.eval()


def padded(rows):
    """Returns rows of equal size, of zeros at their ends, and which elements are the rows' own."""
    rows = [torch.as_tensor(row) for row in rows]
    mask = [torch.ones(len(row)) for row in rows]
    return [torch.nn.utils.rnn.pad_sequence(x, batch_first=True) for x in (rows, mask)]


def embedding(states, mask):
    """Returns a row for each sentence: the mean of its tokens' last states, of length 1."""
    means = (states.float() * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
    return torch.nn.functional.normalize(means)


def states_of(model, sentences):
    """Yields, for each sentence, what the layers that are trained get of it, and its embedding."""
    for i in range(0, len(sentences), 64):
        ids, mask = padded(sentences[i:i + 64])
        of_layers = model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
        for states, row, size in zip(of_layers[-1 - TRAINED], embedding(of_layers[-1], mask), mask.sum(1).int()):
            yield states[:size].clone(), row


class Top(torch.nn.Module):
    """The layers that are trained, and the mean over tokens."""

    def __init__(self, model):
        super().__init__()
        self.layers = model.encoder.layer[-TRAINED:]

    def forward(self, sentences):
        states, mask = padded(sentences)
        states = states.to(next(self.parameters()).dtype)
        outside = ((1 - mask) * torch.finfo(states.dtype).min).to(states.dtype)[:, None, None, :]
        for layer in self.layers:
            states = layer(states, outside)
            states = states[0] if isinstance(states, tuple) else states
        return embedding(states, mask)


def loss_of(model, pairs):
    """The mean loss, in nats, of finding each sentence's partner among those of the batch."""
    both = model([a for a, _ in pairs] + [b for _, b in pairs])
    scores = SIMILARITY * both[:len(pairs)] @ both[len(pairs):].T
    return torch.nn.functional.cross_entropy(scores, torch.arange(len(pairs)))


@torch.no_grad()
def held_out_loss(model, pairs, options):
    wide = copy.deepcopy(model).float()
    return statistics.fmean(loss_of(wide, pairs[i:i + options.batch]).item()
                            for i in range(0, options.held_out, options.batch))


def write_tokens(path, sentences):
    path.write_text("".join(" ".join(map(str, s)) + "\n" for s in sentences))


@torch.no_grad()
def write_embeddings(folder, text):
    model = load(folder)
    step = len(text.learned) // CALIBRATION
    write_tokens(folder / "calibration.tokens", [a for a, _ in text.learned[::step][:CALIBRATION]])
    sentences = [s for pair in text.held_out[:COMPARED] for s in pair]
    write_tokens(folder / "held_out.tokens", sentences)
    rows = torch.stack([row for _, row in states_of(model, sentences)])
    (folder / "embeddings.f32").write_bytes(rows.numpy().tobytes())


@torch.no_grad()
def write_states(folder, text):
    """Writes the pairs of each part as what the layers that are trained get of them."""
    model = load(folder)
    parts = {}
    for part, pairs in (("learned", text.learned), ("held_out", text.held_out)):
        states = [s for s, _ in states_of(model, [s for pair in pairs for s in pair])]
        parts[part] = list(zip(states[::2], states[1::2]))
    torch.save(parts, folder / "states.pt")


# Each way: its name in tables, the type of weights, the optimizer, its settings, its rate in units of AdamW's.
BF16, NEAREST = torch.bfloat16, {"rounding": "nearest"}
WAYS = {
    "fp32": ("fp32", torch.float32, lowp_torch.AdamW, {"state_dtype": torch.float32, **NEAREST}, 1),
    "nearest": ("bf16, nearest", BF16, lowp_torch.AdamW, NEAREST, 1),
    "sr": ("bf16, stochastic", BF16, lowp_torch.AdamW, {}, 1),
    "sr-fast": ("bf16, stochastic_fast", BF16, lowp_torch.AdamW, {"rounding": "stochastic_fast"}, 1),
    "kahan": ("bf16, Kahan", BF16, lowp_torch.AdamW, {"storage": "kahan", "rounding": "stochastic_fast"}, 1),
    "8bit": ("bf16, stochastic_fast; 8-bit states", BF16, lowp_torch.AdamW,
             {"rounding": "stochastic_fast", "state_dtype": torch.uint8}, 1),
    "lion-nearest": ("Lion: bf16, nearest", BF16, lowp_torch.Lion, {**NEAREST, "weight_decay": 0.1}, 0.1),
    "lion-sr-fast": ("Lion: bf16, stochastic_fast", BF16, lowp_torch.Lion,
                     {"rounding": "stochastic_fast", "weight_decay": 0.1}, 0.1),
}


def train(way, seed, options):
    """Returns what came of one run: held-out losses before and after, and the sum of all reports."""
    torch.set_num_threads(1)
    text = torch.load(options.folder / "states.pt")
    _, dtype, kind, settings, rate = WAYS[way]
    model = Top(load(options.folder)).to(dtype)
    weights = list(model.named_parameters())
    optimizer = kind(weights, lr=options.lr * rate, seed=seed, report=True, **settings)
    random = torch.Generator().manual_seed(seed)
    total, seconds = lowp_torch.Report(), []
    before = held_out_loss(model, text["held_out"], options)
    for _ in range(options.steps):
        begin = time.perf_counter()
        places = torch.randint(len(text["learned"]), (options.batch,), generator=random)
        optimizer.zero_grad()
        loss_of(model, [text["learned"][i] for i in places]).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
        total = sum(optimizer.reports.values(), total)
    after = held_out_loss(model, text["held_out"], options)
    state = sum(x.nbytes for s in optimizer.state.values() for x in s.values() if torch.is_tensor(x) and x.dim() > 0)
    size = sum(p.nbytes for _, p in weights) + state
    return {"way": way, "text": WAYS[way][0], "seed": seed, "steps": options.steps, "batch": options.batch,
            "lr": f"{options.lr * rate:g}", "weights": sum(p.numel() for _, p in weights),
            "bytes": f"{size / sum(p.numel() for _, p in weights):.3f}",
            "pairs": options.held_out, "before": f"{before:.6f}",
            "held_out": f"{after:.6f}", "stalled": f"{total.stalled / total.count:.6f}", "applied": f"{total.applied_ratio:.6f}",
            "step_ms": f"{1000 * statistics.median(seconds):.0f}"}


def finetune(options):
    """Trains in all ways, a seed after the other, some runs at a time, each on one thread."""
    write_states(options.folder, Text(options.folder, options.text))
    os.environ["OMP_NUM_THREADS"] = "1"  # of lowp_torch in the processes that start now
    runs = [(way, seed) for seed in range(1, options.seeds + 1) for way in options.ways.split(",")]
    processes = multiprocessing.get_context("spawn").Pool(options.jobs)
    with options.csv.open("w", newline="") as file, processes as pool:
        writer = None
        for row in pool.imap(functools.partial(run, options), runs):
            writer = writer or csv.DictWriter(file, row, lineterminator="\n")
            if file.tell() == 0:
                writer.writeheader()
            writer.writerow(row)
            file.flush()
            print(*(f"{k} {row[k]}" for k in ("way", "seed", "held_out", "applied")), flush=True)


def run(options, way_and_seed):
    return train(*way_and_seed, options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", choices=("embed", "finetune"))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--csv", type=pathlib.Path, help="file to write")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=8, help="pairs of sentences")
    parser.add_argument("--held-out", type=int, default=160, help="pairs")
    parser.add_argument("--lr", type=float, default=2e-5)
    options = parser.parse_args()
    if options.command == "embed":
        write_embeddings(options.folder, Text(options.folder, options.text))
    else:
        finetune(options)


if __name__ == "__main__":
    main()
