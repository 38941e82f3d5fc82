"""Every figure and table that the papers' documents name is in the list of experiments."""

from pathlib import Path

from stable_nalu.base.files import cells_of
from stable_nalu.figure.runs import Context
from stable_nalu.paper.index import EXPERIMENTS, all_entries

DOCUMENTED: dict[str, list[tuple[str, str]]] = {}
"""Paper -> places and keys, from the instructions of the studies and their batch scripts."""
for one in cells_of(Path(__file__).with_name("places.csv")):
    DOCUMENTED.setdefault(one["paper"], []).append((one["place"], one["key"]))
WITHOUT_A_FIGURE = {
    "function_task_static_mul_num_subsets",
    "sequential_mnist_prod_interpolation",
    "sequential_mnist_prod_outputs",
    "sequential_svhn_prod_long",
    "robust-batch-snmu",
}


def test_nothing_is_missing_and_nothing_made_up():
    catalogue = {
        (experiment.paper.reference, number, experiment.key)
        for experiment in EXPERIMENTS.values()
        for number in experiment.numbers
    }
    wanted = {(paper, *place) for paper, places in DOCUMENTED.items() for place in places}
    assert {place for place in catalogue if place[0] in DOCUMENTED} == wanted
    assert len(wanted) == 88
    assert {key for key, e in EXPERIMENTS.items() if not e.paper} >= WITHOUT_A_FIGURE


def test_figures_read_the_tables_that_a_reproduction_writes(tmp_path):
    """The file names of each figure are those of its models, wherever a script exports them."""
    entries = all_entries()
    for experiment in EXPERIMENTS.values():
        folder = tmp_path / experiment.key
        for model in experiment.models:
            path = folder / f"{model.csv}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        drawn = experiment.drawings and experiment.models and experiment.key != "surface-mul"
        for key in experiment.figure_keys if drawn else ():
            source = Context(entries[key], folder)
            missed = [one.files for one in entries[key].series if source.find(one.files) is None]
            assert missed == [], key
