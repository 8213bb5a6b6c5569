package webhook

import (
	"net/url"
	"strings"
	"testing"
)

func TestCheckURL(t *testing.T) {
	long := "https://example.com/" + strings.Repeat("a", MaxURL-len("https://example.com/"))
	for name, test := range map[string]struct {
		raw  string
		code string // of the problem; empty: the URL is right
		host string
	}{
		"Plain":              {raw: "https://example.com/hook", host: "example.com"},
		"NoPath":             {raw: "https://example.com", host: "example.com"},
		"Query":              {raw: "https://example.com/hook?a=1&b[]=%20x", host: "example.com"},
		"QueryWithoutPath":   {raw: "https://example.com?a=1", host: "example.com"},
		"AtInPath":           {raw: "https://example.com/@hook?to=a@b", host: "example.com"},
		"SlashesInQuery":     {raw: "https://example.com/hook?next=https://a.b/c", host: "example.com"},
		"Port":               {raw: "https://example.com:8443/hook", host: "example.com"},
		"DefaultPort":        {raw: "https://example.com:443/hook", host: "example.com"},
		"HighestPort":        {raw: "https://example.com:65535", host: "example.com"},
		"UpperCase":          {raw: "HTTPS://Example.COM/Hook", host: "Example.COM"},
		"IPv4":               {raw: "https://203.0.113.9/hook", host: "203.0.113.9"},
		"IPv6":               {raw: "https://[2001:db8::1]:8443/hook", host: "2001:db8::1"},
		"IPv6Zone":           {raw: "https://[fe80::1%25eth0]/", host: "fe80::1%eth0"},
		"TrailingDot":        {raw: "https://example.com./hook", host: "example.com."},
		"HostLeftToTheGuard": {raw: "https://１２７.０.０.１/", host: "１２７.０.０.１"},
		"EscapedHost":        {raw: "https://%EF%BC%91.example/", host: "１.example"},
		"Longest":            {raw: long, host: "example.com"},

		"TooLong":                {raw: long + "a", code: "max_length"},
		"TooLongInCharacters":    {raw: long + "é", code: "max_length"},
		"Empty":                  {raw: "", code: "format"},
		"Relative":               {raw: "/hook", code: "format"},
		"NetworkPath":            {raw: "//example.com/hook", code: "format"},
		"NoScheme":               {raw: "example.com/hook", code: "format"},
		"NoSchemeButPort":        {raw: "example.com:443/hook", code: "format"},
		"Opaque":                 {raw: "https:example.com/hook", code: "format"},
		"OneSlash":               {raw: "https:/example.com/hook", code: "format"},
		"LeadingSpace":           {raw: " https://example.com/hook", code: "format"},
		"LeadingColon":           {raw: "://example.com/hook", code: "format"},
		"HTTP":                   {raw: "http://example.com/hook", code: "https"},
		"FTP":                    {raw: "ftp://example.com/hook", code: "https"},
		"File":                   {raw: "file:///etc/passwd", code: "https"},
		"LongerScheme":           {raw: "httpsx://example.com", code: "https"},
		"UserAndPassword":        {raw: "https://user:pass@example.com/", code: "userinfo"},
		"User":                   {raw: "https://user@example.com/", code: "userinfo"},
		"EmptyUser":              {raw: "https://@example.com/", code: "userinfo"},
		"UserWithBackslash":      {raw: `https://example.com\@127.0.0.1/`, code: "userinfo"},
		"Fragment":               {raw: "https://example.com/hook#here", code: "fragment"},
		"EmptyFragment":          {raw: "https://example.com/hook#", code: "fragment"},
		"FragmentAfterHost":      {raw: "https://example.com#@127.0.0.1/", code: "fragment"},
		"NoHost":                 {raw: "https:///hook", code: "format"},
		"OnlyScheme":             {raw: "https://", code: "format"},
		"OnlyPort":               {raw: "https://:443/hook", code: "format"},
		"OnlyQuery":              {raw: "https://?a=1", code: "format"},
		"EmptyPort":              {raw: "https://example.com:/hook", code: "port"},
		"PortZero":               {raw: "https://example.com:0/hook", code: "port"},
		"PortTooHigh":            {raw: "https://example.com:65536/hook", code: "port"},
		"PortWithLeadingZero":    {raw: "https://example.com:0443/hook", code: "port"},
		"PortNotANumber":         {raw: "https://example.com:https/hook", code: "format"},
		"NegativePort":           {raw: "https://example.com:-1/hook", code: "format"},
		"TwoPorts":               {raw: "https://example.com:1:2/hook", code: "format"},
		"IPv6EmptyPort":          {raw: "https://[2001:db8::1]:/hook", code: "port"},
		"IPv6WithoutBrackets":    {raw: "https://2001:db8::1/hook", code: "format"},
		"UnclosedBracket":        {raw: "https://[::1/hook", code: "format"},
		"SpaceInHost":            {raw: "https://exam ple.com/", code: "format"},
		"SpaceInPath":            {raw: "https://example.com/a b", code: "format"},
		"SpaceInQuery":           {raw: "https://example.com/?a b", code: "format"},
		"TrailingSpace":          {raw: "https://example.com/ ", code: "format"},
		"Tab":                    {raw: "https://exa\tmple.com/", code: "format"},
		"NewlineInPath":          {raw: "https://example.com/a\nb", code: "format"},
		"CRLFInQuery":            {raw: "https://example.com/?a\r\nHost: b", code: "format"},
		"NUL":                    {raw: "https://example.com/\x00", code: "format"},
		"NULInHost":              {raw: "https://example\x00.com/", code: "format"},
		"DEL":                    {raw: "https://example.com/\x7f", code: "format"},
		"InvalidUTF8":            {raw: "https://example.com/\xff", code: "format"},
		"InvalidUTF8InHost":      {raw: "https://ex\xffample.com/", code: "format"},
		"EscapedInvalidHost":     {raw: "https://ex%ffample.com/", code: "format"},
		"NotASCIIInPath":         {raw: "https://example.com/フック", code: "format"},
		"NotASCIIInQuery":        {raw: "https://example.com/?q=フック", code: "format"},
		"BackslashInHost":        {raw: `https://example.com\.evil.com/`, code: "format"},
		"BackslashInPath":        {raw: `https://example.com/\hook`, code: "format"},
		"EscapedDotsInHost":      {raw: "https://127%2e0%2e0%2e1/", code: "format"},
		"EscapedSlashInHost":     {raw: "https://example.com%2f.evil.com/", code: "format"},
		"BrokenEscapeInPath":     {raw: "https://example.com/%zz", code: "format"},
		"BrokenEscapeInQuery":    {raw: "https://example.com/?a=100%", code: "format"},
		"BracesInPath":           {raw: "https://example.com/{id}", code: "format"},
		"BracketedIPv4":          {raw: "https://[127.0.0.1]/", code: "format"},
		"SchemeTwice":            {raw: "https://https://example.com/", code: "port"},
		"NotAURLAtAll":           {raw: "not a url", code: "format"},
		"JavaScriptWithSlashes":  {raw: "javascript://example.com/%0aalert(1)", code: "https"},
		"SchemeWithControlChar":  {raw: "ht\ttps://example.com/", code: "format"},
		"SchemeStartingWithSign": {raw: "+https://example.com/", code: "format"},
	} {
		t.Run(name, func(t *testing.T) {
			u, problem := CheckURL("url", test.raw)
			if problem != nil {
				if problem.Code != test.code || problem.Field != "url" || problem.Message == "" {
					t.Fatalf("CheckURL(%q) = %+v, want code %q", test.raw, *problem, test.code)
				}
				return
			}
			if test.code != "" {
				t.Fatalf("CheckURL(%q) is fine, want problem %q", test.raw, test.code)
			}
			if u.String() != test.raw || u.Host != test.host {
				t.Errorf("CheckURL(%q) = %q with host %q, want host %q", test.raw, u, u.Host, test.host)
			}
		})
	}
}

func TestCheckLink(t *testing.T) {
	long := "https://example.com/#" + strings.Repeat("a", MaxURL-len("https://example.com/#"))
	for raw, code := range map[string]string{
		"https://shop.example/#/thanks?order=%201": "", "https://shop.example#top": "", "https://shop.example/": "",
		long: "", long + "a": "max_length", "http://shop.example/#/thanks": "https", "https://#/thanks": "format",
		"https://shop.example/#a b": "format", "https://shop.example/#a#b": "format",
		"https://a:b@shop.example/#x": "userinfo",
	} {
		got := ""
		if problem := CheckLink("return_url", raw); problem != nil {
			got = problem.Code
		}
		if got != code {
			t.Errorf("CheckLink(%.40q) = %q, want %q", raw, got, code)
		}
	}
}

func TestCheckTokenURL(t *testing.T) {
	for raw, code := range map[string]string{
		"https://id.example.com/oauth/token": "", "HTTPS://id.example.com/oauth/token": "https",
		"http://id.example.com/oauth/token": "https", "https://a:b@id.example.com/": "userinfo",
		"id.example.com": "format",
	} {
		_, problem := CheckTokenURL("auth.token_url", raw)
		if (problem == nil) != (code == "") {
			t.Errorf("CheckTokenURL(%q) = %v, want %q", raw, problem, code)
		}
		if problem != nil && (problem.Code != code || problem.Field != "auth.token_url") {
			t.Errorf("CheckTokenURL(%q) = %+v, want %q", raw, *problem, code)
		}
	}
}

func TestCanonicalURL(t *testing.T) {
	for raw, want := range map[string]string{
		"https://example.com/hook":     "https://example.com/hook",
		"HTTPS://Example.COM/Hook?A=B": "https://example.com/Hook?A=B",
		"https://example.com:443/hook": "https://example.com/hook", "https://EXAMPLE.com:443": "https://example.com",
		"https://example.com:443?a=1":   "https://example.com?a=1",
		"https://example.com:8443/hook": "https://example.com:8443/hook",
		"https://example.com:4430/hook": "https://example.com:4430/hook",
		"https://example.com/:443":      "https://example.com/:443", "https://example.com": "https://example.com",
		"https://example.com/":                    "https://example.com/",
		"https://example.com/a/../b//c/%7Ex":      "https://example.com/a/../b//c/%7Ex",
		"https://[2001:DB8::1]:443/hook":          "https://[2001:db8::1]/hook",
		"https://[2001:DB8::443]/hook":            "https://[2001:db8::443]/hook",
		"https://example.com/?next=HTTPS://A:443": "https://example.com/?next=HTTPS://A:443",
	} {
		u, problem := CheckURL("url", raw)
		if problem != nil {
			t.Fatalf("CheckURL(%q): %+v", raw, *problem)
		}
		if got := u.Canonical(); got != want {
			t.Errorf("CanonicalURL(%q) = %q, want %q", raw, got, want)
		}
		if got := CanonicalURL(want); got != want {
			t.Errorf("CanonicalURL(%q) = %q: not stable", want, got)
		}
	}
}

func FuzzCheckURL(f *testing.F) {
	for _, seed := range []string{
		"https://example.com:443/a?b#c", "HTTPS://[::1%25z]:1/", "https://u@h", "https://%EF%BC%91/", "https:\\\\h",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		checked, problem := CheckURL("url", raw)
		if problem != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "https" || u.User != nil || u.Fragment != "" || u.Hostname() != checked.Host {
			t.Fatalf("CheckURL accepts %q, which parses as %+v, %v", raw, u, err)
		}
		canonical := checked.Canonical()
		if CanonicalURL(canonical) != canonical {
			t.Fatalf("CanonicalURL(%q) = %q is not stable", raw, canonical)
		}
		c, err := url.Parse(canonical)
		if err != nil || c.EscapedPath() != u.EscapedPath() || c.RawQuery != u.RawQuery || c.Port() == "443" {
			t.Fatalf("CanonicalURL(%q) = %q: %v", raw, canonical, err)
		}
	})
}

// TestCheckURL_Length checks that the problem tells both lengths, as for every other text.
func TestCheckURL_Length(t *testing.T) {
	_, problem := CheckURL("url", "https://example.com/"+strings.Repeat("é", MaxURL))
	if problem == nil || problem.Message != "must be at most 2048 characters, has 2068" {
		t.Errorf("problem: %+v", problem)
	}
}
