package apitest

import (
	"slices"

	"github.com/assayhq/assay/api/spec"
)

// Delivery checks the body of a webhook delivery against the payload documented for its event.
func (v *Validator) Delivery(event string, body []byte) {
	v.tb.Helper()
	i := slices.IndexFunc(v.document.Webhooks, func(op *spec.Operation) bool { return op.Path == event })
	if i < 0 {
		v.tb.Errorf("the document has no webhook %s", event)
		return
	}
	for _, c := range v.document.Webhooks[i].Body.Content {
		if err := v.schemas.body(c.Schema.Pointer, body); err != nil {
			v.tb.Errorf("the delivery of %s is against the document: %v\nbody: %s", event, err, shorten(body))
		}
	}
}
