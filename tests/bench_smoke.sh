#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The benchmark's driver runs, and its CSV says what was simulated. Nothing here depends on how fast the machine is.
set -u
. tests/support/sanitized.sh
skip_sanitized "$1" 'what it runs, other tests run, and Python has no sanitizers'
. tests/support/scratch.sh "$1"
bench=$source/analysis/bench/bench.py

python3 "$bench" "$program" out --runs 1 --only folded >table 2>err || fail "exit $?: $(cat err)"
[ "$(head -1 out/bench.csv)" = work,quantity,unit,median,least,most,samples,bar,bound,reached,before ] || fail "$(head -1 out/bench.csv)"
# On each of c chips in a box of n x m x l, six parts go twice round the three axes: 6 * 2 * (n-1 + m-1 + l-1) sends,
# as bidi-half has it. The folded row stands for all of them.
for row in '4x16x28:1792:967680' '16x16x16:4096:2211840' '16x20x28:8960:6558720'; do
    IFS=: read -r shape chips transfers <<<"$row"
    grep -q "^\"all-reduce $shape, bidi-half, $chips chips, folded\",transfers,,$transfers,$transfers,$transfers,1,,,,\$" \
        out/bench.csv || fail "no $transfers transfers of $shape: $(grep "$shape.*transfers" out/bench.csv)"
done
awk -F, '$(NF - 7) !~ /^[0-9.e+-]+$/ && NR > 1 { print "no median: " $0; bad = 1 } END { exit bad }' out/bench.csv || failed=1

# Another build beside it, which simulates the same; and one that fails.
python3 "$bench" "$program" out --runs 1 --only folded --before "$program" >table 2>err || fail "exit $?: $(cat err)"
[ "$(grep -c ' 1\.000$' table)" -ge 5 ] || fail "before and after differ: $(cat table)"
[ "$(grep -c 'transfers,,.*,\([0-9]*\),1,,,,\1$' out/bench.csv)" -eq 5 ] || fail "no transfers of before: $(cat out/bench.csv)"
python3 "$bench" "$program" out --runs 1 --only folded --before /bin/false >table 2>err || fail "exit $?: $(cat err)"
grep -q '^before: bench: exit status 1 of: ' err || fail "$(cat err)"

# A stand-in for ASTRA-sim looks at the files that it would read, and says the end that a real one says, within 1e-7 of
# ours (4.011054 ms on 8x8x8); on 16x16x16 one that is $late times that. It leaves a folder where it runs.
cat >astra-sim <<'END'
#!/usr/bin/env bash
set -eu
mkdir -p log
for argument; do
    case $argument in
    --workload-configuration=*) traces=("${argument#*=}".*.et) ;;
    --system-configuration=*) system=$(python3 -m json.tool "${argument#*=}") ;;
    --remote-memory-configuration=*) python3 -m json.tool "${argument#*=}" >/dev/null ;;
    --network-configuration=*) network=$(cat "${argument#*=}") ;;
    esac
done
chips=$(sed -n 's/npus_count: \[ \([0-9]*\), \([0-9]*\), \([0-9]*\) \]/\1 * \2 * \3/p' <<<"$network")
[ ${#traces[@]} -eq $((chips)) ]
grep -q 'topology: \[ Ring, Ring, Ring \]' <<<"$network"
grep -q 'latency: \[ 990.0, 990.0, 990.0 \]' <<<"$network"
grep -q '"active-chunks-per-dimension": 6' <<<"$system"
cmp -s "${traces[0]}" "${traces[-1]}"
case $((chips)) in
64) cycles=3932684 ;;
512) cycles=4011054 ;;
4096) cycles=$((4065851 * late / 1000)) ;;
8960) cycles=4100000 ;;
esac
echo "sys[0] finished, $cycles cycles, exposed communication 1500 cycles."
END
chmod +x astra-sim
late=1000 ASTRA_SIM=./astra-sim python3 "$bench" "$program" out --runs 1 --only astra-sim >table 2>err ||
    fail "exit $?: $(cat err)"
there='^all-reduce 8x8x8 of 1073741820 B in ASTRA-sim,simulated time there,s,0.004011054,'
[ "$(grep -c "$there" out/bench.csv)" -eq 1 ] || fail "$(cat out/bench.csv)"
[ "$(grep -c 'differ by,.*,0.001,at most,yes,' out/bench.csv)" -eq 3 ] || fail "$(cat out/bench.csv)"
[ "$(grep -c 'ASTRA-sim over icisim, by symmetry' out/bench.csv)" -eq 4 ] || fail "$(cat out/bench.csv)"
[ ! -e log ] || fail 'what ASTRA-sim writes beside itself is not in the folder of the benchmark'
late=1002 ASTRA_SIM=./astra-sim python3 "$bench" "$program" out --runs 1 --only astra-sim >table 2>err &&
    fail 'times that are 0.2 % apart are compared'
grep -q 'do not simulate the same thing on 16x16x16$' err || fail "$(cat err)"
ASTRA_SIM=./missing python3 "$bench" "$program" out --only astra-sim >table 2>err && fail 'a missing ASTRA-sim is found'
grep -q 'missing is no program' err || fail "$(cat err)"
ASTRA_SIM='' python3 "$bench" "$program" out --only astra-sim >table 2>err || fail "without ASTRA-sim: exit $?"
grep -q 'ASTRA-sim is not at hand' table || fail "$(cat table)"
exit $failed
