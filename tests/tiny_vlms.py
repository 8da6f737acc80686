"""Multimodal models of all kinds with random weights, made from configuration: tiny, but whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

CORPUS = ["describe the image quality in one sentence. the robot has to pick the red cube and lift it"]
TURN = (
    "{% for m in messages %}<|im_start|>{{m['role']}}\n"
    "{% if m['content'] is string %}{{m['content']}}{% else %}"
    "{% for c in m['content'] %}{% if c['type']=='image' %}IMG{% else %}{{c['text']}}{% endif %}{% endfor %}"
    "{% endif %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TEXT = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
VISION = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "image_size": 56,
    "patch_size": 14,
}
SMALL = {"height": 56, "width": 56}
LOUDER = 4.0
Pair = tuple[Any, Any]


def _turn(image: str) -> str:
    return TURN.replace("IMG", image)


def _tokenizer(specials: list[str], **named: str) -> Any:
    import transformers

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<pad>", "<|im_end|>", "<|im_start|>", *specials],
        show_progress=False,
    )
    raw.train_from_iterator(CORPUS, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token="<|im_end|>", pad_token="<pad>", extra_special_tokens=named or None
    )


def _text(tokenizer: Any, kind: str | None = None, **more: Any) -> dict[str, Any]:
    ids = {"vocab_size": len(tokenizer), "eos_token_id": tokenizer.eos_token_id, "pad_token_id": 0}
    return TEXT | ids | ({} if kind is None else {"model_type": kind}) | more


def _qwen(newer: bool) -> Pair:
    import transformers

    tokenizer = _tokenizer(
        ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"],
        image_token="<|image_pad|>",
        video_token="<|video_pad|>",
    )
    number = tokenizer.convert_tokens_to_ids
    ids = {
        "image_token_id": number("<|image_pad|>"),
        "video_token_id": number("<|video_pad|>"),
        "vision_start_token_id": number("<|vision_start|>"),
        "vision_end_token_id": number("<|vision_end|>"),
    }
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
    text = _text(tokenizer, rope_parameters=rope, bos_token_id=None)
    if newer:
        vision: dict[str, Any] = {
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "out_hidden_size": 64,
        }
        vision |= {"fullatt_block_indexes": [1], "window_size": 112}
        model: Any = transformers.Qwen2_5_VLForConditionalGeneration(
            transformers.Qwen2_5_VLConfig(text_config=text, vision_config=vision, **ids)
        )
        kind = transformers.Qwen2_5_VLProcessor
    else:
        vision = {"depth": 2, "embed_dim": 32, "hidden_size": 64, "num_heads": 2, "mlp_ratio": 2}
        model = transformers.Qwen2VLForConditionalGeneration(
            transformers.Qwen2VLConfig(text_config=text, vision_config=vision, **ids)
        )
        kind = transformers.Qwen2VLProcessor
    return model, kind(
        image_processor=transformers.Qwen2VLImageProcessor(min_pixels=56 * 56, max_pixels=112 * 112),
        tokenizer=tokenizer,
        video_processor=transformers.Qwen2VLVideoProcessor(),
        chat_template=_turn("<|vision_start|><|image_pad|><|vision_end|>"),
    )


def _internvl() -> Pair:
    import transformers

    tokenizer = _tokenizer(
        ["<img>", "</img>", "<IMG_CONTEXT>", "<video>"],
        start_image_token="<img>",
        end_image_token="</img>",
        context_image_token="<IMG_CONTEXT>",
        video_token="<video>",
    )
    config = transformers.InternVLConfig(
        vision_config=VISION | {"image_size": [56, 56], "patch_size": [14, 14]},
        text_config=_text(tokenizer, "qwen2"),
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        downsample_ratio=0.5,
    )
    return transformers.InternVLForConditionalGeneration(config), transformers.InternVLProcessor(
        image_processor=transformers.GotOcr2ImageProcessor(size=SMALL, crop_to_patches=True, max_patches=2),
        tokenizer=tokenizer,
        video_processor=transformers.InternVLVideoProcessor(),
        image_seq_length=4,
        chat_template=_turn("<IMG_CONTEXT>"),
    )


def _ovis2() -> Pair:
    import transformers

    marks = ["<IMG_START>", "<IMG_GRID>", "<IMG_COL>", "<IMG_ROW>", "<IMG_END>"]
    tokenizer = _tokenizer(["<image>", "<IMG_ATOM>", *marks])
    vision = VISION | {"vocab_size": 32, "hidden_stride": 2, "num_visual_indicator_tokens": 5}
    config = transformers.Ovis2Config(
        vision_config=vision,
        text_config=_text(tokenizer, "qwen2"),
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_ATOM>"),
        visual_indicator_token_ids=[tokenizer.convert_tokens_to_ids(mark) for mark in marks],
        vocab_size=len(tokenizer),
        hidden_size=64,
    )
    return transformers.Ovis2ForConditionalGeneration(config), transformers.Ovis2Processor(
        image_processor=transformers.Ovis2ImageProcessor(size=SMALL, max_patches=2),
        tokenizer=tokenizer,
        image_seq_length=4,
        chat_template=_turn("<image>"),
    )


def _llava() -> Pair:
    import transformers

    tokenizer = _tokenizer(["<image>"], image_token="<image>")
    config = transformers.LlavaConfig(
        vision_config=VISION | {"model_type": "clip_vision_model", "projection_dim": 32},
        text_config=_text(tokenizer, "llama"),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-2,
    )
    return transformers.LlavaForConditionalGeneration(config), transformers.LlavaProcessor(
        image_processor=transformers.CLIPImageProcessor(size={"shortest_edge": 56}, crop_size=SMALL),
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=_turn("<image>"),
    )


def _smolvlm() -> Pair:
    import transformers

    places = [f"<row_{row}_col_{column}>" for row in (1, 2) for column in (1, 2)]
    marks = ["<fake_token_around_image>", "<global-img>", "<end_of_utterance>", "<video>"]
    tokenizer = _tokenizer(["<image>", *marks, *places])
    config = transformers.SmolVLMConfig(
        vision_config=VISION,
        text_config=_text(tokenizer, "llama"),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        pad_token_id=0,
    )
    edge = {"longest_edge": 56}
    video = transformers.SmolVLMVideoProcessor(
        size=edge,
        max_image_size=edge,
        do_sample_frames=False,
        video_sampling={"fps": 1, "max_frames": 4, "video_size": edge},
    )
    return transformers.SmolVLMForConditionalGeneration(config), transformers.SmolVLMProcessor(
        image_processor=transformers.SmolVLMImageProcessor(size={"longest_edge": 112}, max_image_size=edge),
        tokenizer=tokenizer,
        image_seq_len=4,
        video_processor=video,
        chat_template=_turn("<image>"),
    )


def _gemma3() -> Pair:
    import transformers

    tokenizer = _tokenizer(
        ["<boi>", "<eoi>", "<imgsoft>"], boi_token="<boi>", eoi_token="<eoi>", image_token="<imgsoft>"
    )
    number = tokenizer.convert_tokens_to_ids
    config = transformers.Gemma3Config(
        vision_config=VISION | {"model_type": "siglip_vision_model"},
        text_config=_text(tokenizer, head_dim=16, sliding_window=64),
        image_token_id=number("<imgsoft>"),
        boi_token_id=number("<boi>"),
        eoi_token_id=number("<eoi>"),
        mm_tokens_per_image=4,
    )
    return transformers.Gemma3ForConditionalGeneration(config), transformers.Gemma3Processor(
        image_processor=transformers.Gemma3ImageProcessor(size=SMALL),
        tokenizer=tokenizer,
        image_seq_length=4,
        chat_template=_turn("<boi>"),
    )


def _phi4() -> Pair:
    import transformers

    tokenizer = _tokenizer(
        ["<|endoftext10|>", "<|endoftext11|>"], image_token="<|endoftext10|>", audio_token="<|endoftext11|>"
    )
    number = tokenizer.convert_tokens_to_ids
    size = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2}
    image = {
        "num_hidden_layers": 2,
        "image_size": 448,
        "patch_size": 14,
        "crop_size": 448,
        "feature_layer": -2,
    }
    config = transformers.Phi4MultimodalConfig(
        **_text(tokenizer, bos_token_id=None),
        vision_config=size | image | {"image_token_id": number("<|endoftext10|>")},
        audio_config=size | {"num_blocks": 1, "audio_token_id": number("<|endoftext11|>")},
    )
    return transformers.Phi4MultimodalForCausalLM(config), transformers.Phi4MultimodalProcessor(
        image_processor=transformers.Phi4MultimodalImageProcessor(dynamic_hd=2),
        audio_processor=transformers.Phi4MultimodalFeatureExtractor(),
        tokenizer=tokenizer,
        chat_template=_turn("<|endoftext10|>"),
    )


KINDS: dict[str, Callable[[], Pair]] = {
    "qwen2_5_vl": lambda: _qwen(newer=True),
    "qwen2_vl": lambda: _qwen(newer=False),
    "internvl": _internvl,
    "ovis2": _ovis2,
    "llava": _llava,
    "smolvlm": _smolvlm,
    "gemma3": _gemma3,
    "phi4_multimodal": _phi4,
}
"""By the model's type."""


def save_tiny(kind: str, folder: Path, *, seed: int = 0, shard: str | None = None) -> Path:
    """Make a model and save it the way its publishers do."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model, processor = KINDS[kind]()
        with torch.no_grad():  # as initialised, a model hardly notices the image
            for weights in model.parameters():
                if not weights.any() and weights.ndim > 1:
                    weights.normal_()
                weights.mul_(LOUDER if weights.ndim > 1 else 1.0)
    model.save_pretrained(folder, **({} if shard is None else {"max_shard_size": shard}))
    processor.save_pretrained(folder)
    return folder
