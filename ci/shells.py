"""Completion in bash, zsh and fish, where the shells that Click knows fall short.

bash takes a word apart at `:` and `=` and puts back only the last part; zsh and fish put back the whole word, also of
`--option=value`; zsh may have no completion loaded at all. What ends in `/` goes on: no space comes after it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

BREAKS = ":="
BASH = """\
%(complete_func)s() {
    local type value
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(env COMP_WORDS="${COMP_LINE:0:COMP_POINT}" COMP_CWORD="${COMP_WORDS[COMP_CWORD]}" \\
        %(complete_var)s=bash_complete "$1")
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == */ ]] && compopt -o nospace
    return 0
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""
ZSH = """\
#compdef %(prog_name)s

%(complete_func)s() {
    local -a response completions unfinished described
    local type key descr
    (( ! $+commands[%(prog_name)s] )) && return 1

    response=("${(@f)$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT-1)) \\
        %(complete_var)s=zsh_complete %(prog_name)s)}")

    for type key descr in ${response}; do
        if [[ "$type" == "dir" || "$type" == "file" ]]; then
            [[ "$PREFIX" == -*=* ]] && compset -P '*='
            if [[ "$type" == "dir" ]]; then _path_files -/; else _path_files -f; fi
        elif [[ "$descr" != "_" ]]; then
            described+=("$key":"$descr")
        elif [[ "$key" == */ ]]; then
            unfinished+=("$key")
        elif [[ -n "$key" ]]; then
            completions+=("$key")
        fi
    done

    [[ -n "$described" ]] && _describe -V unsorted described -U
    [[ -n "$unfinished" ]] && compadd -U -S '' -V unfinished -a unfinished
    [[ -n "$completions" ]] && compadd -U -V unsorted -a completions
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
    compdef %(complete_func)s %(prog_name)s
fi
"""


class _WholeWords(ShellComplete):
    """Offers the word as it will stand on the line: of `--target=ref` that is `--target=reference`."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        found = super().get_completions(args, incomplete)
        option, equals, _ = incomplete.partition("=")
        if not equals or not option.startswith("-"):
            return found
        return [_other(item, f"{option}={item.value}") if item.type == "plain" else item for item in found]


class Bash(_WholeWords, BashComplete):
    """Gets the line up to the cursor, and what bash takes for the current word: the part that it will put back."""

    source_template = BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        return (words, "") if not words or line[-1:].isspace() else (words[:-1], words[-1])

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        there = len(incomplete) - len(_part(incomplete, os.environ.get("COMP_CWORD", "")))
        return list(_without(there, super().get_completions(args, incomplete)))


class Zsh(_WholeWords, ZshComplete):
    """Loads the completion of zsh where it is not loaded yet."""

    source_template = ZSH


class Fish(_WholeWords, FishComplete):
    """As Click has it."""


def register() -> None:
    """Makes them the shells that Click knows."""
    for shell in (Bash, Zsh, Fish):
        add_completion_class(shell)


def _part(word: str, current: str) -> str:
    """The end of a word that bash puts back: nothing where it takes the `:` or `=` before the cursor for a word."""
    current = current.lstrip("\"'").lstrip(BREAKS)
    return current if word.endswith(current) else word


def _without(length: int, items: list[CompletionItem[str]]) -> Iterator[CompletionItem[str]]:
    for item in items:
        yield _other(item, item.value[length:]) if item.type == "plain" else item


def _other(item: CompletionItem[str], value: str) -> CompletionItem[str]:
    return CompletionItem(value, item.type, item.help)
