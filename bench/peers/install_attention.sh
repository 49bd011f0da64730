#!/bin/sh
# install_attention.sh VENV: the libraries that `run.sh attention` compares with, at these versions. One that cannot be had is named
# and left out: its worker says so and is skipped. PyTorch is 0.5 GB to fetch and 1.2 GB on disk.
set -eu
python="$1/bin/python"
torch=2.15.0

has() {
  "$python" -c "from importlib.metadata import version; assert version('${1%%==*}') == '${1##*==}'" >/dev/null 2>&1
}

add() {
  has "$1" || "$python" -m pip install --quiet --only-binary :all: "$@" || echo "install_attention.sh: without $1" >&2
}

# PyTorch's package is the one for GPUs too, and its libraries name 3 GB of others that only a GPU needs. It is installed without
# them, and each that its libraries still look for when they are loaded gets an empty stand-in. Its worker resolves functions when
# they are first called, so none of the missing ones is looked for.
stand_ins() {
  lib=$("$python" -c "import importlib.util, pathlib; print(pathlib.Path(importlib.util.find_spec('torch').origin).parent / 'lib')")
  ldd "$lib/libtorch_python.so" | awk '/not found/ { print $1 }' | sort -u | while read -r name; do
    # These two are looked for at once.
    echo "int nvshmem_init(void) { return 1; } int nvshmem_selected_device_transport(void) { return 1; }" |
      cc -shared -fPIC -Wl,-soname,"$name" -o "$lib/$name" -x c -
  done
}

add onnxruntime==1.32.0
add onnx==1.23.2
add ml_dtypes==0.6.0
add openvino==2026.4.1
if ! has "torch==$torch"; then
  add nvidia-cuda-runtime==13.2.86 --no-deps
  for package in filelock==4.3.1 sympy==1.14.0 networkx==3.6.1 fsspec==2026.9.0; do add "$package"; done
  add "torch==$torch" --no-deps
  if has "torch==$torch"; then stand_ins; fi
fi
