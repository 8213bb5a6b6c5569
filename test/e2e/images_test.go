package e2e_test

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/program"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/gen2brain/webp"
	"golang.org/x/sync/errgroup"
)

// TestImageMemory opens the page of an order with 75 photos of 10 MB, among them the largest of every format, as a
// browser does: six images at a time. The server and the process that decodes for it each have a limit.
func TestImageMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	const (
		count     = 75
		photoSize = 10_000_000
		limit     = 300_000_000
		helper    = 500_000_000 // a PNG of 50 megapixels and 16 bits takes 450 MB
	)
	s := start(t, program.Settings{"require-second-factor": "none"})
	a := s.open(t)
	s.importWithLimit(t, count)
	c, err := client.New(s.URL(prefix), a.Live.Key, client.WithHTTPClient(http.DefaultClient), client.WithoutRetry())
	if err != nil {
		t.Fatal(err)
	}
	photos := largePhotos(t, photoSize, count)
	var order client.CreateOrder
	for batch := 0; batch < count; batch += 5 {
		var files []client.File
		for i := batch; i < batch+5; i++ {
			files = append(files, client.File{Name: strconv.Itoa(i), Content: bytes.NewReader(photos(i))})
		}
		results, err := c.UploadPhotos(t.Context(), files...)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Err() != nil {
				t.Fatal(r.Err())
			}
			order.Photos = append(order.Photos, client.OrderPhoto{URL: r.URL, IndexCode: "overall"})
		}
	}
	uploaded := residentPeak(t, s.PID())
	order.BrandCode, order.CategoryCode, order.ModelCode = "northwind", "bags", "northwind-tote"
	created, err := c.CreateOrder(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}

	stop, most := watchMemory(t, s.PID())
	browser := s.reviewer(t)
	page := fetch(t, browser, s.URL("/desk/orders/"+created.ID))
	sources := regexp.MustCompile(
		`<img src="(/desk/photos/[^"]+)"[^>]*\swidth="\d+"\s+height="\d+"\s+loading="(eager|lazy)"`,
	).FindAllStringSubmatch(string(page), -1)
	if len(sources) != count {
		t.Fatalf("%d images on the page", len(sources))
	}
	var views errgroup.Group
	views.SetLimit(6)
	for i, source := range sources {
		if !strings.HasSuffix(source[1], "/thumb") || source[2] == "eager" != (i < 12) {
			t.Errorf("image %d is %s, %s", i, source[1], source[2])
		}
		views.Go(func() error {
			thumb, err := get(t, browser, s.URL(source[1]))
			if err != nil {
				return err
			}
			config, err := jpeg.DecodeConfig(bytes.NewReader(thumb))
			if err != nil || max(config.Width, config.Height) > 320 || len(thumb) > 100<<10 {
				return fmt.Errorf("%s: %d × %d in %d bytes, %w", source[1], config.Width, config.Height, len(thumb), err)
			}
			return nil
		})
	}
	if err := views.Wait(); err != nil {
		t.Error(err)
	}
	stop()
	peak := residentPeak(t, s.PID())
	t.Logf("resident memory: %d MiB after the uploads, %d MiB at the server's peak, %d MiB with its decoder",
		uploaded>>20, peak>>20, most()>>20)
	if peak > limit || most() > limit+helper {
		t.Errorf("%d thumbnails took %d bytes of memory, %d with the decoder; the limits are %d and %d",
			count, peak, most(), limit, limit+helper)
	}
}

// importWithLimit imports the test catalog with a higher photo limit.
func (s *site) importWithLimit(t *testing.T, limit int) {
	t.Helper()
	text, err := os.ReadFile(catalogFile)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "catalog.yaml")
	if err := os.WriteFile(file,
		bytes.Replace(text, []byte("photo_limit: 2"), []byte("photo_limit: "+strconv.Itoa(limit)), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	s.CLI(t, new(any), "catalog", "import", file)
}

// reviewer returns a browser signed in as a new reviewer.
func (s *site) reviewer(t *testing.T) *http.Client {
	t.Helper()
	var staff struct{ Password string }
	s.CLI(t, &staff, "staff", "create", "--email", "rei@desk.example", "--name", "Rei", "--role", "reviewer")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Transport: &http.Transport{MaxConnsPerHost: 6}}
	t.Cleanup(browser.CloseIdleConnections)
	resp, err := browser.PostForm(s.URL("/desk/sign-in"), url.Values{
		"email":    {"rei@desk.example"},
		"password": {staff.Password},
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || strings.HasSuffix(resp.Request.URL.Path, "/sign-in") {
		t.Fatalf("signing in led to %s with %d", resp.Request.URL, resp.StatusCode)
	}
	return browser
}

func fetch(t *testing.T, browser *http.Client, address string) []byte {
	t.Helper()
	b, err := get(t, browser, address)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func get(t *testing.T, browser *http.Client, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := browser.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d", address, resp.StatusCode)
	}
	return b, err
}

// watchMemory samples the memory of a process and its children until stop. most returns the maximum.
func watchMemory(t *testing.T, pid int) (stop func(), most func() int64) {
	t.Helper()
	var seen atomic.Int64
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.Tick(10 * time.Millisecond); ; {
			select {
			case <-end:
				return
			case <-tick:
				seen.Store(max(seen.Load(), residentTree(pid)))
			}
		}
	}()
	return func() { close(end); <-done }, seen.Load
}

// residentTree returns the memory of a process and its children.
func residentTree(pid int) int64 {
	total, _ := resident(pid, "VmRSS")
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range lists {
		list, _ := os.ReadFile(file)
		for child := range strings.FieldsSeq(string(list)) {
			if id, err := strconv.Atoi(child); err == nil {
				total += residentTree(id)
			}
		}
	}
	return total
}

// largePhotos returns distinct photos of the size: every tenth has the largest dimensions in one of the formats
// that need most memory; the others are typical uploads.
func largePhotos(t *testing.T, size, count int) func(i int) []byte {
	t.Helper()
	const width, height = 8000, 6250
	var baseline, picture bytes.Buffer
	gray := image.NewYCbCr(image.Rect(0, 0, 2000, 1500), image.YCbCrSubsampleRatio420)
	for i := range gray.Y {
		gray.Y[i] = byte(i>>6) ^ byte(i*i>>9&0xf)
	}
	if err := jpeg.Encode(&baseline, gray, nil); err != nil {
		t.Fatal(err)
	}
	if err := webp.Encode(&picture, gray, webp.Options{Quality: 60, Method: 0}); err != nil {
		t.Fatal(err)
	}
	heic := pictures.Sample(t, "github.com/gen2brain/heic", "test8.heic")
	kinds := []struct {
		file []byte
		pad  func(file []byte, size int, mark string) []byte
	}{
		{pictures.ProgressiveJPEG(width, height, 1.5), pictures.PadJPEG},
		{pictures.DeepPNG(width, height, false), pictures.PadPNG},
		{pictures.Grid(heic, 2016, 1512, 1), pictures.PadHEIF},
		{pictures.DeepPNG(width/4, height/4, true), pictures.PadPNG},
		{picture.Bytes(), pictures.PadWebP},
		{pictures.Sample(t, "github.com/gen2brain/avif", "test8.avif"), pictures.PadHEIF},
	}
	for i, k := range kinds {
		if len(k.file) > size-100 {
			t.Fatalf("picture %d has %d bytes", i, len(k.file))
		}
	}
	return func(i int) []byte {
		if i%10 == 0 && i/10 < len(kinds) {
			k := kinds[i/10]
			return k.pad(k.file, size, fmt.Sprintf("photo %d", i))
		}
		return pictures.PadJPEG(baseline.Bytes(), size, fmt.Sprintf("photo %d of %d", i, count))
	}
}
