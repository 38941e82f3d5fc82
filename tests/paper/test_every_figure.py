"""Every figure and table that the papers' documents name is in the list of experiments."""

import pytest

from stable_nalu.paper.figures import all_entries, source_of
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result.command import listing

# Written from the instructions of the studies and the list of their batch scripts, not from the
# code: paper -> places and keys.
TEXTS = {
    "arXiv:1910.01888": """
        table of default parameters: function_task_static_reproduce;
        figure of data set parameters: function_task_static_mul_paramaters;
        figure of training ranges: function_task_static_mul_range_reproduce
    """,
    "arXiv:2001.05016": """
        Table 1: simple_mul; Table 2: function_task_static;
        Figure 3 (top): function_task_static_mul_hidden_size;
        Figure 3 (bottom): function_task_static_mul_range; Figure 4: sequential_mnist_prod_long;
        Table 5: function_task_static_nalu; Table 6: function_task_static_all;
        Figure 7: function_task_static_mul_hidden_size_ablation;
        Figure 8 (input size): function_task_static_mul_input_size;
        Figure 8 (overlap): function_task_static_mul_overlap;
        Figure 8 (subset): function_task_static_mul_subset; Figure 9: function_task_static_nalu;
        Figure 10: function_task_static_regualization;
        Figure 11: function_task_static_regualization;
        Figure 12: function_task_static_regualization; Figure 13: sequential_mnist_prod_long;
        appendix figures of sums: sequential_mnist_sum_long;
        learning-rate figures (not in the final text): function_task_static_learning
    """,
    "arXiv:2101.09530": """
        Figure 14: benchmark_sltr_add; Figure 15: benchmark_sltr_sub;
        Figure 16: benchmark_sltr_mul; Figure 17: benchmark_sltr_div; Figure 18: inalu-in10;
        Figure 19: nau-failure; Figure 20: nau-in100
    """,
    "arXiv:2110.05177": """
        Figure 1a: nips-realnpu-L1; Figure 1b: nips-realnpu-L1_sweep;
        Figure 2a: nips-realnpu-clipping; Figure 2b: nips-realnpu-discretisation;
        Figure 2c: nips-realnpu-init; Figure 3: nips-sltr-in2;
        Figure 4: mixed-sign-ds_realnpu-modified; Figure 5: divBy0_gold_test_errors;
        Figure 6 (redundancy): nips-sltr-in10; Figure 6 (distributions): nips-in2-distributions;
        Figure 7: nips-in10-distributions; Figure 9: loss_landscape; Figure 10: nips-in2-nru-lr;
        Figure 11: nips-divBy0-easy; Figure 12: nips-divBy0-medium; Figure 13: nips-divBy0-hard;
        Figure 14: nips-realnpu-L2; Figure 15: nips-sltr-in10-npu;
        Figure 16: nips-in10-realnpu-W-reg; Figure 17: nips-in10-nmru-ablation;
        Figure 18: nips-in10-nmru-lr; Figure 19: nips-in10-nmru-optimiser;
        Figure 20: nips-in10-nru-separate-mag-sign; Figure 21: nips-sltr-in10-losses-realnpu;
        Figure 22: nips-sltr-in10-losses-nru; Figure 23: nips-sltr-in10-losses-nmru
    """,
    "TMLR 2022": """
        appendix: nips-in2-realnpu-lr; appendix: in2-mixedSigns; appendix: in10-mixedSigns;
        MNIST division figure: div-1digit_conv-Adam-s3Init
    """,
    "arXiv:2211.05624": """
        Figure 1: surface-mul; Figure 2: robust-benchmark_sltr_mul;
        Figure 5: fts-snmu-noise-ranges; Figure 7: fts-2021-final;
        Figure 8: static-mnist-mul-isolated; Figure 9: static-mnist-mul-colour-concat;
        Figure 10: robust-sequential_mnist_prod_long; Figure 13: static-mnist-appendix;
        Figure 14: static-mnist-appendix; Figure 15: static-mnist-appendix;
        Figure 16: static-mnist-appendix; Figure 17: static-mnist-appendix;
        Figure 18: static-mnist-appendix; Figure 19: static-mnist-appendix;
        Figure 20: static-mnist-appendix
    """,
    "arXiv:1808.00508": """
        Figure 1: nalu/fig1; Table 1, static: nalu/table1-static;
        Table 1, recurrent: nalu/table1-recurrent; Programs, addition: nalu/fig4-addition;
        Figure 4: nalu/fig4-programs; Table 2, count: nalu/table2-count;
        Table 2, sum: nalu/table2-sum; Table 3: nalu/table3; Figure 5: nalu/fig5;
        Table 4: nalu/table4
    """,
    "report, 2023": """
        multiplication: benchmark_sltr_mul_mcfc; addition: benchmark_sltr_add_mcfc
    """,
    "article, 2020": """
        W distribution: article/w-distribution; Performance evaluation: article/mystery
    """,
    "notes, 2018": """
        Notebook: notes/addition
    """,
}
DOCUMENTED = {
    paper: [tuple(place.strip().split(": ")) for place in text.split(";")]
    for paper, text in TEXTS.items()
}
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


@pytest.mark.parametrize("paper", DOCUMENTED)
def test_the_lists_name_them(paper):
    """That of commands with the place; that of figures with all of a figure's places."""
    (section,) = (part for part in listing(2).split("\n\n") if f"({paper})" in part)
    lines = section.splitlines()
    entries = all_entries()
    for place, key in DOCUMENTED[paper]:
        assert place in lines[lines.index(f"  {key}") + 1]
        if key != "static-mnist-appendix":
            entry = entries[key.replace("/", "-")]
            assert (entry.paper.reference, place in entry.number) == (paper, True)
            assert entry.title == EXPERIMENTS[key].title


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
            source = source_of(entries[key], folder)
            missed = [one.files for one in entries[key].series if source.find(one.files) is None]
            assert missed == [], key
