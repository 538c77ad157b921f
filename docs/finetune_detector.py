"""Fine-tune CogniBench's detector on what ``jurist export training`` wrote.

Needs ``pip install 'jurist[finetune]'``; see finetune.md beside this file. Epochs, batch size and learning rate are
those of the paper (appendix A.8.2: 3, 2, 5e-5, Llama 3 8B Instruct). The loss is that of the reply alone.
The paper does not say whether all weights were trained; the default here is LoRA on all linear layers, which needs far
less memory; ``--lora-rank 0`` trains all weights.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import datasets
import peft
import torch
import transformers
import trl


def main(argv: list[str] | None = None) -> int:
    """Train, save, and print one JSON object: sizes, and the mean loss of the first and the last tenth of the steps."""
    asked = _arguments(argv)
    transformers.set_seed(asked.seed)
    files = {"train": asked.train, **({"dev": asked.dev} if asked.dev else {})}
    rows = datasets.load_dataset("json", data_files=files)
    trainer, dropped = _language_model(asked, rows)
    trainer.add_callback(_Clock(asked.max_minutes))
    trainer.train()
    trainer.save_model(asked.output)
    if asked.merge:
        merged = trainer.model.merge_and_unload() if asked.lora_rank else trainer.model
        merged.save_pretrained(Path(asked.output) / "merged")
        trainer.processing_class.save_pretrained(Path(asked.output) / "merged")
    sys.stdout.write(json.dumps(_report(trainer, dropped, asked)) + "\n")
    return 0


def _language_model(asked: argparse.Namespace, rows: Any) -> tuple[Any, int]:
    """Return a trainer of replies, and how many examples are too long."""
    network, tokenizer = _loaded(asked)
    kept = {part: _fitting(rows[part], tokenizer, asked.max_length) for part in rows}
    trainer = trl.SFTTrainer(
        model=network,
        args=trl.SFTConfig(max_length=asked.max_length, completion_only_loss=True, **_settings(asked)),
        train_dataset=kept["train"],
        eval_dataset=kept.get("dev"),
        processing_class=tokenizer,
        peft_config=_lora(asked.lora_rank),
    )
    return trainer, len(rows["train"]) - len(kept["train"])


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", required=True, metavar="F.jsonl", help="what jurist export training wrote")
    parser.add_argument(
        "--dev", metavar="F.jsonl", help="more of the same, from another part: its loss is printed each epoch"
    )
    parser.add_argument(
        "--output", required=True, metavar="DIR", help="where the adapter (or the model) goes"
    )
    parser.add_argument(
        "--model",
        default="meta-llama/Meta-Llama-3-8B-Instruct",
        help="a model of the hub, a folder, or a GGUF file",
    )
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument(
        "--max-steps", type=int, default=-1, help="stop after so many steps (default: the epochs)"
    )
    parser.add_argument(
        "--max-minutes", type=float, default=float("inf"), help="stop after the step then in hand"
    )
    parser.add_argument("--batch-size", type=int, default=2, help="per device")
    parser.add_argument("--learning-rate", type=float, default=5e-5)
    parser.add_argument("--max-length", type=int, default=8192, help="tokens; longer examples are left out")
    parser.add_argument("--lora-rank", type=int, default=16, help="0 trains all weights")
    gpu = torch.cuda.is_available()
    parser.add_argument(
        "--dtype",
        choices=("bfloat16", "float32"),
        default="bfloat16" if gpu else "float32",
        help="bfloat16 is the faster one on a CPU, too, that has instructions for it (lscpu: avx512_bf16, amx_bf16)",
    )
    parser.add_argument("--merge", action="store_true", help="also write the whole model, in DIR/merged")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(argv)


def _settings(asked: argparse.Namespace) -> dict[str, Any]:
    gpu = torch.cuda.is_available()
    return {
        "output_dir": asked.output,
        "num_train_epochs": asked.epochs,
        "max_steps": asked.max_steps,
        "per_device_train_batch_size": asked.batch_size,
        "per_device_eval_batch_size": asked.batch_size,
        "learning_rate": asked.learning_rate,
        "bf16": asked.dtype == "bfloat16",
        "use_cpu": not gpu,
        "gradient_checkpointing": gpu,
        "eval_strategy": "epoch" if asked.dev else "no",
        "save_strategy": "no",
        "logging_steps": 1,
        "report_to": "none",
        "seed": asked.seed,
    }


class _Clock(transformers.TrainerCallback):
    """Ends the training in time; what was learnt is kept."""

    def __init__(self, minutes: float) -> None:
        self._end = time.monotonic() + 60 * minutes

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if time.monotonic() > self._end:
            control.should_training_stop = True


def _lora(rank: int) -> Any:
    if not rank:
        return None
    return peft.LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")


def _loaded(asked: argparse.Namespace) -> tuple[Any, Any]:
    file = Path(asked.model)
    gguf = file.suffix == ".gguf"
    where = (str(file.parent), {"gguf_file": file.name}) if gguf else (asked.model, {})
    tokenizer = transformers.AutoTokenizer.from_pretrained(where[0], **where[1])
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    # All weights are kept in full: steps of this size vanish in bfloat16's 8 bits.
    dtype = getattr(torch, asked.dtype) if asked.lora_rank else torch.float32
    network = transformers.AutoModelForCausalLM.from_pretrained(where[0], dtype=dtype, **where[1])
    return (_plain(network) if gguf else network), tokenizer


def _plain(network: Any) -> Any:
    """Return a model with the same weights that does not count as quantized: that one could not be saved."""
    weights = network.state_dict()
    del network.config.quantization_config
    plain = type(network)(network.config).to(network.dtype)
    plain.load_state_dict(weights)
    return plain


def _fitting(rows: Any, tokenizer: Any, longest: int) -> Any:
    """Return the rows as prompt and completion, without those that would be cut off."""
    parted = rows.map(
        lambda row: {"prompt": row["messages"][:-1], "completion": row["messages"][-1:]},
        remove_columns=rows.column_names,
    )

    def fits(row: dict[str, Any]) -> bool:
        text = tokenizer.apply_chat_template(row["prompt"] + row["completion"], tokenize=False)
        return len(tokenizer(text, add_special_tokens=False)["input_ids"]) <= longest

    kept = parted.filter(fits)
    if not len(kept):
        raise SystemExit(
            f"error: all {len(rows)} examples have more than {longest} tokens; raise --max-length"
        )
    return kept


def _report(trainer: Any, dropped: int, asked: argparse.Namespace) -> dict[str, Any]:
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    tenth = max(1, len(losses) // 10)
    return {
        "model": asked.model,
        "examples": len(trainer.train_dataset),
        "too_long": dropped,
        "steps": trainer.state.global_step,
        "first_loss": round(sum(losses[:tenth]) / tenth, 4),
        "last_loss": round(sum(losses[-tenth:]) / tenth, 4),
        "output": asked.output,
    }


if __name__ == "__main__":
    sys.exit(main())
