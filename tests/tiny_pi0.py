"""A pi0 of 0.2 million random parameters, saved as a real checkpoint is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

JOINTS = 7


def _processor(statistics: bool) -> Any:
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<pad>", "<eos>", "<bos>"],
        show_progress=False,
    )
    words.train_from_iterator(["pick the red cube, push the green cylinder"], trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token="<eos>", pad_token="<pad>", bos_token="<bos>"
    )
    images = transformers.PI0ImageProcessor(
        size={"max_height": 28, "max_width": 28}, pad_size={"height": 28, "width": 28}, image_seq_length=4
    )
    known: dict[str, Any] = {}
    if statistics:
        known = {
            "state_mean": [0.1] * JOINTS,
            "state_std": [2.0] * JOINTS,
            "actions_mean": [0.0] * (JOINTS - 1) + [0.5],
            "actions_std": [0.05] * JOINTS,
        }
    return transformers.PI0Processor(image_processor=images, tokenizer=tokenizer, chunk_size=6, **known)


def save_tiny_pi0(folder: Path, *, statistics: bool = True) -> Path:
    """Build, save, and return the folder."""
    import torch
    import transformers

    processor = _processor(statistics)
    size = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "intermediate_size": 64,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 16,
    }
    config = transformers.PI0Config(
        vlm_config={
            "model_type": "paligemma",
            "text_config": {"model_type": "gemma", "vocab_size": len(processor.tokenizer), **size},
            "vision_config": {
                "model_type": "siglip_vision_model",
                "hidden_size": 32,
                "intermediate_size": 64,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "patch_size": 14,
                "image_size": 28,
                "vision_use_head": False,
            },
            "projection_dim": 32,
            "image_token_id": processor.image_token_id,
        },
        dit_config={"model_type": "gemma", **size},
        chunk_size=6,
        num_inference_steps=3,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformers.PI0ForConditionalGeneration(config)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
