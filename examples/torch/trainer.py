# SPDX-License-Identifier: Apache-2.0
"""Trains a small language model by Trainer of Hugging Face, on the processor, from no download. One line
differs from a program that leaves the optimizer to Trainer."""

import os
import sys
import tempfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import lowp_torch  # noqa: E402

torch.manual_seed(1)
config = LlamaConfig(vocab_size=64, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                     num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=32)
model = LlamaForCausalLM(config).to(torch.bfloat16)
# Sentences that count: each number is the one before it plus the same step.
starts, strides = torch.randint(64, (256, 1)), torch.randint(1, 4, (256, 1))
tokens = (starts + strides * torch.arange(16)) % 64
data = [{"input_ids": each, "labels": each} for each in tokens]

with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(folder, num_train_epochs=4, per_device_train_batch_size=16, learning_rate=3e-3,
                                  weight_decay=0.01, logging_steps=16, report_to=[], use_cpu=True, seed=1,
                                  save_strategy="no", disable_tqdm=True)
    trainer = Trainer(
        model, arguments, train_dataset=data,
        optimizer_cls_and_kwargs=(lowp_torch.AdamW, {"lr": 3e-3, "storage": "corrected8"}))  # this one
    trainer.train()

losses = [each["loss"] for each in trainer.state.log_history if "loss" in each]
kind = type(getattr(trainer.optimizer, "optimizer", trainer.optimizer))
print(f"{kind.__module__}.{kind.__name__}: loss {losses[0]:.2f}, then {losses[-1]:.2f}")
