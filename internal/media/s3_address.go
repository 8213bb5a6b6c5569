package media

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// S3Address names a bucket: s3://BUCKET?endpoint=URL&region=R[&path_style=true][&serve=proxy|redirect].
type S3Address struct {
	Bucket   string
	Endpoint *url.URL // scheme and host
	Region   string
	lookup   minio.BucketLookupType
	redirect bool // photos are served by redirect to signed URLs
}

var s3Parameters = []string{"endpoint", "region", "path_style", "serve"}

// ParseS3 reads the address of a bucket. Its error says what is wrong, for an operator.
func ParseS3(address string) (*S3Address, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" {
		return nil, errors.New("must be s3://BUCKET?endpoint=URL&region=R")
	}
	if u.User != nil {
		return nil, errors.New("must not contain credentials: give them as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	if strings.Trim(u.Path, "/") != "" || u.Fragment != "" {
		return nil, errors.New("must name a bucket alone, without a path")
	}
	if err := s3utils.CheckValidBucketNameStrict(u.Host); err != nil {
		return nil, fmt.Errorf("names no possible bucket: %w", err)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("has a query that cannot be read: escape & and % in its values")
	}
	for name, values := range query {
		if !slices.Contains(s3Parameters, name) || len(values) != 1 {
			return nil, fmt.Errorf("has the parameter %q, which it does not know or has twice; it takes %s",
				name, strings.Join(s3Parameters, ", "))
		}
	}
	a := &S3Address{Bucket: u.Host, Region: query.Get("region")}
	if a.Region == "" {
		return nil, errors.New("needs the parameter region; servers without regions take us-east-1")
	}
	if a.Endpoint, err = s3Endpoint(query.Get("endpoint")); err != nil {
		return nil, err
	}
	switch query.Get("path_style") {
	case "true":
		a.lookup = minio.BucketLookupPath
	case "false":
		a.lookup = minio.BucketLookupDNS
	case "": // by host name at the providers that are known to want it, otherwise by path
		a.lookup = minio.BucketLookupAuto
	default:
		return nil, errors.New("takes path_style=true or path_style=false")
	}
	switch query.Get("serve") {
	case "redirect":
		a.redirect = true
	case "", "proxy":
	default:
		return nil, errors.New("takes serve=proxy or serve=redirect")
	}
	return a, nil
}

func s3Endpoint(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return nil, errors.New("needs the parameter endpoint, such as endpoint=https://s3.eu-central-1.amazonaws.com")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("takes as endpoint an http or https URL of a host and a port alone")
	}
	return u, nil
}
