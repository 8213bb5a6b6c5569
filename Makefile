# Assay. `make` lists the targets.

GO ?= go
TAGS := nodynamic
FUZZTIME ?= 60s
ITEM ?=
GOTESTFLAGS ?=
BENCHFLAGS ?=

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
BUILDINFO := github.com/assayhq/assay/internal/buildinfo
LDFLAGS := -s -w -X $(BUILDINFO).Version=$(VERSION) -X $(BUILDINFO).Commit=$(COMMIT)

# The linter is built from source at this exact version; a file of its own for each version and toolchain is the cache.
GOLANGCI_VERSION := v2.12.2
GOLANGCI := .tools/bin/golangci-lint-$(GOLANGCI_VERSION)-$(shell $(GO) env GOVERSION)

GOVULNCHECK_VERSION := v1.1.4

# One PostgreSQL server and one built program serve the whole test run.
WITH_POSTGRES := $(GO) run ./internal/testkit/cmd/with-postgres --
GO_TEST := $(GO) test -tags $(TAGS) -timeout 20m $(GOTESTFLAGS)

# The program is pure Go, and is tested as it is shipped. Only test-race needs a C compiler.
export CGO_ENABLED := 0
# The whole proof leaves nothing out, whatever the caller's environment says; test-fast sets it for itself.
unexport ASSAY_TEST_FAST
export ASSAY_TEST_BINARY := $(CURDIR)/bin/assay

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/assay
	$(GO) build -trimpath -tags $(TAGS) -ldflags '$(LDFLAGS)' -o bin/assay ./cmd/assay

.PHONY: image
image: build ## build bin/assay-image.tar, an OCI image, without Docker
	$(GO) run ./deploy/image -root . -program bin/assay -name assay:$(VERSION) -o bin/assay-image.tar

.PHONY: run
run: build ## build and start a demo server on SQLite, data in ./data
	bin/assay serve --demo

.PHONY: test
test: test-deps build ## the whole proof: every engine, the browser, the real program
	$(GO) vet -tags $(TAGS) ./...
	$(WITH_POSTGRES) $(GO_TEST) ./...

.PHONY: test-fast
test-fast: build ## the tests that need nothing but Go, on SQLite
	ASSAY_TEST_FAST=1 $(GO_TEST) -short ./...

.PHONY: test-hard
test-hard: test-deps build ## kills, disks, nodes, model, fuzz and load in their long forms, at most 30 minutes; ITEM=kills runs one
	$(WITH_POSTGRES) scripts/test-hard $(ITEM)

.PHONY: test-race
test-race: test-deps build ## the whole proof under the race detector; needs a C compiler
	$(WITH_POSTGRES) env CGO_ENABLED=1 $(GO_TEST) -race ./...

.PHONY: test-deps
test-deps: ## install what the tests need and the machine lacks
	@scripts/install-test-deps

.PHONY: lint
lint: $(GOLANGCI) ## formatting, static analysis, the floors of the design, licences, and a search for secrets
	GOLANGCI_LINT_CACHE=$(CURDIR)/.tools/cache $(GOLANGCI) run ./...
	$(GO) test -count 1 -run 'TestLicences|TestNoSecrets' ./internal/release/

.PHONY: release
release: ## programs for all platforms, with licences, bills of materials and sums, in dist; RELEASE_KEY=FILE signs
	$(GO) mod verify
	scripts/release $(VERSION) dist $(PLATFORMS)

.PHONY: vulncheck
vulncheck: ## look up known vulnerabilities of what is used; needs the network
	@$(GO) run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) -tags $(TAGS) ./cmd/... || { \
		echo "govulncheck failed: it found something, or https://vuln.go.dev could not be reached (then nothing is known)"; exit 1; }

.PHONY: fmt
fmt: $(GOLANGCI) ## format the code (gofumpt)
	$(GOLANGCI) fmt ./...

.PHONY: cover
cover: test-deps build ## test coverage of all packages: coverage.out, coverage.html
	$(WITH_POSTGRES) $(GO_TEST) -coverpkg=./... -coverprofile=coverage.out ./...
	$(GO) tool cover -html=coverage.out -o coverage.html
	$(GO) tool cover -func=coverage.out | tail -n 1

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (60s)
	scripts/fuzz $(FUZZTIME)

.PHONY: bench
bench: test-deps build ## measure against bases in the same run, 50 minutes; writes docs/performance.md; fails on a missed target
	$(GO) run -tags $(TAGS) ./test/bench -docs docs $(BENCHFLAGS)

.PHONY: bench-quick
bench-quick: test-deps build ## most of it with short rounds and few orders, 3 minutes; writes nothing
	$(GO) run -tags $(TAGS) ./test/bench -quick $(BENCHFLAGS)

.PHONY: tidy-check
tidy-check: ## fail when go.mod or go.sum is not tidy
	$(GO) mod tidy -diff

.PHONY: clean
clean: ## remove what the targets made, except ./data
	rm -rf bin dist .tools coverage.out coverage.html

$(GOLANGCI):
	@echo "building golangci-lint $(GOLANGCI_VERSION); this takes a few minutes, once"
	@rm -rf .tools/bin && mkdir -p .tools/bin
	GOBIN=$(CURDIR)/.tools/bin GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv .tools/bin/golangci-lint $@
