from paceline.data.catalogue import ENTRIES
from paceline.data.describe import describe


def states(files):
    return {row["set"]: (row["state"], row["where"]) for row in describe(files)}


def test_every_set_is_listed_with_where_it_is(files, tmp_path):
    found = states(files)
    assert found.keys() == ENTRIES.keys()
    assert found["line"] == ("made", "on the spot")
    assert found["digits"][0] == "present"
    assert found["mnist"] == ("missing", f"paceline data get mnist --data {tmp_path}")


def test_part_of_a_set_is_incomplete_and_all_of_it_present(files):
    home = files.home("mnist")
    home.mkdir()
    names = [file.name for file in ENTRIES["mnist"].files]
    (home / names[0]).touch()
    assert states(files)["mnist"][0] == "incomplete"
    for name in names[1:]:
        (home / name).touch()
    assert states(files)["mnist"] == ("present", str(home))
