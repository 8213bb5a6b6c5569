package portal

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

type searchView struct {
	place
	*service.Found
	Text     string
	Hits     int
	Requests string // address of the requests that name the text as their order
}

// showSearch looks for one text in all that the environment has. What is the only hit is shown itself.
func (p *Portal) showSearch(w http.ResponseWriter, r *http.Request, who *visitor) error {
	text := strings.TrimSpace(r.URL.Query().Get("q"))
	found, err := p.Service.Search(r.Context(), who.actor(), text)
	if err != nil {
		return err
	}
	q := url.Values{"q": {text}}
	v := searchView{place: p.place(r, who, "/search?"+q.Encode()), Found: found, Text: text}
	to := p.hits(&v)
	if len(to) == 1 {
		return p.Site.Redirect(w, r, to[0])
	}
	v.Hits = len(to)
	v.Requests = v.Base + "/requests?" + url.Values{"order": {text}}.Encode()
	return p.pages.Render(w, r, ui.Page{Template: "search", Data: v})
}

// hits returns the addresses of what was found.
func (p *Portal) hits(v *searchView) (to []string) {
	for i := range v.Orders {
		to = append(to, v.Base+"/orders/"+v.Orders[i].ID)
	}
	if v.Delivery != nil {
		to = append(to, v.Base+"/deliveries/"+v.Delivery.ID)
	}
	if v.Request != nil {
		to = append(to, requestPath(v.Request))
	}
	for _, e := range v.Endpoints {
		to = append(to, v.Base+"/webhooks/"+e.ID)
	}
	if v.Link != nil {
		to = append(to, v.Base+capturePath+"/"+v.Link.ID)
	}
	return to
}
