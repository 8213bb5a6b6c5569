package capture_test

import (
	"testing"

	web "github.com/assayhq/assay/internal/pages/capture"
	"github.com/assayhq/assay/internal/testkit/expect"
)

// TestRedactPath checks that the secret of a capture link is left out, however its address is written.
func TestRedactPath(t *testing.T) {
	expect.Results(t, web.RedactPath, map[string]string{
		"/capture/SECRET":                     "/capture/-",
		"/capture/SECRET/photos/abc":          "/capture/-/photos/abc",
		"//capture/SECRET":                    "//capture/-",
		"/capture//SECRET/x":                  "/capture//-/x",
		"/./capture/SECRET":                   "/./capture/-",
		"/capt%75re/SECRET":                   "/capt%75re/-",
		"/capture%2FSECRET":                   "/-",
		"/capture":                            "/capture",
		"/v1/integrations/capture_links/some": "/v1/integrations/capture_links/some",

		"/v1/integrations/orders/capture/update_photos":   "/v1/integrations/orders/capture/update_photos",
		"/v1/integrations/orders/photo-capture%2F123":     "/v1/integrations/orders/photo-capture%2F123",
		"/%76%31/integrations/orders/capture/cancel":      "/%76%31/integrations/orders/capture/cancel",
		"/portal/live/orders/photo%20of%20a%20capture/no": "/portal/live/orders/photo%20of%20a%20capture/no",
	})
}
