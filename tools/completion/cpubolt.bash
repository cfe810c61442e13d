# bash completion for cpubolt                              -*- shell-script -*-
# SPDX-License-Identifier: GPL-2.0-only
#
# Subcommands, options and columns are read from --help, which does not look at
# the machine.

# Prints the numbers of a list such as 0-3,8, one a line.
_cpubolt_numbers()
{
	local part first last
	local -a parts
	IFS=, read -ra parts <<<"$(cat "$1" 2>/dev/null)"
	for part in "${parts[@]}"; do
		first=${part%-*} last=${part#*-}
		[[ $first =~ ^[0-9]+$ && $last =~ ^[0-9]+$ ]] || continue
		((last - first < 4096)) && seq "$first" "$last"
	done
}

_cpubolt_subcommands()
{
	"$1" --help 2>/dev/null | sed -n '/^Subcommands:/,/^$/s/^ \([a-z]\{1,\}\) .*/\1/p'
}

_cpubolt_options()
{
	"$@" --help 2>/dev/null | sed -n '/^Options:/,/^$/p' |
		grep -oE '^ +(-[a-zA-Z], +)?--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+'
}

_cpubolt_columns()
{
	"$1" "$2" --help 2>/dev/null | sed -n '/^Columns/,/^$/s/^ \([A-Z-]*\) .*/\1/p'
}

_cpubolt_policies()
{
	cpuboltd --help 2>/dev/null | sed -n '/^Policies:/,/^$/s/^ \([a-z]\{1,\}\) .*/\1/p'
}

# Prints the names of the installed models of power and times of requests.
_cpubolt_energy()
{
	local file

	for file in /usr/share/cpubolt/energy/*.conf; do
		[[ -e $file ]] && basename "$file" .conf
	done
}

# Completes the last item of a list with commas, from the words in $1.
_cpubolt_list()
{
	local done_part=''

	[[ $cur == *,* ]] && done_part=${cur%,*},
	mapfile -t COMPREPLY < <(compgen -P "$done_part" -W "$1" -- "${cur##*,}")
	compopt -o nospace
}

_cpubolt()
{
	local cpus=/sys/devices/system/cpu nodes=/sys/devices/system/node
	local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[0]} subcommand='' word
	local -i at

	COMPREPLY=()
	for ((at = 1; at < COMP_CWORD; at++)); do
		word=${COMP_WORDS[at]}
		if [[ $word == --root ]]; then
			((at++))
			if [[ ${COMP_WORDS[at]:-} == = ]]; then
				((at++))
			fi
		elif [[ $word != -* ]]; then
			subcommand=$word
			break
		fi
	done
	# Bash makes a word of its own of "=".
	if [[ $cur == = ]]; then
		cur=''
	elif [[ $previous == = ]]; then
		previous=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if [[ $previous == --root ]]; then
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
	fi
	if [[ -z $subcommand ]]; then
		if [[ $cur == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W '--root --help --version' -- "$cur")
		else
			mapfile -t COMPREPLY < <(compgen -W "$(_cpubolt_subcommands "$command")" -- "$cur")
		fi
		return
	fi
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(
			compgen -W "$(_cpubolt_options "$command" "$subcommand")" -- "$cur")
		return
	fi
	case $subcommand:$previous in
	set:--smt)
		mapfile -t COMPREPLY < <(compgen -W 'off on' -- "$cur") ;;
	offline:--smt)
		mapfile -t COMPREPLY < <(compgen -W 'off' -- "$cur") ;;
	online:--smt)
		mapfile -t COMPREPLY < <(compgen -W 'on' -- "$cur") ;;
	o*line:-N | set:-N | *:--node)
		_cpubolt_list "$(_cpubolt_numbers $nodes/online)" ;;
	o*line:-p | set:-p | *:--package)
		_cpubolt_list "$(sort -nu $cpus/cpu*/topology/physical_package_id 2>/dev/null)" ;;
	o*line:-c | set:-c | *:--cores)
		;;
	states:--timing)
		mapfile -t COMPREPLY < <(compgen -W 'off on' -- "$cur") ;;
	*:-k | *:--keep | irq:--apply | bench:-c | bench:--cpus)
		_cpubolt_list "$(_cpubolt_numbers $cpus/present)" ;;
	status:--extended | status:--parse | \
		status:-o | status:--output | states:-o | states:--output | irq:-o | irq:--output)
		_cpubolt_list "$(_cpubolt_columns "$command" "$subcommand")" ;;
	energy:-m | energy:--model | energy:-r | energy:--requests)
		mapfile -t COMPREPLY < <(
			compgen -W "$(_cpubolt_energy)" -- "$cur"
			compgen -f -- "$cur"
		)
		;;
	policy:policy)
		mapfile -t COMPREPLY < <(compgen -W 'show explain switch lease release' -- "$cur") ;;
	policy:switch)
		mapfile -t COMPREPLY < <(compgen -W "$(_cpubolt_policies)" -- "$cur") ;;
	policy:explain | policy:lease)
		_cpubolt_list "$(_cpubolt_numbers $cpus/present)" ;;
	policy:*)
		;;
	online:*)
		_cpubolt_list "all $(_cpubolt_numbers $cpus/offline)" ;;
	offline:* | settle:*)
		_cpubolt_list "all $(_cpubolt_numbers $cpus/present)" ;;
	set:* | status:*)
		_cpubolt_list "$(_cpubolt_numbers $cpus/present)" ;;
	*)
		compopt -o default ;;
	esac
}

complete -F _cpubolt cpubolt
