"""`paceline advise` as a user types it."""

import json

from paceline.api import results

SMALL = """
name: small
question: Which rate?
base: {data: digits, model: softmax, optimizer: gd, batch: 100, steps: 6, evaluate_every: 3}
tune: {lr: [0.1, 1.0]}
repeat: 2
"""


def test_advise(cli, study_file, tmp_path):
    file = study_file(SMALL)
    code, _, err = cli("advise", file)
    assert code == 2
    assert "no records of 'small'" in err
    assert cli("run", file, "--jobs", "1")[0] == 0

    code, out, _ = cli("advise", "small")
    assert code == 0
    assert out.startswith("Which rate?\n")
    assert "more seed of every setting (--seeds 3). [likely]" in out
    assert "Try lr below 0.1: the best lies at the edge. [a hint]" in out
    assert "\nNot said\n" in out

    code, out, _ = cli("advise", "small", "--format", "json", "--price", "2")
    found = json.loads(out)
    assert code == 0
    assert {line["sure"] for line in found} >= {"likely", "not said"}
    assert any("at this price" in (line["price"] or "") for line in found)
    assert cli("advise", "small", "--format", "md")[1].startswith("**Which rate?**")

    code, _, err = cli("advise", "small", "--price", "0")
    assert code == 2
    assert "no price of a device-hour" in err
    assert results("small").advice.table.height == len(found)
