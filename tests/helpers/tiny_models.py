"""Classifiers of random weights, made on the spot: they know nothing, and show that everything runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

__all__ = ["THREE", "tiny"]

THREE = ("entailment", "neutral", "contradiction")


def tiny(
    folder: Path, *, classes: Sequence[str] = THREE, kind: str = "ForSequenceClassification", room: int = 48
) -> Path:
    """Save a BERT of random weights that takes ``room`` tokens; nothing is downloaded.

    Args:
        classes: their names.
        kind: what the name of its class ends in: ``Model`` has no head.
    """
    import tokenizers as tk
    import torch
    import transformers

    torch.manual_seed(0)
    inner = tk.Tokenizer(tk.models.WordPiece(unk_token="[UNK]"))
    inner.pre_tokenizer = tk.pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    text = [chr(code) for code in range(97, 123)] + ["the bridge was built by carters and it fell"]
    inner.train_from_iterator(text, tk.trainers.WordPieceTrainer(vocab_size=150, special_tokens=special))
    inner.post_processor = tk.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
    )
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=room,
        id2label=dict(enumerate(classes)),
        label2id={name: place for place, name in enumerate(classes)},
        initializer_range=1.0,
    )
    getattr(transformers, f"Bert{kind}")(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
