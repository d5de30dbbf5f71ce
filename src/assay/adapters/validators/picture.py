"""Pictures decoded to grey pixels, with the extra `[images]`; a picture that is too large is not decoded."""

from io import BytesIO

from assay.adapters.validators.fingerprint import GRIDS, Pixels
from assay.adapters.validators.image_header import read_image_header
from assay.ports.validator import ValidatorError
from assay.truth.contract import SimilarityMethod

_MOST_PIXELS = 64_000_000


def decode_picture(content: bytes, method: SimilarityMethod) -> Pixels:
    """The grey pixels of a PNG or JPEG, averaged down to the method's grid."""
    try:
        from PIL import Image  # noqa: PLC0415 - an extra, loaded when a picture is compared
    except ImportError as error:
        raise ValidatorError.unavailable("pictures are compared with the extra `images`, which is missing") from error
    header = read_image_header(content)
    if header is None or header.width * header.height > _MOST_PIXELS:
        raise ValidatorError.picture(f"expected a PNG or JPEG of at most {_MOST_PIXELS} pixels, got something else")
    columns, rows = GRIDS[method]
    try:
        with Image.open(BytesIO(content), formats=("PNG", "JPEG")) as image:
            grey = image.convert("L").resize((columns, rows), Image.Resampling.BOX).tobytes()
    # The decoders raise whatever they please on a hostile file; none of it says more than that this is no picture.
    except Exception as error:
        raise ValidatorError.picture(f"expected a picture that can be decoded, got {type(error).__name__}") from error
    return [grey[row * columns : (row + 1) * columns] for row in range(rows)]
