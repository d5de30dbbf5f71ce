"""Places of published files: one contract for a folder and a bucket of moto's S3 server; a URL is read only."""

import http.server
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from assay.adapters.object_store import (
    BucketObjects,
    FolderObjects,
    ObjectStoreError,
    WebObjects,
    open_object_store,
)
from assay.ports.object_store import ObjectStore
from tests.raising import raises


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The URL of an empty bucket; its server answers on loopback."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    endpoint = f"http://127.0.0.1:{port}"
    access = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**access, "AWS_ENDPOINT_URL": endpoint, "AWS_ALLOW_HTTP": "true"}.items():
            patch.setenv(name, value)
        boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1").create_bucket(Bucket="logs")
        yield "s3://logs"
    server.stop()


@pytest.fixture(params=["folder", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    if request.param == "folder":
        return open_object_store(str(tmp_path / "deep" / "store"))
    return open_object_store(f"{request.getfixturevalue('bucket')}/{tmp_path.name}")


def test_an_object_is_read_as_it_was_written_last(store: ObjectStore) -> None:
    assert store.read("tile/0/000") is None
    store.write("tile/0/000", b"first")
    store.write("tile/0/000", b"")
    assert store.read("tile/0/000") == b""
    store.remove("tile/0/000")
    store.remove("tile/0/000")
    assert store.read("tile/0/000") is None


def test_names_are_listed_by_the_text_that_they_start_with(store: ObjectStore) -> None:
    for name in ("a/x.p/1", "a/x.p/2", "a/x", "a/xy", "b", "a/day=2026-01-05/part"):
        store.write(name, b"1")
    assert store.names("a/x.p/") == ["a/x.p/1", "a/x.p/2"]
    assert store.names("a/x") == ["a/x", "a/x.p/1", "a/x.p/2", "a/xy"]
    assert store.names("c") == []
    assert len(store.names("")) == 6


@pytest.mark.parametrize("name", ["../x", "/x", "a//b", "a/../b", "", ".", "a/.", "a b", "a\x00"])
def test_a_name_never_leads_out_of_the_store(store: ObjectStore, name: str) -> None:
    for act in (store.read, store.remove, lambda name: store.write(name, b"")):
        with raises(ObjectStoreError.name):
            act(name)


def test_files_behind_a_url_are_read_and_never_written(tmp_path: Path) -> None:
    FolderObjects(tmp_path).write("tile/0/000", b"hashes")
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        web = open_object_store(f"http://127.0.0.1:{server.server_port}/")
        assert isinstance(web, WebObjects)
        assert (web.read("tile/0/000"), web.read("tile/0/001")) == (b"hashes", None)
        for act in (lambda: web.write("a", b""), lambda: web.remove("a"), lambda: web.names("a")):
            with raises(ObjectStoreError.read_only):
                act()
        server.shutdown()
    with raises(ObjectStoreError.unreachable):
        web.read("tile/0/000")


def test_a_bucket_that_is_not_there_says_so(bucket: str) -> None:
    store = BucketObjects(bucket.replace("logs", "none"))
    for act in (lambda: store.write("a", b""), lambda: store.names("a")):
        with raises(ObjectStoreError.unreachable):
            act()
    with raises(ObjectStoreError.unreachable, match="expected the URL"):
        open_object_store("nothing://x")
