"""Figures and tables of the papers, drawn from exported CSV files or stored results.

`runs` defines a figure, reads its files and reduces them to a row per run, `style` has the colours
and layout, `entries` draws and writes. Statistics come from `stable_nalu.statistics`. Nothing here
reads event files.
"""
