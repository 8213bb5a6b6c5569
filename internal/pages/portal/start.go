package portal

import (
	"net/http"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/pages/ui"
)

// newMember is for how long the overview points a member to the first steps.
const newMember = 14 * 24 * time.Hour

// startView is the first steps of a member in the Test environment, however much the account has done before.
type startView struct {
	place
	Key       *access.Key // a Test key of the member's own; nil: none yet
	Used      bool        // the key
	Endpoints int         // of the key
	Me        string      // curl that tells what a key is
	Listen    string
}

func (p *Portal) showStart(w http.ResponseWriter, r *http.Request, who *visitor) error {
	who = who.in(access.Test)
	v := startView{
		place: p.place(r, who, ""), Me: p.curl("/me"),
		Listen: "assay login --server " + p.Service.Address() + "\n" +
			"assay listen --forward-to http://localhost:3000/assay",
	}
	v.Switch = nil // it is about Test
	keys, err := p.usableKeys(r, who)
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(keys, func(k *access.Key) bool { return k.CreatedBy == who.User.ID }); at >= 0 {
		v.Key = keys[at]
		v.Used = v.Key.LastUsedAt != nil
		endpoints, err := p.Service.EndpointsOfKey(r.Context(), who.actor(), v.Key.ID)
		if err != nil {
			return err
		}
		v.Endpoints = len(endpoints)
	}
	return p.pages.Render(w, r, ui.Page{Template: "start", Data: v})
}
