"""What stands beside each check, in `tests/checkers/checks/test_<file of the check>.py`, found by its name:

    oracle(facts)        the definition once more, naively, as loops over the rows of a small history
    inject_<anomaly>(w)  puts one anomaly into a legal history: it changes, drops or adds a few rows, and says what must
                         be found, where
    test_...             examples that a person can verify: the anomaly, and near misses that are none

A check that searches (`find`) has no oracle here: the search models in tests/agreement are held against it.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

from brokertrial.checkers import checks
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.wounds import Expected, Wound

Oracle = Callable[[Facts], Iterator[OracleRow]]
Injection = Callable[[Wound], Expected]
PREFIX = "inject_"


@cache
def modules() -> dict[str, ModuleType]:
    """The module beside each check, by the name of the check."""
    files = [module.name for module in pkgutil.iter_modules(checks.__path__)]
    names = {importlib.import_module(f"{checks.__name__}.{file}").NAME: file for file in files}
    return {name: importlib.import_module(f"tests.checkers.checks.test_{names[name]}") for name in sorted(names)}


@cache
def oracles() -> dict[str, Oracle]:
    """The naive definition of each check that has one."""
    found: dict[str, Any] = {check: getattr(module, "oracle", None) for check, module in modules().items()}
    return {check: oracle for check, oracle in found.items() if oracle is not None}


@cache
def injections() -> dict[str, Injection]:
    """What can be put into a legal history, by the name of the anomaly."""
    functions = [each for module in modules().values() for each in vars(module).items() if each[0].startswith(PREFIX)]
    return {name.removeprefix(PREFIX).replace("_", "-"): function for name, function in sorted(functions)}
