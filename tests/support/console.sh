# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced. Runs what a text shows: lines "$ command" and what the command printed, stdout and stderr.
#
#   $ icisim run all-gather --slice 4x4
#   icisim: --size is missing; ...
#   [exit 2]
#
# Long commands go on behind a backslash. A line of "..." stands for any lines. `[exit N]` stands below a command
# that does not end with 0.

# console_enter PROGRAM: a scratch folder where `icisim` is the program and the project's folders are at hand.
console_enter() {
    local program root
    program=$(realpath "$1")
    root=$(pwd)
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    mkdir "$scratch/bin" "$scratch/work"
    ln -s "$program" "$scratch/bin/icisim"
    for name in workloads topologies tests analysis; do
        ln -s "$root/$name" "$scratch/work/$name"
    done
    PATH=$scratch/bin:$PATH
    export COLUMNS=100
    cd "$scratch/work"
}

# console_same WANT GOT: equal, up to "..." lines.
console_same() {
    local pattern
    # A pattern in which every character but * stands for itself.
    pattern=$(printf '%s\n' "$1" | sed -e '/^\.\.\.$/{s/.*/*/;b}' -e 's/[^A-Za-z0-9 ]/\\&/g')
    # shellcheck disable=SC2053
    [[ $2 == $pattern ]]
}

# console_run FILE: returns 1 if any command differs; says how many ran in $console_ran.
console_run() {
    local file=$1 line command='' want='' failed=0
    console_ran=0
    # The last command ends with the file, as with an empty prompt.
    while IFS= read -r line; do
        if [[ $line == '$ '* || $line == '$' ]]; then
            [ -z "$command" ] || console_try "$file" "$command" "$want" || failed=1
            command=${line:2}
            want=''
        elif [[ $command == *\\ ]]; then
            command="${command%\\}$line"
        elif [ -n "$command" ]; then
            want+=${want:+$'\n'}$line
        fi
    done < <(cat "$file" && printf '$\n')
    return $failed
}

console_try() {
    local file=$1 command=$2 want=$3 got code=0
    got=$(eval "$command" 2>&1) || code=$?
    [ $code -eq 0 ] || got+=${got:+$'\n'}"[exit $code]"
    console_ran=$((console_ran + 1))
    console_same "$want" "$got" && return
    printf '%s: $ %s\n' "$file" "$command"
    diff <(printf '%s\n' "$want") <(printf '%s\n' "$got") || true
    return 1
}
