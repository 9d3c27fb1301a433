import gzip
import hashlib
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from paceline.data import download, fetch
from paceline.data.catalogue import DebPackage, Entry, File, Url, entry
from paceline.data.verify import is_right
from paceline.errors import DataError


@pytest.fixture
def events():
    return []


def kinds(events):
    return [e.kind for e in events if e.kind != "bytes"]


def complete(folder, tiny):
    return all(is_right(folder / f.name, f) for f in tiny.files) and not list(folder.glob("*.part"))


def test_a_set_is_fetched_checked_and_then_left_alone(server, tiny, tmp_path, events):
    server.content = tiny.packed
    entry = tiny.entry(Url(server.base))
    fetch.fetch(entry, tmp_path / "deep" / "tiny", report=events.append)
    assert complete(tmp_path / "deep" / "tiny", tiny)
    assert kinds(events) == ["trying", "saved", "saved"]
    progress = [e for e in events if e.kind == "bytes" and e.line == "big.gz"]
    assert [e.done for e in progress] == sorted(e.done for e in progress)
    assert progress[-1].done == progress[-1].total == len(tiny.packed["big.gz"])

    asked = len(server.asked)
    events.clear()
    fetch.fetch(entry, tmp_path / "deep" / "tiny", report=events.append)
    assert kinds(events) == ["present", "present"]
    assert len(server.asked) == asked


def test_a_wrong_file_is_replaced_and_a_right_one_is_not(server, tiny, tmp_path):
    server.content = tiny.packed
    (tmp_path / "big.gz").write_bytes(b"stale")
    (tmp_path / "small.gz").write_bytes(gzip.compress(b"small", 1))
    before = (tmp_path / "small.gz").stat()
    fetch.fetch(tiny.entry(Url(server.base)), tmp_path)
    assert complete(tmp_path, tiny)
    assert (tmp_path / "small.gz").stat().st_mtime_ns == before.st_mtime_ns
    assert [name for name, _ in server.asked] == ["big.gz"]


def test_a_broken_connection_is_resumed_where_it_ended(server, tiny, tmp_path):
    server.content, server.cut = tiny.packed, [300_000, 200_000]
    fetch.fetch(tiny.entry(Url(server.base)), tmp_path)
    assert complete(tmp_path, tiny)
    assert [r for _, r in server.asked] == [None, "bytes=300000-", "bytes=500000-", None]


def test_a_stalled_connection_is_resumed_where_it_stalled(server, tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", 0.2)
    server.content, server.cut, server.stall = tiny.packed, [300_000], 1.0
    fetch.fetch(tiny.entry(Url(server.base)), tmp_path)
    assert complete(tmp_path, tiny)
    name, resumed = server.asked[1]
    assert name == "big.gz"
    assert 0 < int(resumed.removeprefix("bytes=").rstrip("-")) <= 300_000


def test_a_server_without_ranges_starts_over(server, tiny, tmp_path):
    server.content, server.cut, server.ranges = tiny.packed, [300_000], False
    fetch.fetch(tiny.entry(Url(server.base)), tmp_path)
    assert complete(tmp_path, tiny)


def test_what_a_dead_mirror_left_is_resumed_by_the_next_call(server, tiny, tmp_path):
    server.content, server.cut = tiny.packed, [100_000, 0, 0]
    with pytest.raises(DataError, match="connection ended after 100,000 of 9"):
        fetch.fetch(tiny.entry(Url(server.base)), tmp_path)
    (part,) = tmp_path.glob("*.part")
    assert part.stat().st_size == 100_000
    server.asked.clear()
    fetch.fetch(tiny.entry(Url(server.base)), tmp_path)
    assert complete(tmp_path, tiny)
    assert server.asked[0] == ("big.gz", "bytes=100000-")


@pytest.mark.parametrize("left", [b"x" * 1000, b"x" * 2_000_000], ids=["shorter", "longer"])
def test_a_part_that_is_rubbish_costs_one_more_download(server, tiny, tmp_path, left):
    server.content, server.cut = tiny.packed, [100_000, 0, 0]
    with pytest.raises(DataError):
        fetch.fetch(tiny.entry(Url(server.base)), tmp_path)
    next(tmp_path.glob("big.gz.*.part")).write_bytes(left)
    fetch.fetch(tiny.entry(Url(server.base)), tmp_path)
    assert complete(tmp_path, tiny)


def test_wrong_bytes_go_on_to_the_next_mirror(start_server, tiny, tmp_path, events):
    wrong, right = start_server(), start_server()
    wrong.content = {**tiny.packed, "big.gz": gzip.compress(b"something else")}
    right.content = tiny.packed
    fetch.fetch(tiny.entry(Url(wrong.base), Url(right.base)), tmp_path, report=events.append)
    assert complete(tmp_path, tiny)
    assert kinds(events) == ["trying", "failed", "trying", "saved", "saved"]
    (failure,) = (e.line for e in events if e.kind == "failed")
    assert f"{wrong.base} failed: big.gz is not the expected file: its SHA-256 is" in failure


def test_what_a_mirror_gave_before_it_failed_is_kept(start_server, tiny, tmp_path):
    first, second = start_server(), start_server()
    first.content = {"big.gz": tiny.packed["big.gz"]}
    second.content = tiny.packed
    fetch.fetch(tiny.entry(Url(first.base), Url(second.base)), tmp_path)
    assert complete(tmp_path, tiny)
    assert [name for name, _ in second.asked] == ["small.gz"]


def test_parts_of_two_mirrors_are_not_mixed(start_server, tiny, tmp_path):
    first, second = start_server(), start_server()
    first.content, first.cut = tiny.packed, [100_000, 0, 0]
    second.content = tiny.packed
    fetch.fetch(tiny.entry(Url(first.base), Url(second.base)), tmp_path)
    assert complete(tmp_path, tiny)
    assert second.asked[0] == ("big.gz", None)


def test_an_endless_answer_is_cut_short(server, tiny, tmp_path):
    server.content = {"big.gz": bytes(5_000_000)}
    with pytest.raises(DataError, match="more than the 1,948,576 bytes it can have"):
        fetch.fetch(tiny.entry(Url(server.base)), tmp_path)
    assert not list(tmp_path.glob("*.part"))


def test_all_mirrors_failing_lists_each_reason_and_every_place(server, tiny, tmp_path, monkeypatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{unused.getsockname()[1]}"
        monkeypatch.setenv("PATH", "")
        entry = tiny.entry(Url(server.base), Url(closed), DebPackage("p", "f"))
        with pytest.raises(DataError) as caught:
            fetch.fetch(entry, tmp_path)
    lines = str(caught.value).splitlines()
    assert lines[0] == "No mirror could give tiny:"
    assert lines[1] == f"  {server.base}: big.gz: the server answers 404 Not Found"
    assert lines[2].startswith(f"  {closed}: big.gz: [Errno ")
    assert lines[3] == "  Debian package p: apt-get is not installed here"
    assert lines[4:] == [
        "Try again later, or put the files by hand at:",
        f"  {tmp_path}/big.gz",
        f"  {tmp_path}/small.gz",
    ]


def test_a_silent_server_is_given_up(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", 0.1)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(DataError, match="timed out"):
        fetch.fetch(tiny.entry(Url(f"http://127.0.0.1:{mute.getsockname()[1]}")), tmp_path)


def test_a_full_disk_says_so(server, tiny, tmp_path):
    server.content, server.cut = tiny.packed, [0, 0, 0]
    with pytest.raises(DataError):
        fetch.fetch(tiny.entry(Url(server.base)), tmp_path)
    (part,) = tmp_path.glob("*.part")
    part.unlink()
    part.symlink_to("/dev/full")
    with pytest.raises(DataError, match=r"cannot be written to .*: No space left on device\. Make room"):
        fetch.fetch(tiny.entry(Url(server.base)), tmp_path)


def test_a_set_that_is_there_needs_no_folder_to_write_to(server, tiny, tmp_path):
    server.content = tiny.packed
    fetch.fetch(tiny.entry(Url(server.base)), tmp_path)
    (tmp_path / ".lock").unlink()
    (tmp_path / ".lock").mkdir()
    fetch.fetch(tiny.entry(), tmp_path)


def test_a_folder_that_cannot_be_made_says_so(tiny, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"cannot be written to .*file/tiny: Not a directory"):
        fetch.fetch(tiny.entry(Url("http://127.0.0.1/")), tmp_path / "file" / "tiny")


def test_several_at_once_download_once(server, tiny, tmp_path):
    server.content = tiny.packed
    entry = tiny.entry(Url(server.base))
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(fetch.fetch, entry, tmp_path) for _ in range(4)]:
            done.result()
    assert complete(tmp_path, tiny)
    assert len(server.asked) == 2


@pytest.mark.parametrize("name", ["line", "digits", "synthetic"])
def test_sets_that_need_no_download_say_so(name, tmp_path, events):
    fetch.fetch(entry(name), tmp_path / name, report=events.append)
    assert [e.kind for e in events] == ["nothing"]
    assert f"{name}: nothing to fetch" in events[0].line
    assert not (tmp_path / name).exists()


def test_an_unknown_set_is_refused(tmp_path):
    with pytest.raises(DataError, match="No data set is called 'nmist'"):
        fetch.fetch(entry("nmist"), tmp_path)


@pytest.mark.parametrize("name", ["folder", "fruits", "caltech101", "caltech256"])
def test_a_set_that_cannot_be_fetched_says_how_to_get_it(name, tmp_path):
    with pytest.raises(
        DataError, match=rf"{name} cannot be downloaded automatically .*(folder:PATH|unpack the folder)"
    ):
        fetch.fetch(entry(name), tmp_path / name)
    assert not (tmp_path / name).exists()


def test_an_archive_is_fetched_as_it_is(server, tmp_path):
    packed = gzip.compress(b"members", mtime=0)
    file = File("a.tar.gz", hashlib.sha256(packed).hexdigest(), len(packed), packed=True)
    server.content = {"a.tar.gz": packed}
    fetch.fetch(Entry("a", "", "", 1, (1,), 2, (file,), (Url(server.base),)), tmp_path)
    assert (tmp_path / "a.tar.gz").read_bytes() == packed


def test_weights_are_known_by_the_beginning_of_their_checksum(server, tmp_path):
    content = b"weights" * 1000
    start = hashlib.sha256(content).hexdigest()[:8]
    file = File(f"net-{start}.pth", start, 1_000_000, packed=True)
    entry = Entry("weights", "", "", 0, (), None, (file,), (Url(server.base),))
    server.content = {file.name: b"others" * 1000}
    with pytest.raises(DataError, match="its SHA-256 is"):
        fetch.fetch(entry, tmp_path)
    server.content = {file.name: content}
    fetch.fetch(entry, tmp_path)
    assert (tmp_path / file.name).read_bytes() == content
