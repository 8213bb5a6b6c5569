package input

import (
	"bytes"
	"encoding/json"
	"testing"
)

// BenchmarkReadOrder compares parsing and checking a ten-photo order with encoding/json, which checks much less.
func BenchmarkReadOrder(b *testing.B) {
	body := orderBody(10)
	b.Run("input", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := readOrder(body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding_json", func(b *testing.B) {
		type request struct {
			Brand       string  `json:"brand_code"`
			Category    string  `json:"category_code"`
			Model       *string `json:"model_code"`
			ExternalID  *string `json:"external_id"`
			AnswerTime  *int64  `json:"answer_time"`
			MockOutcome *string `json:"mock_outcome"`
			Photos      []struct {
				URL       string `json:"url"`
				IndexCode string `json:"index_code"`
			} `json:"photos"`
		}
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			dec := json.NewDecoder(bytes.NewReader(body))
			dec.DisallowUnknownFields()
			var req request
			if err := dec.Decode(&req); err != nil {
				b.Fatal(err)
			}
		}
	})
}
