# Completion of pianola for fish.

function __pianola_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    # A value after = is completed by itself.
    set -l value (string replace -r '^.*=' '' -- $last)
    set -l before (string sub -l (math (string length -- $last) - (string length -- $value)) -- $last)
    set -l lines ($words[1] __complete $words[2..] $last 2>/dev/null)
    set -l kind (string split ' ' -- $lines[1])
    switch $kind[1]
        case words part
            string join \n -- $lines[2..]
        case files
            for ending in $kind[2..]
                __fish_complete_suffix $value $ending | string replace -r '^' -- $before
            end
            test (count $kind) -gt 1; or __fish_complete_path $value | string replace -r '^' -- $before
        case dirs
            __fish_complete_directories $value '' | string replace -r '^' -- $before
        case users
            __fish_complete_users | string replace -r '^' -- $before
        case command
            test $kind[2] = 0; and return
            set -l rest (string escape -- $words[(math $kind[2] + 1)..] | string join ' ')
            complete -C "$rest $last"
    end
end

complete -c pianola -f -a '(__pianola_complete)'
