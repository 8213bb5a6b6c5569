// Command lint checks the files of deploy with the libraries of those who will read them: the Compose specification,
// Kustomize and the types of Kubernetes, and what reads images. It is a module of its own, so that none of that becomes
// a dependency of the program. The tests of deploy run it.
//
//	lint compose FILE | kubernetes FOLDER | image ARCHIVE
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run checks one thing and prints what was found in it as JSON.
func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("want: lint compose FILE | kubernetes FOLDER | image ARCHIVE")
	}
	var found any
	var err error
	switch args[0] {
	case "compose":
		found, err = compose(ctx, args[1])
	case "kubernetes":
		found, err = kubernetes(args[1])
	case "image":
		found, err = image(args[1])
	default:
		err = fmt.Errorf("%s is nothing that can be checked", args[0])
	}
	if err != nil {
		return fmt.Errorf("%s: %w", args[1], err)
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}
