# Completion of opencrab in bash. In ~/.bashrc:  source <(opencrab completion bash)

_opencrab() {
    local IFS=$'\n' current="${COMP_WORDS[COMP_CWORD]}" line kind=""
    COMPREPLY=()
    while IFS= read -r line; do
        if [ -z "$kind" ]; then
            kind="$line"
            continue
        fi
        line="${line%%$'\t'*}"
        case "$current" in
            [\"\']*) COMPREPLY+=("$line") ;;
            *) COMPREPLY+=("$(printf '%q' "$line")") ;;
        esac
    done < <("$1" __complete --quoted -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [ "$kind" = files ]; then
        compopt -o default 2>/dev/null
    fi
}

complete -F _opencrab opencrab
