"""The files of a tile log: their names follow C2SP tlog-tiles, and bundles read back as they were written."""

import pytest

from assay.kernel.tile import TILE_WIDTH, tile_width
from assay.kernel.tile_log import (
    EntryBundleError,
    Place,
    bundle_paths,
    bundles_of,
    parse_entries,
    partial_folders,
    render_entries,
    tiles_of,
)


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 70_000])
def test_the_tiles_of_a_tree_are_those_with_hashes(size: int) -> None:
    expected = {
        (level, index, tile_width(level, index, size))
        for level in range(4)
        for index in range(300)
        if tile_width(level, index, size)
    }
    assert {tuple(place) for place in tiles_of(size)} == expected


def test_a_tree_that_grew_has_new_and_wider_tiles_alone() -> None:
    after = {tuple(place) for place in tiles_of(600, after=300)}
    assert after == {(0, 1, 256), (0, 2, 88), (1, 0, 2)}
    assert list(tiles_of(600, after=600)) == []
    assert [place.path for place in bundles_of(300, after=256)] == ["tile/0/001.p/44"]


def test_names_are_those_of_the_specification() -> None:
    place = Place(0, 1_234_067, TILE_WIDTH)
    assert place.path == "tile/0/x001/x234/067"
    assert bundle_paths(place)[0] == "tile/entries/x001/x234/067"
    assert bundle_paths(Place(0, 3, 12)) == ("tile/entries/003.p/12", "tile/entries32/003.p/12")
    assert partial_folders(Place(0, 3, 256)) == ("tile/0/003.p/", "tile/entries/003.p/", "tile/entries32/003.p/")
    assert partial_folders(Place(1, 3, 256)) == ("tile/1/003.p/",)
    assert (place.is_full, Place(0, 3, 12).is_full) == (True, False)


@pytest.mark.parametrize(("texts", "folder"), [([b"a", b"", b"xyz"], "entries"), ([b"a", b"y" * 65_536], "entries32")])
def test_a_bundle_reads_back(texts: list[bytes], folder: str) -> None:
    place = Place(0, 2, len(texts))
    path, content = render_entries(place, texts)
    assert path == f"tile/{folder}/002.p/{len(texts)}"
    assert list(parse_entries(place, path, content)) == texts


@pytest.mark.parametrize("content", [b"\x00\x05abc", b"\x00", b"\x00\x01a", b"\x00\x01a\x00\x01b\x00\x01c"])
def test_a_bundle_with_other_entries_than_it_should_have_is_refused(content: bytes) -> None:
    with pytest.raises(EntryBundleError, match="expected"):
        parse_entries(Place(0, 0, 2), "tile/entries/000.p/2", content)
