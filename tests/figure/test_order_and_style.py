"""Order of legends and axes, colours, fonts."""

from stable_nalu.figure.style import (
    NAC_ADD,
    NAC_MUL,
    NAC_MUL_NMU,
    NAC_MUL_SIGMA,
    drawing,
    half_open,
    hue_wheel,
    legend_order,
    looks,
    new_figure,
    range_order,
    save,
)
from stable_nalu.statistics.names import plain


def test_published_order_of_models():
    published = [NAC_MUL_NMU, NAC_MUL_SIGMA, NAC_MUL, NAC_ADD, "Gated NAU/NMU", "Linear", "LSTM"]
    published += ["NALU", "NALU (separate)", "NAU", "NMU", "ReLU", "ReLU6"]
    assert legend_order(reversed(published)) == published


def test_ranges_by_their_order_then_by_number():
    mixed = ["U[10,20]", "U[3,4]", "U[-2,2)", "U[-20,-10]", "U[-7,4]"]
    assert range_order(mixed) == ["U[-20,-10]", "U[-2,2)", "U[10,20]", "U[-7,4]", "U[3,4]"]


def test_labels_for_terminals():
    assert half_open("U[1,2]") == "U[1,2)"
    assert plain(NAC_MUL) == "NAC_•"
    assert "$" not in plain(NAC_MUL_NMU)


def test_hues_of_the_published_figures():
    assert hue_wheel(2) == ["#F8766D", "#00BFC4"]
    assert hue_wheel(5) == ["#F8766D", "#A3A500", "#00BF7D", "#00B0F6", "#E76BF3"]
    assert hue_wheel(8)[6:] == ["#C77CFF", "#FF61CC"]


def test_series_differ_in_three_ways():
    some = list(looks([str(i) for i in range(8)]).values())
    assert len({look.color for look in some}) == 8
    assert len({look.marker for look in some}) == 8
    assert all(a.line != b.line for a, b in zip(some, some[1:], strict=False))
    assert looks(["NMU", "x"], "published")["NMU"].marker == "^"


def test_files_are_repeatable_and_fonts_embedded(tmp_path):
    def once(folder):
        with drawing():
            figure = new_figure((5, 4))
            figure.add_subplot().set_title("Text")
            return save(figure, folder, "f", ("pdf", "png"))

    first, second = once(tmp_path / "a"), once(tmp_path / "b")
    assert [a.read_bytes() for a in first] == [b.read_bytes() for b in second]
    assert b"/FontFile2" in first[0].read_bytes()
    assert b"/Type3" not in first[0].read_bytes()
