package desk_test

import (
	"bytes"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/assayhq/assay/internal/testkit/rawsql"
)

func TestQueue(t *testing.T) {
	w := newWorld(t)
	id, mine := w.queued(t), w.claimed(t, w.Mika)
	v := w.AsStaff(t, w.Mika)
	t.Run("Tabs", func(t *testing.T) {
		v.Get("/desk").Want(t, http.StatusOK, id, mine, "Chanel", w.Account.Name)
		v.Get("/desk?tab=mine").Want(t, http.StatusOK, mine).Lacks(t, id)
		v.Get("/desk?tab=photos").Want(t, http.StatusOK, "No orders").Lacks(t, id, mine)
		v.Get("/desk?tab=done").Want(t, http.StatusOK).Lacks(t, id, mine)
	})
	t.Run("Filters", func(t *testing.T) {
		v.Get("/desk?brand=chanel&category=bags").Want(t, http.StatusOK, id, mine)
		v.Get("/desk?brand=chanel&tab=queue").Want(t, http.StatusOK, `href="/desk?brand=chanel&amp;tab=queue"`)
		v.Get("/desk?brand=gucci").Want(t, http.StatusOK, "No order matches").Lacks(t, id)
		v.Get("/desk?category=watches").Want(t, http.StatusOK, "No order matches").Lacks(t, id)
		v.Get("/desk?status=queued").Want(t, http.StatusOK, id).Lacks(t, mine)
		v.Get("/desk?mine=1").Want(t, http.StatusOK, mine).Lacks(t, id)
		v.Get("/desk?brand=%00&category=nonsense&status=x&after=-3&tab=y").Want(t, http.StatusOK, id)
	})
	t.Run("Rows", func(t *testing.T) {
		p := v.Get("/desk/rows?tab=mine").Want(t, http.StatusOK, mine)
		p.Lacks(t, "<html", id)
	})
	t.Run("Find", func(t *testing.T) {
		number := w.order(t, id).Number
		for _, text := range []string{number, strings.ToLower(number), strings.TrimPrefix(number, "AS-"), id} {
			if p := v.Get("/desk/find?q=" + text); p.Location != "/desk/orders/"+id {
				t.Errorf("%q leads to %q", text, p.Location)
			}
		}
		if p := v.Get("/desk/find?q=%00'--"); p.Location != "/desk" {
			t.Errorf("nonsense leads to %q", p.Location)
		}
	})
	t.Run("Next", func(t *testing.T) {
		if p := v.Post("/desk/next"); p.Location != "/desk/orders/"+id || !w.order(t,
			id).HeldBy(w.Mika.Actor(access.Origin{})) {
			t.Errorf("%d to %q", p.Status, p.Location)
		}
		w.AsStaff(t, w.Ren).Submit("/desk/next").Want(t, http.StatusOK, "The queue is empty")
	})
	t.Run("TestOrders", func(t *testing.T) {
		test := w.Order(t, w.Test, order.MockUpdatePhotos)
		v.Get("/desk").Lacks(t, test)
		v.Get("/desk/orders/"+test).Want(t, http.StatusOK, "This is a Test order").Lacks(t, `id="verdict"`)
	})
}

// TestQueuePages goes through a queue that is longer than a page: every order comes once, also when orders move
// meanwhile.
func TestQueuePages(t *testing.T) {
	w := newWorld(t)
	v := w.AsStaff(t, w.Aoi)
	made := make(map[string]bool)
	for range 105 {
		made[w.Order(t, w.Live, "")] = true
		w.Clock.Advance(time.Second)
	}
	link := regexp.MustCompile(`href="([^"]*)" rel="(first|next)"`)
	row := regexp.MustCompile(`href="/desk/orders/([0-9a-f-]+)"`)
	path, lengths := "/desk?status=queued&lang=en", []int{}
	for path != "" {
		p := v.Get(path).Want(t, http.StatusOK)
		links := make(map[string]string)
		for _, m := range link.FindAllStringSubmatch(p.Body, -1) {
			links[m[2]] = html.UnescapeString(m[1])
		}
		if first := links["first"]; (first != "") != (len(lengths) > 0) || first != "" && first != "/desk?status=queued" {
			t.Errorf("page %d leads back to %q", len(lengths)+1, first)
		}
		ids := row.FindAllStringSubmatch(p.Body, -1)
		for _, m := range ids {
			if !made[m[1]] {
				t.Errorf("%s comes twice", m[1])
			}
			delete(made, m[1])
		}
		lengths = append(lengths, len(ids))
		// which would move all that follows by one
		_, err := w.Service.CancelOrder(t.Context(), w.Aoi.Actor(access.Origin{}), ids[0][1], "")
		must.NoError(t, err)
		path = links["next"]
	}
	if len(made) != 0 || !slices.Equal(lengths, []int{50, 50, 5}) {
		t.Errorf("pages of %v, %d orders on none", lengths, len(made))
	}
	for _, nonsense := range []string{"x", "1-", "-", "99999999999999999999-" + w.Mika.ID, "1-%00", "1-x'"} {
		v.Get("/desk?after="+nonsense).Want(t, http.StatusOK).Lacks(t, `rel="first"`)
	}
}

func TestOrderPage(t *testing.T) {
	w := newWorld(t)
	id, earlier := w.claimed(t, w.Mika), w.queued(t)
	t.Run("Assignee", func(t *testing.T) {
		w.AsStaff(t, w.Mika).Get("/desk/orders/"+id).
			Want(t, http.StatusOK, w.order(t, id).Number, "SKU-1", "12 credits", `id="verdict"`, "/thumb",
				`name="check.serial-number"`, earlier,
				"Claimed").Lacks(t, "/desk/orders/"+id+"/cancel", "is reviewing this order")
	})
	t.Run("OtherReviewer", func(t *testing.T) {
		w.AsStaff(t, w.Ren).Get("/desk/orders/"+id).Want(t, http.StatusOK, "Mika Sato is reviewing this order.").
			Lacks(t, `id="verdict"`, "/release", "/request")
	})
	t.Run("Administrator", func(t *testing.T) {
		w.AsStaff(t, w.Aoi).Get("/desk/orders/"+id).Want(t, http.StatusOK, `id="verdict"`, "/cancel", "/reassign")
	})
	t.Run("Unknown", func(t *testing.T) {
		for _, path := range []string{"01a1dd4d-8786-7cb8-9f38-3f4bad94bcd5", "x", "%00"} {
			w.AsStaff(t, w.Mika).Get("/desk/orders/"+path).Want(t, http.StatusNotFound)
		}
	})
	t.Run("Japanese", func(t *testing.T) {
		w.AsStaff(t, w.Mika).Get("/desk/orders/"+id+"?lang=ja").Want(t, http.StatusOK, "鑑定結果", "シャネル", "シリアル")
	})
}

func TestVerdict(t *testing.T) {
	w := newWorld(t)
	fields := []string{
		"outcome", "fake", "reason.fake", "logo-misaligned", "reason.authentic", "no-such-reason", "check.serial-number",
		"fail", "check.overall-picture", "pass", "note", "Stitches <b>",
	}
	t.Run("Fake", func(t *testing.T) {
		id := w.claimed(t, w.Mika)
		v := w.AsStaff(t, w.Mika)
		p := v.Submit("/desk/orders/"+id+"/verdict", fields...).
			Want(t, http.StatusOK, "Fake", "偽造品", "Logo stamping is misaligned", "ロゴの刻印がずれています", "シリアル",
				"outcome_indexes&#34;: [", "Stitches &lt;b&gt;", `name="index_codes" value="serial-number"`, "not be refunded")
		p.Lacks(t, "A certificate")
		if got := w.order(t, id); got.Status != order.Processing {
			t.Fatalf("the order is in %s before it is confirmed", got.Status)
		}
		// the draft is kept
		v.Get("/desk/orders/"+id).Want(t, http.StatusOK, "Stitches &lt;b&gt;", `value="fail" id="c-serial-number-2" checked`)
		v.Submit("/desk/orders/"+id+"/complete", "outcome", "fake", "reason_codes", "logo-misaligned", "index_codes",
			"serial-number", "note", "Stitches <b>").
			Want(t, http.StatusOK, "is completed: Fake.")
		got := w.order(t, id)
		if got.Outcome != order.Fake || len(got.Reasons) != 1 || len(got.OutcomeIndexes) != 1 {
			t.Errorf("the order is %s with %v, %v", got.Outcome, got.Reasons, got.OutcomeIndexes)
		}
		v.Get("/desk/orders/"+id).Want(t, http.StatusOK, "Result", "Fail", "Stitches &lt;b&gt;") // note and checklist stay
	})
	t.Run("Refused", func(t *testing.T) {
		id := w.claimed(t, w.Mika)
		v := w.AsStaff(t, w.Mika)
		v.Post("/desk/orders/"+id+"/verdict").Want(t, http.StatusUnprocessableEntity, "Choose an outcome.",
			`<a href="#o-authentic">`, `aria-invalid="true" aria-describedby="outcome-error"`, `id="outcome-error"`)
		v.Post("/desk/orders/"+id+"/verdict", "outcome", "fake", "note", "kept").
			Want(t, http.StatusUnprocessableEntity, "Select at least one reason for a fake.", "kept", `<a href="#r-`,
				`aria-invalid="true" aria-describedby="reasons-error"`, `id="reasons-error"`)
		v.Post("/desk/orders/"+id+"/verdict", "outcome", "authentic", "note", strings.Repeat("x", 1001)).
			Want(t, http.StatusUnprocessableEntity, "This is too long.", `<a href="#f-note">`,
				`aria-invalid="true" aria-describedby="note-hint note-error"`, `id="note-error"`)
		v.Post("/desk/orders/"+id+"/verdict", "outcome", "authentic", "reason_text.ja", "独自の理由").
			Want(t, http.StatusUnprocessableEntity, "Enter the English text as well.", "独自の理由")
		v.Post("/desk/orders/"+id+"/verdict", "outcome", "authentic", "reason_text.en", strings.Repeat("x", 501)).
			Want(t, http.StatusUnprocessableEntity, `id="own-en-error"`, "This is too long.")
	})
	t.Run("OwnWords", func(t *testing.T) {
		id := w.claimed(t, w.Mika)
		v := w.AsStaff(t, w.Mika)
		own := []string{
			"reason.fake", "logo-misaligned", "reason_text.en", "Line one\r\n<b>two</b>", "reason_text.ja", "独自の理由",
		}
		v.Post("/desk/orders/"+id+"/draft", own...).Want(t, http.StatusNoContent)
		v.Get("/desk/orders/"+id).Want(t, http.StatusOK, "Line one\n&lt;b&gt;two&lt;/b&gt;</textarea>", "独自の理由</textarea>")
		v.Submit("/desk/orders/"+id+"/verdict", append([]string{"outcome", "unable-to-verify"}, own...)...).
			Want(t, http.StatusOK, "Unable to verify").
			Lacks(t, "Line one", "独自の理由") // what was written for another outcome does not count
		v.Submit("/desk/orders/"+id+"/verdict", append([]string{"outcome", "fake"}, own...)...).Want(t, http.StatusOK,
			"<li class=\"as-written\">Logo stamping is misaligned</li>"+
				"<li class=\"as-written\">Line one\n&lt;b&gt;two&lt;/b&gt;</li>",
			`<li class="as-written">独自の理由</li>`, `name="reason_text.ja" value="独自の理由"`, `Line one\n\u003cb\u003etwo`)
		v.Submit("/desk/orders/"+id+"/complete", "outcome", "fake", "reason_codes", "logo-misaligned", "reason_text.en",
			"Line one\r\n<b>two</b>", "reason_text.ja", "独自の理由").
			Want(t, http.StatusOK, "is completed: Fake.")
		if got := w.order(t, id).Reasons; len(got) != 2 ||
			got[1].Text != (text.Text{EN: "Line one\n<b>two</b>", JA: "独自の理由"}) || got[1].Code != "" {
			t.Errorf("the customer is told %+v", got)
		}
		v.Get("/desk/orders/"+id).Want(t, http.StatusOK, "Line one\n&lt;b&gt;two&lt;/b&gt;")
	})
	t.Run("TakeNext", func(t *testing.T) {
		id, next := w.claimed(t, w.Mika), w.queued(t)
		v := w.AsStaff(t, w.Mika)
		v.Get("/desk?brand=%00&category=nonsense").Want(t, http.StatusOK, next) // what nothing is called does not filter
		v.Submit("/desk/orders/"+id+"/verdict", "outcome", "authentic").
			Want(t, http.StatusOK, "A certificate with a public page will be issued.")
		if p := v.Post("/desk/orders/"+id+"/complete", "outcome", "authentic", "then", "next", "despite", "1", "note",
			"Looked at again."); p.Location != "/desk/orders/"+next {
			t.Errorf("%d to %q, want the next order", p.Status, p.Location)
		}
	})
	t.Run("TakenByOthers", func(t *testing.T) {
		id := w.claimed(t, w.Mika)
		v := w.AsStaff(t, w.Mika)
		v.Submit("/desk/orders/"+id+"/verdict", "outcome", "authentic").Want(t, http.StatusOK)
		_, err := w.Service.ReassignOrder(t.Context(), w.Aoi.Actor(access.Origin{}), id, w.Ren.ID)
		must.NoError(t, err)
		v.Submit("/desk/orders/"+id+"/complete", "outcome", "authentic").
			Want(t, http.StatusOK, "Ren Ito has claimed this order in the meantime", "Ren Ito is reviewing this order.")
		if got := w.order(t, id).Status; got != order.Processing {
			t.Errorf("the order is in %s", got)
		}
	})
	t.Run("MovedOn", func(t *testing.T) {
		id := w.claimed(t, w.Mika)
		_, err := w.Service.CancelOrder(t.Context(), w.Aoi.Actor(access.Origin{}), id, "")
		must.NoError(t, err)
		w.AsStaff(t, w.Mika).Submit("/desk/orders/"+id+"/release").
			Want(t, http.StatusOK, "The order has changed", "Canceled")
	})
}

func TestRequestPhotos(t *testing.T) {
	w := newWorld(t)
	id := w.claimed(t, w.Mika)
	v := w.AsStaff(t, w.Mika)
	path := "/desk/orders/" + id + "/request"
	fields := []string{
		"want", "serial-number", "condition.serial-number", "unclear", "requirements.serial-number", "sharp-focus",
		"requirements.serial-number", "macro", "comment.serial-number", "All digits, please.", "max.serial-number", "2",
		"comment.overall-picture", "not asked for",
	}
	t.Run("Form", func(t *testing.T) {
		v.Get(path).
			Want(t, http.StatusOK, "Serial number", `name="want" value="serial-number"`, `name="want" value="brand-stamp"`)
	})
	t.Run("NotVisibleIsAskedFor", func(t *testing.T) {
		v.Post("/desk/orders/"+id+"/draft", "check.brand-stamp", "not-visible").Want(t, http.StatusNoContent)
		v.Get(path).Want(t, http.StatusOK, `name="want" value="brand-stamp" id="w-brand-stamp" checked`)
	})
	t.Run("Refused", func(t *testing.T) {
		v.Post(path+"/preview").Want(t, http.StatusUnprocessableEntity, "Select at least one index.", `<a href="#w-`)
		v.Post(path+"/preview", "want", "serial-number", "reference.serial-number", "http://x", "max.serial-number", "0",
			"condition.serial-number", "nonsense").
			Want(t, http.StatusUnprocessableEntity, "begins with https://", "At least 1.", "not a valid choice",
				`<a href="#n-serial-number">`, `aria-invalid="true" aria-describedby="n-serial-number-error"`,
				`id="m-serial-number-error"`, `aria-describedby="u-serial-number-error"`)
		v.Post(path+"/preview", "want", "nonsense").Want(t, http.StatusUnprocessableEntity)
	})
	t.Run("Preview", func(t *testing.T) {
		v.Post(path+"/preview", fields...).
			Want(t, http.StatusOK, "Unclear", "不鮮明", "All digits, please.", "Serial number", "シリアル", "max_photos&#34;: 2",
				`name="condition.serial-number" value="unclear"`).
			Lacks(t, "<blockquote>not asked for")
		v.Post(path+"/preview", append([]string{"edit", "1"}, fields...)...).
			Want(t, http.StatusOK, "All digits, please.", `value="serial-number" id="w-serial-number" checked`)
		if got := w.order(t, id).Status; got != order.Processing {
			t.Errorf("a preview has moved the order to %s", got)
		}
	})
	t.Run("Send", func(t *testing.T) {
		v.Submit(path, fields...).Want(t, http.StatusOK, "Photos requested for")
		got := w.order(t, id)
		if got.Status != order.UpdatePhotos || len(got.Requested) != 1 || got.Requested[0].MaxPhotos != 2 ||
			len(got.Requested[0].Requirements) != 2 {
			t.Errorf("the order is in %s with %+v", got.Status, got.Requested)
		}
		v.Get("/desk?tab=photos").Want(t, http.StatusOK, id)
		v.Get("/desk/orders/"+id).Want(t, http.StatusOK, "Requested", "All digits, please.", "Clock paused")
	})
	t.Run("Answered", func(t *testing.T) {
		url := w.Photo(t, w.Live)
		_, err := w.Service.SubmitPhotos(t.Context(), w.Live.Actor(access.Origin{}), id, &order.Submission{
			Entries: []order.SubmissionEntry{{IndexCode: "serial-number", URL: &url}}, Note: "Is this <better>?",
		})
		must.NoError(t, err)
		v.Get("/desk/orders/"+id).
			Want(t, http.StatusOK, "Round 1", "Is this &lt;better&gt;?", "Photos received", `id="verdict"`)
	})
}

// TestMoved_NothingTypedIsLost checks that a form whose order has moved meanwhile is shown again with what was entered
// and the reason, and can be sent when the order is theirs again.
func TestMoved_NothingTypedIsLost(t *testing.T) {
	w := newWorld(t)
	id := w.claimed(t, w.Mika)
	v, admin := w.AsStaff(t, w.Mika), w.AsStaff(t, w.Aoi)
	path, fail := "/desk/orders/"+id+"/request", "/desk/orders/"+id+"/fail"
	fields := []string{
		"want", "serial-number", "condition.serial-number", "unclear", "requirements.serial-number", "macro",
		"comment.serial-number", "All digits, please.", "max.serial-number", "7",
	}
	v.Post(path+"/preview", fields...).Want(t, http.StatusOK)
	admin.Submit("/desk/orders/"+id+"/reassign", "assignee_id", w.Ren.ID).Want(t, http.StatusOK)
	entered := []string{
		"Aoi Mori reassigned this order to Ren Ito.", "What you entered is still here.", "All digits, please.",
		`id="w-serial-number" checked`, `value="7"`, `action="/desk/orders/` + id + `/request/preview"`,
	}
	for address, fields := range map[string][]string{
		path: fields, path + "/preview": fields, path + "/preview?again": append([]string{"edit", "1"}, fields...),
	} {
		v.Post(address, fields...).Want(t, http.StatusConflict, entered...)
	}
	v.Post(fail, "note", "The photos are of <another> bag.").Want(t, http.StatusConflict,
		"Aoi Mori reassigned this order to Ren Ito.", "What you entered is still here.", "of &lt;another&gt; bag.")
	v.Post(fail, "note", " ").Want(t, http.StatusSeeOther) // nothing was entered
	v.Get(path).Want(t, http.StatusSeeOther)
	third := w.AsStaff(t, w.AddStaff(t, "kai@example.com", "Kai Ota", access.Reviewer))
	third.Post(fail, "note", "Mine?").Want(t, http.StatusConflict, "Ren Ito is reviewing this order.", "Mine?")

	w.AsStaff(t, w.Ren).Submit("/desk/orders/"+id+"/release").Want(t, http.StatusOK)
	v.Submit("/desk/orders/"+id+"/claim").Want(t, http.StatusOK)
	v.Post(path+"/preview", fields...).Want(t, http.StatusOK, "All digits, please.").Lacks(t, "Nothing was done.")
	v.Submit(path, fields...).Want(t, http.StatusOK, "Photos requested for")
	v.Submit(path, fields...).Want(t, http.StatusOK, "The order has changed", "Clock paused") // they did it themselves
	admin.Post("/desk/orders/"+id+"/cancel", "note", "Withdrawn.").Want(t, http.StatusSeeOther)
	admin.Submit("/desk/orders/"+id+"/cancel", "note", "Withdrawn."). // the answer was lost
										Want(t, http.StatusOK, "Canceled", "Withdrawn.").Lacks(t, "Nothing was done.")
}

func TestOtherMoves(t *testing.T) {
	w := newWorld(t)
	t.Run("FailNeedsNote", func(t *testing.T) {
		id := w.claimed(t, w.Mika)
		v := w.AsStaff(t, w.Mika)
		v.Post("/desk/orders/"+id+"/fail", "note", " ").Want(t, http.StatusUnprocessableEntity, "This field is required.")
		v.Submit("/desk/orders/"+id+"/fail", "note", "no photo opens").Want(t, http.StatusOK, "is marked as failed")
	})
	t.Run("Claim", func(t *testing.T) {
		id := w.queued(t)
		w.AsStaff(t, w.Mika).Submit("/desk/orders/"+id+"/claim").Want(t, http.StatusOK, "You claimed this order.")
		w.AsStaff(t, w.Ren).Submit("/desk/orders/"+id+"/claim").
			Want(t, http.StatusOK, "Mika Sato has claimed this order in the meantime")
	})
	t.Run("Reassign", func(t *testing.T) {
		id := w.claimed(t, w.Mika)
		v := w.AsStaff(t, w.Aoi)
		v.Get("/desk/orders/"+id+"/reassign").Want(t, http.StatusOK, "Assigned to Mika Sato.", "Ren Ito").
			Lacks(t, `value="`+w.Mika.ID)
		v.Submit("/desk/orders/"+id+"/reassign", "assignee_id", w.Ren.ID).
			Want(t, http.StatusOK, "The order is now assigned to Ren Ito.")
		if got := w.order(t, id); got.AssigneeID != w.Ren.ID {
			t.Errorf("the order is with %s", got.AssigneeID)
		}
	})
	t.Run("Cancel", func(t *testing.T) {
		id := w.queued(t)
		before, err := w.Store.Balance(t.Context(), w.Account.Tenant(access.Live))
		must.NoError(t, err)
		w.AsStaff(t, w.Aoi).Submit("/desk/orders/"+id+"/cancel").Want(t, http.StatusOK, "is canceled and refunded.")
		after, err := w.Store.Balance(t.Context(), w.Account.Tenant(access.Live))
		must.NoError(t, err)
		if after-before != w.order(t, id).Price {
			t.Errorf("the balance went from %d to %d", before, after)
		}
	})
}

func TestPhotos(t *testing.T) {
	w := newWorld(t)
	photos, err := w.Store.OrderPhotos(t.Context(), w.queued(t))
	must.NoError(t, err)
	v := w.AsStaff(t, w.Ren)
	path := "/desk/photos/" + photos[0].Name
	p := v.Get(path+"/original").Want(t, http.StatusOK)
	expect.Results(t, p.Header.Get, map[string]string{
		"Content-Type": "image/png", "Cache-Control": "private, max-age=31536000, immutable",
		"X-Content-Type-Options": "nosniff",
	})
	if !strings.Contains(p.Header.Get("Content-Security-Policy"), "sandbox") {
		t.Error("a photo may run scripts")
	}
	v.Get(path+"/huge").Want(t, http.StatusNotFound)
	missing := v.Get("/desk/photos/"+strings.Repeat("a", 32)+".jpg/thumb").Want(t, http.StatusNotFound)
	if got := missing.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("the page of a missing photo may be kept: %q", got)
	}
	v.Get(path+"/facts").Want(t, http.StatusOK, "写真.png", "SHA-256", "No camera data")
	v.Get(path+"/facts?part=1").Want(t, http.StatusOK, "写真.png").Lacks(t, "<html")
}

// TestPhotos_Erased checks that the page of an order says which photos were erased, and has no address of them.
func TestPhotos_Erased(t *testing.T) {
	w := newWorld(t)
	id := w.claimed(t, w.Mika)
	photos, err := w.Store.OrderPhotos(t.Context(), id)
	must.NoError(t, err)
	_, err = w.Service.CompleteOrder(t.Context(), w.Mika.Actor(access.Origin{}), id,
		&order.Verdict{Outcome: order.UnableToVerify}, "")
	must.NoError(t, err)
	v := w.AsStaff(t, w.Mika)
	v.Get("/desk/orders/"+id).Want(t, http.StatusOK, photos[0].Name).Lacks(t, "was deleted")
	_, err = w.Service.EraseOrder(t.Context(), access.Operator, id, false)
	must.NoError(t, err)
	v.Get("/desk/orders/"+id).Want(t, http.StatusOK, "Photo 1 was deleted.").Lacks(t, "/desk/photos/")
	v.Get("/desk/orders/"+id+"?lang=ja").Want(t, http.StatusOK, "写真 1 は削除されました。")
	v.Get("/desk/photos/"+photos[0].Name+"/facts").Want(t, http.StatusNotFound)
}

// TestPhotoSizes shows a converted photo in full size, and a placeholder for one that cannot be shown, whose original
// stays.
func TestPhotoSizes(t *testing.T) {
	w := newWorld(t)
	v := w.AsStaff(t, w.Ren)
	place := func(f photo.Format, content []byte) string {
		staged, err := w.Staging.Stage(t.Context(), bytes.NewReader(content), 1<<20)
		must.NoError(t, err)
		defer func() { must.NoError(t, staged.Close()) }()
		name := photo.NewName(f)
		must.NoError(t, w.Media.Put(t.Context(), name, staged))
		return "/desk/photos/" + name
	}
	heic := place(photo.HEIC, pictures.Sample(t, "github.com/gen2brain/heic", "test8.heic"))
	if got := v.Get(heic+"/full").Want(t, http.StatusOK).Header.Get("Content-Type"); got != "image/jpeg" {
		t.Errorf("in full size it is %s", got)
	}
	broken := place(photo.JPEG, []byte("\xff\xd8\xff nothing"))
	v.Get(broken+"/full").Want(t, http.StatusNotFound)
	p := v.Get(broken+"/thumb").Want(t, http.StatusFound)
	if !strings.HasSuffix(p.Header.Get("Location"), "/unavailable.svg") || p.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("a photo that cannot be shown: %v", p.Header)
	}
	v.Get(broken+"/original").Want(t, http.StatusOK)
}

// TestUnreadableOrder checks that an administrator finds the way to cancel an order that cannot be read.
func TestUnreadableOrder(t *testing.T) {
	w := newWorld(t)
	id := w.queued(t)
	rawsql.Exec(t, w.Target, "UPDATE orders SET facts = 'xx' WHERE id = '"+id+"'")
	w.AsStaff(t, w.Mika).Get("/desk/orders/"+id).Want(t, http.StatusInternalServerError)
	v := w.AsStaff(t, w.Aoi)
	for _, page := range []string{"", "/cancel"} {
		v.Get("/desk/orders/"+id+page).Want(t, http.StatusOK, "cannot be read", "/desk/orders/"+id+"/cancel", "12 credits")
	}
	queued := v.Post("/desk/orders/"+id+"/fail", "note", "It is broken.")
	queued.Want(t, http.StatusConflict, "cannot be read", "It is broken.")
	v.Submit("/desk/orders/"+id+"/cancel").Want(t, http.StatusOK, "is canceled and refunded.")
	v.Get("/desk/orders/"+id).Want(t, http.StatusOK, "Canceled").Lacks(t, "cannot be read")
}
