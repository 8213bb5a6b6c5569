package docs

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/assayhq/assay/api/spec"
	"github.com/assayhq/assay/internal/pages/ui"
)

// postmanSchema names the format, Postman's collection 2.1.
const postmanSchema = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"

type (
	postmanCollection struct {
		Info     postmanInfo    `json:"info"`
		Auth     postmanAuth    `json:"auth"`
		Variable []postmanValue `json:"variable"`
		Item     []postmanGroup `json:"item"`
	}
	postmanInfo struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Version     string `json:"version"`
		Schema      string `json:"schema"`
	}
	postmanAuth struct {
		Type   string         `json:"type"`
		Bearer []postmanValue `json:"bearer,omitempty"`
	}
	postmanValue struct {
		Key         string `json:"key"`
		Value       any    `json:"value"`
		Type        string `json:"type,omitempty"`
		Description string `json:"description,omitempty"`
		Disabled    bool   `json:"disabled,omitempty"`
		Source      any    `json:"src,omitempty"`
	}
	postmanGroup struct {
		Name        string        `json:"name"`
		Description string        `json:"description"`
		Item        []postmanItem `json:"item"`
	}
	postmanItem struct {
		Name     string            `json:"name"`
		Request  postmanRequest    `json:"request"`
		Response []postmanResponse `json:"response"`
	}
	postmanRequest struct {
		Method      string         `json:"method"`
		Description string         `json:"description,omitempty"`
		Auth        *postmanAuth   `json:"auth,omitempty"`
		Header      []postmanValue `json:"header"`
		Body        *postmanBody   `json:"body,omitempty"`
		URL         postmanURL     `json:"url"`
	}
	postmanURL struct {
		Raw      string         `json:"raw"`
		Host     []string       `json:"host"`
		Path     []string       `json:"path"`
		Query    []postmanValue `json:"query,omitempty"`
		Variable []postmanValue `json:"variable,omitempty"`
	}
	postmanBody struct {
		Mode     string         `json:"mode"`
		Raw      string         `json:"raw,omitempty"`
		FormData []postmanValue `json:"formdata,omitempty"`
		Options  any            `json:"options,omitempty"`
	}
	postmanResponse struct {
		Name            string         `json:"name"`
		OriginalRequest postmanRequest `json:"originalRequest"`
		Status          string         `json:"status"`
		Code            int            `json:"code"`
		Language        string         `json:"_postman_previewlanguage"`
		Header          []postmanValue `json:"header"`
		Body            string         `json:"body"`
	}
)

// postman returns the collection of an API: its operations by tag, with examples of requests and answers. The key is a
// variable that the file does not fill.
func postman(a apiDoc) []byte {
	c := postmanCollection{
		Info: postmanInfo{a.Title, a.Summary + "\n\nSet the variable api_key to a Test key.", a.Version, postmanSchema},
		Auth: postmanAuth{Type: "bearer", Bearer: []postmanValue{{Key: "token", Value: "{{api_key}}", Type: "string"}}},
		Variable: []postmanValue{
			{Key: "base_url", Value: a.Server, Type: "string"}, {Key: "api_key", Value: "", Type: "string"},
		},
	}
	for _, g := range groupsOf(a, tagPath) {
		folder := postmanGroup{Name: g.Name, Description: g.Description}
		for _, op := range g.Operations {
			folder.Item = append(folder.Item, postmanOperation(op))
		}
		c.Item = append(c.Item, folder)
	}
	out, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		panic("docs: " + err.Error()) // texts and numbers always have a JSON form
	}
	return out
}

// postmanPath is a path with its parameters as Postman writes them.
func postmanPath(op *spec.Operation) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(op.Path)
}

func postmanOperation(op *spec.Operation) postmanItem {
	request := postmanRequest{Method: op.Method, Description: op.Description, Header: []postmanValue{}}
	path := postmanPath(op)
	request.URL = postmanURL{
		Raw: "{{base_url}}" + path, Host: []string{"{{base_url}}"}, Path: strings.Split(strings.TrimPrefix(path, "/"), "/"),
	}
	if op.Public {
		request.Auth = &postmanAuth{Type: "noauth"}
	}
	for _, p := range op.Parameters {
		v := postmanValue{Key: p.Name, Value: p.Example, Description: p.Description, Disabled: !p.Required && p.In != "path"}
		switch p.In {
		case "path":
			request.URL.Variable = append(request.URL.Variable, v)
		case "query":
			request.URL.Query = append(request.URL.Query, v)
		case "header":
			request.Header = append(request.Header, v)
		}
	}
	postmanContent(&request, op)
	item := postmanItem{Name: op.Summary, Request: request, Response: []postmanResponse{}}
	for _, r := range op.Responses {
		code, err := strconv.Atoi(r.Status)
		if err != nil || len(r.Content) == 0 || len(r.Content[0].Examples) == 0 {
			continue
		}
		for _, e := range r.Content[0].Examples {
			item.Response = append(item.Response, postmanResponse{
				Name: r.Status + " " + e.Name, OriginalRequest: request, Status: http.StatusText(code), Code: code,
				Language: "json", Header: []postmanValue{{Key: "Content-Type", Value: "application/json"}},
				Body: ui.IndentedJSON(e.JSON),
			})
		}
	}
	return item
}

func postmanContent(request *postmanRequest, op *spec.Operation) {
	if op.Body == nil {
		return
	}
	content := op.Body.Content[0]
	if content.MediaType != "application/json" {
		request.Body = &postmanBody{Mode: "formdata", FormData: []postmanValue{
			{Key: "photos", Type: "file", Source: []string{}, Description: "Up to 10 files"},
		}}
		return
	}
	if len(content.Examples) == 0 {
		return
	}
	request.Header = append(request.Header, postmanValue{Key: "Content-Type", Value: "application/json"})
	request.Body = &postmanBody{
		Mode: "raw", Raw: ui.IndentedJSON(content.Examples[0].JSON),
		Options: map[string]any{"raw": map[string]string{"language": "json"}},
	}
}
