package e2e_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"mime/multipart"
	"net/textproto"
	"strconv"
	"strings"
)

// smallPNG is a PNG of one pixel. It is not encoded here: certificates show the hash of its bytes.
const smallPNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="

// photoPart is a part of a photo upload.
type photoPart struct{ field, file, content string }

func photoContent() string {
	content, err := base64.StdEncoding.DecodeString(smallPNG)
	if err != nil {
		panic(err)
	}
	return string(content)
}

// resized is the small PNG with a header that claims another size.
func resized(width, height uint32) string {
	content := []byte(photoContent())
	header := content[12:29] // IHDR: type and content
	binary.BigEndian.PutUint32(header[4:], width)
	binary.BigEndian.PutUint32(header[8:], height)
	binary.BigEndian.PutUint32(content[29:], crc32.ChecksumIEEE(header))
	return string(content)
}

// uploads sends a multipart form with a fixed boundary.
func (c *chapter) uploads(label string, as caller, parts ...photoPart) *answer {
	c.t.Helper()
	var body strings.Builder
	var names []string
	form := multipart.NewWriter(&body)
	_ = form.SetBoundary("boundary")
	for _, part := range parts {
		disposition := `form-data; name="` + part.field + `"`
		if part.file != "" {
			disposition += `; filename="` + part.file + `"`
		}
		w, err := form.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}})
		if err == nil {
			_, err = w.Write([]byte(part.content))
		}
		if err != nil {
			c.t.Fatal(err)
		}
		names = append(names, part.field+"="+part.file+" ("+strconv.Itoa(len(part.content))+" bytes)")
	}
	if err := form.Close(); err != nil {
		c.t.Fatal(err)
	}
	url := c.site.URL(prefix + "/photos")
	request := c.request(as, "POST", url, body.String(), "Content-Type", form.FormDataContentType())
	return c.exchange(label, as, request, strings.Join(names, ", "))
}

// urls returns the managed URLs in the answer to an upload.
func (r *recorder) urls(got *answer) []string {
	r.t.Helper()
	var results struct{ Data []struct{ URL string } }
	if err := json.Unmarshal(got.body, &results); err != nil {
		r.t.Fatal(err)
	}
	var urls []string
	for _, result := range results.Data {
		if result.URL != "" {
			urls = append(urls, result.URL)
		}
	}
	return urls
}

func (r *recorder) recordPhotos() {
	c := r.chapter("photos")
	photo := photoPart{"photos", "front.png", photoContent()}
	empty := photoPart{"photos", "empty.jpg", ""}
	invoice := photoPart{"photos", "invoice.pdf", "%PDF-1.7"}
	large := photoPart{"photos", "large.png", photoContent() + strings.Repeat("x", 4096)}
	wide := photoPart{"photos", "wide.png", resized(8001, 1)}
	cut := photoPart{"photos", "cut.png", photoContent()[:20]}

	back := photoPart{"other", "裏 \\\"面.png", photo.content}
	r.photos = r.urls(c.uploads("three photos", r.test, photo, back, photo))
	r.livePhotos = r.urls(c.uploads("two photos of Live", r.live, photo, photo))
	c.uploads("some fail", r.test, empty, photo, invoice, large, wide, cut)
	c.uploads("the same format under another name", r.test, photoPart{"photos", "photo.heic", photo.content})
	c.uploads("a field without a file is ignored", r.test, photoPart{"comment", "", "hello"}, photo)
	for _, failing := range []photoPart{empty, invoice, large, wide, cut} {
		c.uploads("only "+failing.file, r.test, failing)
	}
	c.uploads("all fail", r.test, invoice, empty)
	c.uploads("too many pixels", r.test, photoPart{"photos", "huge.png", resized(8000, 8000)})
	c.uploads("no file", r.test, photoPart{"comment", "", "hello"})
	c.uploads("no part", r.test)
	eleven := make([]photoPart, 11)
	for i := range eleven {
		eleven[i] = photo
	}
	c.uploads("eleven files", r.test, eleven...)

	path := prefix + "/photos"
	c.post("not a form", r.test, path, "{}", "Content-Type", "application/json")
	c.post("no content type", r.test, path, "x")
	c.post("no boundary", r.test, path, "x", "Content-Type", "multipart/form-data")
	c.post("a form that ends early", r.test, path, "--boundary\r\nContent-Disposition: form-data; name=\"photos\"; "+
		"filename=\"a.png\"\r\n\r\nabc", "Content-Type", "multipart/form-data; boundary=boundary")
}

// recordPublic records what needs no key: photos, certificates and the listener of operators.
func (r *recorder) recordPublic() {
	c := r.chapter("public")
	photo := strings.TrimPrefix(r.photos[0], "https://"+publicHost)
	c.get("a photo", nobody, photo)
	c.send("only its headers", nobody, "HEAD", photo, "")
	c.get("a part of it", nobody, photo, "Range", "bytes=0-7")
	c.get("a part that does not exist", nobody, photo, "Range", "bytes=9000-")
	c.get("not modified", nobody, photo, "If-None-Match", `"`+strings.TrimPrefix(photo, "/media/")+`"`)
	c.post("no such method", nobody, photo, "")
	c.get("no such photo", nobody, "/media/"+strings.Repeat("a", 32)+".png")
	c.get("not the name of a photo", nobody, "/media/photo.png")

	certificate := "/certificates/" + r.certificateURL[strings.LastIndexByte(r.certificateURL, '/')+1:]
	c.get("a certificate", nobody, certificate+".json")
	c.get("keys of certificates", nobody, "/.well-known/assay-certificate-keys.json")

	c.exchange("operations", nobody, c.request(nobody, "GET", "http://"+c.site.Ops+"/healthz", ""), "")
	got := send(r.t, r.client, r.request(nobody, "GET", r.site.URL(prefix+"/openapi.json"), ""))
	c.title("the document of the integration API, without its body")
	got.Header.Del("Content-Length")
	c.header(got.Header)
}
