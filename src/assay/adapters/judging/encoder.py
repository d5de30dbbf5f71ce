"""A sentence encoder in a file: how alike two short texts are, for the words that the rules do not know.

folder with model.onnx and tokenizer.json -> tokens -> vectors -> mean over tokens -> cosine
The file is the operator's; nothing is fetched. It stands behind the vetoes: of what they tell apart it is not asked.
"""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.claims.errors import ClaimsError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LONGEST = 128
_REMEMBERED = 4096


class OnnxEncoder:
    """A `Similarity` for `RuleJudge`; the same words give the same answer, on the CPU and with one thread."""

    def __init__(self, folder: Path) -> None:
        try:
            import onnxruntime  # noqa: PLC0415 - only who has an encoder pays
            from tokenizers import Tokenizer  # noqa: PLC0415 - the same
        except ImportError as error:
            name = error.name or "onnxruntime"
            raise ClaimsError.judge_unavailable(f'{name} is missing: pip install "assay[meaning]"') from error
        model, words = folder / "model.onnx", folder / "tokenizer.json"
        for path in (model, words):
            if not path.is_file():
                raise ClaimsError.judge_unavailable(
                    f"expected a sentence encoder with `{path.name}` in `{folder}`, got none"
                )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        try:
            self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
            self._tokenizer = Tokenizer.from_file(str(words))
        except Exception as error:
            # Both libraries raise whatever they like for a file that is none of theirs.
            raise ClaimsError.judge_unavailable(f"expected a sentence encoder in `{folder}`, got: {error}") from error
        self._tokenizer.enable_truncation(_LONGEST)
        self._inputs = [one.name for one in self._session.get_inputs()]
        self._vector = lru_cache(maxsize=_REMEMBERED)(self._encoded)
        self.name = f"rules over the encoder `{folder.name}`"

    def __call__(self, one: str, other: str) -> float:
        """The cosine of the two vectors, from -1 to 1."""
        mine, theirs = self._vector(one), self._vector(other)
        return float(mine @ theirs)

    def _encoded(self, text: str) -> "NDArray[Any]":
        import numpy as np  # noqa: PLC0415 - only who has an encoder pays

        found = self._tokenizer.encode(text)
        given = {
            "input_ids": np.array([found.ids], dtype=np.int64),
            "attention_mask": np.array([found.attention_mask], dtype=np.int64),
            "token_type_ids": np.array([found.type_ids], dtype=np.int64),
        }
        (states, *_) = self._session.run(None, {name: given[name] for name in self._inputs})
        mask = given["attention_mask"][0][:, None]
        vector = (states[0] * mask).sum(axis=0) / max(int(mask.sum()), 1)
        length = float(np.linalg.norm(vector))
        whole: NDArray[Any] = vector / length if length else vector
        return whole
