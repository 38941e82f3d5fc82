"""Write predictions of a trained model over a grid of two inputs, or the exact answers."""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from stable_nalu.errors import UsageError  # noqa: E402
from stable_nalu.options.scripts_evaluation import PREDICTION_SWEEP  # noqa: E402
from stable_nalu.script import exit_code  # noqa: E402


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, evaluate, write; the result is the exit code."""
    config, *others = PREDICTION_SWEEP.parse(argv).configs

    def sweep() -> None:
        import pandas as pd

        from stable_nalu.statistics.table_csv import write_plain_frame
        from stable_nalu.training.arithmetic import prediction_sweep

        if others:
            raise UsageError("one model at a time: give every flag one value")
        for name, columns in prediction_sweep.surfaces(PREDICTION_SWEEP, config).items():
            path = Path(config.csv_save_folder, f"{name}.csv")
            write_plain_frame(path, pd.DataFrame(columns))
            sys.stdout.write(f"{path}\n")

    return exit_code("pretrained_model_prediction_sweep.py", sweep)


if __name__ == "__main__":
    raise SystemExit(main())
