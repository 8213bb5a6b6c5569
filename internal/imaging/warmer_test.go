package imaging_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"testing"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/media"
)

// TestWarmer checks that images are made before they are requested, also after a broken photo, and that Ask never
// blocks.
func TestWarmer(t *testing.T) {
	g := open(t)
	store := &counted{Store: g.store}
	w := imaging.NewWarmer(imaging.NewCache(store, g.staging, nil), slog.New(slog.DiscardHandler))
	names := []string{
		g.put(t, photo.JPEG, jpegOf(t, scene(40, 20))), g.put(t, photo.PNG, []byte("broken")),
		photo.NewName(photo.JPEG), g.put(t, photo.PNG, pngOf(t, scene(40, 20))),
	}
	w.Ask("account", names)
	w.Ask("account", names)
	last := g.put(t, photo.JPEG, jpegOf(t, scene(60, 20)))
	w.Ask("account", []string{last})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- w.Run(ctx) }()
	for {
		if _, err := g.store.Stat(t.Context(), media.DerivedName(last, "thumb")); err == nil {
			break
		} else if !errors.Is(err, media.ErrNotFound) {
			t.Fatal(err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, i := range []int{0, 3} {
		for _, size := range imaging.Sizes {
			if _, err := g.store.Stat(t.Context(), media.DerivedName(names[i], string(size))); err != nil {
				t.Errorf("%s of photo %d: %v", size, i, err)
			}
		}
	}
	if n := store.opened.Load(); n != 5 { // of each once
		t.Errorf("photos were opened %d times", n)
	}
	many := make([]string, 10_000)
	for i := range many {
		many[i] = names[0]
	}
	w.Ask("account", many) // nobody takes them
}

// TestWarmer_Fair checks that one account has all cores where no other waits, and that its photos, when they take for
// ever, leave a place to others.
func TestWarmer_Fair(t *testing.T) {
	g := open(t)
	cores := runtime.GOMAXPROCS(0)
	store := &held{Store: g.store, names: make(map[string]bool), opened: make(chan string, 100)}
	cache := imaging.NewCache(store, g.staging, nil)
	defer cache.Close(t.Context())
	w := imaging.NewWarmer(cache, slog.New(slog.DiscardHandler))
	var large []string
	for range cores + 3 {
		name := g.put(t, photo.JPEG, jpegOf(t, scene(40, 20)))
		store.names[name] = true
		large = append(large, name)
	}
	small := []string{
		g.put(t, photo.JPEG, jpegOf(t, scene(30, 20))), g.put(t, photo.JPEG, jpegOf(t, scene(20, 20))),
	}
	w.Ask("heavy", large)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- w.Run(ctx) }()
	for range cores {
		if name := <-store.opened; !slices.Contains(large[:cores], name) {
			t.Errorf("%s is in work before those that came first", name)
		}
	}
	w.Ask("light", small)
	for i := range small {
		if name := <-store.opened; name != small[i] {
			t.Errorf("%s is in work, not the photo of the other account", name)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// held is a media store where some photos take until the caller has gone.
type held struct {
	media.Store
	names  map[string]bool
	opened chan string
}

func (h *held) Open(ctx context.Context, name string) (media.File, error) {
	if !media.IsDerived(name) {
		h.opened <- name
	}
	if h.names[name] {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.Store.Open(ctx, name)
}
