#!/bin/sh
# Installs the programs that `bench/peers/run.sh` compares with, outside the tree, compiled for this processor; with the word
# attention also those of `run.sh attention`. Does nothing when they are there. Prints the folder.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
peers="${XDG_CACHE_HOME:-$HOME/.cache}/attend/peers"
version=0.3.36

if ! "$peers/bin/python" -c "import llama_cpp; assert llama_cpp.__version__ == '$version'" >/dev/null 2>&1; then
  python3 -m venv "$peers" >&2
  # From source: the published wheels are built for an old common processor.
  CMAKE_ARGS="-DGGML_NATIVE=ON -DCMAKE_BUILD_TYPE=Release" \
    "$peers/bin/pip" install --no-binary llama-cpp-python "llama-cpp-python==$version" >&2
fi
if [ "${1:-}" = attention ]; then
  "$here/install_attention.sh" "$peers" >&2
fi
echo "$peers"
