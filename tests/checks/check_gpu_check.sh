#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_gpu_check.sh: leat-gpu-check over the fake GPU: a case that crashes, hangs or loses the device costs
# one line, the time for all is kept, and the JSON is whole; and what tools/dev/gpu_check makes of
# compute-sanitizer's answers. Usage: check_gpu_check.sh LEAT-GPU-CHECK FAKE-PLUGIN FAKE-NVJPEG GPU_CHECK
set -eu
check=$1
export LEAT_CUDA_PLUGIN="$2" LEAT_NVJPEG="$3"
script=$4
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
out=$tmp/out
json=$tmp/gpu.json

# run CODE ARGUMENTS: runs, and wants that exit code.
run() {
    want=$1
    shift
    code=0
    "$check" --effort 5 --json "$json" "$@" >"$out" 2>&1 || code=$?
    if [ $code -ne "$want" ]; then
        cat "$out"
        echo "exit code $code, not $want: $*"
        exit 1
    fi
}
# has FILE PATTERN
has() {
    if ! grep -Eq "$2" "$1"; then
        cat "$1"
        echo "not there: $2"
        exit 1
    fi
}

run 0 --only order
has "$out" '^1 passed, 0 failed, 0 not run$'
has "$json" '"verdict": "passed"'
run 0 --only order --fork 0
has "$out" '^1 passed, 0 failed, 0 not run$'

# What is measured on JPEG files, a little of it: every arm runs.
run 0 --only 'jpeg rates'
has "$out" '^1 passed, 0 failed, 0 not run$'
for arm in cpu_decode all_on_cpu share_25 share_50 share_75 nvjpeg nvjpeg_whole; do
    has "$json" "\"${arm}_cpu_threads\""
done

CUDA_FAKE_AT=150:abort run 1 --only order
has "$out" '^order .*ended by signal 6'
has "$json" '"verdict": "failed"'
CUDA_FAKE_AT=150:hang run 1 --only order --limit 1
has "$out" '^order .*no answer within 1 s$'
CUDA_FAKE_AT=150:lose run 1 --only order
has "$out" '^order .*illegal memory access.*end it and start again'

# The first that hangs is cut off when the time for all is over; the next is not begun.
CUDA_FAKE_AT=150:hang run 0 --only o --total 10
has "$out" ' not run .*no answer within ([1-9]|10) s, when the time for all was over$'
has "$out" '^host gap +not run .*the 10 s for all are over$'
has "$json" '"name": "host gap"'

# No case may change what the device can do for the next.
CUDA_FAKE_AT=2:lose run 0 --only order
has "$out" '^order +not run .*illegal memory access'

# A line that is killed at its limit keeps the figures that it had.
CUDA_FAKE_AT=800:hang run 1 --only 'copy rates' --limit 10
has "$out" '^copy rates .*no answer within 10 s; its figures until then are kept$'
has "$json" '"pinned_4_kib"'

# tools/dev/gpu_check: a little of everything, with compute-sanitizers that say this and that.
mkdir "$tmp/bin" "$tmp/path"
cp "$script" "$tmp/bin/gpu_check"
printf '#!/bin/sh\nexec "%s" "$@" --effort 1 --only order\n' "$check" >"$tmp/bin/leat-gpu-check"
printf '#!/bin/sh\necho "leat $*"\n' >"$tmp/bin/leat"
: >"$tmp/libleat-cuda.so"
chmod +x "$tmp/bin/leat-gpu-check" "$tmp/bin/leat"
res=$tmp/results
# gpu CODE ARGUMENTS
gpu() {
    want=$1
    shift
    code=0
    PATH=$tmp/path:$PATH sh "$tmp/bin/gpu_check" --out "$res" "$@" >"$out" 2>&1 || code=$?
    if [ $code -ne "$want" ]; then
        cat "$out"
        echo "exit code $code, not $want: gpu_check $*"
        exit 1
    fi
}

gpu 0
has "$out" '^1 passed, 0 failed, 0 not run$'
has "$out" "^results: $res$"
[ -s "$res/tests.json" ] && [ -d "$res/plans" ] && [ ! -e "$res/part" ] && ! grep -q memcheck "$out"
# A line that fails is run once more, with the libraries' logs.
CUDA_FAKE_AT=150:abort gpu 1
has "$out" '^again: order: exit code 1, see '
[ -s "$res/again-order.json" ]
gpu 2 --what
gpu 2 --seconds
[ ! -f /dev/nvidia0 ] # the device's file is opened, never made

sanitized() {
    printf '#!/bin/sh\nwhile [ ! -x "$1" ]; do shift; done\n%s\n' "$1" >"$tmp/path/compute-sanitizer"
    chmod +x "$tmp/path/compute-sanitizer"
    gpu "$3" follow-up
    for name in memcheck racecheck initcheck train_racecheck train_memcheck; do
        has "$out" "^$name +$2"
    done
    has "$out" '^cifar10 +not run: --data names no folder$'
    has "$out" '^crowd: order +passed '
}
sanitized 'exec "$@"' 'passed$' 0
sanitized '"$@"; echo "Error: Device not supported"; exit 1' 'not run: .*does not support' 0
sanitized '"$@"; exit 9' 'failed: see ' 1
sanitized 'LEAT_CUDA_PLUGIN=/nowhere "$@"' 'not run: order: not run: ' 0
sanitized 'exit 0' 'failed: see ' 1
CUDA_FAKE_AT=150:abort gpu 1 follow-up
has "$out" '^crowd: order +failed '
[ -s "$res/follow-up.log" ] && [ ! -e "$res/part" ]
has "$out" '^leat compare .*resnet50.yaml .*prefetch.batches=0,2 --device cuda:0'
has "$out" '^prefetch +passed$'

# What has not begun when the time for the call is over is not run, and is no failure.
printf '#!/bin/sh\nsleep 60\n' >"$tmp/path/compute-sanitizer"
gpu 0 follow-up --seconds 5
has "$out" '^memcheck +not run: (it did not end within|the time for the call is over)'
has "$out" '^train_memcheck +not run: the time for the call is over$'

# With data: the recipe, and idle time with prefetch off and on.
printf '#!/bin/sh\nwhile [ ! -x "$1" ]; do shift; done\nexec "$@"\n' >"$tmp/path/compute-sanitizer"
trained() {
    printf '#!/bin/sh\necho "leat $*"\ncase "$*" in *cifar10*) %s ;; esac\n' "$1" >"$tmp/bin/leat"
    gpu "$3" follow-up --data "$tmp"
    has "$out" "^cifar10 +$2"
    has "$out" "^cifar10_idle +$2"
}
trained 'exit 0' 'passed$' 0
has "$out" '^leat train .*/cifar10-fast.yaml --device cuda:0 --json='
has "$out" '^leat compare .*prefetch.batches=0,2 --rounds 2 --device cuda:0'
has "$out" '^cifar10 +[0-9.]+ s, start of the process'
trained 'exit 3' 'failed with exit code 3: see ' 1

# PyTorch, where there is one: each arm, then a training under leat watch.
printf '#!/bin/sh\n[ "$1" = - ] || echo "python $*"\n' >"$tmp/path/python3"
chmod +x "$tmp/path/python3"
gpu 0 torch
has "$out" '^python .*gpu_torch.py .*/torch.json [0-9]+$'
has "$out" '^leat watch --json=.*/watch.json -- python3 .*gpu_watch_torch.py --model resnet50 '
has "$out" '^torch_profiled +passed$'
