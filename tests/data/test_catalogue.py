import re
import subprocess
import sys

import pytest

from paceline.data.catalogue import ENTRIES, MNIST, File, PipPackage, Url, entry
from paceline.errors import DataError


def test_an_unknown_set_gets_the_nearest_name():
    with pytest.raises(DataError, match=r"'mnits'. Did you mean 'mnist'\? Allowed: caltech101, "):
        entry("mnits")


@pytest.mark.parametrize("known", ENTRIES.values(), ids=ENTRIES)
def test_every_entry_is_whole(known):
    assert entry(known.name) is known
    assert known.about
    assert known.source
    assert bool(known.mirrors) == known.fetched
    for file in known.files:
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.name.endswith(".gz")
        assert file.size > 0
    assert not (known.by_hand and known.fetched)
    assert all("/" not in form for form in known.forms)


def test_what_is_fetched_and_what_is_not():
    assert [e.name for e in ENTRIES.values() if e.fetched] == ["mnist", "fashion_mnist", "cifar10", "cifar100"]
    assert [e.name for e in ENTRIES.values() if e.by_hand] == ["folder", "fruits", "caltech101", "caltech256"]


def test_tables_of_a_wheel_name_files_of_the_entry():
    (wheel,) = (m for m in MNIST.mirrors if isinstance(m, PipPackage))
    assert {n for t in wheel.tables for n in (t.images, t.labels)} == {f.name for f in MNIST.files}
    assert isinstance(MNIST.mirrors[0], Url)


def test_the_checksum_is_that_of_the_list_of_checksums():
    assert MNIST.checksum == "sha256:0b502ddb8cfe65686ea54e0a822280899b2ed22c62951683315dae8967d7ff3e"
    assert File("a.gz", "0" * 64, 1) == File("a.gz", "0" * 64, 1)


def test_finding_and_fetching_leave_the_heavy_modules_unimported():
    light = "catalogue, describe, download, fetch, locate, packages, verify"
    heavy = "{'torch', 'numpy', 'sklearn', 'PIL'}"
    code = (
        f"import sys; from paceline.data import {light}; "
        f"describe.describe(locate.Files.search()); assert not {heavy} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
