# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced. Runs what a text shows: lines "$ command" and what the command printed, stdout and stderr.
#
#   $ icisim run all-gather --slice 4x4
#   icisim: --size is missing; ...
#   [exit 2]
#
# Long commands go on after a backslash. A line of "..." stands for any lines. `[exit N]` stands below a command
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

# console_read FILE HANDLER: calls HANDLER COMMAND SHOWN for every command, and `console_text LINE` for all else. Of
# a Markdown file only ```console blocks count. What is shown ends at the next prompt or the end of the block.
console_read() {
    local file=$1 handler=$2 line command='' lines='' want='' inside=1 markdown=
    [[ $file == *.md ]] && inside='' markdown=1
    while IFS= read -r line || [ -n "$line" ]; do
        if [ -n "$inside" ] && [[ $command == *\\ ]]; then
            command="${command%\\}$line" lines+=$'\n'$line
            continue
        fi
        if [ -n "$command" ] && [[ $line == '$ '* || (-n $markdown && $line == '```') ]]; then
            "$handler" "$command" "$want" "$lines"
            command='' want=''
        fi
        if [ -n "$inside" ] && [[ $line == '$ '* ]]; then
            command=${line:2} lines=$line
        elif [ -n "$command" ]; then
            want+=${want:+$'\n'}$line
        else
            console_text "$line"
            [[ -n $markdown && $line == '```console' ]] && inside=1
            [[ -n $markdown && $line == '```' ]] && inside=''
        fi
    done <"$file"
    [ -z "$command" ] || "$handler" "$command" "$want" "$lines"
}

# What a command prints, and how it ends, in $console_got.
console_get() {
    local code=0
    console_got=$(eval "$1" 2>&1) || code=$?
    [ $code -eq 0 ] || console_got+=${console_got:+$'\n'}"[exit $code]"
}

# console_run FILE: returns 1 if any command prints something else; $console_ran says how many ran. ./dev is left
# out: it runs this.
console_run() {
    console_file=$1 console_ran=0 console_failed=0
    console_text() { :; }
    console_read "$1" console_try
    return $console_failed
}

console_try() {
    [[ $1 != ./dev* ]] || return 0
    console_get "$1"
    console_ran=$((console_ran + 1))
    console_same "$2" "$console_got" && return
    printf '%s: $ %s\n' "$console_file" "$1"
    diff <(printf '%s\n' "$2") <(printf '%s\n' "$console_got")
    console_failed=1
}

# console_fill FILE: prints the file with what its commands print now.
console_fill() {
    console_text() { printf '%s\n' "$1"; }
    console_read "$1" console_refill
}

console_refill() {
    printf '%s\n' "$3"
    console_got=$2
    [[ $1 == ./dev* ]] || console_get "$1"
    console_same "$2" "$console_got" && console_got=$2
    [ -z "$console_got" ] || printf '%s\n' "$console_got"
}
