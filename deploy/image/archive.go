package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"
	"time"
)

// entry is a file of a tar archive, in the order in which it is written.
type entry struct {
	header  tar.Header
	content []byte
}

// writeTar writes entries with the time zero, so that the same content makes the same bytes.
func writeTar(entries []entry) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		e.header.ModTime, e.header.Format, e.header.Size = time.Unix(0, 0), tar.FormatUSTAR, int64(len(e.content))
		if err := w.WriteHeader(&e.header); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// makeLayer returns the file system of the image as an uncompressed tar archive.
func makeLayer(files []copied, sources map[string]string) ([]byte, error) {
	var entries []entry
	known := map[string]bool{"/": true, ".": true}
	var folder func(name string, mode int64, uid, gid int)
	folder = func(name string, mode int64, uid, gid int) {
		if known[name] {
			return
		}
		folder(path.Dir(name), 0o755, 0, 0)
		known[name] = true
		entries = append(entries, entry{header: tar.Header{
			Typeflag: tar.TypeDir, Name: strings.TrimPrefix(name, "/") + "/", Mode: mode, Uid: uid, Gid: gid,
		}})
	}
	for _, f := range files {
		source, ok := sources[f.from]
		switch {
		case !ok:
			return nil, fmt.Errorf("nobody knows where %s of the Dockerfile is on this machine", f.from)
		case source == "":
			folder(f.to, 0o700, f.uid, f.gid)
			continue
		}
		content, err := os.ReadFile(source)
		if err != nil {
			return nil, err
		}
		mode := f.mode
		if mode == 0 {
			mode = 0o644
		}
		folder(path.Dir(f.to), 0o755, 0, 0)
		entries = append(entries, entry{content: content, header: tar.Header{
			Typeflag: tar.TypeReg, Name: strings.TrimPrefix(f.to, "/"), Mode: mode, Uid: f.uid, Gid: f.gid,
		}})
	}
	return writeTar(entries)
}

// descriptor names a blob of an OCI layout.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    map[string]string `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// archiveWriter collects the blobs of an OCI layout.
type archiveWriter struct{ entries []entry }

func (a *archiveWriter) file(name string, content []byte) {
	a.entries = append(a.entries, entry{
		content: content, header: tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644},
	})
}

func (a *archiveWriter) blob(mediaType string, content []byte) descriptor {
	digest := digestOf(content)
	a.file("blobs/sha256/"+strings.TrimPrefix(digest, "sha256:"), content)
	return descriptor{MediaType: mediaType, Digest: digest, Size: len(content)}
}

func (a *archiveWriter) json(mediaType string, v any) (descriptor, error) {
	content, err := json.Marshal(v)
	if err != nil {
		return descriptor{}, err
	}
	return a.blob(mediaType, content), nil
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// makeArchive returns an image of one layer as an archive that is an OCI layout, and for older versions of
// `docker load` one of theirs at the same time.
func makeArchive(layer []byte, c config, architecture, name string) ([]byte, error) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(layer); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	a := new(archiveWriter)
	a.file("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	files := a.blob("application/vnd.oci.image.layer.v1.tar+gzip", packed.Bytes())
	about, err := a.json("application/vnd.oci.image.config.v1+json", map[string]any{
		"architecture": architecture, "os": "linux", "config": c,
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{digestOf(layer)}},
		"history": []map[string]any{{"created_by": "deploy/Dockerfile"}},
	})
	if err != nil {
		return nil, err
	}
	const manifestType = "application/vnd.oci.image.manifest.v1+json"
	manifest, err := a.json(manifestType, map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": about, "layers": []descriptor{files},
	})
	if err != nil {
		return nil, err
	}
	manifest.Platform = map[string]string{"os": "linux", "architecture": architecture}
	_, tag, _ := strings.Cut(name, ":")
	manifest.Annotations = map[string]string{
		"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag,
	}
	index, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []descriptor{manifest},
	})
	if err != nil {
		return nil, err
	}
	a.file("index.json", index)
	blob := func(d descriptor) string { return "blobs/sha256/" + strings.TrimPrefix(d.Digest, "sha256:") }
	docker, err := json.Marshal([]map[string]any{
		{"Config": blob(about), "RepoTags": []string{name}, "Layers": []string{blob(files)}},
	})
	if err != nil {
		return nil, err
	}
	a.file("manifest.json", docker)
	return writeTar(a.entries)
}
