"""Files of pixels and numbers that become grids: images, NumPy arrays, and the maps of ROS's map_server."""

from __future__ import annotations

import io
import logging
import math
import re
import warnings
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from timebound.errors import MapError
from timebound.text import shown
from timebound.worlds.opening import check_claim, read_file

__all__ = ["IMAGES", "RosMap", "read_array", "read_bright", "read_ros"]

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pbm")
"""The endings of image files."""

# Those that hold one picture of pixels. Pillow knows others, and starts other programs for some of them.
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
_PACKED = 256  # pixels that a byte of an image may stand for; a map of large rooms has about a hundred
_NUMPY = b"\x93NUMPY"


# -------------------------------------------------------------------------------------------- arrays


def read_array(path: str | Path) -> np.ndarray:
    """A ``.npy`` file of booleans or numbers. Nothing in it is ever unpickled.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "tiny.npy"
    >>> np.save(file, np.eye(2, dtype=bool))
    >>> read_array(file).tolist()
    [[True, False], [False, True]]
    """
    data = read_file(path, "numpy.save(file, array) writes an array")
    if data.startswith(b"PK"):
        raise MapError(f"{path} is an archive of arrays; save the one that is the map with numpy.save(file, array)")
    if not data.startswith(_NUMPY):
        raise MapError(f"{path} is no NumPy array file; numpy.save(file, array) writes one")
    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shape, columns_first, dtype = readers[version](file)
    except Exception:  # the header is read by Python's own parser, which answers nonsense in a dozen ways
        raise MapError(f"{path} has a damaged header; write it again with numpy.save(file, array)") from None
    if dtype.hasobject or dtype.kind not in "biuf":
        raise MapError(f"{path} holds an array of {shown(dtype)}, and a map is one of booleans or numbers")
    if not all(isinstance(side, int) and side > 0 for side in shape):
        raise MapError(f"{path} holds an array of shape {shown(shape)}, and a map has at least one cell")
    count, held = math.prod(shape), len(data) - file.tell()
    if count * dtype.itemsize != held:
        raise MapError(
            f"{path} should hold {_plainly(count * dtype.itemsize)} bytes for an array of shape {shown(shape)}, "
            f"and it holds {held}; write it again with numpy.save(file, array)"
        )
    numbers = np.frombuffer(data, dtype, count, file.tell())
    return numbers.reshape(shape, order="F" if columns_first else "C")


def _plainly(count: int) -> str:
    return str(count) if count < 10**18 else "more than 10^18"


# -------------------------------------------------------------------------------------------- images


def read_bright(path: str | Path) -> np.ndarray:
    """How bright each pixel of an image is, from 0 to 255."""
    return _pixels(path, "L")[0]


def _pixels(path: str | Path, mode: str | None) -> list[np.ndarray]:
    """The channels of an image as bytes: one, in ``mode`` L; or grey, red green blue, or these and opacity."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise MapError("reading images needs Pillow: pip install 'timebound[images]'") from None
    # What Pillow tells its log about a damaged file would else be printed beside our one sentence.
    if not logging.getLogger("PIL").handlers:
        logging.getLogger("PIL").addHandler(logging.NullHandler())
    data = read_file(path, "an image is needed")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's advice on damaged and on large images; both are judged here
            image = Image.open(io.BytesIO(data), formats=_FORMATS)
            columns, rows = image.size
            check_claim(
                f"{path} has {len(data)} bytes and claims {rows} x {columns} pixels",
                rows * columns, held=len(data), ratio=_PACKED,
            )  # fmt: skip
            image.load()
            if image.mode == "F" or (image.mode.startswith("I") and image.format not in ("PNG", "PPM")):
                raise MapError(f"{path} has pixels of mode {image.mode}; save it with 8 bits per channel")
            if image.mode.startswith("I"):
                # 16 bits; Pillow would turn all but the darkest of them white.
                return [(np.asarray(image).astype(np.uint32) // 257).astype(np.uint8)]
            if mode is None:
                clear = "A" in image.getbands() or "transparency" in image.info
                mode = "RGBA" if clear else "L" if image.mode in ("1", "L") else "RGB"
            image = image.convert(mode)
            return [np.asarray(image.getchannel(band)) for band in image.getbands()]
    except MapError:
        raise
    except UnidentifiedImageError:
        raise MapError(f"{path} is not an image that can be read; {', '.join(_FORMATS)} can") from None
    except Image.DecompressionBombError:
        raise MapError(f"{path} claims more pixels than Pillow reads; save the map as a .npy or .map file") from None
    except Exception as problem:  # each format has a decoder of its own, and each of them its own errors
        raise MapError(f"{path} is not an image that can be read: {shown(str(problem))}") from None


# ----------------------------------------------------------------------------------------------- ROS

_ROS_KEYS = ("image", "resolution", "origin", "negate", "occupied_thresh", "free_thresh", "mode")
_ROS_MODES = ("trinary", "scale", "raw")
_SWITCH = {"0": 0, "1": 1, "false": 0, "true": 1, "no": 0, "yes": 1, "off": 0, "on": 1}


class RosMap(NamedTuple):
    """What a map_server file stands for."""

    values: np.ndarray  # int8, -1 unknown, 0 free to 100 occupied; the first row is the top of the image
    resolution: float  # metres per cell
    origin: tuple[float, float, float]  # where the lower left corner of the map lies, in metres, and its yaw


def read_ros(path: str | Path) -> RosMap:
    """A map_server ``.yaml`` and the image it names, valued as map_server would.

    The occupancy of a pixel is 1 for black and 0 for white (the reverse with ``negate``). In mode ``trinary`` above
    ``occupied_thresh`` is 100, below ``free_thresh`` 0, the rest unknown; ``scale`` keeps what lies between, and takes
    what is not opaque for unknown; ``raw`` takes brightness 0 to 100 as it is, and the rest for unknown.
    """
    fields = _ros_fields(path)
    missing = [key for key in _ROS_KEYS if key not in fields and key != "mode"]
    if missing:
        raise MapError(f"{path} says nothing of {missing[0]!r}; a map_server file has {', '.join(_ROS_KEYS)}")
    name = _ros_text(path, fields, "image")
    resolution = _ros_number(path, fields, "resolution", lambda value: value > 0, "a number of metres above 0")
    low, high = (
        _ros_number(path, fields, key, lambda value: 0 <= value <= 1, "a number from 0 to 1")
        for key in ("free_thresh", "occupied_thresh")
    )
    if low >= high:
        raise MapError(f"{path}: free_thresh is {low:g}, and it must be less than occupied_thresh, which is {high:g}")
    given = fields["origin"][1]
    origin = [_number(word) for word in given] if isinstance(given, list) else []
    if len(origin) != 3 or None in origin:
        raise MapError(f"{_line(path, fields, 'origin')}: origin is {shown(given)}, and it must be [x, y, yaw]")
    x, y, yaw = (value for value in origin if value is not None)
    negate = _SWITCH.get(_ros_text(path, fields, "negate").lower())
    if negate is None:
        raise MapError(f"{_line(path, fields, 'negate')}: negate is {shown(fields['negate'][1])}, and it is 0 or 1")
    mode = _ros_text(path, fields, "mode").lower() if "mode" in fields else "trinary"
    if mode not in _ROS_MODES:
        raise MapError(f"{_line(path, fields, 'mode')}: mode is {shown(mode)}, and it is {', '.join(_ROS_MODES)}")
    values = _ros_values(_pixels(Path(path).parent / name, None), bool(negate), low, high, mode)
    return RosMap(values, resolution, (x, y, yaw))


def _ros_values(channels: list[np.ndarray], negate: bool, low: float, high: float, mode: str) -> np.ndarray:
    clear = channels.pop() if len(channels) == 4 else None
    if mode == "trinary" and clear is not None:
        channels.append(clear)  # map_server takes opacity for one more colour here
    total = np.zeros(channels[0].shape, np.uint16)
    for channel in channels:
        total += channel
    # The sum of a pixel's channels takes few values, so each is judged once.
    shade = np.arange(255 * len(channels) + 1) / (255 * len(channels))
    if mode == "raw":
        level = np.rint(255 * shade)
        worth = np.where(level <= 100, level, -1)
    else:
        occupancy = shade if negate else 1 - shade
        between = np.rint(100 * (occupancy - low) / (high - low)) if mode == "scale" else np.full(len(shade), -1.0)
        worth = np.where(occupancy > high, 100, np.where(occupancy < low, 0, between))
    values = worth.astype(np.int8)[total]
    if mode == "scale" and clear is not None:
        values[clear < 255] = -1
    return values


def _ros_fields(path: str | Path) -> dict[str, tuple[int, Any]]:
    """Keys, the lines they stand in, and their values: text, or a list of texts.

    That is the little of YAML that such files use: one ``key: value`` per line, lists in brackets or one ``- item``
    per line, and comments.
    """
    data = read_file(path, "a map_server file has lines such as 'resolution: 0.05'")
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise MapError(f"{path} is no text, and a map_server file has lines such as 'resolution: 0.05'") from None
    fields: dict[str, tuple[int, Any]] = {}
    open_key: str | None = None  # whose items may follow, one per line
    for number, line in enumerate(lines, start=1):
        bare = re.sub(r"(^|\s)#.*", "", line).rstrip()
        if not bare or (bare in ("---", "...") and not (fields and bare == "---")):
            continue
        item = re.fullmatch(r"\s*-\s+(\S.*)", bare)
        if item and open_key is not None:
            fields[open_key][1].append(_unquoted(item[1]))
            continue
        pair = re.fullmatch(r"([A-Za-z_]\w*)\s*:(?:\s+(\S.*))?", bare)
        if pair is None:
            raise MapError(f"{path}, line {number}: found {shown(line)}, and a map_server file has 'key: value' here")
        key, value = pair[1], pair[2]
        close = get_close_matches(key, _ROS_KEYS, n=1, cutoff=0.8)
        if key not in _ROS_KEYS and close:
            raise MapError(f"{path}, line {number}: there is no key {key!r}; did you mean {close[0]!r}?")
        if key in fields:
            raise MapError(f"{path}, line {number}: {key} stands there twice, first in line {fields[key][0]}")
        open_key = key if value is None else None
        if value is None:
            fields[key] = number, []
        elif value.startswith("[") and value.endswith("]"):
            fields[key] = number, [_unquoted(word.strip()) for word in value[1:-1].split(",")]
        else:
            fields[key] = number, _unquoted(value)
    return fields


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"" else text


def _line(path: str | Path, fields: dict[str, tuple[int, Any]], key: str) -> str:
    return f"{path}, line {fields[key][0]}"


def _ros_text(path: str | Path, fields: dict[str, tuple[int, Any]], key: str) -> str:
    value = fields[key][1]
    if not isinstance(value, str) or not value:
        raise MapError(f"{_line(path, fields, key)}: {key} is {shown(value)}, and it must be one word")
    return value


def _ros_number(path: str | Path, fields: dict[str, tuple[int, Any]], key: str, sound: Any, wanted: str) -> float:
    value = _number(_ros_text(path, fields, key))
    if value is None or not sound(value):
        raise MapError(f"{_line(path, fields, key)}: {key} is {shown(fields[key][1])}, and it must be {wanted}")
    return value


def _number(word: str) -> float | None:
    match = re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", word, re.ASCII)
    value = float(word) if match and len(word) < 100 else math.inf
    return value if math.isfinite(value) else None
