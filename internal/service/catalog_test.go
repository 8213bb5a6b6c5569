package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/fakeclock"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/progresstest"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestCatalogImport checks that an import is whole or not at all, and reaches every node.
func TestCatalogImport(t *testing.T) {
	const small = `
locales: [en, ja]
categories: [{code: bags, name: {en: Bags}}]
brands: [{code: chanel, name: {en: Chanel}, categories: [bags]}]
photo_indexes: [{code: overall, category: bags, name: {en: Overall}}]
answer_times: [{code: 60, name: {en: 1 hour}, price: 5}]
`
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		clock := fakeclock.New(morning)
		s, other := node(st, clock), node(st, clock)
		t.Run("Planned", func(t *testing.T) {
			if _, changes, err := s.PlanCatalogImport(t.Context(), []byte(small)); err != nil || len(changes) == 0 {
				t.Errorf("the plan has %d changes (%v)", len(changes), err)
			}
			if v, err := st.CatalogVersion(t.Context()); err != nil || v != 0 {
				t.Errorf("a plan made version %d (%v)", v, err)
			}
		})
		t.Run("Imported", func(t *testing.T) {
			told := &progresstest.Recorder{}
			changes, err := s.ImportCatalog(told.Context(t.Context()), access.System, []byte(small))
			if err != nil || len(changes) == 0 {
				t.Fatalf("the import made %d changes (%v)", len(changes), err)
			}
			if steps := told.Parts(); len(steps) != 3 || !strings.HasPrefix(steps[2], "step 3 of 3") {
				t.Errorf("the import tells of %q", steps)
			}
			if s.Catalog().Brand("chanel") == nil || other.Catalog().Brand("chanel") != nil {
				t.Error("the import is not seen where it was made")
			}
		})
		t.Run("OtherNodes", func(t *testing.T) {
			if err := other.RefreshCatalog(t.Context()); err != nil || other.Catalog().Brand("chanel") == nil {
				t.Errorf("another node does not see the import (%v)", err)
			}
		})
		t.Run("SameAgainChangesNothing", func(t *testing.T) {
			if _, changes, err := s.PlanCatalogImport(t.Context(), []byte(small)); err != nil || len(changes) != 0 {
				t.Errorf("the plan has %v (%v)", changes, err)
			}
		})
		t.Run("Refused", func(t *testing.T) {
			for _, document := range []string{
				"", "locales: [en", strings.Replace(small, "chanel, name", "Chanel, name", 1),
				small + "account_prices: [{account: Nobody, code: 60, price: 1}]\n",
			} {
				if _, err := s.ImportCatalog(t.Context(), access.System, []byte(document)); err == nil {
					t.Errorf("a broken document was imported: %s", document)
				}
			}
			if s.Catalog().Brand("chanel") == nil {
				t.Error("a refused import changed the catalog")
			}
		})
	})
}

func TestConfirmCatalog(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		ctx := t.Context()
		upload := func(name string) *service.CatalogPlan {
			t.Helper()
			plan, err := o.Service.UploadCatalog(ctx, by(o.boss), "c.yaml",
				[]byte(strings.Replace(string(demo.Catalog), "en: Chanel", "en: "+name, 1)))
			must.NoError(t, err)
			return plan
		}
		first, second := upload("CHANEL"), upload("Chanel Paris")
		if len(first.Changes) != 1 || first.Changes[0].Kind != catalog.Changed || first.Changes[0].Code != "chanel" {
			t.Errorf("changes %+v", first.Changes)
		}
		_, err := o.Service.ConfirmCatalog(ctx, by(o.boss), first.Draft.ID)
		must.NoError(t, err)
		if got := o.Service.Catalog().Brand("chanel").Name.EN; got != "CHANEL" {
			t.Errorf("the brand is called %q", got)
		}
		if _, err := o.Service.ConfirmCatalog(ctx, by(o.boss), first.Draft.ID); fault.CodeOf(err) != fault.CodeNotFound {
			t.Errorf("a draft was imported twice: %v", err)
		}
		if _, err := o.Service.ConfirmCatalog(ctx, by(o.boss), second.Draft.ID); fault.CodeOf(err) != "catalog-changed" {
			t.Errorf("a draft over another catalog than it was compared with: %v", err)
		}
		plan, err := o.Service.CatalogPlan(ctx, by(o.boss), second.Draft.ID)
		must.NoError(t, err)
		if !plan.Stale {
			t.Error("the draft does not say that it is stale")
		}
		o.Clock.Advance(24 * time.Hour)
		for _, want := range []int{0, 1} { // after exactly a day, and later
			n, err := o.Service.DeleteOldCatalogDrafts(ctx, 10)
			must.NoError(t, err)
			expect.Equal(t, "drafts deleted", n, want)
			o.Clock.Advance(time.Microsecond)
		}
		if _, err := o.Service.CatalogPlan(ctx, by(o.boss), second.Draft.ID); fault.CodeOf(err) != fault.CodeNotFound {
			t.Errorf("an old draft is kept: %v", err)
		}
	})
}
