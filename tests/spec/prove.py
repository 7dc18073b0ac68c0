"""Plays every recording to the model server and writes ``spec/model.md``: scenario by version,
equal or why not.

    python tests/spec/prove.py            write the table
    python tests/spec/prove.py pull_ ack_ show the differences of these scenarios instead

The reasons stand in ``spec/model.toml``. An entry there whose recording has become equal is as
wrong as a difference without an entry: both are told here and by `tests/spec/test_model.py`.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from jsproto.testing.proof import Beforehand, prove
from jsproto.trace.formats.recording import parse_recording

REPOSITORY = Path(__file__).resolve().parents[2]
REASONS = REPOSITORY / "spec" / "model.toml"
PAGE = REPOSITORY / "spec" / "model.md"
WORDS = {"explained": "explained", "not modelled": "not modelled", "": "equal"}

HEAD = """# The model server against recorded servers

`python tests/spec/prove.py` makes this page from the recordings and from `model.toml`, which has the reasons; a test compares it.
Each scenario was recorded on real servers, byte by byte. The model gets what the client sent, at the same times. **equal** means that
it answers every frame of every subscription as that server did, apart from ids, names, ports and times.

{counts}

"""


class Result(NamedTuple):
    """What one recording showed: differences as text, and the verdict of the reasons about it
    (``""``: none).
    """

    differences: list[str]
    verdict: str


def reasons() -> dict[str, object]:
    return tomllib.loads(REASONS.read_text(encoding="utf-8"))


def beforehand(document: Mapping[str, object]) -> dict[str, Beforehand]:
    """By scenario, what was done before the recording began."""
    return {
        each["scenario"]: Beforehand(
            requests=tuple((one["subject"], one.get("body")) for one in each.get("requests", ())),
            subjects=tuple(each.get("subjects", ())),
            published=each.get("published", False),
        )
        for each in document["beforehand"]
    }


def results(traces: Path, *beginnings: str) -> dict[str, dict[str, Result]]:
    """By scenario and version, versions in order."""
    document = reasons()
    before = beforehand(document)
    found: dict[str, dict[str, Result]] = defaultdict(dict)
    for folder in sorted(
        (each for each in traces.iterdir() if each.is_dir()), key=lambda each: numbers(each.name)
    ):
        for path in sorted(folder.glob("*.jsonl")):
            if beginnings and not path.stem.startswith(beginnings):
                continue
            recording = parse_recording(path.read_text(encoding="utf-8"))
            differences, asked = prove(recording, before.get(path.stem, Beforehand()))
            told = [
                *map(str, differences),
                *(f"asked for: {each}" for each in dict.fromkeys(asked)),
            ]
            verdict = next(
                (
                    each["verdict"]
                    for each in document["scenario"]
                    if each["name"] == path.stem
                    and folder.name in each.get("versions", [folder.name])
                ),
                "",
            )
            found[path.stem][folder.name] = Result(told if differences else [], verdict)
    return dict(sorted(found.items()))


def numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def equal_everywhere(found: Mapping[str, Mapping[str, Result]]) -> list[str]:
    return [
        name
        for name, of in found.items()
        if not any(result.verdict or result.differences for result in of.values())
    ]


def page(found: Mapping[str, Mapping[str, Result]]) -> str:
    """The whole of ``model.md``."""
    versions = sorted({version for of in found.values() for version in of}, key=numbers)
    equal = len(equal_everywhere(found))
    verdicts = [result.verdict for of in found.values() for result in of.values()]
    counts = (
        f"{equal} of {len(found)} scenarios ({equal / len(found):.0%}) are equal in every recorded version. "
        f"Of {len(verdicts)} recordings {verdicts.count('')} are equal, {verdicts.count('explained')} explained, "
        f"{verdicts.count('not modelled')} not modelled."
    )
    lines = [
        f"| scenario | {' | '.join(versions)} | reason |",
        f"|---|{'---|' * len(versions)}---|",
    ]
    whys = defaultdict(list)
    for each in reasons()["scenario"]:
        whys[each["name"]].append(each["reason"])
    for name, of in found.items():
        cells = [WORDS[of[version].verdict] if version in of else "" for version in versions]
        lines.append(f"| {name} | {' | '.join(cells)} | {'; '.join(whys[name])} |")
    return HEAD.format(counts=counts) + "\n".join(lines) + "\n"


def main() -> int:
    wished = os.environ.get("JSPROTO_TRACES")
    traces = Path(wished) if wished else REPOSITORY.parent / "shared" / "traces"
    found = results(traces, *sys.argv[1:])
    code = 0
    for name, of in found.items():
        for version, result in of.items():
            if sys.argv[1:] and result.differences:
                print(
                    f"{name} {version} {WORDS[result.verdict]}", *result.differences, sep="\n    "
                )
            elif bool(result.verdict) != bool(result.differences):
                code = 1
                print(
                    f"{name} {version}: {result.differences or f'is equal, and is called {result.verdict}'}"
                )
    if not sys.argv[1:]:
        PAGE.write_text(page(found), encoding="utf-8")
        print(PAGE.relative_to(REPOSITORY))
    return code


if __name__ == "__main__":
    sys.exit(main())
