// Package column has the forms in which values are stored, the same for both engines, and reads them back.
package column

import (
	"database/sql"
	"encoding/base64"
	"fmt"
	"time"
)

// Micros is the stored form of a time.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// Millis is the stored form, in microseconds too, of a time that lists are sorted by as customers see it.
func Millis(t time.Time) int64 { return t.UnixMilli() * 1000 }

// MicrosOrNull is the stored form of a time that may be missing.
func MicrosOrNull(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UnixMicro()
}

// TextOrNull stores the empty string as NULL, for columns where absence is the only empty value.
func TextOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Flag is the stored form of a yes or no.
func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// EncodeBytes returns the stored form of bytes: both engines keep text exactly, and a dump can hold it.
func EncodeBytes(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// DecodeBytes returns the bytes that EncodeBytes was given.
func DecodeBytes(s string) ([]byte, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("stored bytes: %w", err)
	}
	return b, nil
}

// TimeOf returns the time that Micros was given.
func TimeOf(m int64) time.Time { return time.UnixMicro(m).UTC() }

func timeOrNil(m sql.NullInt64) *time.Time {
	if !m.Valid {
		return nil
	}
	t := TimeOf(m.Int64)
	return &t
}

// Time returns where to scan a time; NULL is the zero time.
func Time(to *time.Time) sql.Scanner { return timeColumn{to} }

type timeColumn struct{ to *time.Time }

func (c timeColumn) Scan(v any) error {
	m, err := scanInt(v)
	if *c.to = (time.Time{}); m.Valid {
		*c.to = TimeOf(m.Int64)
	}
	return err
}

// scanInt is sql.NullInt64.Scan without its reflection for what both drivers give: lists scan thousands of these.
func scanInt(v any) (m sql.NullInt64, err error) {
	if n, ok := v.(int64); ok {
		return sql.NullInt64{Int64: n, Valid: true}, nil
	}
	err = m.Scan(v)
	return m, err
}

// TimeOrNil returns where to scan a time; NULL is nil.
func TimeOrNil(to **time.Time) sql.Scanner { return nullTimeColumn{to} }

type nullTimeColumn struct{ to **time.Time }

func (c nullTimeColumn) Scan(v any) error {
	m, err := scanInt(v)
	*c.to = timeOrNil(m)
	return err
}

// Text returns where to scan a text; NULL is the empty string.
func Text[S ~string](to *S) sql.Scanner { return textColumn[S]{to} }

type textColumn[S ~string] struct{ to *S }

func (c textColumn[S]) Scan(v any) error {
	if text, ok := v.(string); ok {
		*c.to = S(text)
		return nil
	}
	var s sql.NullString
	err := s.Scan(v)
	*c.to = S(s.String)
	return err
}
