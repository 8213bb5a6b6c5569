package admin

import (
	"fmt"
	"net/http"
	"runtime"
	"time"

	"github.com/assayhq/assay/internal/buildinfo"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

type systemView struct {
	*service.Health
	Queued, InReview, Waiting int64
	Behind                    time.Duration // how late the first order of the queue is; 0: not
	Stuck                     time.Duration // how long the first delivery has waited to be sent; 0: none does
	Disk                      *diskUse
	DatabaseSize, PhotoSize   string
	Workers                   []Worker
	Settings                  []Setting
	Version, Commit, Go       string
	Started                   time.Time
	Goroutines                int
	Memory                    string
	Troubles                  int
}

// diskUse is the file system that holds the data.
type diskUse struct {
	Free    string
	Percent int // in use, of what can be used
	Low     bool
}

// Beyond these the page calls something trouble. A disk is nearly full where the alert AssayDiskFull says so; of a
// small one a tenth is enough.
const (
	lowDisk       = 2e9 // bytes
	lowDiskShare  = 10  // 1/10
	stuckDelivery = 2 * time.Minute
)

func (a *Admin) showSystem(w http.ResponseWriter, r *http.Request, who *visitor) error {
	health, err := a.Service.Health(r.Context(), actorOf(who))
	if err != nil {
		return err
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	v := systemView{
		Health: health, Queued: health.Orders[order.Queued], InReview: health.Orders[order.Processing],
		Waiting: health.Orders[order.UpdatePhotos],
		Disk:    a.disk(), Version: buildinfo.Version, Commit: buildinfo.Commit, Go: runtime.Version(),
		Started:    a.Started,
		Goroutines: runtime.NumGoroutine(), Memory: size(int64(memory.Sys)), //nolint:gosec // far from the limit
		PhotoSize: size(health.Photos.Bytes), Settings: a.Settings,
	}
	if a.Workers != nil {
		v.Workers = a.Workers()
	}
	now := a.Site.Now()
	if health.OldestQueued != nil {
		v.Behind = max(0, now.Sub(*health.OldestQueued))
	}
	if health.OldestDelivery != nil {
		v.Stuck = max(0, now.Sub(*health.OldestDelivery)).Truncate(time.Second)
	}
	if health.Database != nil {
		v.DatabaseSize = size(health.Database.Bytes)
	}
	for _, trouble := range []bool{
		health.DatabaseError != nil, health.MediaError != nil, v.Behind > 0, v.Stuck > stuckDelivery,
		v.Disk != nil && v.Disk.Low,
	} {
		if trouble {
			v.Troubles++
		}
	}
	for i := range v.Workers {
		if v.Workers[i].Failing() {
			v.Troubles++
		}
	}
	a.logTrouble(r, health)
	return a.pages.Render(w, r, ui.Page{Template: "system", Data: v})
}

// logTrouble writes down what exactly failed; the page says only that it did.
func (a *Admin) logTrouble(r *http.Request, h *service.Health) {
	if h.DatabaseError != nil {
		a.Site.Log.WarnContext(r.Context(), "database is not healthy", "error", h.DatabaseError)
	}
	if h.MediaError != nil {
		a.Site.Log.WarnContext(r.Context(), "media store is not healthy", "error", h.MediaError)
	}
}

// disk tells of the file system that holds the data; nil when it cannot be told.
func (a *Admin) disk() *diskUse {
	s, err := a.Space()
	if err != nil || s.Total == 0 {
		return nil
	}
	free, used := int64(s.Usable), int64(s.Total-s.Free) //nolint:gosec // no disk is that large
	return &diskUse{
		Free: size(free), Percent: int(used * 100 / max(1, used+free)), Low: s.Usable < min(lowDisk, s.Total/lowDiskShare),
	}
}

// size writes a number of bytes.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, prefix := float64(n)/unit, 0
	for value >= unit && prefix < len(prefixes)-1 {
		value /= unit
		prefix++
	}
	return fmt.Sprintf("%.1f %ciB", value, prefixes[prefix])
}

const prefixes = "KMGTP"
