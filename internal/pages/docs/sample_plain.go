package docs

import "strings"

// Samples in the languages that have no client: what their standard libraries can do.

func phpSample(c call) (setup, text string) {
	var before []string
	options := []string{`"method" => "` + c.op.Method + `",`}
	var headers []string
	if !c.op.Public {
		headers = append(headers, `"Authorization: Bearer " . getenv("`+c.api.Variable+`"),`)
	}
	if c.keyed {
		before = []string{`$key = bin2hex(random_bytes(16)); // ` + keepKey}
		headers = append(headers, `"Idempotency-Key: $key",`)
	}
	for _, h := range c.headers {
		headers = append(headers, `"`+h[0]+": "+h[1]+`",`)
	}
	if c.files != nil {
		before = append(before,
			`$boundary = bin2hex(random_bytes(16));`,
			`$body = "";`,
			`foreach (["`+strings.Join(c.files, `", "`)+`"] as $name) {`,
			`    $body .= "--$boundary\r\nContent-Disposition: form-data; name=\"photos\"; filename=\"$name\"\r\n\r\n"`,
			`        . file_get_contents($name) . "\r\n";`,
			`}`,
			``,
		)
		headers = append(headers, `"Content-Type: multipart/form-data; boundary=$boundary",`)
	}
	if len(headers) > 0 {
		options = append(options, `"header" => [`)
		for _, h := range headers {
			options = append(options, "    "+h)
		}
		options = append(options, "],")
	}
	if c.files != nil {
		options = append(options, `"content" => "$body--$boundary--\r\n",`)
	}
	if c.body != nil {
		options = append(options, `"content" => json_encode(`+literal("php", *c.body, 1)+`),`)
	}
	options = append(options, `"ignore_errors" => true, // the body of a refusal, too`)
	lines := append(before, `$answer = file_get_contents("`+c.api.Server+c.url()+
		`", false, stream_context_create(["http" => [`)
	for _, o := range options {
		lines = append(lines, "    "+o)
	}
	lines = append(lines, "]]));", `echo $http_response_header[0], "\n", $answer, "\n";`)
	return "<?php", strings.Join(lines, "\n")
}

func rubySample(c call) (setup, text string) {
	method := c.op.Method[:1] + strings.ToLower(c.op.Method[1:])
	lines := []string{`uri = URI("` + c.api.Server + c.url() + `")`, "request = Net::HTTP::" + method + ".new(uri)"}
	if !c.op.Public {
		lines = append(lines, `request["Authorization"] = "Bearer #{ENV.fetch("`+c.api.Variable+`")}"`)
	}
	setup = "require \"json\"\nrequire \"net/http\""
	if c.keyed {
		setup += "\nrequire \"securerandom\""
		lines = append(lines, "key = SecureRandom.uuid # "+keepKey, `request["Idempotency-Key"] = key`)
	}
	for _, h := range c.headers {
		lines = append(lines, `request["`+h[0]+`"] = "`+h[1]+`"`)
	}
	if c.files != nil {
		var files []string
		for _, f := range c.files {
			files = append(files, `["photos", File.open("`+f+`")]`)
		}
		lines = append(lines, `request.set_form([`+strings.Join(files, ", ")+`], "multipart/form-data")`)
	}
	if c.body != nil {
		lines = append(lines, "request.body = "+literal("ruby", *c.body, 0)+".to_json")
	}
	if c.op.Method == "POST" && c.body == nil && c.files == nil {
		lines = append(lines, `request.content_type = "application/json" # Ruby would call the empty body a form`)
	}
	lines = append(lines, `response = Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https") do |http|`,
		"  http.request(request)", "end", "puts response.code, response.body")
	return setup, strings.Join(lines, "\n")
}
