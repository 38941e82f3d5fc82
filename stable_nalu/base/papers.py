"""The one table of papers: layers cite them, experiments and figures belong to them."""

from dataclasses import dataclass

_ADDRESSES = {"arXiv": "https://arxiv.org/abs/", "doi": "https://doi.org/"}


@dataclass(frozen=True)
class Paper:
    """A publication.

    key: short name, for links.
    authors: as citations in running text name them.
    reference: the arXiv number, the DOI or the venue; empty if the title alone identifies it.
    short: short title of tables and lists; empty: the title itself.
    """

    key: str
    authors: str
    year: int
    title: str
    reference: str = ""
    short: str = ""

    @property
    def short_title(self) -> str:
        return self.short or self.title

    @property
    def url(self) -> str:
        """Return the address of an arXiv number or a DOI; empty for another reference."""
        kind, _, number = self.reference.partition(":")
        return f"{_ADDRESSES[kind]}{number}" if kind in _ADDRESSES else ""

    @property
    def citation(self) -> str:
        by = f"{self.authors} {self.year}, " if self.authors else ""
        words = f"{by}{self.short_title}"
        return f"{words}, {self.reference}" if self.reference else words


FLAT = 1e-5
"""The threshold of single modules outside of the first benchmark, and of tasks without a row."""

# A paper is a line or two of a table.
# fmt: off
_MADSEN, _MISTRY = "Madsen & Johansen", "Mistry et al."

MADSEN_2019 = Paper("measuring", _MADSEN, 2019, "Measuring Arithmetic Extrapolation Performance",
    "arXiv:1910.01888", "Measuring Arithmetic Extrapolation")
MADSEN_2020 = Paper("units", _MADSEN, 2020, "Neural Arithmetic Units", "arXiv:2001.05016")
MISTRY_2022_PRIMER = Paper("primer", _MISTRY, 2022, "A Primer for Neural Arithmetic Logic Modules",
    "arXiv:2101.09530", "A Primer for NALMs")
MISTRY_2022_DIVISION = Paper("division", _MISTRY, 2022,
    "Learning Division with Neural Arithmetic Logic Modules", "arXiv:2110.05177",
    "Learning Division with NALMs")
# The journal's version of the former, with further experiments.
MISTRY_2022_MECHANISMS = Paper("mechanisms", _MISTRY, 2022,
    "Exploring the Learning Mechanisms of Neural Division Modules", "TMLR 2022")
MISTRY_2022_ROBUST = Paper("robust", _MISTRY, 2022,
    "Improving the Robustness of Neural Multiplication Units with Reversible Stochasticity",
    "arXiv:2211.05624", "Robustness of NMUs")
MCFC_2023 = Paper("mcfc", "NALM benchmark", 2023, "MC-FC findings", "report, 2023")
TRASK_2018 = Paper("nalu", "Trask et al.", 2018, "Neural Arithmetic Logic Units",
    "arXiv:1808.00508")
CURRY_2025 = Paper("dmu", "Curry", 2025, "The Domain Mixed Unit: A New Neural Arithmetic Layer",
    "arXiv:2509.08180", "The Domain Mixed Unit")
ODRZYWOLEK_2026 = Paper("eml", "Odrzywolek", 2026,
    "All elementary functions from a single (binary) operator", "arXiv:2603.21852",
    "All Elementary Functions from One Operator")
FABER_2023 = Paper("nsr", "Faber & Wattenhofer", 2023, "Neural Status Registers",
    "arXiv:2004.07085")
NALU_ARTICLE = Paper("nalu-article", "NALU article", 2020,
    "NALU in PyTorch, with the mystery arithmetic problem", "article, 2020", "NALU in PyTorch")
NALU_NOTES = Paper("nalu-notes", "NALU notes", 2018, "Notes on NALU, with a notebook",
    "notes, 2018")

SAHOO_2018 = Paper("eql-div", "Sahoo et al.", 2018,
    "Learning Equations for Extrapolation and Control", "arXiv:1806.07259")
HOEDT_2021 = Paper("mc-lstm", "Hoedt et al.", 2021, "MC-LSTM: Mass-Conserving LSTM",
    "arXiv:2101.05186", "MC-LSTM")
OWN_STUDIES = Paper("own", "this project", 2026, "Studies of this project",
    "not published elsewhere")

HEIM_2020 = Paper("npu", "Heim et al.", 2020, "Neural Power Units", "arXiv:2006.01681")
RANA_2019 = Paper("calcnet", "Rana et al.", 2019, "Exploring Numerical Calculations with CalcNet",
    "doi:10.1109/ICTAI.2019.00192")
MARTIUS_2016 = Paper("eql", "Martius & Lampert", 2016, "Extrapolation and learning equations",
    "arXiv:1610.02995")
SCHLOER_2020 = Paper("inalu", "Schlör et al.", 2020, "iNALU: Improved Neural Arithmetic Logic Unit",
    "arXiv:2003.07629", "iNALU")

STUDIES = (
    MADSEN_2019, MADSEN_2020, MISTRY_2022_PRIMER, MISTRY_2022_DIVISION, MISTRY_2022_MECHANISMS,
    MISTRY_2022_ROBUST, MCFC_2023, CURRY_2025, FABER_2023, ODRZYWOLEK_2026, SAHOO_2018, TRASK_2018,
    NALU_ARTICLE, NALU_NOTES, HOEDT_2021, RANA_2019, MARTIUS_2016, SCHLOER_2020, HEIM_2020,
    OWN_STUDIES,
)
"""Papers whose experiments and figures the project has, in the order of lists."""

_WITH_STUDIES = (*STUDIES[:4], STUDIES[5], TRASK_2018, CURRY_2025, FABER_2023, ODRZYWOLEK_2026)
MODULES = (*_WITH_STUDIES, HEIM_2020, RANA_2019, SCHLOER_2020, HOEDT_2021, MARTIUS_2016, SAHOO_2018)
"""Papers of arithmetic modules, which CITATION.cff lists."""

RUMELHART_1986 = Paper("back-propagation", "Rumelhart et al.", 1986,
    "Learning representations by back-propagating errors")
DURBIN_1989 = Paper("product-units", "Durbin & Rumelhart", 1989,
    "Product Units: A Computationally Powerful and Biologically Plausible Extension to "
    "Backpropagation Networks", "Neural Computation 1(1)", "Product Units")
ELMAN_1990 = Paper("recurrent", "Elman", 1990, "Finding Structure in Time",
    "Cognitive Science 14(2)")
HOCHREITER_1997 = Paper("lstm", "Hochreiter & Schmidhuber", 1997, "Long Short-Term Memory",
    "Neural Computation 9(8)")
NAIR_2010 = Paper("relu", "Nair & Hinton", 2010,
    "Rectified Linear Units Improve Restricted Boltzmann Machines")
KRIZHEVSKY_2010 = Paper("relu6", "Krizhevsky", 2010,
    "Convolutional Deep Belief Networks on CIFAR-10")
GLOROT_2010 = Paper("softsign", "Glorot & Bengio", 2010,
    "Understanding the difficulty of training deep networks")
CHO_2014 = Paper("gru", "Cho et al.", 2014, "Learning Phrase Representations", "arXiv:1406.1078")
CLEVERT_2016 = Paper("elu", "Clevert et al.", 2016, "Exponential Linear Units", "arXiv:1511.07289")
KLAMBAUER_2017 = Paper("selu", "Klambauer et al.", 2017, "Self-Normalizing Neural Networks",
    "arXiv:1706.02515")
