"""Names of folders, and the places that environment variables name."""

import os

from tests.attacks.harness import Attack, attacks, quick
from tests.attacks.subjects import NMU, SHORT, put

TRAIN = f"single_layer {NMU} {SHORT}"
WRONG_PREFIXES = (
    *("", "/", "/tmp/x", "..", "a/../../b", "a/../b", ".", "a/./b", "a//b", "a/", "a\nb"),
)
LONG = ("n" * 256, "/".join(["n" * 200] * 25))
STRANGE_PREFIXES = (
    *("my runs", "a'b\"c", "$HOME", "=1+1", "-x", "a,b", "{seed}", "läufe/数", "\udcff", ".mine"),
    "n" * 255,
)


test_folders_that_are_none = attacks(
    Attack(f"{script}: {word[:300]!r}", quick(script, (f"--name-prefix={word}",)), says)
    for script in ("single_layer", "two_digit_mnist")
    for says, prefixes in (("--name-prefix", WRONG_PREFIXES), ("too long", LONG))
    for word in prefixes
)


def strange(prefix: str) -> Attack:
    """A run in a folder of this name is trained, and exported with the name as one cell."""

    def check(place, outcome):
        folder = place / "tensorboard" / prefix
        assert [path.name.startswith("reregualizedlinearmnac") for path in folder.iterdir()]
        words = ("--tensorboard-dir", str(folder), "--csv-out", "{tmp}/x.csv", "--strict")
        assert place.run(("simple_function_static_export", *words)).code == 0
        assert len((place / "x.csv").read_text().splitlines()) == 4

    writes = ("tensorboard", "tensorboard/*", "save", "save/*")
    words = (*TRAIN.split(), f"--name-prefix={prefix}")
    return Attack(repr(prefix), words, code=0, writes=writes, check=check)


test_folders_with_strange_names = attacks(*map(strange, STRANGE_PREFIXES))


def roots():
    for variable in ("TENSORBOARD_DIR", "SAVE_DIR"):
        for what, value, prepare in (
            ("a file", "{tmp}/file", put("file")),
            ("below a file", "{tmp}/file/x", put("file")),
            ("a device", "/dev/null", None),
            ("below the kernel", "/proc/1/x", None),
            ("a link in a circle", "{tmp}/ring", lambda p: (p / "ring").symlink_to("ring")),
            ("a name too long", "{tmp}/" + "n" * 300, None),
            ("a pipe", "{tmp}/pipe", lambda p: os.mkfifo(p / "pipe")),
        ):
            yield Attack(f"{variable}: {what}", TRAIN, variable, prepare, env={variable: value})
        for what, value, found in (
            ("a path of its own folder", "mine", "here/mine"),
            ("blanks", "{tmp}/my runs", "my runs"),
            ("letters of no alphabet", "{tmp}/\udcff", "\udcff"),
            ("a slash at the end", "{tmp}/mine/", "mine"),
        ):
            yield Attack(
                f"{variable}: {what}",
                TRAIN,
                code=0,
                env={variable: value},
                writes=("tensorboard*", "save*", f"{found}*"),
                check=lambda p, o, found=found: len(list((p / found).iterdir())) == 1,
            )
    for script in ("simple_function_recurrent", "number_translation"):
        for what, value, prepare in (
            ("a file", "{tmp}/file", put("file")),
            ("a device", "/dev/null", None),
        ):
            yield Attack(
                f"{script}, RESULTS_DIR: {what}",
                quick(script, "--layer-type NAC"),
                "RESULTS_DIR",
                prepare,
                env={"RESULTS_DIR": value},
            )


test_roots = attacks(*roots())
