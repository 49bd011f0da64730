#!/bin/sh
# Compares attend with its peers in one run: installs them where they are missing, checks that the program is built, and runs the
# protocol of docs/reference/bench.md. Whole models by run.py, or, with the word attention first, attention alone by attention.py.
# Arguments go there: --quick, --rounds N, --tests ...; ATTEND names another program.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
attend="${ATTEND:-$here/../../build/release/apps/attend/attend}"
if [ ! -x "$attend" ]; then
  echo "run.sh: no program at $attend: build it, or name one in ATTEND" >&2
  exit 2
fi
what=run
if [ "${1:-}" = attention ]; then
  what=attention
  shift
fi
peers=$("$here/install.sh" "$what")
exec "$peers/bin/python" "$here/$what.py" --attend "$attend" "$@"
