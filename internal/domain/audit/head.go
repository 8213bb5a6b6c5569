package audit

import (
	"crypto/hmac"
	"strconv"
	"strings"
)

// Head is the newest entry of a chain. Kept elsewhere it shows later that the log up to there is still the same.
type Head struct {
	Chain     string `json:"chain"`   // "account", or Administration
	AccountID string `json:"account"` // empty: the log of administration
	Number    int64  `json:"number"`  // of entries
	Hash      string `json:"head"`    // empty: there are none
	Seal      string `json:"-"`       // binds the others together where the head is stored; empty: it has none
}

// The chains of heads.
const (
	Administration = "administration"
	OfAnAccount    = "account"
	OfThePortal    = "portal"
	PortalTrimmed  = "portal-trimmed" // the last entry of a log of the portal that is not kept any more
)

// SealHead returns the head as it is stored: the hash with a seal. Whoever has no key cannot make one for an earlier
// entry, and so cannot cut off the end of a log.
func (c Chain) SealHead(h *Head) string { return h.Hash + "." + c.headSeal(h) }

// HoldsHead reports whether the head has the seal that was made for it.
func (c Chain) HoldsHead(h *Head) bool { return hmac.Equal([]byte(h.Seal), []byte(c.headSeal(h))) }

func (c Chain) headSeal(h *Head) string {
	return c.hash("head", h.Chain, h.AccountID, strconv.FormatInt(h.Number, 10), h.Hash)
}

// SetStored sets the hash and the seal to what SealHead has returned; what has no seal is a hash.
func (h *Head) SetStored(text string) { h.Hash, h.Seal, _ = strings.Cut(text, ".") }
