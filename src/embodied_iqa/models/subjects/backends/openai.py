"""Vision-language models behind servers that speak the OpenAI chat completions protocol."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.subjects.backends.openai_server import (
    OpenAiServer,
    connect,
    image_part,
    info_of_server,
    text_part,
)
from embodied_iqa.models.subjects.batching import Question
from embodied_iqa.models.subjects.prompt import DEFAULT_PROMPT, QUESTION_PROMPT, prompt_of, tidy
from embodied_iqa.models.subjects.subject_options import DecodingOptions, VlmRequest
from embodied_iqa.world.protocols import SubjectInfo


def make(request: VlmRequest) -> OpenAiVlm:
    """Connect to a server, ready to answer.

    Raises:
        UsageError: A public API of the catalogue needs consent or a key.
        InputError: The server is not reached, or does not have the model.
    """
    entry = request.reference.entry
    prompt = request.prompt or (entry.prompt if entry is not None else DEFAULT_PROMPT)
    return OpenAiVlm(info_of_server(request, prompt), connect(request), request.options.decoding, prompt)


class OpenAiVlm:
    """Asks a server about images, sent losslessly as PNG.

    Args:
        info: Description of the subject.
        server: The server.
        decoding: How words are chosen.
        prompt: Template of the question.
    """

    def __init__(
        self, info: SubjectInfo, server: OpenAiServer, decoding: DecodingOptions, prompt: str
    ) -> None:
        self.info = info
        self._server = server
        self._decoding = decoding
        self._prompt = prompt

    def answer(self, frame: Frame, task: str) -> str:
        """Answer a task about an image in about ten words.

        Raises:
            WireError: No answer within the deadline.
        """
        text = text_part(prompt_of(self._prompt, task, self._decoding.words))
        image = image_part(frame.rgb)
        # a question stands behind its image; the order of the other prompts is part of recorded versions
        content = [image, text] if self._prompt == QUESTION_PROMPT else [text, image]
        return tidy(self._server.complete([{"role": "user", "content": content}], self._decoding))

    def answer_batch(self, questions: Sequence[Question]) -> list[str]:
        """Ask several questions at once; the server decides how it batches them."""
        with ThreadPoolExecutor(self._decoding.batch, thread_name_prefix="openai") as pool:
            return list(pool.map(lambda question: self.answer(*question), questions))

    def close(self) -> None:
        """End the pauses between attempts."""
        self._server.stop.set()
