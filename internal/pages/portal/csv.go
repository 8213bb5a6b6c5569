package portal

import (
	"net/http"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/pages/ui"
)

func csvTimeOf(t *time.Time) string {
	if t == nil {
		return ""
	}
	return ui.CSVTime(*t)
}

// sendCSV answers with a file, and writes down that the visitor has taken it.
func (p *Portal) sendCSV(
	w http.ResponseWriter, r *http.Request, actor access.Actor, name string, header []string,
	each func(write func(cells ...string) error) error,
) error {
	if err := p.Service.RecordExport(r.Context(), actor, name); err != nil {
		return err
	}
	return ui.WriteCSV(w, name, header, each)
}
