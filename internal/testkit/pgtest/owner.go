package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// owner is the system user that a server runs as. PostgreSQL refuses to run as root, so that root switches to
// another user.
type owner struct {
	credential *syscall.Credential // nil: this process's own user
}

func findOwner() (owner, error) {
	if os.Geteuid() != 0 {
		return owner{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(account.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(account.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return owner{}, fmt.Errorf("user %s: %w", name, err)
		}
		return owner{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return owner{}, errors.New(
		"PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody to run it as",
	)
}

// newFolder creates a directory that belongs to the owner.
func (o owner) newFolder() (string, error) {
	parent := os.TempDir()
	if o.credential != nil {
		parent = "/tmp" // root's TMPDIR may not be accessible to others
	}
	folder, err := os.MkdirTemp(parent, "assay-postgres-")
	if err != nil || o.credential == nil {
		return folder, err
	}
	return folder, os.Chown(folder, int(o.credential.Uid), int(o.credential.Gid))
}

// writeFile writes a file that only the owner can read.
func (o owner) writeFile(path, content string) error {
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil || o.credential == nil {
		return err
	}
	return os.Chown(path, int(o.credential.Uid), int(o.credential.Gid))
}

// command returns a command in folder that runs as the owner, without PostgreSQL variables (PGPORT, PGOPTIONS and
// the like) of the caller.
func (o owner) command(folder, program string, arguments ...string) *exec.Cmd {
	cmd := exec.Command(program, arguments...)
	cmd.Dir = folder
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: o.credential}
	return cmd
}
