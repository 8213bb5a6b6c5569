package deliver

import (
	"errors"
	"fmt"
	"net/url"
	"testing"
)

func TestLogText(t *testing.T) {
	refused := errors.New("connection refused")
	tests := []struct {
		name  string
		cause error
		want  string
	}{
		{"Plain", refused, "connection refused"},
		{
			"URL", &url.Error{
				Op: "Post", URL: "https://shop.example:8443/hook/s3cret?k=v", Err: refused,
			}, `Post "shop.example:8443": connection refused`,
		},
		{
			"Wrapped", &tokenError{
				cause: fmt.Errorf("oauth2: %w", &url.Error{Op: "Post", URL: "https://auth.example/s3cret", Err: refused}),
			},
			`fetch access token: oauth2: Post "auth.example": connection refused`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := logText(tt.cause); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
