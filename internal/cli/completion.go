package cli

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
)

// completionScripts ask the program itself, so that they never know other commands than it does.
var completionScripts = map[string]string{
	"bash": `_assay() {
  local IFS=$'\n'
  COMPREPLY=($(assay complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [[ ${#COMPREPLY[@]} -eq 0 ]] && compopt -o default
}
complete -F _assay assay
`,
	"zsh": `#compdef assay
_assay() {
  local -a found
  found=("${(@f)$(assay complete "${words[@]:1:$((CURRENT-1))}" 2>/dev/null)}")
  if [[ -n ${found[1]} ]]; then compadd -- "${found[@]}"; else _files; fi
}
if [[ $funcstack[1] == _assay ]]; then # the file is in fpath, and is read at the first completion, which it has to make
  _assay "$@"
else
  compdef _assay assay
fi
`,
	"fish": `function __assay_complete
  set -l words (commandline -opc) (commandline -ct)
  assay complete $words[2..] 2>/dev/null
end
complete -c assay -a '(__assay_complete)'
`,
}

func completion(_ context.Context, inv *invocation) error {
	script, ok := completionScripts[inv.args[0]]
	if !ok {
		return wrongCall("%q is not a shell it knows: bash, zsh or fish", inv.args[0])
	}
	_, err := fmt.Fprint(inv.Stdout, script)
	return err
}

// complete is what the scripts call: the words of the line so far, the last of which is being typed.
func complete(_ context.Context, inv *invocation) error {
	for _, word := range candidates(inv.args) {
		if _, err := fmt.Fprintln(inv.Stdout, word); err != nil {
			return err
		}
	}
	return nil
}

// candidates returns the words that the last one can become.
func candidates(words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	before, typed := words[:len(words)-1], words[len(words)-1]
	var found []string
	if c, rest := find(before); c != nil {
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		c.bind(&invocation{flags: fs})
		if strings.HasPrefix(typed, "-") {
			fs.VisitAll(func(f *flag.Flag) { found = append(found, "--"+f.Name) })
		} else {
			found = slices.Clone(c.choices[positional(fs, rest)]) // without any the shell completes files
		}
	} else {
		for _, c := range visible() {
			if parts := strings.Fields(c.name); len(parts) > len(before) && slices.Equal(parts[:len(before)], before) {
				found = append(found, parts[len(before)])
			}
		}
	}
	found = slices.DeleteFunc(found, func(word string) bool { return !strings.HasPrefix(word, typed) })
	return slices.Compact(found)
}

// positional counts the arguments among the words that are neither flags nor their values.
func positional(fs *flag.FlagSet, words []string) int {
	n := 0
	for i := 0; i < len(words); i++ {
		name, isFlag := strings.CutPrefix(words[i], "-")
		if !isFlag {
			n++
			continue
		}
		name, _, whole := strings.Cut(strings.TrimPrefix(name, "-"), "=")
		if f := fs.Lookup(name); f != nil && !whole && !isSwitch(f) {
			i++ // its value
		}
	}
	return n
}

func isSwitch(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}
