package integration_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
	"github.com/assayhq/assay/internal/testkit/pictures"
)

type part = integrationtest.Part

// file is a part that holds a good photo.
func file(t *testing.T, name string) part {
	t.Helper()
	return part{Filename: name, Content: pictures.GrayPNG(8, 6)}
}

// TestUploadPhotos uploads files that are stored.
func TestUploadPhotos(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		t.Run("Stored", func(t *testing.T) {
			content := pictures.GrayJPEG(12, 9)
			r := c.Upload(t, part{Filename: "front.jpg", Content: content}).Want(t, 201)
			url := r.Text(t, "data.0.url")
			r.Is(t, "", obj{"data": []any{obj{"status": "uploaded", "url": url, "original_name": "front.jpg"}}})
			name, ok := strings.CutPrefix(url, integrationtest.MediaURL+"/")
			if format, managed := photo.ParseName(name); !ok || !managed || format != photo.JPEG {
				t.Fatalf("the URL is %s", url)
			}
			stored, err := w.Media.Open(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			defer stored.Close()
			if got, err := io.ReadAll(stored); err != nil || !bytes.Equal(got, content) {
				t.Errorf("the stored bytes differ (%v)", err)
			}
			c.Post(t, "/orders",
				with(c.Bag(t), "photos", []any{obj{"url": url, "index_code": "overall"}, obj{"url": url, "index_code": "serial"}})).
				Want(t, 201)
		})
		t.Run("OrderOfTheParts", func(t *testing.T) {
			r := c.Upload(t, file(t, "c"), file(t, "a"), part{Filename: "broken", Content: []byte("x")}, file(t, "b")).
				Want(t, 201)
			if got := fmt.Sprint(r.List(t, "data", "original_name"),
				r.List(t, "data", "status")); got != "[c a broken b] [uploaded uploaded failed uploaded]" {
				t.Errorf("the results are %s", got)
			}
		})
		t.Run("URLsAreUnguessable", func(t *testing.T) {
			same := file(t, "x")
			r := c.Upload(t, same, same).Want(t, 201)
			if a, b := r.Text(t, "data.0.url"), r.Text(t, "data.1.url"); a == b || len(a)-len(integrationtest.MediaURL) < 33 {
				t.Errorf("the URLs are %s and %s", a, b)
			}
		})
		t.Run("AnyFieldName", func(t *testing.T) {
			p := file(t, "x")
			p.Field = "whatever"
			c.Upload(t, p, part{Field: "photos", Content: []byte("no filename: ignored")}, file(t, "y")).Want(t, 201).
				Lacks(t, "data.2")
		})
		t.Run("TenFiles", func(t *testing.T) {
			var parts []part
			for i := range 10 {
				parts = append(parts, file(t, fmt.Sprint(i)), part{Field: "note", Content: []byte("not a file")})
			}
			c.Upload(t, parts...).Want(t, 201).Is(t, "data.9.status", "uploaded")
		})
		t.Run("PreambleAndEpilogue", func(t *testing.T) { // RFC 2046 allows both, and the last line may lack its end
			body, contentType := integrationtest.Multipart(t, file(t, "x"))
			for _, text := range []string{
				string(body[:len(body)-2]), "hello\r\n" + string(body), string(body) + "goodbye",
				string(body) + strings.Repeat("goodbye ", 10_000),
			} {
				c.Post(t, "/photos", text, "Content-Type", contentType).Want(t, 201).Is(t, "data.0.status", "uploaded")
			}
		})
		t.Run("NothingStaysStaged", func(t *testing.T) {
			wantNoStagedFiles(t, w)
		})
	})
}

// TestUploadPhotos_Formats checks that files are judged by their bytes.
func TestUploadPhotos_Formats(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		for _, format := range []struct {
			name    string
			content []byte
			ext     string
		}{
			{name: "JPEG", content: pictures.GrayJPEG(4, 4), ext: ".jpg"},
			{name: "PNG", content: pictures.GrayPNG(4, 4), ext: ".png"},
			{name: "WebP", content: integrationtest.WebPHeader(4, 4), ext: ".webp"},
			{name: "HEIC", content: integrationtest.HEIFHeader("heic", 4, 4), ext: ".heic"},
			{name: "HEIF", content: integrationtest.HEIFHeader("mif1", 4, 4), ext: ".heif"},
			{name: "AVIF", content: integrationtest.HEIFHeader("avif", 4, 4), ext: ".avif"},
		} {
			t.Run(format.name, func(t *testing.T) {
				r := c.Upload(t, part{Filename: "x.txt", ContentType: "text/plain", Content: format.content}).Want(t, 201)
				if url := r.Text(t, "data.0.url"); !strings.HasSuffix(url, format.ext) {
					t.Errorf("the URL is %s", url)
				}
			})
		}
		t.Run("NameAndTypeDoNotCount", func(t *testing.T) {
			c.Upload(t, part{Filename: "x.jpg", ContentType: "image/jpeg", Content: []byte("GIF89a\x04\x00\x04\x00")}).
				Refused(t, 400, "INVALID_FILE_TYPE")
		})
	})
}

// TestUploadPhotos_Refused checks what is refused of a file, and what that does to the rest of the upload.
func TestUploadPhotos_Refused(t *testing.T) {
	integrationtest.EachWith(t, integrationtest.Options{MaxPhotoBytes: 4096}, func(t *testing.T, w *world) {
		c := w.Test(t)
		large := append(pictures.GrayPNG(4, 4), make([]byte, 4097)...)
		exact := append(pictures.GrayPNG(4, 4), make([]byte, 4096-len(pictures.GrayPNG(4, 4)))...)
		refused := []struct {
			name, code string
			content    []byte
			status     int
		}{
			{name: "Empty", code: "empty-photo-file", status: 400},
			{name: "UnknownFormat", code: "INVALID_FILE_TYPE", content: []byte("%PDF-1.7"), status: 400},
			{
				name: "TooManyPixelsOnASide", code: "RESOLUTION_TOO_LARGE", content: integrationtest.PNGHeader(8001, 1),
				status: 400,
			},
			{name: "TooManyPixelsHigh", code: "RESOLUTION_TOO_LARGE", content: integrationtest.PNGHeader(1, 8001), status: 400},
			{name: "TooManyPixels", code: "RESOLUTION_TOO_LARGE", content: integrationtest.PNGHeader(8000, 6251), status: 400},
			{name: "NoDimensions", code: "RESOLUTION_MISSING", content: integrationtest.PNGHeader(0, 5), status: 400},
			{name: "CutOffHeader", code: "RESOLUTION_MISSING", content: integrationtest.PNGHeader(5, 5)[:12], status: 400},
			{name: "TooLarge", code: "FILE_TOO_LARGE", content: large, status: 413},
		}
		for _, refusal := range refused {
			t.Run(refusal.name, func(t *testing.T) {
				e := c.Upload(t, part{Filename: "a/b.png", Content: refusal.content}).Refused(t, refusal.status, refusal.code)
				e.Is(t, "details.data.0.status", "failed").Is(t, "details.data.0.original_name", "b.png").
					Lacks(t, "details.data.0.url", "details.data.1")
				e.Is(t, "details.data.0.error.statusCode", refusal.status).Is(t, "details.data.0.error.code", refusal.code)

				beside := c.Upload(t, part{Filename: "b.png", Content: refusal.content}, file(t, "good.png")).Want(t, 201)
				beside.Is(t, "data.0.status", "failed").Is(t, "data.0.error.code", refusal.code).
					Is(t, "data.0.error.statusCode", refusal.status).
					Is(t, "data.1.status", "uploaded").Lacks(t, "data.0.url", "data.1.error")
				if got := beside.Keys(t, "data.0.error"); fmt.Sprint(got) != "[code details message statusCode]" {
					t.Errorf("the error has the properties %q", got)
				}
			})
		}
		t.Run("LimitTellsItself", func(t *testing.T) {
			c.Upload(t, part{Filename: "x", Content: large}).Refused(t, 413, "FILE_TOO_LARGE").Is(t, "details.max_bytes", 4096)
		})
		t.Run("LimitIsInclusive", func(t *testing.T) { c.Upload(t, part{Filename: "x", Content: exact}).Want(t, 201) })
		t.Run("LargestImage", func(t *testing.T) { // 8,000 by 6,250 are 50,000,000 pixels
			c.Upload(t, part{Filename: "x", Content: integrationtest.PNGHeader(8000, 6250)}).Want(t, 201)
		})
		t.Run("FirstFailureDecides", func(t *testing.T) {
			bad := func(i int) part { return part{Filename: refused[i].name, Content: refused[i].content} }
			e := c.Upload(t, bad(7), bad(0), bad(1)).Refused(t, 413, "FILE_TOO_LARGE")
			if got := fmt.Sprint(e.List(t, "details.data", "original_name")); got != "[TooLarge Empty UnknownFormat]" {
				t.Errorf("the results are %s", got)
			}
			c.Upload(t, bad(0), bad(7)).Refused(t, 400, "empty-photo-file")
		})
		t.Run("NothingWasStored", func(t *testing.T) {
			stored, known := w.StoredFiles(t), rows(t, w, "SELECT name FROM photos")
			// one good file beside each bad one, and the two at the limits
			if len(stored) != len(known) || len(known) != len(refused)+2 {
				t.Errorf("%d files and %d rows are stored", len(stored), len(known))
			}
			wantNoStagedFiles(t, w)
		})
	})
}

func wantNoStagedFiles(t *testing.T, w *world) {
	t.Helper()
	if left := w.StagedFiles(t); len(left) != 0 {
		t.Errorf("%d files wait in the staging folder", len(left))
	}
}

// TestUploadPhotos_Whole checks what makes an upload fail completely: nothing of it is stored.
func TestUploadPhotos_Whole(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		good, contentType := integrationtest.Multipart(t, file(t, "x"), file(t, "y"))
		t.Run("ElevenFiles", func(t *testing.T) {
			var parts []part
			for i := range 11 {
				parts = append(parts, file(t, fmt.Sprint(i)))
			}
			c.Upload(t, parts...).Refused(t, 400, "photo-upload-limit-exceeded")
		})
		t.Run("NoFile", func(t *testing.T) {
			c.Upload(t, part{Field: "photos", Content: []byte("x")}).Invalid(t, "photos required")
			c.Upload(t).Invalid(t, "photos required")
		})
		t.Run("NotMultipart", func(t *testing.T) {
			for _, other := range []string{
				"application/json", "text/plain", "image/png", "multipart/form-data", "multipart/mixed; boundary=x",
				"multipart/form-data; boundary", ";",
			} {
				c.Post(t, "/photos", good, "Content-Type", other).Refused(t, 400, "bad-request")
			}
			c.Post(t, "/photos", good).Refused(t, 400, "bad-request")
		})
		t.Run("BrokenBody", func(t *testing.T) {
			for n := range len(good) - len("-\r\n") { // cut off anywhere, between two parts included
				c.Post(t, "/photos", good[:n], "Content-Type", contentType).Refused(t, 400, "bad-request")
			}
			c.Post(t, "/photos", "hello", "Content-Type", contentType).Refused(t, 400, "bad-request")
			c.Post(t, "/photos", good, "Content-Type", "multipart/form-data; boundary=other").Refused(t, 400, "bad-request")
		})
		t.Run("CutOffBehindTheEnd", func(t *testing.T) {
			head := "POST /v1/integrations/photos HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.Secret +
				"\r\nContent-Type: " + contentType + "\r\n"
			n := len(good)
			for _, body := range []string{
				fmt.Sprintf("Content-Length: %d\r\n\r\n%s", n+1, good),
				fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", n, good),
			} {
				status, answer := overWire(t, w, head+body, true)
				if status != 400 || !strings.Contains(answer, "could not be read to its end") {
					t.Errorf("%d: %s", status, answer)
				}
			}
		})
		t.Run("Compressed", func(t *testing.T) {
			e := c.Post(t, "/photos", good, "Content-Type", contentType, "Content-Encoding", "gzip").
				Refused(t, 400, "bad-request")
			if !strings.Contains(e.Message, "Content-Encoding") {
				t.Errorf("the message is %q", e.Message)
			}
		})
		t.Run("BrokenPartHeader", func(t *testing.T) {
			body := "--b\r\nContent-Disposition form-data\r\n\r\nx\r\n--b--\r\n"
			c.Post(t, "/photos", body, "Content-Type", "multipart/form-data; boundary=b").Refused(t, 400, "bad-request")
		})
		t.Run("NothingWasStored", func(t *testing.T) {
			if stored, known := w.StoredFiles(t), rows(t, w, "SELECT name FROM photos"); len(stored)+len(known) != 0 {
				t.Errorf("%d files and %d rows are stored", len(stored), len(known))
			}
			wantNoStagedFiles(t, w)
		})
	})
}

// TestUploadPhotos_OriginalName checks what a file is called in its result.
func TestUploadPhotos_OriginalName(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		for _, original := range []struct{ name, sent, want string }{
			{name: "Plain", sent: "front.jpg", want: "front.jpg"},
			{name: "Folders", sent: "/home/me/front.jpg", want: "front.jpg"},
			{name: "Parents", sent: "../../etc/passwd", want: "passwd"},
			{name: "Windows", sent: `C:\Users\me\front.jpg`, want: "front.jpg"},
			{name: "Japanese", sent: "写真/正面.jpg", want: "正面.jpg"},
			{name: "Spaces", sent: "my photo (1).jpg", want: "my photo (1).jpg"},
			{name: "Quotes", sent: `a"b.jpg`, want: `a"b.jpg`},
			{name: "InvalidUTF8", sent: "a\xffb.jpg", want: "a\uFFFDb.jpg"},
			{name: "Long", sent: strings.Repeat("é", 300) + ".jpg", want: strings.Repeat("é", 255)},
		} {
			t.Run(original.name, func(t *testing.T) {
				p := file(t, original.sent)
				c.Upload(t, p).Want(t, 201).Is(t, "data.0.original_name", original.want)
			})
		}
		t.Run("Extended", func(t *testing.T) { // RFC 5987
			body := "--b\r\nContent-Disposition: form-data; name=\"p\"; filename*=UTF-8''%E6%AD%A3%E9%9D%A2.jpg\r\n\r\n" +
				string(pictures.GrayPNG(2, 2)) + "\r\n--b--\r\n"
			c.Post(t, "/photos", body, "Content-Type", "multipart/form-data; boundary=b").Want(t, 201).
				Is(t, "data.0.original_name", "正面.jpg")
		})
	})
}

// TestUploadPhotos_StorageLimit refuses photos of an account that has used all its room.
func TestUploadPhotos_StorageLimit(t *testing.T) {
	integrationtest.EachWith(t, integrationtest.Options{StoredBytes: 100}, func(t *testing.T, w *world) {
		c := w.Test(t)
		r := c.Upload(t, part{Filename: "large.jpg", Content: pictures.GrayJPEG(64, 64)})
		r.Want(t, 409).Is(t, "code", "storage-limit-reached")
		r.Is(t, "details.limit", 100)
	})
}

// TestPhotoURLs checks which URLs an order may name.
func TestPhotoURLs(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Live(t)
		url := c.Photos(t, 1)[0]
		name := strings.TrimPrefix(url, integrationtest.MediaURL+"/")
		send := func(t *testing.T, url string) *integrationtest.Response {
			t.Helper()
			return c.Post(t, "/orders",
				with(c.Bag(t), "photos", []any{
					obj{"url": c.Photos(t, 1)[0], "index_code": "overall"}, obj{"url": url, "index_code": "serial"},
				}))
		}
		t.Run("Managed", func(t *testing.T) { send(t, url).Want(t, 201) })
		t.Run("SeveralIndexesAndOrders", func(t *testing.T) {
			for range 2 {
				c.Post(t, "/orders",
					with(c.Bag(t), "photos", []any{
						obj{"url": url, "index_code": "overall"}, obj{"url": url, "index_code": "serial"},
					})).Want(t, 201)
			}
		})
		for _, refused := range []struct{ name, url, reason string }{
			{name: "ExternalHost", url: "https://elsewhere.example/photos/" + name, reason: "not-managed"},
			{name: "Credentials", url: strings.Replace(url, "https://", "https://user:secret@", 1), reason: "credentials"},
			{name: "Query", url: url + "?x=1", reason: "query"},
			{name: "EmptyQuery", url: url + "?", reason: "query"},
			{name: "Fragment", url: url + "#x", reason: "fragment"},
			{name: "NotHTTPS", url: strings.Replace(url, "https://", "http://", 1), reason: "not-managed"},
			{name: "UpperCaseHost", url: strings.Replace(url, "media.assay", "MEDIA.assay", 1), reason: "not-managed"},
			{name: "Port", url: strings.Replace(url, ".example/", ".example:443/", 1), reason: "not-managed"},
			{name: "DotSegments", url: strings.Replace(url, "/photos/", "/photos/../photos/", 1), reason: "not-managed"},
			{name: "Escapes", url: strings.Replace(url, "/photos/", "/%70hotos/", 1), reason: "not-managed"},
			{name: "TrailingSlash", url: url + "/", reason: "not-managed"},
			{name: "TrailingSpace", url: url + " ", reason: "not-managed"},
			{name: "NeverUploaded", url: integrationtest.MediaURL + "/" + photo.NewName(photo.JPEG), reason: "not-managed"},
			{name: "NotAURL", url: "photo", reason: "not-managed"},
			{name: "Empty", url: "", reason: "not-managed"},
			{name: "LongestAllowed", url: strings.Repeat("x", 2048), reason: "not-managed"},
		} {
			t.Run(refused.name, func(t *testing.T) {
				e := send(t, refused.url).Refused(t, 400, "unsupported-photo-url")
				e.Is(t, "details", obj{"field": "photos[1].url", "reason": refused.reason})
				if strings.Contains(string(e.Body), "secret") {
					t.Error("the refusal repeats credentials")
				}
			})
		}
		t.Run("TooLong", func(t *testing.T) { send(t, strings.Repeat("x", 2049)).Invalid(t, "photos[1].url max_length") })
	})
}
