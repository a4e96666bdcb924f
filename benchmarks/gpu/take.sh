#!/bin/sh
# Build the programs of this folder, profile them, print each report with ncu, and hold our reader against the prints.
#   benchmarks/gpu/take.sh OUT [ARCH]     on a machine with a GPU, nvcc and ncu; PYTHON names an interpreter
# Leaves OUT/NAME.ncu-rep, the counts of agreements in OUT/agreement.txt, and rowrank's counters over sixteen sizes in
# OUT/sweep/. Clocks stay as they are.
set -eu
cd "$(dirname "$0")/../.."
out=$1
arch=${2:-sm_90}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out/sweep"
for name in planted flops forms; do
    nvcc -O3 -arch="$arch" -std=c++17 --extended-lambda -lineinfo -o "$work/$name" "benchmarks/gpu/$name.cu" &
done
nvcc -O3 -arch="$arch" -lineinfo -o "$work/rowrank" samples/rowrank/rowrank.cu &
wait

sources="--import-source yes"

# take NAME OPTIONS... PROGRAM ARGS...: OUT/NAME.ncu-rep
take() {
    name=$1
    shift
    ncu --force-overwrite --clock-control none $sources -o "$out/$name" "$@" >"$work/$name.log" 2>&1 ||
        { echo "$name was not profiled:"; tail -5 "$work/$name.log"; return 0; }
    agree "$name"
}

agree() {
    report=$out/$1.ncu-rep
    ncu --import "$report" --page raw --csv --print-units base >"$work/$1.raw.csv"
    ncu --import "$report" --page source --csv --print-source sass >"$work/$1.sass.csv"
    ncu --import "$report" --page source --csv --print-source cuda,sass >"$work/$1.both.csv"
    {
        echo "== $1: $(du -k "$report" | cut -f1) KiB"
        "${PYTHON:-python3}" -m benchmarks.ncu_agreement "$report" --raw "$work/$1.raw.csv" \
            --sass "$work/$1.sass.csv" --cuda-sass "$work/$1.both.csv" 2>&1 || echo "exit code $?"
    } >>"$out/agreement.txt"
}

: >"$out/agreement.txt"
take planted --set full "$work/planted"
take flops --set full "$work/flops"
take names --set full "$work/forms" names
take nvtx --set full --nvtx "$work/forms" nvtx
take graph_nodes --set full --graph-profiling node "$work/forms" graph
take graph_whole --set full --graph-profiling graph "$work/forms" graph
sources="" take range --set full --replay-mode range "$work/forms" range # which ncu refuses with sources
cd "$work"
for cols in 256 512 1000 1024 2048 3001 4096 8192; do
    for rows in 2048 16384; do
        ncu --force-overwrite --clock-control none --set full --kernel-name rank_rows --launch-count 1 \
            -o "$out/sweep/rank_rows_${rows}x${cols}" ./rowrank "$rows" "$cols" 1 >>"$work/sweep.log" 2>&1 ||
            { tail -3 "$work/sweep.log"; break; }
    done
done
cd - >/dev/null
take many --set basic "$work/forms" many # last: every launch takes a third of a second
