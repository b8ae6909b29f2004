#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The benchmark's driver runs, and its CSV says what was simulated. Nothing here depends on how fast the machine is.
set -u
program=$(realpath "$1")
bench=$(realpath analysis/bench/bench.py)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0
fail() {
    echo "$*"
    failed=1
}

python3 "$bench" "$program" out --runs 1 --only folded >table 2>err || fail "exit $?: $(cat err)"
[ "$(head -1 out/bench.csv)" = work,quantity,unit,median,least,most,samples,bar,bound,reached ] || fail "$(head -1 out/bench.csv)"
# On each of c chips in a box of n x m x l, six parts go twice round the three axes: 6 * 2 * (n-1 + m-1 + l-1) sends,
# as bidi-half has it. The folded row stands for all of them.
for row in '4x16x28:1792:967680' '16x16x16:4096:2211840' '16x20x28:8960:6558720'; do
    IFS=: read -r shape chips transfers <<<"$row"
    grep -q "^\"all-reduce $shape, bidi-half, $chips chips, folded\",transfers,,$transfers,$transfers,$transfers,1,,,\$" \
        out/bench.csv || fail "no $transfers transfers of $shape: $(grep "$shape.*transfers" out/bench.csv)"
done
awk -F, '$(NF - 6) !~ /^[0-9.e+-]+$/ && NR > 1 { print "no median: " $0; bad = 1 } END { exit bad }' out/bench.csv || failed=1

# A stand-in for ASTRA-sim looks at the files that it would read, and says an end.
cat >astra-sim <<'END'
#!/usr/bin/env bash
set -eu
for argument; do
    case $argument in
    --workload-configuration=*) traces=("${argument#*=}".*.et) ;;
    --system-configuration=* | --remote-memory-configuration=*) python3 -m json.tool "${argument#*=}" >/dev/null ;;
    --network-configuration=*) network=$(cat "${argument#*=}") ;;
    esac
done
chips=$(sed -n 's/npus_count: \[ \([0-9]*\), \([0-9]*\), \([0-9]*\) \]/\1 * \2 * \3/p' <<<"$network")
[ ${#traces[@]} -eq $((chips)) ]
grep -q 'topology: \[ Ring, Ring, Ring \]' <<<"$network"
cmp -s "${traces[0]}" "${traces[-1]}"
echo 'sys[0] finished, 1500 cycles, exposed communication 1500 cycles.'
END
chmod +x astra-sim
ASTRA_SIM=./astra-sim python3 "$bench" "$program" out --runs 1 --only astra-sim >table 2>err || fail "exit $?: $(cat err)"
[ "$(grep -c 'in ASTRA-sim,"simulated time, its schedule",s,1.5e-06,' out/bench.csv)" -eq 3 ] || fail "$(cat out/bench.csv)"
ASTRA_SIM=./missing python3 "$bench" "$program" out --only astra-sim >table 2>err && fail 'a missing ASTRA-sim is found'
grep -q 'missing is no program' err || fail "$(cat err)"
exit $failed
