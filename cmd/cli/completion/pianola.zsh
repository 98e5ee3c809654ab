#compdef pianola
# Completion of pianola for zsh.

_pianola() {
    local -a lines values
    local kind line word means
    lines=("${(@f)$(${words[1]} __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    local -a rest=(${=lines[1]})
    kind=$rest[1]
    shift rest
    case $kind in
    words | part)
        for line in "${(@)lines[2,-1]}"; do
            word=${line%%$'\t'*} means=${line#*$'\t'}
            values+=("${word//:/\\:}${means:+:$means}")
        done
        if [[ $kind == part ]]; then
            _describe -V pianola values -S ''
        else
            _describe -V pianola values
        fi
        ;;
    files)
        compset -P '--*='
        if (( $#rest )); then
            # A pattern that ends in parentheses without a | has flags in them.
            _files -g "*(${(j:|:)rest}|$rest[1])"
        else
            _files
        fi
        ;;
    dirs)
        compset -P '*='
        _files -/
        ;;
    users)
        compset -P '--*='
        _users
        ;;
    command)
        if (( rest[1] == 0 )); then
            _cmdstring
        else
            shift $rest[1] words
            (( CURRENT -= rest[1] ))
            _normal
        fi
        ;;
    esac
}

# The script is read by compinit, or sourced after it.
if [[ ${funcstack[1]} == _pianola ]]; then
    _pianola "$@"
else
    compdef _pianola pianola
fi
