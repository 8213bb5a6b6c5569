package server

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/prometheus/client_golang/prometheus"
)

// maxHeads is how many accounts have their log in the metrics, so that these stay readable.
const maxHeads = 1000

// logHeads shows the newest entry of every log in the metrics: a monitoring system thereby keeps them out of reach of
// who could rewrite the logs.
type logHeads struct {
	read    func(context.Context) ([]audit.Head, error)
	entries *prometheus.Desc
	head    *prometheus.Desc
}

func newLogHeads(read func(context.Context) ([]audit.Head, error)) *logHeads {
	return &logHeads{
		read: read,
		entries: prometheus.NewDesc("assay_audit_entries", "Entries of a log: that of administration, or of an account.",
			[]string{"log"}, nil),
		head: prometheus.NewDesc("assay_audit_head",
			"The first 48 bits of the hash of a log's newest entry, as a number. See assay audit head.", []string{"log"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (h *logHeads) Describe(to chan<- *prometheus.Desc) {
	to <- h.entries
	to <- h.head
}

// Collect implements prometheus.Collector. Where the database is away there are no heads.
func (h *logHeads) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	heads, err := h.read(ctx)
	if err != nil {
		return
	}
	for _, head := range heads[:min(len(heads), maxHeads+1)] {
		log := head.AccountID
		switch head.Chain {
		case audit.Administration:
			log = head.Chain
		case audit.OfThePortal:
			log += " " + head.Chain
		}
		to <- prometheus.MustNewConstMetric(h.entries, prometheus.GaugeValue, float64(head.Number), log)
		to <- prometheus.MustNewConstMetric(h.head, prometheus.GaugeValue, shortHash(head.Hash), log)
	}
}

// shortHash is what a metric can hold of a hash exactly.
func shortHash(hash string) float64 {
	raw, err := hex.DecodeString(hash)
	if err != nil || len(raw) < 8 {
		return 0
	}
	return float64(binary.BigEndian.Uint64(raw) >> 16)
}
