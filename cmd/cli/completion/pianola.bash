# Completion of pianola for bash.

_pianola() {
    local i word words=() joined=0 IFS=$' \t\n'
    # bash cuts words at = and :. Their parts belong together.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((${#words[@]} > 0)) && { [[ $word == [=:]* ]] || ((joined)); }; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
        joined=0
        [[ $word == *[=:] && $word == [=:]* ]] && joined=1
    done
    local last=${words[${#words[@]} - 1]} lines kind cut
    mapfile -t lines < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null)
    read -r kind cut <<<"${lines[0]}"
    # What stands before the last = or : is not a part of the word for readline.
    local before=${last%"${last##*[=:]}"}
    local rest=${last#"$before"}
    [[ $COMP_WORDBREAKS == *=* ]] || before=
    COMPREPLY=()
    case $kind in
    words | part)
        for word in "${lines[@]:1}"; do
            word=${word%%$'\t'*}
            COMPREPLY+=("${word#"$before"}")
        done
        [[ $kind == part ]] && compopt -o nospace
        ;;
    files)
        compopt -o filenames
        local ending
        for ending in $cut; do
            mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -X "!*$ending" -- "$rest")
        done
        if ((${#COMPREPLY[@]} == 0)); then
            mapfile -t COMPREPLY < <(compgen -f -- "$rest")
        else
            mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$rest")
        fi
        ;;
    dirs)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -d -- "$rest")
        ;;
    users) mapfile -t COMPREPLY < <(compgen -u -- "$rest") ;;
    command)
        if declare -F _command_offset >/dev/null && ((cut > 0)); then
            _command_offset "$cut"
        elif ((cut == 0 || COMP_CWORD == cut)); then
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -c -- "$rest")
        else
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -f -- "$rest")
        fi
        ;;
    esac
}

complete -F _pianola pianola
