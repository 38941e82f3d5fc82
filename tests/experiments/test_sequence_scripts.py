"""The recurrent scripts from their command lines: logs, result files, runs that exist."""

import pytest

from tests.experiments.scripts import run, run_names
from tests.sequence_runs import logged, results


@pytest.mark.parametrize(
    ("script", "short"),
    [
        ("simple_function_recurrent", "--max-iterations 1"),
        ("number_translation", "--max-epochs 1"),
    ],
)
def test_a_run_and_its_record_in_the_result_file(script, short, capsys):
    words = f"--layer-type NAC {short}"
    assert run(script, words) == 0
    (name,) = run_names(script, words)
    assert "loss/train/total" in logged(name)
    (record,) = results(script)
    assert record["layer_type"] == "NAC"
    assert run(script, words) == 2
    assert capsys.readouterr().err.endswith(
        "use --remove-existing-data to start anew, --load-checkpoint to continue it, "
        "or another --name-prefix\n"
    )
    assert len(results(script)) == 1
    assert run(script, words, "--remove-existing-data") == 0
    assert len(results(script)) == 2
