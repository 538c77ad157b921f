"""Models of random weights, made on the spot: they know nothing, and show that everything runs."""

from collections.abc import Iterable
from pathlib import Path

_TEXTS = ("the bridge was built by carters and it fell",)
_SPECIAL = ("<|pad|>", "<|end|>", "<|start|>", "<|system|>", "<|user|>", "<|assistant|>")
_CHAT = (
    "{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)


def tiny(folder: Path, *, room: int, texts: Iterable[str] = _TEXTS) -> Path:
    """Save a Llama of random weights that takes ``room`` tokens; nothing is downloaded.

    Args:
        texts: what its tokens are made of.
    """
    import tokenizers as tk
    import torch
    import transformers

    torch.manual_seed(0)
    inner = tk.Tokenizer(tk.models.BPE())
    inner.pre_tokenizer = tk.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = tk.decoders.ByteLevel()
    letters = tk.pre_tokenizers.ByteLevel.alphabet()
    trainer = tk.trainers.BpeTrainer(
        vocab_size=1000, special_tokens=list(_SPECIAL), initial_alphabet=letters, show_progress=False
    )
    inner.train_from_iterator(texts, trainer)
    pad, end, start = _SPECIAL[:3]
    inner.post_processor = tk.processors.TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} $B:1 {end}:1",
        special_tokens=[(start, 2), (end, 1)],
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token=pad,
        eos_token=end,
        sep_token=end,
        cls_token=start,
        chat_template=_CHAT,
    )
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=room,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
