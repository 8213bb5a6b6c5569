package backup

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/assayhq/assay/internal/store/dump"
)

// CheckKeys is called with the folder of the secrets of a backup, and with the sealed keys of its database by their
// ids. nil: they are not checked.
type CheckKeys func(secrets string, sealed map[string]string) error

// of calls check for a backup whose database has sealed keys.
func (check CheckKeys) of(root *os.Root) error {
	if check == nil {
		return nil
	}
	sealed, err := sealedKeys(root)
	if err != nil || len(sealed) == 0 {
		return err
	}
	return check(filepath.Join(root.Name(), secretsFolder), sealed)
}

func sealedKeys(root *os.Root) (map[string]string, error) {
	const table = "sealed_keys"
	var rows int64
	if err := readDump(root, databaseFile, func(r io.Reader) error {
		header, err := dump.ReadHeader(r)
		if err == nil {
			rows = header.Rows(table)
		}
		return err
	}); err != nil || rows == 0 {
		return nil, err
	}
	sealed, errAll := make(map[string]string, rows), errors.New("all are read") // what follows is much
	err := readDump(root, databaseFile, func(r io.Reader) error {
		return dump.EachRow(r, table, func(row map[string]any) error {
			id, _ := row["id"].(string)
			sealed[id], _ = row["sealed"].(string)
			if int64(len(sealed)) == rows {
				return errAll
			}
			return nil
		})
	})
	if errors.Is(err, errAll) {
		return sealed, nil
	}
	return sealed, err
}
