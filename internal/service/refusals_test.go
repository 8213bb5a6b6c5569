package service_test

import (
	"errors"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/capture"
	"github.com/assayhq/assay/internal/domain/requestlog"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/signin"
)

// TestNotFoundRefusals checks that refusals of things that are missing, which have one code, are told apart.
func TestNotFoundRefusals(t *testing.T) {
	refusals := map[string]error{
		"key": access.KeyNotFound.With("id", "x"), "user": service.UserNotFound, "certificate": service.CertificateNotFound,
		"capture link": capture.NotFound, "endpoint": webhook.NotFound, "delivery": webhook.DeliveryNotFound,
		"request": requestlog.NotFound, "link": signin.LinkUnusable, "passkey": signin.PasskeyNotFound,
		"session": signin.SessionNotFound, "approval": access.ApprovalNotFound,
	}
	for name, err := range refusals {
		if is := errors.Is(err, access.KeyNotFound); is != (name == "key") {
			t.Errorf("the refusal of a %s is that of a key: %t", name, is)
		}
	}
}
