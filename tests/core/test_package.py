import subprocess
import sys


def test_importing_the_engine_pulls_in_no_ecosystem():
    code = (
        "import sys, ntdcfe\n"
        "heavy = {'pandas', 'sklearn', 'alibi', 'dice_ml', 'sktime', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_adapters_package_imports_no_ecosystem():
    code = (
        "import sys, ntdcfe_plugins\n"
        "heavy = {'pandas', 'sklearn', 'alibi', 'dice_ml', 'sktime', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
