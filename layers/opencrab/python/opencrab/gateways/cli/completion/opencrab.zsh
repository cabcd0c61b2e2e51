#compdef opencrab
# Completion of opencrab in zsh. In ~/.zshrc, after compinit:  source <(opencrab completion zsh)

_opencrab() {
    local line value
    local -a lines values
    lines=("${(@f)$("${words[1]}" __complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ "$lines[1]" == files ]]; then
        _files
        return
    fi
    for line in "${(@)lines[2,-1]}"; do
        value="${line%%$'\t'*}"
        values+=("${value//:/\\:}:${line#*$'\t'}")
    done
    _describe -V opencrab values
}

if [[ "$funcstack[1]" == _opencrab ]]; then
    _opencrab "$@"
else
    compdef _opencrab opencrab
fi
