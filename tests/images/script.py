"""`images/install.py` is a script outside all packages: Dockerfiles copy it alone."""

from importlib.util import module_from_spec, spec_from_file_location

from orchestrator.system.git import ROOT

PATH = ROOT / "images/install.py"

_spec = spec_from_file_location("install", PATH)
if _spec is None or _spec.loader is None:
    raise ImportError(PATH)
_module = module_from_spec(_spec)
_spec.loader.exec_module(_module)

InstallError: type[Exception] = _module.InstallError
install = _module.install
main = _module.main
