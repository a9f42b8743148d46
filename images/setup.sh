#!/bin/sh
# What the Dockerfiles share, one layer a call. It lies beside install.py, requirements.txt and
# requirements.hashes.txt, and requirements.site.txt where a site names hashes of its own.
#
#   setup.sh packages NAME…   Debian packages, and nothing that apt leaves behind
#   setup.sh compiler         g++ and Python's headers: torch.compile and Triton build with them
#   setup.sh python           what requirements.txt pins, compiled; then this folder goes

set -eu
here=$(dirname "$0")

# A base with Debian's own Python would have pip keep off it.
export PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore PIP_BREAK_SYSTEM_PACKAGES=1

packages() {
    apt-get update -q
    apt-get install -yq --no-install-recommends "$@"
    apt-get clean
    rm -rf /var/lib/apt/lists/*
}

# Official Python images hold Python's headers, Debian's own Python does not.
compiler() {
    if [ -e "$(path_of include)/Python.h" ]; then
        packages g++
    else
        packages g++ libpython3-dev
    fi
}

# Containers run with a read-only root, so bytecode that is not written now is compiled at every
# start. Pip compiles what it installs; official Python images ship without the standard library's.
python_packages() {
    if [ -e "$here/requirements.site.txt" ]; then
        export ACCELMATRIX_HASHES="$here/requirements.site.txt"
    fi
    python "$here/install.py" "$here/requirements.txt"
    python -m compileall -q -x '/(test|tests|idlelib|lib2to3|site-packages|dist-packages)/' \
        "$(path_of stdlib)"
    rm -r "$here"
}

path_of() {
    python -c "import sysconfig; print(sysconfig.get_path('$1'))"
}

step=$1
shift
case $step in
    packages) packages "$@" ;;
    compiler) compiler ;;
    python) python_packages ;;
    *)
        echo "setup.sh: $step is not one of packages, compiler, python" >&2
        exit 2
        ;;
esac
