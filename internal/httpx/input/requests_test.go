package input

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/httpx"
)

// This file reads the largest requests of the API the way their handlers do.

type photoRef struct{ URL, IndexCode string }

type orderRequest struct {
	Brand, Category, Model string
	ExternalID             *string
	AnswerTime             int64
	Photos                 []photoRef
	MockOutcome            string
}

func readOrder(body []byte) (orderRequest, error) {
	o, err := ParseObject(body)
	if err != nil {
		return orderRequest{}, err
	}
	req := orderRequest{
		Brand: o.String("brand_code", Required, NotEmpty), Category: o.String("category_code", Required, NotEmpty),
		Model: o.String("model_code", NotEmpty), ExternalID: o.OptString("external_id", NotEmpty, MaxChars(100)),
		AnswerTime: o.Int("answer_time", Min(1)),
	}
	photos := o.Objects("photos", Required, MinItems(1), MaxItems(75))
	req.Photos = make([]photoRef, 0, len(photos))
	for _, p := range photos {
		req.Photos = append(req.Photos, photoRef{
			URL: p.String("url", Required, NotEmpty, MaxChars(2048)), IndexCode: p.String("index_code", Required, NotEmpty),
		})
	}
	req.MockOutcome, _ = o.Raw("mock_outcome").Text() // a wrong value counts as missing
	return req, o.Done()
}

type webhookRequest struct {
	URL, Name string
	Events    []string
	Auth      *oauth2Request
}

type oauth2Request struct{ TokenURL, ClientID, ClientSecret, Scope string }

func readWebhook(body []byte) (webhookRequest, error) {
	o, err := ParseObject(body)
	if err != nil {
		return webhookRequest{}, err
	}
	https := Format("must start with https://", isHTTPS)
	req := webhookRequest{
		URL: o.String("url", Required, MaxChars(2048), https), Name: o.String("name", NotEmpty, MaxChars(100)),
		Events: o.Strings("events", Required, MinItems(1), MaxItems(2), Unique, OneOf("order-outcome", "update-photos")),
	}
	if auth := o.Object("auth"); auth.Exists() {
		auth.String("type", Required, OneOf("oauth2"))
		req.Auth = &oauth2Request{
			TokenURL:     auth.String("token_url", Required, MaxChars(2048), https),
			ClientID:     auth.String("client_id", Required, NotEmpty, MaxChars(255)),
			ClientSecret: auth.String("client_secret", Required, NotEmpty, MaxChars(2048)),
			Scope:        auth.String("scope", MaxChars(1024)),
		}
	}
	return req, o.Done()
}

type photoUpdate struct {
	IndexCode, URL string
	Unable         bool
}

func readPhotoUpdates(body []byte) (updates []photoUpdate, note string, err error) {
	o, err := ParseObject(body)
	if err != nil {
		return nil, "", err
	}
	for _, p := range o.Objects("photos", Required, MinItems(1), MaxItems(75)) {
		updates = append(updates, photoUpdate{
			IndexCode: p.String("index_code", Required, NotEmpty), URL: p.String("url", MaxChars(2048)),
			Unable: p.Bool("is_unable_to_provide"),
		})
	}
	return updates, o.String("note", MaxChars(1000)), o.Done()
}

func orderBody(photos int) []byte {
	var b strings.Builder
	b.WriteString(`{"brand_code":"brand-rolex","category_code":"watches","model_code":"submariner",` +
		`"external_id":"order-2026-000123","answer_time":60,"photos":[`)
	for i := range photos {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"url":"https://media.example.com/media/p/01890a5d-ac96-774b-bcce-b302099a80%02d.jpg",`+
			`"index_code":"front-%d"}`, i, i)
	}
	b.WriteString(`],"mock_outcome":"authentic"}`)
	return []byte(b.String())
}

func TestReadOrder(t *testing.T) {
	t.Run("Complete", func(t *testing.T) {
		req, err := readOrder(orderBody(10))
		if err != nil {
			t.Fatal(err)
		}
		if req.Brand != "brand-rolex" || req.Category != "watches" || req.Model != "submariner" ||
			*req.ExternalID != "order-2026-000123" ||
			req.AnswerTime != 60 || req.MockOutcome != "authentic" || len(req.Photos) != 10 ||
			req.Photos[9].IndexCode != "front-9" {
			t.Errorf("got %+v", req)
		}
	})
	t.Run("NullsAreAbsent", func(t *testing.T) {
		req, err := readOrder([]byte(`{"brand_code":"b","category_code":"c","model_code":null,"external_id":null,` +
			`"answer_time":null,"mock_outcome":null,"photos":[{"url":"u","index_code":"i"}]}`))
		if err != nil || req.ExternalID != nil || req.MockOutcome != "" {
			t.Errorf("%+v, %v", req, err)
		}
	})
	t.Run("Everything", func(t *testing.T) {
		_, err := readOrder([]byte(`{"brand_code":null,"category_code":"","external_id":"` +
			strings.Repeat("é", 101) + `","answer_time":0,
			"photos":[{"url":1},{"url":"` + strings.Repeat("x", 2049) + `","index_code":"i","size":3}],
			"mock_outcome":{"a":1},"colour":"red"}`))
		wantProblems(t, err, "brand_code required", "category_code empty", "external_id max_length", "answer_time min",
			"photos[0].url type", "photos[0].index_code required", "photos[1].url max_length", "photos[1].size unknown",
			"colour unknown")
	})
	t.Run("TooManyPhotos", func(t *testing.T) {
		_, err := readOrder(orderBody(76))
		wantProblems(t, err, "photos max_items")
	})
	for name, element := range map[string]string{
		"Numbers": "0", "EmptyObjects": "{}", "Unknown": `{"a":1}`,
		"Duplicates": `{"a":1,"a":1}`,
	} {
		t.Run("Hostile"+name, func(t *testing.T) { // takes no time that grows with the square of the body
			n := (MaxBody - 20) / (len(element) + 1)
			_, err := readOrder([]byte(`{"photos":[` + strings.Repeat(element+",", n-1) + element + `]}`))
			if got := problemsOf(t, err); len(got) != maxProblems {
				t.Errorf("%d problems", len(got))
			}
		})
	}
}

func TestReadWebhook(t *testing.T) {
	t.Run("OAuth2", func(t *testing.T) {
		req, err := readWebhook([]byte(`{"url":"https://a.example/h","events":["order-outcome","update-photos"],
			"auth":{"type":"oauth2","token_url":"https://a.example/t","client_id":"id","client_secret":"s"}}`))
		if err != nil || req.Auth == nil || req.Auth.TokenURL != "https://a.example/t" ||
			!slices.Equal(req.Events, []string{"order-outcome", "update-photos"}) {
			t.Errorf("%+v, %v", req, err)
		}
	})
	t.Run("HMAC", func(t *testing.T) {
		req, err := readWebhook([]byte(`{"url":"https://a.example/h","events":["update-photos"],"auth":null,"name":"main"}`))
		if err != nil || req.Auth != nil || req.Name != "main" {
			t.Errorf("%+v, %v", req, err)
		}
	})
	t.Run("Everything", func(t *testing.T) {
		_, err := readWebhook([]byte(`{"url":"http://a","events":["order-outcome","order-outcome"],"name":"",` +
			`"auth":{"type":"basic","token_url":"http://t","client_id":"","scope":5,"extra":1}}`))
		wantProblems(t, err, "url format", "name empty", "events[1] duplicate", "auth.type enum", "auth.token_url format",
			"auth.client_id empty",
			"auth.client_secret required", "auth.scope type", "auth.extra unknown")
	})
	t.Run("AuthOfAnotherType", func(t *testing.T) {
		_, err := readWebhook([]byte(`{"url":"https://a","events":["order-outcome"],"auth":"oauth2"}`))
		wantProblems(t, err, "auth type")
	})
}

func TestReadPhotoUpdates(t *testing.T) {
	updates, note, err := readPhotoUpdates([]byte(`{"photos":[{"index_code":"a","url":"u"},` +
		`{"index_code":"b","is_unable_to_provide":true}],"note":"sorry"}`))
	if err != nil || note != "sorry" || !slices.Equal(updates, []photoUpdate{{"a", "u", false}, {"b", "", true}}) {
		t.Errorf("%+v %q %v", updates, note, err)
	}
	_, _, err = readPhotoUpdates([]byte(`{"photos":[],"note":7}`))
	wantProblems(t, err, "photos min_items", "note type")
}

// TestCreateOrderHandler is the whole way of a request: body, shape, answer or envelope.
func TestCreateOrderHandler(t *testing.T) {
	p := &httpx.Responder{Log: slog.New(slog.DiscardHandler)}
	h := httpx.RequestID(p.Handle(func(w http.ResponseWriter, r *http.Request) error {
		body, err := ReadBody(r)
		if err != nil {
			return err
		}
		req, err := readOrder(body)
		if err != nil {
			return err
		}
		return httpx.WriteJSON(w, http.StatusCreated, map[string]any{"photos": len(req.Photos)})
	}))
	for name, tt := range map[string]struct {
		body   string
		status int
		holds  string
	}{
		"Created":   {string(orderBody(2)), 201, `{"photos":2}`},
		"NotJSON":   {`{"brand_code":`, 400, `"offset":14`},
		"NotValid":  {`{}`, 400, `{"field":"photos","code":"required","message":"is required"}`},
		"NotObject": {`[]`, 400, fault.CodeValidation},
		"Empty":     {``, 400, fault.CodeBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, post(t, strings.NewReader(tt.body)))
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.holds) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}
