#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Manual pages and completions say what the tables hold: every option, column and closed form, and they work.
set -euo pipefail
. tests/support/begin.sh
made=$(dirname "$program")/manual
for page in icisim.1 icisim-workload.5; do
    gzip -dc "$made/$page.gz" >"$scratch/$page"
    if command -v groff >/dev/null; then
        said=$(groff -man -Tutf8 -ww -z "$scratch/$page" 2>&1)
        [ -z "$said" ] || fail "$page: $said"
    fi
done

# As people read it, - for \- and no fonts.
sed -e 's/\\-/-/g' -e 's/\\f[BIR]//g' "$scratch/icisim.1" >"$scratch/page"
commands=$("$program" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 7 ] || fail "few commands: $commands"
for command in $commands; do
    grep -qx "$command .*\|$command" "$scratch/page" || fail "no command $command"
    options=$("$program" "$command" --help | grep -oE '^ +(-[a-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+')
    for option in $options; do
        [ "$option" = --help ] || grep -qE -- "^(-[a-z], )?$option( |$)" "$scratch/page" || fail "no option $option"
    done
done
for column in $("$program" sweep all-gather --slice 2 --size 1kB | head -1 | tr , ' '); do
    grep -qx "$column" "$scratch/page" || fail "no column $column"
done
for form in E0 E1 E2 E3 E4 E4u E5 E6 E7 E6r E8 E8s F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F11; do
    grep -q "^\(\.B \)\?$form\( \|$\)" "$scratch/page" || fail "no form $form"
done
if grep -q '^@' "$scratch/page"; then fail "a part is not filled"; fi
for page in "$scratch/icisim.1" "$scratch/icisim-workload.5"; do # a section's title stands over it once
    twice=$(grep '^\.S[HS] ' "$page" | sort | uniq -d)
    [ -z "$twice" ] || fail "$(basename "$page"): twice: $twice"
done

# What the files of models and of parts may say stands in the page about files.
sed -e 's/\\-/-/g' "$scratch/icisim-workload.5" >"$scratch/files"
keys=$(sed -n '/const keys\[\] = {/,/};/p; /const own\[\] = {/p' src/model/*.c src/study/parts_file.c | grep -oE '"[a-z-]+"' | tr -d '"' | sort -u)
[ "$(wc -w <<<"$keys")" -ge 40 ] || fail "few keys of models: $keys"
for key in $keys; do
    grep -qE -- "(^|[^a-z-])$key([^a-z-]|$)" "$scratch/files" || fail "no key $key"
done
if grep -q 'Applies to \.' "$scratch/files"; then fail "an option applies to nothing"; fi

# The example of the page about files runs, and its keys are options.
sed -n '/^# Which ring/,/^\.fi/p' "$scratch/icisim-workload.5" | sed -e '/^\.fi/d' -e 's/\\-/-/g' >"$scratch/example.yaml"
[ "$("$program" run "$scratch/example.yaml" | grep -c '^ ')" -eq 6 ] || fail "the example of icisim-workload(5)"

# What bash completes: completes WORDS... -> what comes
completes() {
    local want=$1
    shift
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _icisim || true # what completes nothing is no fault
    [ "${COMPREPLY[*]-}" = "$want" ] || fail "bash completes '$*' to '${COMPREPLY[*]-}' and not '$want'"
}
complete() { :; }
. "$made/icisim.bash"
completes 'sweep' icisim sw
completes '--ring' icisim run all-gather --rin
completes '--output' icisim topology --out
completes 'bidi bidi-half' icisim run --ring b
completes 'uni,bidi uni,bidi-half' icisim run --ring uni,b
completes 'all-gather all-reduce all-to-all' icisim compare all-
cd "$scratch"
touch mine.yaml
completes 'mine.yaml' icisim run mi
completes 'mine.yaml' icisim run --chip mi
completes 'direct' icisim run --all-to-all = d
if command -v zsh >/dev/null; then
    zsh -n "$made/_icisim" || fail "zsh cannot read the completion"
fi
exit $failed
