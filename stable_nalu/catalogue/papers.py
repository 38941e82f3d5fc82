"""The publications whose experiments the catalogue holds."""

from .experiment import Paper

MEASURING = Paper("measuring", "Measuring Arithmetic Extrapolation Performance", "arXiv:1910.01888")
UNITS = Paper("units", "Neural Arithmetic Units", "arXiv:2001.05016")
PRIMER = Paper("primer", "A Primer for Neural Arithmetic Logic Modules", "arXiv:2101.09530")
DIVISION = Paper(
    "division", "Learning Division with Neural Arithmetic Logic Modules", "arXiv:2110.05177"
)
MECHANISMS = Paper(
    "mechanisms", "Exploring the Learning Mechanisms of Neural Division Modules", "TMLR 2022"
)
ROBUST = Paper(
    "robust",
    "Improving the Robustness of Neural Multiplication Units with Reversible Stochasticity",
    "arXiv:2211.05624",
)
MCFC = Paper("mcfc", "MC-FC findings", "report, 2023")

PAPERS = (MEASURING, UNITS, PRIMER, DIVISION, MECHANISMS, ROBUST, MCFC)
