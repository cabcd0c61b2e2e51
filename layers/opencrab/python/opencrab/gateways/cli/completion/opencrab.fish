# Completion of opencrab in fish:  opencrab completion fish > ~/.config/fish/completions/opencrab.fish

function __opencrab_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct | string trim --left --chars="\"'")
    set -l lines ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null)
    if test "$lines[1]" = files
        __fish_complete_path "$current"
        return
    end
    if test (count $lines) -gt 1
        printf '%s\n' $lines[2..-1]
    end
end

complete -c opencrab -f -a '(__opencrab_complete)'
